"""The aggregate demand at a price: what every user asks for above its floor.

With c_i = log(A_i'(τ_i)/L_i) measured from a reference user r, a price θ = A_r'(τ_r)/L_r · exp(−δ) gives user
i the drop d_i = δ + c_i − c_r and the fraction y_i = τ_i + reach(d_i)/k_i, clipped to [floor_i, 1]. The level
is v = reach(δ), in which y_r is linear. For the algebraic and the arctan family reach(d)² = e^{d/f} − 1 with
f = 3/2 or 1, so with e^{(c_i − c_r)/f} at hand an evaluation takes a square root a user.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import ALGEBRAIC, ARCTAN, drop, drop_rate, log_peak, reach

__all__ = ["Steepness", "demand", "level_range", "place", "relative_steepness", "steepest"]

Floats = NDArray[np.float64]

LARGEST_DROP = 600.0  # in units of f, up to which e^{d/f} is a double
SMALLEST_RATIO = 1e-200  # of two steepnesses that are divided, not subtracted as logarithms


class Steepness(NamedTuple):
    """Slopes a bit at the anchors against a reference user's, one entry each."""

    shift: Floats  # (N,) c_i − c_r
    power: Floats  # (N,) e^{(c_i − c_r)/f}, in families that have f
    excess: Floats  # (N,) the same less 1, accurate near 0


@njit(cache=True)
def steepest(family: int, cache: Floats, ceiling: Floats, sharpness: Floats) -> int:
    """Return the user whose slope per bit at its anchor is largest."""
    best, most, safe = 0, 0.0, True
    for i in range(len(cache)):
        steepness = ceiling[i] * sharpness[i] / cache[i]
        safe = safe and SMALLEST_RATIO < steepness < 1.0 / SMALLEST_RATIO
        if steepness > most:
            best, most = i, steepness
    if safe:
        return best
    best, most = 0, -math.inf
    for i in range(len(cache)):
        steepness = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i])
        if steepness > most:
            best, most = i, steepness
    return best


@njit(cache=True)
def falls_as_power(family: int) -> bool:
    """Return whether reach(d)² = e^{d/f} − 1 in this family."""
    return family in (ALGEBRAIC, ARCTAN)


@njit(cache=True)
def power_factor(family: int) -> float:
    """Return f of the families with reach(d)² = e^{d/f} − 1."""
    return 1.5 if family == ALGEBRAIC else 1.0


@njit(cache=True)
def relative_steepness(
    family: int,
    cache: Floats,
    ceiling: Floats,
    sharpness: Floats,
    reference: int,
) -> Steepness:
    """Return the users' steepness against that of a reference user."""
    n = len(cache)
    shift, power, excess = np.empty(n), np.empty(n), np.empty(n)
    base = log_peak(family, ceiling[reference], sharpness[reference]) - math.log(cache[reference])
    factor = power_factor(family)
    for i in range(n):
        ratio = (ceiling[i] / ceiling[reference]) * (sharpness[i] / sharpness[reference])
        ratio *= cache[reference] / cache[i]
        if SMALLEST_RATIO < ratio < 1.0 / SMALLEST_RATIO:
            shift[i] = math.log(ratio)
        else:
            shift[i] = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i]) - base
        if falls_as_power(family):
            power[i] = math.exp(min(shift[i] / factor, LARGEST_DROP))
            excess[i] = math.expm1(min(shift[i] / factor, LARGEST_DROP))
    return Steepness(shift, power, excess)


@njit(cache=True)
def demand_of_powers(
    family: int,
    cache: Floats,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    steepness: Steepness,
    delta: float,
    rate: float,
) -> tuple[float, float]:
    """Return ``demand`` for a family with reach(d)² = e^{d/f} − 1."""
    factor = power_factor(family)
    base, bits, slope = math.expm1(delta / factor), 0.0, 0.0
    for i in range(len(cache)):
        square = steepness.power[i] * base + steepness.excess[i]
        if square <= 0:
            continue
        u = math.sqrt(square)
        y = anchor[i] + u / sharpness[i]
        if y <= floor[i]:
            continue
        if y >= 1.0:
            bits += cache[i] * (1.0 - floor[i])
            continue
        bits += cache[i] * (y - floor[i])
        slope += cache[i] * (1.0 + square) / (sharpness[i] * u)
    return bits, slope * rate / (2.0 * factor)


@njit(cache=True)
def demand(
    family: int,
    cache: Floats,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    steepness: Steepness,
    v: float,
) -> tuple[float, float]:
    """Return the bits above the floors at level v, and their derivative with respect to v."""
    delta, rate = drop(family, v), drop_rate(family, v)
    if falls_as_power(family) and delta < LARGEST_DROP:
        return demand_of_powers(family, cache, floor, sharpness, anchor, steepness, delta, rate)
    bits, slope = 0.0, 0.0
    for i in range(len(cache)):
        d = delta + steepness.shift[i]
        if d <= 0:
            continue
        u = reach(family, d)
        y = anchor[i] + u / sharpness[i]
        if y <= floor[i]:
            continue
        if y >= 1.0:
            bits += cache[i] * (1.0 - floor[i])
            continue
        bits += cache[i] * (y - floor[i])
        slope += cache[i] / sharpness[i] * rate / drop_rate(family, u)
    return bits, slope


@njit(cache=True)
def level_range(
    family: int, floor: Floats, sharpness: Floats, anchor: Floats, steepness: Steepness
) -> tuple[float, float]:
    """Return the levels v at which the first fraction leaves its floor and the last one reaches 1."""
    first, last = math.inf, 0.0
    if falls_as_power(family):
        for i in range(len(floor)):
            if steepness.power[i] < SMALLEST_RATIO:
                last = math.inf
                break
            below, above = sharpness[i] * (floor[i] - anchor[i]), sharpness[i] * (1.0 - anchor[i])
            first = min(first, (below * below - steepness.excess[i]) / steepness.power[i])
            last = max(last, (above * above - steepness.excess[i]) / steepness.power[i])
        if math.isfinite(last) and math.isfinite(first):
            low, high = math.sqrt(max(0.0, first)), math.sqrt(max(0.0, last))
            return low * (1.0 - 1e-15), high * (1.0 + 1e-15)
    first, last = math.inf, 0.0
    for i in range(len(floor)):
        first = min(first, drop(family, sharpness[i] * (floor[i] - anchor[i])) - steepness.shift[i])
        last = max(last, drop(family, sharpness[i] * (1.0 - anchor[i])) - steepness.shift[i])
    low, high = reach(family, first), reach(family, last)
    return low * (1.0 - 1e-15), high * (1.0 + 1e-15)


@njit(cache=True)
def place(
    family: int,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    steepness: Steepness,
    v: float,
    out: Floats,
) -> None:
    """Write the fractions at level v into ``out``, (N,), by the same formulae as ``demand``."""
    delta = drop(family, v)
    if not falls_as_power(family) or delta >= LARGEST_DROP:
        for i in range(len(floor)):
            d = delta + steepness.shift[i]
            y = anchor[i] + reach(family, d) / sharpness[i] if d > 0 else floor[i]
            out[i] = min(1.0, max(floor[i], y))
        return
    base = math.expm1(delta / power_factor(family))
    for i in range(len(floor)):
        square = steepness.power[i] * base + steepness.excess[i]
        y = anchor[i] + math.sqrt(square) / sharpness[i] if square > 0 else floor[i]
        out[i] = min(1.0, max(floor[i], y))
