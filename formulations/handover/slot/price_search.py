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

from formulations.handover.slot.demand import (
    Steepness,
    demand,
    level_range,
    place,
    relative_steepness,
    steepest,
)
from formulations.handover.utility import drop, log_peak

__all__ = ["fill"]

Floats = NDArray[np.float64]

CLOSED = 2e-15  # relative width at which a bracket cannot shrink further in double
MOST_EVALUATIONS = 400
NOISE = 5e-17  # of a budget and the root of the users' number: what a sum's rounding hides
SAMPLE = 250  # users that give a first guess
ROUGH = 1e-3  # relative width of its bracket


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
    steepness: Steepness,
    budget: float,
    low: float,
    high: float,
    v: float,
    closed: float,
) -> tuple[float, float, int]:
    """Return a bracket of the level whose demand is ``budget``, and the evaluations; v is tried first.

    The bracket's relative width is at most ``closed``, or as small as rounding allows.
    """
    width, step, evaluations, since = high - low, high - low, 0, 0
    while high - low > closed * high and evaluations < MOST_EVALUATIONS:
        bits, slope = demand(family, cache, floor, sharpness, anchor, steepness, v)
        evaluations += 1
        if bits <= budget:
            low = v
        if bits >= budget:
            high = v
        if abs(bits - budget) <= NOISE * math.sqrt(len(cache)) * budget:
            break
        newton = v + (budget - bits) / slope if slope > 0 else low - 1.0
        since += 1
        # Newton's steps from one side leave the bracket's other end where it was; that is no stall.
        stalled = since >= 4 and high - low > 0.25 * width and abs(newton - v) > 0.25 * step
        if since >= 4:
            width, step, since = high - low, abs(newton - v), 0
        new = next_level(v, newton, low, high, stalled)
        if not low < new < high:
            break
        v = new
    return low, high, evaluations


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
def price_at(
    family: int, cache: Floats, ceiling: Floats, sharpness: Floats, reference: int, v: float
) -> float:
    """Return the price θ = A_r'(τ_r + v/k_r) / L_r, accuracy per bit."""
    peak = log_peak(family, ceiling[reference], sharpness[reference])
    return math.exp(peak - math.log(cache[reference]) - drop(family, v))


@njit(cache=True)
def sampled_level(
    family: int,
    cache: Floats,
    floor: Floats,
    sharpness: Floats,
    anchor: Floats,
    steepness: Steepness,
    part: float,
    low: float,
    high: float,
) -> float:
    """Return about the level at which every so-many-th user uses ``part`` of its room; −1 for few users."""
    stride = len(cache) // SAMPLE
    if stride < 2:
        return -1.0
    bits, base = cache[::stride].copy(), floor[::stride].copy()
    some = Steepness(
        steepness.shift[::stride].copy(), steepness.power[::stride].copy(), steepness.excess[::stride].copy()
    )
    curve = (sharpness[::stride].copy(), anchor[::stride].copy(), some)
    budget = part * np.sum(bits * (1.0 - base))
    below, above, _ = narrow(family, bits, base, *curve, budget, low, high, 0.5 * (low + high), ROUGH)
    return 0.5 * (below + above)


@njit(cache=True)
def settle(
    family: int,
    cache: Floats,
    floor: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    steepness: Steepness,
    budget: float,
    reference: int,
    low: float,
    high: float,
    guess: float,
    below: Floats,
    above: Floats,
) -> tuple[float, int]:
    """Close the bracket [low, high] and write the fractions at its ends; return price and evaluations."""
    start = 0.5 * (low + high) if guess < low or guess > high else guess
    low, high, evaluations = narrow(
        family, cache, floor, sharpness, anchor, steepness, budget, low, high, start, CLOSED
    )
    place(family, floor, sharpness, anchor, steepness, low, below)
    place(family, floor, sharpness, anchor, steepness, high, above)
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
    y, above = floor.copy(), np.ones(n)
    room = 0.0
    for i in range(n):
        room += cache[i] * (1.0 - floor[i])
    if n == 0 or room <= budget:
        return above, 0.0, 0
    reference = steepest(family, cache, ceiling, sharpness)
    steepness = relative_steepness(family, cache, ceiling, sharpness, reference)
    low, high = level_range(family, floor, sharpness, anchor, steepness)
    if budget <= 0:
        return y, price_at(family, cache, ceiling, sharpness, reference, low), 0
    guess = sampled_level(family, cache, floor, sharpness, anchor, steepness, budget / room, low, high)
    ends = (low, high, guess)
    price, evaluations = settle(
        family, cache, floor, ceiling, sharpness, anchor, steepness, budget, reference, *ends, y, above
    )
    for _ in range(2):
        # Where the bracket closed on another user's rise, that user's own level resolves what is left of it.
        mover = widest(cache, y, above)
        if mover == reference or cache[mover] * (above[mover] - y[mover]) <= 1e-12 * budget:
            break
        reference = mover
        steepness = relative_steepness(family, cache, ceiling, sharpness, reference)
        low = sharpness[reference] * max(0.0, y[reference] - anchor[reference])
        high = sharpness[reference] * (above[reference] - anchor[reference])
        if demand(family, cache, floor, sharpness, anchor, steepness, low)[0] > budget:
            break
        if demand(family, cache, floor, sharpness, anchor, steepness, high)[0] < budget:
            break
        ends = (low, high, -1.0)
        price, used = settle(
            family, cache, floor, ceiling, sharpness, anchor, steepness, budget, reference, *ends, y, above
        )
        evaluations += used
    blend(cache, floor, y, above, budget)
    return y, price, evaluations
