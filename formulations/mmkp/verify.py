"""Verifies prices as a bound on an MMKP's optimum, from scratch, in rationals.

Shares no code with the methods. For prices λ_k ≥ 0 and any feasible choice x,

    Σ_j v_j x_j ≤ Σ_k λ_k W_k + Σ_g max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk),

since each group takes one item and Σ_j w_jk x_j ≤ W_k: weak duality of the LP relaxation.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from instances.errors import InputError, number
from instances.mmkp import MmkpInstance

__all__ = ["exact_bound", "verified_bound"]


def verified_bound(instance: MmkpInstance, prices: Mapping[int | str, float]) -> float:
    """Return the smallest double that is at least ``exact_bound``; raises as that does."""
    bound = exact_bound(instance, prices)
    nearest = float(bound)
    return nearest if Fraction(nearest) >= bound else math.nextafter(nearest, math.inf)


def exact_bound(instance: MmkpInstance, prices: Mapping[int | str, float]) -> Fraction:
    """Return the bound that the prices prove, exactly.

    Parameters
    ----------
    instance
        The problem.
    prices
        Value for a unit of each resource, counted from 0, each the decimal that it prints as; a resource that
        is not listed costs nothing.

    Raises
    ------
    InputError
        For a resource that there is not, or a price that is not a finite number of at least 0.
    """
    listed = _checked(prices, instance.n_resources)
    total = sum((price * _exact(instance.capacities[k]) for k, price in listed.items()), Fraction(0))
    start = [int(s) for s in instance.group_start]
    for g in range(instance.n_groups):
        total += max(_surplus(instance, listed, j) for j in range(start[g], start[g + 1]))
    return total


def _surplus(instance: MmkpInstance, listed: dict[int, Fraction], j: int) -> Fraction:
    cost = sum((price * _exact(instance.weights[j, k]) for k, price in listed.items()), Fraction(0))
    return _exact(instance.values[j]) - cost


def _checked(prices: Mapping[int | str, float], resources: int) -> dict[int, Fraction]:
    listed: dict[int, Fraction] = {}
    for resource, price in prices.items():
        text = str(resource)
        if not (text.isascii() and text.isdigit()) or int(text) >= resources:
            raise InputError(f"prices: found resource {text[:20]!r}, expected 0 to {resources - 1}")
        if int(text) in listed:
            raise InputError(f"prices: resource {int(text)} is listed twice, expected once")
        listed[int(text)] = _exact(number(f"prices[{int(text)}]", price, low=0))
    return {k: price for k, price in listed.items() if price}


def _exact(value: float) -> Fraction:
    value = float(value)
    return Fraction(int(value)) if value.is_integer() and abs(value) < 2**53 else Fraction(repr(value))
