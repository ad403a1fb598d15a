"""Policies that know nothing of anchors: equal shares, winner-take-all, proportional fair.

Kernels go from a slot's columns to bits, (N,); users with received ≥ 1 − 10⁻¹² have finished and take no
part.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.claim import call, claimed, flag, no_more_options
from formulations.handover.slot.columns import Slot
from formulations.handover.utility import value
from formulations.result import Limits, Result
from instances.handover import SlotInstance

__all__ = ["solve_equal", "solve_proportional_fair", "solve_winner_take_all"]

Floats = NDArray[np.float64]

FINISHED = 1.0 - 1e-12  # received fraction from which a user is served


@njit(cache=True)
def ascending(values: Floats) -> NDArray[np.int64]:
    """Return the order of ``values``, ties by index; one place, so that it is compiled once."""
    return np.argsort(values, kind="mergesort")


@njit(cache=True)
def level_off(lower: Floats, upper: Floats, amount: float) -> Floats:
    """Return max(0, min(upper, level) − lower), (N,), for the level at which the sum is ``amount``.

    Water rises over floors ``lower`` up to lids ``upper``; O(N log N) by sweeping the sorted ends. Everything
    is filled if ``amount`` exceeds the room.
    """
    n = len(lower)
    ends = np.concatenate((lower, upper))
    order = ascending(ends)
    level, open_users, left = 0.0, 0, amount
    for k in order:
        if open_users > 0:
            needed = open_users * (ends[k] - level)
            if needed >= left:
                level += left / open_users
                left = 0.0
                break
            left -= needed
        level = ends[k]
        open_users += 1 if k < n else -1
    out = np.zeros(n)
    for i in range(n):
        out[i] = max(0.0, min(upper[i], level) - lower[i])
    return out


@njit(cache=True)
def level_among(slot: Slot, member: NDArray[np.bool_]) -> Floats:
    """Give equal bits to each member, (N,), capped at what it still needs; freed capacity is shared."""
    needed = np.where(member, slot.cache * (1.0 - slot.received), 0.0)
    return level_off(np.zeros(len(needed)), needed, slot.capacity)


@njit(cache=True)
def equal(slot: Slot) -> Floats:
    """Give C/N bits each, capped at the remaining cache; what is freed is lost."""
    active = 0
    for i in range(len(slot.cache)):
        active += slot.received[i] < FINISHED
    bits = np.zeros(len(slot.cache))
    for i in range(len(slot.cache)):
        if slot.received[i] < FINISHED:
            bits[i] = min(slot.capacity / active, slot.cache[i] * (1.0 - slot.received[i]))
    return bits


@njit(cache=True)
def equal_redistributed(slot: Slot) -> Floats:
    """Give equal bits to each, capped at the remaining cache; what is freed is shared among the others."""
    return level_among(slot, slot.received < FINISHED)


@njit(cache=True)
def winner_take_all(slot: Slot) -> Floats:
    """Give all that is left to the user with the largest gain, then the next (cascading); O(N²) at worst.

    The gain of user i is A_i(min(1, x_i + c/L_i)) − A_i(x_i) for the capacity c that is left; the first index
    wins a tie.
    """
    n = len(slot.cache)
    bits, taken, left = np.zeros(n), np.zeros(n, dtype=np.bool_), slot.capacity
    while left > 0:
        best, most = -1, 0.0
        for i in range(n):
            if taken[i] or slot.received[i] >= FINISHED:
                continue
            reached = min(1.0, slot.received[i] + left / slot.cache[i])
            gain = value(slot.family, slot.ceiling[i], slot.sharpness[i], slot.anchor[i], reached)
            gain -= value(slot.family, slot.ceiling[i], slot.sharpness[i], slot.anchor[i], slot.received[i])
            if best < 0 or gain > most:
                best, most = i, gain
        if best < 0:
            break
        taken[best] = True
        bits[best] = min(left, slot.cache[best] * (1.0 - slot.received[best]))
        left -= bits[best]
    return bits


@njit(cache=True)
def proportional_fair(slot: Slot) -> Floats:
    """Maximise Σ log(L_i y_i): a common level on the cumulative bits L_i y_i, capped at L_i; O(N log N)."""
    lower, upper = np.zeros(len(slot.cache)), np.zeros(len(slot.cache))
    for i in range(len(slot.cache)):
        if slot.received[i] < FINISHED:
            lower[i], upper[i] = slot.cache[i] * slot.received[i], slot.cache[i]
    return level_off(lower, upper, slot.capacity)


def solve_equal(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, redistribute: Any = False, **options: Any
) -> Result:
    """Share the slot equally (EA), C/N bits each, capped at the remaining cache.

    Parameters
    ----------
    instance
        One slot.
    limits, seed
        Part of the method contract; the policy takes O(N) or O(N log N) and draws nothing.
    redistribute
        Whether capacity freed by the cap goes to the others.

    Raises
    ------
    InputError
        For an unknown option or option value.
    """
    no_more_options("equal", options)
    kernel = equal_redistributed if flag("redistribute", redistribute) else equal
    return claimed(instance, call(kernel, instance))


def solve_winner_take_all(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Give the slot to the user with the largest gain, then the next (WTA, cascading).

    Takes O(N) a user served; ``limits`` and ``seed`` are unused. Raises ``InputError`` for an unknown option.
    """
    no_more_options("winner-take-all", options)
    return claimed(instance, call(winner_take_all, instance))


def solve_proportional_fair(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Maximise Σ log(L_i y_i) over the slot (PF): a common level on the cumulative bits.

    Takes O(N log N); ``limits`` and ``seed`` are unused. Raises ``InputError`` for an unknown option.
    """
    no_more_options("proportional-fair", options)
    return claimed(instance, call(proportional_fair, instance))
