"""Receding horizon: in each slot a plan over the windows of those who are there, and its first slot.

The policy sees the users that have arrived, with their windows' ends. In each slot it maximises the sum of
their concave envelopes over the slots that are left to them (``envelope_plan``), and sends towards the
planned totals, the earliest deadline first. A plan over those present alone takes the coming slots for free,
so it sends too little to the urgent and too much to the patient; with a rate of arrivals, users like those
seen so far are expected in each coming slot and take part in the plan.
"""

from __future__ import annotations

import math
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope_plan import plan
from formulations.handover.slot.claim import no_more_options, one_of
from formulations.handover.slot.envelope import envelopes, filled
from formulations.handover.slot.shares import ascending
from formulations.handover.slot_by_slot import step_through
from formulations.handover.utility import CODES, values
from formulations.result import Limits, Result, Status
from instances.decisions import Schedule
from instances.errors import InputError, number
from instances.handover import HandoverTrace

__all__ = ["ARRIVALS", "solve_receding_horizon"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ARRIVALS = ("none", "learned", "mean")
REMEMBERED = 60  # last arrivals that expected users look like
MOST_TYPES = 6  # of them that differ
MOST_SLOTS = 12  # in which arrivals are expected
LEARNING_SLOTS = 50.0  # without arrivals, that a learned rate starts from
LEFT_OVER = 1e-9  # of a slot's capacity


class Horizon(NamedTuple):
    """The users of a horizon, one entry each."""

    cache: Floats  # (N,) L_i, bit
    ceiling: Floats  # (N,) M_i
    sharpness: Floats  # (N,) k_i, per fraction
    anchor: Floats  # (N,) τ_i, fraction
    first: Ints  # (N,) first slot
    end: Ints  # (N,) slot after the last


@njit(cache=True)
def alike(users: Horizon, i: int, j: int) -> bool:
    """Return whether two users have the same cache, curve and number of slots."""
    same_curve = users.ceiling[i] == users.ceiling[j] and users.sharpness[i] == users.sharpness[j]
    same_size = users.cache[i] == users.cache[j] and users.anchor[i] == users.anchor[j]
    same_slots = users.end[i] - users.first[i] == users.end[j] - users.first[j]
    return bool(same_curve and same_size and same_slots)


@njit(cache=True)
def types_of(users: Horizon, seen: Ints) -> tuple[Ints, Floats]:
    """Return representatives of the users in ``seen``, the latest first, and the share of each.

    A user unlike all ``MOST_TYPES`` representatives counts for the one of the most similar cache.
    """
    chosen, count, found = np.empty(MOST_TYPES, np.int64), np.zeros(MOST_TYPES), 0
    for i in seen[::-1]:
        match, nearest = -1, math.inf
        for k in range(found):
            distance = abs(math.log(users.cache[chosen[k]] / users.cache[i]))
            if alike(users, chosen[k], i):
                match = k
                break
            if found == MOST_TYPES and distance < nearest:
                match, nearest = k, distance
        if match < 0:
            match, chosen[found] = found, i
            found += 1
        count[match] += 1.0
    return chosen[:found], count[:found] / max(1, len(seen))


@njit(cache=True)
def expected(users: Horizon, seen: Ints, slots: int, rate: float) -> tuple[Ints, Ints, Floats]:
    """Return user, slot from now and weight of the arrivals expected in ``slots`` slots, (E,) each.

    ``rate`` is the weight a slot; a weighted user asks for that many times the bits and counts as often.
    """
    if rate <= 0:
        slots = 0
    kinds, share = types_of(users, seen)
    user, after = np.empty(slots * len(kinds), np.int64), np.empty(slots * len(kinds), np.int64)
    weight = np.empty(slots * len(kinds))
    for j in range(slots):
        for k in range(len(kinds)):
            at = j * len(kinds) + k
            user[at], after[at], weight[at] = kinds[k], j + 1, rate * share[k]
    return user, after, weight


@njit(cache=True)
def planned(
    family: int,
    users: Horizon,
    active: Ints,
    received: Floats,
    seen: Ints,
    slot: int,
    capacity: float,
    rate: float,
) -> Floats:
    """Return the fractions that the active users reach in the plan, (n,)."""
    n = len(active)
    ahead = min(MOST_SLOTS, int(np.max(users.end[active])) - slot - 1)
    later, after, weight = expected(users, seen[-REMEMBERED:], ahead, rate)
    everyone = np.concatenate((active, later))
    cache, ceiling = users.cache[everyone], users.ceiling[everyone]
    cache[n:] *= weight
    ceiling[n:] *= weight
    start = np.zeros(len(everyone))
    start[:n] = received
    first, end = np.zeros(len(everyone), np.int64), users.end[everyone] - slot
    first[n:] = after
    end[n:] = after + users.end[later] - users.first[later]
    edges = np.unique(np.concatenate((first, end)))
    carried = capacity * (edges[1:] - edges[:-1]).astype(np.float64)
    curves = envelopes(family, cache, start, ceiling, users.sharpness[everyone], users.anchor[everyone])
    return plan(family, curves, np.searchsorted(edges, first), np.searchsorted(edges, end), carried)[:n]


@njit(cache=True)
def earliest_first(wanted: Floats, end: Ints, capacity: float) -> tuple[Floats, float]:
    """Return the bits, (n,), sent by earliest deadline, and what is left of the slot.

    Users of one deadline share what is left in proportion to what they want.
    """
    bits, left, i = np.zeros(len(wanted)), capacity, 0
    order = ascending(end.astype(np.float64))
    while i < len(order) and left > 0:
        j, total = i, 0.0
        while j < len(order) and end[order[j]] == end[order[i]]:
            total += wanted[order[j]]
            j += 1
        part = 1.0 if total <= left else left / total
        for k in order[i:j]:
            bits[k] = part * wanted[k]
        left -= part * total
        i = j
    return bits, left


@njit(cache=True)
def send(
    family: int,
    users: Horizon,
    active: Ints,
    sent: Floats,
    seen: Ints,
    slot: int,
    capacity: float,
    rate: float,
) -> Floats:
    """Return the bits, (n,), of one slot; what the plan leaves of it is filled at one price."""
    cache, received = users.cache[active], sent[active] / users.cache[active]
    y = planned(family, users, active, received, seen, slot, capacity, rate)
    bits, left = earliest_first(cache * (y - received), users.end[active], capacity)
    if left > LEFT_OVER * capacity:
        reached = received + bits / cache
        curve = (users.ceiling[active], users.sharpness[active], users.anchor[active])
        y, _ = filled(family, envelopes(family, cache, reached, *curve), np.arange(len(active)), left)
        bits += cache * (y - reached)
    return bits


def simulate(
    family: int, users: Horizon, order: Ints, capacity: float, rate: float, learning: bool, weight: float
) -> tuple[Ints, Ints, Floats, Floats, int]:
    """Simulate the horizon.

    Parameters
    ----------
    family, users
        Code of the utility, and the users, (N,).
    order
        Users by first slot, (N,).
    capacity
        C, bit a slot.
    rate, learning, weight
        Arrivals a slot, or whether they are learned; how often an expected user counts.

    Returns
    -------
    As ``slot_by_slot.run``.
    """

    def decide(slot: int, active: Ints, sent: Floats, arrived: int) -> Floats:
        expected_rate = arrived / (slot + LEARNING_SLOTS) if learning else rate
        seen = order[:arrived]
        bits: Floats = send(family, users, active, sent, seen, slot, capacity, weight * expected_rate)
        return bits

    tail = np.ones(len(order))
    return step_through(decide, users.cache, users.first, users.end, tail, order, capacity)


def solve_receding_horizon(
    instance: HandoverTrace,
    *,
    limits: Limits,
    seed: int = 0,
    arrivals: str = "none",
    rate_per_s: Any = None,
    weight: Any = 2.0,
    **options: Any,
) -> Result:
    """Simulate the receding-horizon policy; it knows a user from its first slot on and nothing of later ones.

    Parameters
    ----------
    instance
        A horizon.
    limits, seed
        Part of the method contract; a slot takes some ten microseconds and nothing is drawn.
    arrivals
        ``none`` (the plan holds those who are there), ``learned`` (and expected ones at the rate seen so
        far), or ``mean`` (and expected ones at ``rate_per_s``).
    rate_per_s
        Mean rate of arrivals, users a second; with ``arrivals=mean`` only.
    weight
        How often an expected user counts. More than 1 allows for arrivals that come in clusters.

    Returns
    -------
    A feasible schedule with the objective Σ A_i(y_i) over all users. No guarantee.

    Raises
    ------
    InputError
        For an unknown option or option value, or a rate that is missing or not asked for.
    """
    no_more_options("receding-horizon", options)
    rate = _rate(one_of("arrivals", arrivals, ARRIVALS), rate_per_s) * instance.slot_s
    count = number("weight", weight, low=0, high=1e3)
    column, (first, end) = instance.users, instance.windows()
    curve = (column.cache_bits.copy(), column.ceiling.copy(), column.sharpness.copy(), column.anchor.copy())
    users, order = Horizon(*curve, first, end), np.argsort(first, kind="stable")
    started = perf_counter_ns()
    user, slot, bits, sent, steps = simulate(
        CODES[instance.utility], users, order, instance.capacity_bits, rate, arrivals == "learned", count
    )
    seconds = (perf_counter_ns() - started) * 1e-9
    y = np.minimum(1.0, sent / column.cache_bits)
    gained = values(instance.utility, column.ceiling, column.sharpness, column.anchor, y)
    return Result(
        Status.FEASIBLE,
        decision=Schedule(user, slot, bits),
        objective=math.fsum(gained),
        counters={"steps": int(steps)},
        phases={"solve": seconds},
    )


def _rate(arrivals: str, rate_per_s: Any) -> float:
    """Return the known rate of arrivals, users a second, 0 where none is known."""
    if (arrivals == "mean") != (rate_per_s is not None):
        found = "nothing" if rate_per_s is None else f"a rate with arrivals = {arrivals}"
        raise InputError(f"rate_per_s: found {found}, expected a rate with arrivals = mean and only there")
    return 0.0 if rate_per_s is None else number("rate_per_s", rate_per_s, low=0, high=1e9)
