"""What to do in a slot that cannot lift every user to its anchor: fallbacks, and readings of "no admission".

A slot is feasible if C ≥ C_min = Σ L_i [τ_i − x_i]⁺ (Lemma 1), where a relative 10⁻¹² is left for rounding.
Kernels go from a slot's columns to bits, (N,); users with received ≥ 1 − 10⁻¹² have finished and take no
part. A user is below its anchor if x_i < τ_i (1 − 10⁻¹²): one that an earlier slot lifted to its anchor may
be a unit of rounding short of it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.columns import Slot, log_steepness
from formulations.handover.slot.price_search import fill
from formulations.handover.slot.shares import FINISHED, ascending, level_among
from formulations.handover.utility import drop, reach

__all__ = ["FALLBACKS", "READINGS"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FALLBACKS = ("eb", "wta", "drop-lowest", "exact")
READINGS = ("bisect", "scaled", "arrival-order", "equal-bytes", "nothing")
ROUNDING = 1e-12


@njit(cache=True, fastmath={"reassoc"})
def minimum_bits(slot: Slot) -> float:
    """Return C_min, the bits that lift every user to its anchor (Lemma 1)."""
    total = 0.0
    for i in range(len(slot.cache)):
        total += slot.cache[i] * max(0.0, slot.anchor[i] - slot.received[i])
    return total


@njit(cache=True)
def feasible(slot: Slot) -> bool:
    """Return whether the slot can lift every user to its anchor."""
    return bool(slot.capacity >= minimum_bits(slot) * (1.0 - ROUNDING))


@njit(cache=True)
def water_fill_some(slot: Slot, chosen: Ints) -> Floats:
    """Return the bits, (N,), of Theorem 1 among the ``chosen`` users, who must fit; others get 0."""
    bits = np.zeros(len(slot.cache))
    floor = np.maximum(slot.received[chosen], slot.anchor[chosen])
    lift = slot.cache[chosen] * (floor - slot.received[chosen])
    y, _, _, _ = fill(
        slot.family,
        slot.cache[chosen],
        floor,
        slot.ceiling[chosen],
        slot.sharpness[chosen],
        slot.anchor[chosen],
        slot.capacity - np.sum(lift),
    )
    for j in range(len(chosen)):
        bits[chosen[j]] = lift[j] + slot.cache[chosen[j]] * (y[j] - floor[j])
    return bits


@njit(cache=True)
def equalised_bytes(slot: Slot) -> Floats:
    """Share C equally among the users below their anchor, capped at the cache, freed capacity redistributed.

    Section V-B of the paper (EB); users at or above their anchor get nothing. O(N log N).
    """
    below = slot.received < slot.anchor * (1.0 - ROUNDING)
    return level_among(slot, below & (slot.received < FINISHED))


@njit(cache=True)
def drop_lowest(slot: Slot) -> Floats:
    """Leave out the sub-anchor users of smallest peak slope per bit until the others fit; water-fill those.

    Of equal ones the last index is left out first; users at or above their anchor take part. Where no
    sub-anchor user fits, bytes are equalised. O(N log N) and a water-filling.
    """
    n = len(slot.cache)
    steepness = np.empty(n)
    for i in range(n):
        steepness[i] = log_steepness(slot, i)
    order = ascending(-steepness)
    keep, needed, lifted = np.ones(n, dtype=np.bool_), 0.0, 0
    for i in order:
        if slot.received[i] < slot.anchor[i] * (1.0 - ROUNDING):
            needed += slot.cache[i] * (slot.anchor[i] - slot.received[i])
            keep[i] = slot.capacity >= needed * (1.0 - ROUNDING)
            lifted += keep[i]
    if lifted == 0:
        return equalised_bytes(slot)
    chosen = np.flatnonzero(keep & (slot.received < FINISHED))
    return water_fill_some(slot, chosen)


@njit(cache=True)
def total_at(slot: Slot, shift: Floats, entry: Floats, delta: float, bits: Floats) -> float:
    """Write the demand without the floor at price θ_max e^{−δ} into ``bits``, (N,), and return its sum."""
    total = 0.0
    for i in range(len(slot.cache)):
        bits[i] = 0.0
        if entry[i] < delta and slot.received[i] < FINISHED:
            y = slot.anchor[i] + reach(slot.family, delta + shift[i]) / slot.sharpness[i]
            floor = max(slot.received[i], slot.anchor[i])
            bits[i] = slot.cache[i] * (min(1.0, max(floor, y)) - slot.received[i])
        total += bits[i]
    return total


@njit(cache=True)
def jumping_demand(slot: Slot) -> Floats:
    """Search the price with the floor removed; the smallest θ whose demand is at most C, the rest is lost.

    User i asks for nothing while θ L_i ≥ A_i'(max(x_i, τ_i)) and for the clipped inverse below that, so its
    demand jumps by L_i [τ_i − x_i]⁺. With the users sorted by the price at which they enter, the answer
    either lies between two entries, where it is a water-filling of those who have entered, or at an entry's
    price. O(N log N) and a water-filling.
    """
    n = len(slot.cache)
    shift, entry, bits = np.empty(n), np.empty(n), np.zeros(n)
    for i in range(n):
        shift[i] = log_steepness(slot, i)
    shift -= np.max(shift) if n > 0 else 0.0
    for i in range(n):
        entry[i] = (
            drop(slot.family, slot.sharpness[i] * max(0.0, slot.received[i] - slot.anchor[i])) - shift[i]
        )
    order = ascending(entry)
    below, above = -1, n  # positions in ``order``: demand at the entry's price fits, or does not
    while above - below > 1:
        middle = (below + above) // 2
        delta = entry[order[middle]]
        used = total_at(slot, shift, entry, delta, bits)
        if used <= slot.capacity:
            below = middle
        else:
            above = middle
    if below < 0:
        return np.zeros(n)
    delta = entry[order[below]]
    entered = np.flatnonzero((entry <= delta) & (slot.received < FINISHED))
    floor = np.maximum(slot.received[entered], slot.anchor[entered])
    # Just below this price the users who enter here ask for their lift, the others for what they had.
    lifted = total_at(slot, shift, entry, delta, bits)
    for j in range(len(entered)):
        if entry[entered[j]] == delta:
            lifted += slot.cache[entered[j]] * (floor[j] - slot.received[entered[j]])
    if lifted <= slot.capacity:
        return water_fill_some(slot, entered)
    return bits


@njit(cache=True)
def scaled_demand(slot: Slot) -> Floats:
    """Scale the bits to the anchor down to the budget: C L_i [τ_i − x_i]⁺ / C_min."""
    needed = minimum_bits(slot)
    factor = min(1.0, slot.capacity / needed) if needed > 0 else 0.0
    return slot.cache * np.maximum(slot.anchor - slot.received, 0.0) * factor


@njit(cache=True)
def listed_order(slot: Slot) -> Floats:
    """Lift the users to their anchors in the order in which they are listed, until the budget is used up."""
    bits, left = np.zeros(len(slot.cache)), slot.capacity
    for i in range(len(slot.cache)):
        bits[i] = min(left, slot.cache[i] * max(0.0, slot.anchor[i] - slot.received[i]))
        left -= bits[i]
    return bits
