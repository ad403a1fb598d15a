"""Prices of the resources by Newton's method on a smoothed Lagrangian dual: no linear programme is solved.

The dual of the LP relaxation is the minimum over λ ≥ 0 of the piecewise linear

    f(λ) = Σ_k λ_k W_k + Σ_g max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk).                                      (1)

With a temperature μ the maximum is replaced by μ log Σ exp(· / μ) and λ ≥ 0 by the barrier −μ Σ_k log λ_k.
The result is smooth and strictly convex, its minimiser tends to one of (1) as μ → 0, and a Newton step costs
O(items · m²). Every iterate is a bound by itself, whatever its accuracy.
"""

from __future__ import annotations

import math
import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.mmkp.core.subproblem import Core

__all__ = ["best_prices", "bound_constant", "minimise", "whole_prices"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
LARGEST = 2**62
SMALLEST = 1e-4  # price from which a later step starts, normalised
SLICES, SLICE = 20, 6  # looks at the clock in a run, and steps between two


def best_prices(core: Core, until: float = math.inf) -> tuple[Ints, int]:
    """Return near-optimal prices of the whole core, (m,), and the bound they prove, both in fractions.

    They are what is found by the time ``until`` of ``time.perf_counter``, at least of a few steps.
    """
    m = len(core.capacities)
    prices, best = np.full(m, 1.0 / max(m, 1)), np.zeros(m)
    temperature = 0.1
    for shrink in (0.8, 0.9):  # the second run settles what the first left
        lowest, found = math.inf, np.zeros(m)
        for _ in range(SLICES):
            value = minimise(core, 0, core.capacities, prices, found, -math.inf, temperature, shrink, SLICE)
            if value < lowest:
                lowest, best = value, found.copy()
            temperature *= shrink**SLICE
            if time.perf_counter() >= until:
                break
        prices, temperature = np.maximum(best, SMALLEST * 1e-2), 1e-3
    whole = np.zeros(m, dtype=np.int64)
    whole_prices(core, best, whole)
    return whole, int(bound_constant(core, 0, whole) + whole @ core.capacities)


@njit(cache=True)
def whole_prices(core: Core, prices: Floats, out: Ints) -> None:
    """Write normalised prices as whole fractions, none above the largest that is safe."""
    for k in range(len(out)):
        value = prices[k] * core.value_scale / core.row_scale[k] * core.fraction + 0.5
        out[k] = core.largest_price[k]
        if value < core.largest_price[k]:
            out[k] = np.int64(value)


@njit(cache=True)
def bound_constant(core: Core, first: int, prices: Ints) -> int:
    """Return Σ_{g ≥ first} max_j (v_j − Σ_k λ_k w_jk) in fractions, exactly."""
    total = 0
    for group in range(first, len(core.start) - 1):
        top = -LARGEST
        for j in range(core.start[group], core.start[group + 1]):
            surplus = int(core.values[j]) * core.fraction
            for k in range(len(prices)):
                surplus -= int(prices[k]) * int(core.weights[j, k])
            top = max(top, surplus)
        total += top
    return total


@njit(cache=True)
def minimise(
    core: Core,
    first: int,
    left: Ints,
    prices: Floats,
    best: Floats,
    target: float,
    temperature: float,
    shrink: float,
    steps: int,
) -> float:
    """Lower the dual of groups first, first+1, … within ``left``; return its value at ``best``, normalised.

    ``prices`` is where it starts, above 0, and is overwritten; it stops early below ``target``.
    """
    m = len(left)
    curvature, slope = np.empty((m, m)), np.empty(m)
    lowest = np.inf
    for _ in range(steps):
        value = _derivatives(core, first, left, prices, temperature, curvature, slope)
        if not value < np.inf:
            break
        if value < lowest:
            lowest = value
            best[:] = prices
            if value < target:
                break
        for k in range(m):
            slope[k] += temperature / prices[k]
            curvature[k, k] += temperature / prices[k] ** 2
        _solve(curvature, slope)
        length = 1.0
        for k in range(m):
            if -slope[k] * length > 0.9 * prices[k]:
                length = 0.9 * prices[k] / -slope[k]
        for k in range(m):
            prices[k] += length * slope[k]
        temperature *= shrink
    return lowest


@njit(cache=True)
def _derivatives(
    core: Core, first: int, left: Ints, prices: Floats, temperature: float, curvature: Floats, slope: Floats
) -> float:
    """Return (1) at the prices; write the smoothed one's negated slope and half of its curvature."""
    m = len(left)
    value = 0.0
    mean = np.empty(m)
    for k in range(m):
        value += prices[k] * left[k] / core.row_scale[k]
        slope[k] = -left[k] / core.row_scale[k]
        curvature[k, : k + 1] = 0.0
    share = np.empty(len(core.values))
    for group in range(first, len(core.start) - 1):
        begin, end = core.start[group], core.start[group + 1]
        top = -np.inf
        for j in range(begin, end):
            surplus = core.values_f[j]
            for k in range(m):
                surplus -= prices[k] * core.weights_f[j, k]
            share[j] = surplus
            top = max(top, surplus)
        value += top
        total = 0.0
        for j in range(begin, end):
            share[j] = math.exp((share[j] - top) / temperature)
            total += share[j]
        _add_group(core, begin, end, share, total, temperature, mean, curvature, slope)
    return value


@njit(cache=True)
def _add_group(
    core: Core,
    begin: int,
    end: int,
    share: Floats,
    total: float,
    temperature: float,
    mean: Floats,
    curvature: Floats,
    slope: Floats,
) -> None:
    """Add a group's mean weights to the slope, and their covariance to the curvature."""
    m = len(slope)
    mean[:] = 0.0
    for j in range(begin, end):
        share[j] /= total
        if share[j] > 1e-9:
            for k in range(m):
                mean[k] += share[j] * core.weights_f[j, k]
    for k in range(m):
        slope[k] += mean[k]
    for j in range(begin, end):
        if 1e-9 < share[j] < 1.0 - 1e-9:
            for k in range(m):
                part = (core.weights_f[j, k] - mean[k]) * share[j] / temperature
                for i in range(k + 1):
                    curvature[k, i] += part * (core.weights_f[j, i] - mean[i])


@njit(cache=True)
def _solve(matrix: Floats, vector: Floats) -> None:
    """Overwrite ``vector`` by the solution of a positive definite system whose lower half is given."""
    m = len(vector)
    for j in range(m):
        pivot = matrix[j, j]
        for k in range(j):
            pivot -= matrix[j, k] ** 2
        matrix[j, j] = math.sqrt(max(pivot, 1e-300))
        for i in range(j + 1, m):
            entry = matrix[i, j]
            for k in range(j):
                entry -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = entry / matrix[j, j]
    for i in range(m):
        for k in range(i):
            vector[i] -= matrix[i, k] * vector[k]
        vector[i] /= matrix[i, i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            vector[i] -= matrix[k, i] * vector[k]
        vector[i] /= matrix[i, i]
