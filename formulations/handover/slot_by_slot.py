"""A slot policy applied in every slot of a horizon: who is active, what each receives, who leaves.

A user is active from its first slot to its last one, and leaves earlier when it has finished (x ≥ 1 − 10⁻¹²).
In each slot the policy sees the active users in the order of their indices and shares C = B·Δt bits among
them; what it sends more than C or than the remaining cache by rounding is cut off. Cost: a policy's call a
slot.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.columns import Slot
from formulations.handover.slot.fallbacks import (
    drop_lowest,
    equalised_bytes,
    feasible,
    jumping_demand,
    listed_order,
    scaled_demand,
)
from formulations.handover.slot.shares import (
    FINISHED,
    ascending,
    equal,
    equal_redistributed,
    proportional_fair,
    winner_take_all,
)
from formulations.handover.slot.water_filling import water_filling

__all__ = ["POLICY_CODES", "arrivals_until", "lengthened", "present", "run", "step_through", "trim"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

EB, WTA, DROP_LOWEST, BISECT, SCALED, ARRIVAL_ORDER, EQUAL_BYTES, NOTHING = range(8)
EQUAL, EQUAL_REDISTRIBUTED, WINNER_TAKE_ALL, PROPORTIONAL_FAIR = range(8, 12)
POLICY_CODES = {
    "eb": EB,
    "wta": WTA,
    "drop-lowest": DROP_LOWEST,
    "bisect": BISECT,
    "scaled": SCALED,
    "arrival-order": ARRIVAL_ORDER,
    "equal-bytes": EQUAL_BYTES,
    "nothing": NOTHING,
    "equal": EQUAL,
    "equal-redistributed": EQUAL_REDISTRIBUTED,
    "winner-take-all": WINNER_TAKE_ALL,
    "proportional-fair": PROPORTIONAL_FAIR,
}


@njit(cache=True)
def share(policy: int, slot: Slot) -> Floats:
    """Return the bits, (N,), that the policy of this code gives in one slot."""
    if policy < EQUAL and feasible(slot):
        return water_filling(slot)
    if policy == EB:
        return equalised_bytes(slot)
    if policy in (WTA, WINNER_TAKE_ALL):
        return winner_take_all(slot)
    if policy == DROP_LOWEST:
        return drop_lowest(slot)
    if policy == BISECT:
        return jumping_demand(slot)
    if policy == SCALED:
        return scaled_demand(slot)
    if policy == ARRIVAL_ORDER:
        return listed_order(slot)
    if policy in (EQUAL_BYTES, EQUAL):
        return equal(slot)
    if policy == EQUAL_REDISTRIBUTED:
        return equal_redistributed(slot)
    if policy == PROPORTIONAL_FAIR:
        return proportional_fair(slot)
    return np.zeros(len(slot.cache))


@njit(cache=True)
def trim(bits: Floats, room: Floats, capacity: float) -> float:
    """Cut ``bits``, (N,) in place, to the remaining caches and to the slot's budget; return their sum."""
    total = 0.0
    for i in range(len(bits)):
        bits[i] = max(0.0, min(bits[i], room[i]))
        total += bits[i]
    if total > capacity:
        factor = capacity / total * (1.0 - 1e-15)
        for i in range(len(bits)):
            bits[i] *= factor
    return total


@njit(cache=True)
def lengthened(array: Any) -> Any:
    """Return a copy of twice the length."""
    out = np.empty(2 * len(array) + 16, dtype=array.dtype)
    out[: len(array)] = array
    return out


@njit(cache=True)
def present(
    active: Ints, arrived: Ints, rank: Floats, sent: Floats, cache: Floats, end: Ints, slot: int
) -> Ints:
    """Return the users in ``slot``: the active and the arrived ones, by rank, without those who have left."""
    users = active
    if len(arrived) > 0:
        users = np.concatenate((active, arrived))
        users = users[ascending(rank[users])]
    keep = np.empty(len(users), dtype=np.bool_)
    for k in range(len(users)):
        i = users[k]
        keep[k] = slot < end[i] and sent[i] / cache[i] < FINISHED
    return users[keep]


@njit(cache=True)
def arrivals_until(slot: int, first: Ints, order: Ints, waiting: int) -> int:
    """Return how many users of ``order`` have arrived by ``slot``; ``waiting`` had before."""
    while waiting < len(order) and first[order[waiting]] <= slot:
        waiting += 1
    return waiting


@njit(cache=True)
def next_event(slot: int, active: Ints, end: Ints, first: Ints, order: Ints, waiting: int) -> int:
    """Return the next slot, at least ``slot``, in which somebody arrives or leaves."""
    event = int(np.min(end[active]))
    if waiting < len(order):
        event = min(event, int(first[order[waiting]]))
    return max(slot, event)


@njit(cache=True)
def run(
    policy: int,
    family: int,
    cache: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    first: Ints,
    end: Ints,
    tail: Floats,
    order: Ints,
    rank: Floats,
    capacity: float,
) -> tuple[Ints, Ints, Floats, Floats, int]:
    """Simulate the horizon.

    Parameters
    ----------
    policy, family
        Codes of the policy and of the utility.
    cache, ceiling, sharpness, anchor
        L_i (bit), M_i, k_i (per fraction), τ_i (fraction), (N,) each.
    first, end
        First slot of each user and the slot after its last, (N,) each.
    tail
        Share of its last slot in which each user still receives, (N,); the rest of its bits is lost.
    order
        Users by first slot, (N,).
    rank
        Position at which the policy sees each user among the active ones, (N,).
    capacity
        C, bit a slot.

    Returns
    -------
    User, slot and bits of each positive transmission, (E,) each; bits sent to each user, (N,); slots in
    which the policy was called.
    """
    n = len(cache)
    user, at, amount = np.empty(4 * n, np.int64), np.empty(4 * n, np.int64), np.empty(4 * n)
    sent, active = np.zeros(n), np.empty(0, np.int64)
    entries, waiting, slot, called = 0, 0, 0, 0
    while waiting < n or len(active) > 0:
        if len(active) == 0:
            slot = max(slot, first[order[waiting]])
        known, waiting = waiting, arrivals_until(slot, first, order, waiting)
        active = present(active, order[known:waiting], rank, sent, cache, end, slot)
        if len(active) == 0:
            continue
        room = cache[active] - sent[active]
        received = sent[active] / cache[active]
        curve = (ceiling[active], sharpness[active], anchor[active])
        bits = share(policy, Slot(family, cache[active], received, *curve, capacity))
        total = trim(bits, room, capacity)
        called += 1
        for k in range(len(active)):
            if slot == end[active[k]] - 1:
                bits[k] *= tail[active[k]]
            if bits[k] > 0:
                if entries == len(user):
                    user, at, amount = lengthened(user), lengthened(at), lengthened(amount)
                user[entries], at[entries], amount[entries] = active[k], slot, bits[k]
                sent[active[k]] += bits[k]
                entries += 1
        slot += 1
        if total <= 0:
            slot = next_event(slot, active, end, first, order, waiting)  # nothing changes before it
    return user[:entries], at[:entries], amount[:entries], sent, called


def step_through(
    decide: Callable[[int, Ints, Floats, int], Floats],
    cache: Floats,
    first: Ints,
    end: Ints,
    tail: Floats,
    order: Ints,
    capacity: float,
) -> tuple[Ints, Ints, Floats, Floats, int]:
    """Simulate the horizon as ``run`` does, for a policy that is called from here.

    A policy of many kernels would be compiled into ``run`` once more; a slot costs some ten microseconds more
    this way.

    Parameters
    ----------
    decide
        From the slot, the active users, the bits sent to every user, (N,), and the number of users of
        ``order`` that have arrived, to the bits of the active users.
    cache, first, end, tail, order, capacity
        As in ``run``.

    Returns
    -------
    As ``run``.
    """
    sent, active, rank = np.zeros(len(cache)), np.empty(0, np.int64), np.arange(float(len(cache)))
    entries: list[tuple[Ints, int, Floats]] = []
    waiting, slot = 0, 0
    while waiting < len(cache) or len(active) > 0:
        if len(active) == 0:
            slot = max(slot, int(first[order[waiting]]))
        known, waiting = waiting, arrivals_until(slot, first, order, waiting)
        active = present(active, order[known:waiting], rank, sent, cache, end, slot)
        if len(active) == 0:
            continue
        bits = decide(slot, active, sent, waiting)
        trim(bits, cache[active] - sent[active], capacity)
        bits *= np.where(end[active] - 1 == slot, tail[active], 1.0)
        sent[active] += bits
        entries.append((active, slot, bits))
        slot += 1
    return *_transmissions(entries), sent, len(entries)


def _transmissions(entries: list[tuple[Ints, int, Floats]]) -> tuple[Ints, Ints, Floats]:
    """Return user, slot and bits of the positive transmissions, (E,) each."""
    if not entries:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    user = np.concatenate([active for active, _, _ in entries])
    slot = np.concatenate([np.full(len(active), at, np.int64) for active, at, _ in entries])
    bits = np.concatenate([sent for _, _, sent in entries])
    return user[bits > 0], slot[bits > 0], bits[bits > 0]
