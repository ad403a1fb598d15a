"""Theorem 1's price: raise fractions above given floors at one price per bit until a budget is used up.

With c_i = log(A_i'(τ_i)/L_i) measured from a reference user r, a price θ = A_r'(τ_r)/L_r · exp(−δ) gives user
i the drop d_i = δ + c_i − c_r and the fraction y_i = τ_i + reach(d_i)/k_i, clipped to [floor_i, 1]. The
unknown is v = reach(δ), in which y_r is linear and the others almost so; d_i keeps its full relative
precision near the peak, which almost linear utilities (k = 10⁻⁶) need. No tolerance is absolute: θ may be
10⁻²² or 10⁻⁸ per bit.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import drop, drop_rate, log_peak, reach

__all__ = ["fill"]

Floats = NDArray[np.float64]

CLOSED = 2e-15  # relative width at which a bracket cannot shrink further in double
MOST_EVALUATIONS = 400


@njit(cache=True)
def relative_steepness(
    family: int, cache: Floats, ceiling: Floats, sharpness: Floats, reference: int, out: Floats
) -> None:
    """Write c_i − c_r into ``out``, (N,), from the ratio itself where that does not overflow."""
    base = log_peak(family, ceiling[reference], sharpness[reference]) - math.log(cache[reference])
    for i in range(len(cache)):
        ratio = (ceiling[i] / ceiling[reference]) * (sharpness[i] / sharpness[reference])
        ratio *= cache[reference] / cache[i]
        if 1e-200 < ratio < 1e200:
            out[i] = math.log(ratio)
        else:
            out[i] = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i]) - base


@njit(cache=True)
def fraction_at(family: int, sharpness: float, anchor: float, floor: float, d: float) -> float:
    """Return the concave side's point with drop ``d``, clipped to [floor, 1]."""
    if d <= 0:
        return floor
    return min(1.0, max(floor, anchor + reach(family, d) / sharpness))


@njit(cache=True)
def demand(
    family: int,
    cache: Floats,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    shift: Floats,
    v: float,
) -> tuple[float, float]:
    """Return the bits above the floors at level v, and their derivative with respect to v."""
    delta, rate = drop(family, v), drop_rate(family, v)
    bits, slope = 0.0, 0.0
    for i in range(len(cache)):
        d = delta + shift[i]
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
def next_level(v: float, newton: float, low: float, high: float, stalled: bool) -> float:
    """Return the next v inside (low, high): Newton's, stepping just beyond the root when it is near.

    The step beyond closes the far side of the bracket, which Newton alone would leave where it was.
    """
    step = newton - v
    if abs(step) < 1e-3 * abs(v):
        newton += math.copysign(max(1e-2 * abs(step), 2e-16 * abs(v)), step)
    if low < newton < high and not stalled:
        return newton
    if low > 0 and high > 4.0 * low:
        return math.sqrt(low) * math.sqrt(high)
    if low == 0 and stalled:
        return 1e-2 * high
    return 0.5 * (low + high)


@njit(cache=True)
def narrow(
    family: int,
    cache: Floats,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    shift: Floats,
    budget: float,
    low: float,
    high: float,
) -> tuple[float, float, int]:
    """Return a bracket of the level v whose demand is ``budget``, closed to rounding, and the evaluations."""
    v, width, evaluations, since = 0.5 * (low + high), high - low, 0, 0
    while high - low > CLOSED * high and evaluations < MOST_EVALUATIONS:
        bits, slope = demand(family, cache, floor, sharpness, anchor, shift, v)
        evaluations += 1
        if bits <= budget:
            low = v
        if bits >= budget:
            high = v
        since += 1
        stalled = since >= 4 and high - low > 0.25 * width
        if since >= 4:
            width, since = high - low, 0
        newton = v + (budget - bits) / slope if slope > 0 else low - 1.0
        new = next_level(v, newton, low, high, stalled)
        if not low < new < high:
            break
        v = new
    return low, high, evaluations


@njit(cache=True)
def level_range(
    family: int, floor: Floats, sharpness: Floats, anchor: Floats, shift: Floats
) -> tuple[float, float]:
    """Return the levels v at which the first fraction leaves its floor and the last one reaches 1."""
    first, last = math.inf, 0.0
    for i in range(len(floor)):
        first = min(first, drop(family, sharpness[i] * (floor[i] - anchor[i])) - shift[i])
        last = max(last, drop(family, sharpness[i] * (1.0 - anchor[i])) - shift[i])
    low, high = reach(family, first), reach(family, last)
    return low * (1.0 - 1e-15), high * (1.0 + 1e-15)


@njit(cache=True)
def place(
    family: int,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    shift: Floats,
    v: float,
    out: Floats,
) -> None:
    """Write the fractions at level v into ``out``, (N,)."""
    delta = drop(family, v)
    for i in range(len(floor)):
        out[i] = fraction_at(family, sharpness[i], anchor[i], floor[i], delta + shift[i])


@njit(cache=True)
def widest(cache: Floats, below: Floats, above: Floats) -> int:
    """Return the user whose bits differ most between two placements."""
    best, most = 0, -1.0
    for i in range(len(cache)):
        spread = cache[i] * (above[i] - below[i])
        if spread > most:
            best, most = i, spread
    return best


@njit(cache=True)
def blend(cache: Floats, floor: Floats, below: Floats, above: Floats, budget: float) -> None:
    """Interpolate between the bracket's ends, into ``below``, so that the budget is met to rounding."""
    spread, used = 0.0, 0.0
    for i in range(len(cache)):
        spread += cache[i] * (above[i] - below[i])
        used += cache[i] * (below[i] - floor[i])
    weight = min(1.0, max(0.0, (budget - used) / spread)) if spread > 0 else 0.0
    for i in range(len(cache)):
        below[i] += weight * (above[i] - below[i])


@njit(cache=True)
def steepest(family: int, cache: Floats, ceiling: Floats, sharpness: Floats) -> int:
    """Return the user whose slope per bit at its anchor is largest."""
    best, most = 0, -math.inf
    for i in range(len(cache)):
        steepness = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i])
        if steepness > most:
            best, most = i, steepness
    return best


@njit(cache=True)
def price_at(
    family: int, cache: Floats, ceiling: Floats, sharpness: Floats, reference: int, v: float
) -> float:
    """Return the price θ = A_r'(τ_r + v/k_r) / L_r, accuracy per bit."""
    peak = log_peak(family, ceiling[reference], sharpness[reference])
    return math.exp(peak - math.log(cache[reference]) - drop(family, v))


@njit(cache=True)
def settle(
    family: int,
    cache: Floats,
    floor: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    shift: Floats,
    budget: float,
    reference: int,
    low: float,
    high: float,
    below: Floats,
    above: Floats,
) -> tuple[float, int]:
    """Close the bracket [low, high] and write the fractions at its ends; return price and evaluations."""
    low, high, evaluations = narrow(family, cache, floor, sharpness, anchor, shift, budget, low, high)
    place(family, floor, sharpness, anchor, shift, low, below)
    place(family, floor, sharpness, anchor, shift, high, above)
    return price_at(family, cache, ceiling, sharpness, reference, high), evaluations


@njit(cache=True)
def fill(
    family: int,
    cache: Floats,
    floor: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    budget: float,
) -> tuple[Floats, float, int]:
    """Maximise Σ A_i(y_i) over floor_i ≤ y_i ≤ 1, Σ L_i (y_i − floor_i) ≤ budget.

    Parameters
    ----------
    family
        Code of the utility family.
    cache
        L_i, (N,) bit.
    floor
        (N,) fraction, at least the anchor τ_i, so that the problem is concave.
    ceiling, sharpness, anchor
        M_i, k_i (per fraction), τ_i (fraction), (N,) each.
    budget
        Bits that may be sent above the floors.

    Returns
    -------
    The fractions y, (N,); the price θ, accuracy per bit, 0 when everything fits; the number of demand
    evaluations, O(N) each.
    """
    n = len(cache)
    y, above, shift = floor.copy(), np.ones(n), np.empty(n)
    room = 0.0
    for i in range(n):
        room += cache[i] * (1.0 - floor[i])
    if n == 0 or room <= budget:
        return above, 0.0, 0
    reference = steepest(family, cache, ceiling, sharpness)
    relative_steepness(family, cache, ceiling, sharpness, reference, shift)
    low, high = level_range(family, floor, sharpness, anchor, shift)
    if budget <= 0:
        return y, price_at(family, cache, ceiling, sharpness, reference, low), 0
    price, evaluations = settle(
        family, cache, floor, ceiling, sharpness, anchor, shift, budget, reference, low, high, y, above
    )
    for _ in range(2):
        # Where the bracket closed on another user's rise, that user's own level resolves what is left of it.
        mover = widest(cache, y, above)
        if mover == reference or cache[mover] * (above[mover] - y[mover]) <= 1e-12 * budget:
            break
        reference = mover
        relative_steepness(family, cache, ceiling, sharpness, reference, shift)
        low = sharpness[reference] * max(0.0, y[reference] - anchor[reference])
        high = sharpness[reference] * (above[reference] - anchor[reference])
        if demand(family, cache, floor, sharpness, anchor, shift, low)[0] > budget:
            break
        if demand(family, cache, floor, sharpness, anchor, shift, high)[0] < budget:
            break
        price, used = settle(
            family, cache, floor, ceiling, sharpness, anchor, shift, budget, reference, low, high, y, above
        )
        evaluations += used
    blend(cache, floor, y, above, budget)
    return y, price, evaluations
