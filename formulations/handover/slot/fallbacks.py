"""What to do in a slot that cannot lift every user to its anchor: fallbacks, and readings of "no admission".

A slot is feasible if C ≥ C_min = Σ L_i [τ_i − x_i]⁺ (Lemma 1), where a relative 10⁻¹² is left for rounding.
Kernels have the signature ``(family, cache, received, ceiling, sharpness, anchor, capacity) -> bits``; users
with received ≥ 1 − 10⁻¹² have finished and take no part. A user is below its anchor if x_i < τ_i (1 − 10⁻¹²):
one that an earlier slot lifted to its anchor may be a unit of rounding short of it.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.price_search import fill
from formulations.handover.slot.shares import FINISHED, ascending, level_off
from formulations.handover.utility import drop, log_peak, reach

__all__ = ["FALLBACKS", "READINGS"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FALLBACKS = ("eb", "wta", "drop-lowest", "exact")
READINGS = ("bisect", "scaled", "arrival-order", "equal-bytes", "nothing")
ROUNDING = 1e-12


@njit(cache=True)
def is_below(received: float, anchor: float) -> bool:
    """Return whether a fraction is below its anchor by more than rounding."""
    return received < anchor * (1.0 - ROUNDING)


@njit(cache=True, fastmath={"reassoc"})
def minimum_bits(cache: Floats, received: Floats, anchor: Floats) -> float:
    """Return C_min, the bits that lift every user to its anchor (Lemma 1)."""
    total = 0.0
    for i in range(len(cache)):
        total += cache[i] * max(0.0, anchor[i] - received[i])
    return total


@njit(cache=True)
def feasible(cache: Floats, received: Floats, anchor: Floats, capacity: float) -> bool:
    """Return whether the slot can lift every user to its anchor."""
    return capacity >= minimum_bits(cache, received, anchor) * (1.0 - ROUNDING)


@njit(cache=True)
def water_fill_some(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
    chosen: Ints,
) -> Floats:
    """Return the bits, (N,), of Theorem 1 among the ``chosen`` users, who must fit; others get 0."""
    bits = np.zeros(len(cache))
    floor = np.maximum(received[chosen], anchor[chosen])
    lift = cache[chosen] * (floor - received[chosen])
    y, _, _, _ = fill(
        family,
        cache[chosen],
        floor,
        ceiling[chosen],
        sharpness[chosen],
        anchor[chosen],
        capacity - np.sum(lift),
    )
    for j in range(len(chosen)):
        bits[chosen[j]] = lift[j] + cache[chosen[j]] * (y[j] - floor[j])
    return bits


@njit(cache=True)
def equalised_bytes(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
) -> Floats:
    """Share C equally among the users below their anchor, capped at the cache, freed capacity redistributed.

    Section V-B of the paper (EB); users at or above their anchor get nothing. O(N log N).
    """
    upper = np.zeros(len(cache))
    for i in range(len(cache)):
        if is_below(received[i], anchor[i]) and received[i] < FINISHED:
            upper[i] = cache[i] * (1.0 - received[i])
    return level_off(np.zeros(len(cache)), upper, capacity)


@njit(cache=True)
def drop_lowest(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
) -> Floats:
    """Leave out the sub-anchor users of smallest peak slope per bit until the others fit; water-fill those.

    Of equal ones the last index is left out first; users at or above their anchor take part. Where no
    sub-anchor user fits, bytes are equalised. O(N log N) and a water-filling.
    """
    n = len(cache)
    steepness = np.empty(n)
    for i in range(n):
        steepness[i] = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i])
    order = ascending(-steepness)
    keep, needed, lifted = np.ones(n, dtype=np.bool_), 0.0, 0
    for i in order:
        if is_below(received[i], anchor[i]):
            needed += cache[i] * (anchor[i] - received[i])
            keep[i] = capacity >= needed * (1.0 - ROUNDING)
            lifted += keep[i]
    if lifted == 0:
        return equalised_bytes(family, cache, received, ceiling, sharpness, anchor, capacity)
    chosen = np.flatnonzero(keep & (received < FINISHED))
    return water_fill_some(family, cache, received, ceiling, sharpness, anchor, capacity, chosen)


@njit(cache=True)
def total_at(
    family: int,
    cache: Floats,
    received: Floats,
    sharpness: Floats,
    anchor: Floats,
    shift: Floats,
    entry: Floats,
    delta: float,
    bits: Floats,
) -> float:
    """Write the demand without the floor at price θ_max e^{−δ} into ``bits``, (N,), and return its sum."""
    total = 0.0
    for i in range(len(cache)):
        bits[i] = 0.0
        if entry[i] < delta and received[i] < FINISHED:
            y = anchor[i] + reach(family, delta + shift[i]) / sharpness[i]
            floor = max(received[i], anchor[i])
            bits[i] = cache[i] * (min(1.0, max(floor, y)) - received[i])
        total += bits[i]
    return total


@njit(cache=True)
def jumping_demand(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
) -> Floats:
    """Search the price with the floor removed; the smallest θ whose demand is at most C, the rest is lost.

    User i asks for nothing while θ L_i ≥ A_i'(max(x_i, τ_i)) and for the clipped inverse below that, so its
    demand jumps by L_i [τ_i − x_i]⁺. With the users sorted by the price at which they enter, the answer
    either lies between two entries, where it is a water-filling of those who have entered, or at an entry's
    price. O(N log N) and a water-filling.
    """
    n = len(cache)
    shift, entry, bits = np.empty(n), np.empty(n), np.zeros(n)
    for i in range(n):
        shift[i] = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i])
    shift -= np.max(shift) if n > 0 else 0.0
    for i in range(n):
        entry[i] = drop(family, sharpness[i] * max(0.0, received[i] - anchor[i])) - shift[i]
    order = ascending(entry)
    below, above = -1, n  # positions in ``order``: demand at the entry's price fits, or does not
    while above - below > 1:
        middle = (below + above) // 2
        delta = entry[order[middle]]
        used = total_at(family, cache, received, sharpness, anchor, shift, entry, delta, bits)
        if used <= capacity:
            below = middle
        else:
            above = middle
    if below < 0:
        return np.zeros(n)
    delta = entry[order[below]]
    entered = np.flatnonzero((entry <= delta) & (received < FINISHED))
    floor = np.maximum(received[entered], anchor[entered])
    # Just below this price the users who enter here ask for their lift, the others for what they had.
    lifted = total_at(family, cache, received, sharpness, anchor, shift, entry, delta, bits)
    for j in range(len(entered)):
        if entry[entered[j]] == delta:
            lifted += cache[entered[j]] * (floor[j] - received[entered[j]])
    if lifted <= capacity:
        return water_fill_some(family, cache, received, ceiling, sharpness, anchor, capacity, entered)
    return bits


@njit(cache=True)
def scaled_demand(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
) -> Floats:
    """Scale the bits to the anchor down to the budget: C L_i [τ_i − x_i]⁺ / C_min."""
    needed = minimum_bits(cache, received, anchor)
    factor = min(1.0, capacity / needed) if needed > 0 else 0.0
    return cache * np.maximum(anchor - received, 0.0) * factor


@njit(cache=True)
def listed_order(
    family: int,
    cache: Floats,
    received: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    capacity: float,
) -> Floats:
    """Lift the users to their anchors in the order in which they are listed, until the budget is used up."""
    bits, left = np.zeros(len(cache)), capacity
    for i in range(len(cache)):
        bits[i] = min(left, cache[i] * max(0.0, anchor[i] - received[i]))
        left -= bits[i]
    return bits
