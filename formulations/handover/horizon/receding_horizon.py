"""Receding horizon: in each slot a plan over the windows of those who are there, and its first slot.

The policy sees the users that have arrived, with their windows' ends. In each slot it

1. plans the fractions that maximise the sum of the users' concave envelopes over the slots that are left to
   them (``envelope_plan``). The coming slots are not all theirs: where users follow each other steadily, j/W
   of those who share the slot j from now are not here yet, with W the longest window, so the plan has
   (1 − j/W) C of that slot;
2. sends what the whole of the coming slots could not carry of these fractions, the earliest deadline first,
   and fills what is left of the slot at one price, so that what waits is what is worth least.

With a rate of arrivals, users like those seen so far are expected in the coming slots, until W slots after
the last deadline of those present, and take part in the plan; the share of others grows from there on. Half a
user more than the mean is expected in a window, because arrivals come in clusters.
"""

from __future__ import annotations

import math
from time import perf_counter_ns
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope_plan import plan
from formulations.handover.horizon.expected_users import Horizon, expected, horizon_of, joined
from formulations.handover.slot.claim import no_more_options, one_of
from formulations.handover.slot.envelope import Envelopes, envelopes, filled
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
UNKNOWN = -1.0  # rate of arrivals
MARGIN = 0.5  # users that are expected in a window beyond the mean
LEARNING_SLOTS = 50.0  # without arrivals, that a learned rate starts from
LEFT_OVER = 1e-9  # of a slot's capacity


@njit(cache=True)
def unclaimed(edges: Ints, known: int, window: int, capacity: float) -> Floats:
    """Return the bits of each segment between slots ``edges``, (m,), that users yet unknown leave.

    Slot ``known`` + j, counted from now, has (1 − j/``window``) ``capacity``, and slots before ``known`` all
    of it.
    """
    late = np.maximum(0, edges - known).astype(np.float64)
    lost = late * (late - 1.0) / (2.0 * window)  # Σ j/W over the slots before an edge
    return capacity * np.maximum(0.0, np.diff(edges) - np.diff(lost))


@njit(cache=True)
def planned(
    family: int,
    users: Horizon,
    active: Ints,
    present: Envelopes,
    seen: Ints,
    slot: int,
    capacity: float,
    rate: float,
) -> Floats:
    """Return the fractions, (n,), that the active users, of envelopes ``present``, reach in the plan."""
    left = users.end[active] - slot
    window = int(np.max(users.end[active] - users.first[active]))
    known = int(np.max(left)) - 1 + window if rate >= 0 else 0
    later, after, weight = expected(users, seen, known, rate + MARGIN / window)
    first = np.concatenate((np.zeros_like(left), after))
    end = np.concatenate((left, after + users.end[later] - users.first[later]))
    edges = np.unique(np.concatenate((first, end)))
    carried = unclaimed(edges, known, max(window, edges[-1] - known), capacity)
    everyone = joined(present, users.curves, later, weight)
    return plan(family, everyone, np.searchsorted(edges, first), np.searchsorted(edges, end), carried)[
        : len(active)
    ]


@njit(cache=True)
def earliest_first(wanted: Floats, left: Ints, budget: float) -> Floats:
    """Return the bits, (n,), that a budget sends by earliest deadline, ``left`` slots from now, (n,).

    Users of one deadline share what is left in proportion to what they want.
    """
    bits, i = np.zeros(len(wanted)), 0
    order = ascending(left.astype(np.float64))
    while i < len(order) and budget > 0:
        j, total = i, 0.0
        while j < len(order) and left[order[j]] == left[order[i]]:
            total += wanted[order[j]]
            j += 1
        part = 1.0 if total <= budget else budget / total
        for k in order[i:j]:
            bits[k] = part * wanted[k]
        budget -= part * total
        i = j
    return bits


@njit(cache=True)
def urgent(wanted: Floats, left: Ints, capacity: float) -> float:
    """Return the bits of ``wanted``, (n,), that cannot wait for the slots from the next one on.

    With ``left`` slots until each deadline, (n,), it is the most that users up to some deadline want beyond
    what those slots carry.
    """
    most, total = 0.0, 0.0
    for i in ascending(left.astype(np.float64)):
        total += wanted[i]
        most = max(most, total - capacity * (left[i] - 1))
    return most


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
    """Return the bits, (n,), of one slot."""
    curves = users.curves
    cache, left = curves.cache[active], users.end[active] - slot
    curve = (curves.ceiling[active], curves.sharpness[active], curves.anchor[active])
    received = sent[active] / cache
    present = envelopes(family, cache, received, *curve)
    wanted = cache * (planned(family, users, active, present, seen, slot, capacity, rate) - received)
    bits = earliest_first(wanted, left, urgent(wanted, left, capacity))
    rest = capacity - np.sum(bits)
    if rest > LEFT_OVER * capacity:
        reached = received + bits / cache
        if rest < capacity:
            present = envelopes(family, cache, reached, *curve)
        y, _ = filled(family, present, np.arange(len(active)), rest)
        bits += cache * (y - reached)
    return bits


def simulate(
    family: int, users: Horizon, order: Ints, capacity: float, rate: float, learning: bool
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
    rate, learning
        Arrivals a slot, ``UNKNOWN`` where nothing is known of them; whether they are learned instead.

    Returns
    -------
    As ``slot_by_slot.run``.
    """

    def decide(slot: int, active: Ints, sent: Floats, arrived: int) -> Floats:
        expected_rate = arrived / (slot + LEARNING_SLOTS) if learning else rate
        bits: Floats = send(family, users, active, sent, order[:arrived], slot, capacity, expected_rate)
        return bits

    tail = np.ones(len(order))
    return step_through(decide, users.curves.cache, users.first, users.end, tail, order, capacity)


def solve_receding_horizon(
    instance: HandoverTrace,
    *,
    limits: Limits,
    seed: int = 0,
    arrivals: str = "none",
    rate_per_s: Any = None,
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

    Returns
    -------
    A feasible schedule with the objective Σ A_i(y_i) over all users. No guarantee.

    Raises
    ------
    InputError
        For an unknown option or option value, or a rate that is missing or not asked for.
    """
    no_more_options("receding-horizon", options)
    rate = _rate(one_of("arrivals", arrivals, ARRIVALS), rate_per_s, instance.slot_s)
    column, (first, end), family = instance.users, instance.windows(), CODES[instance.utility]
    cache = column.cache_bits.copy()
    curve = (column.ceiling.copy(), column.sharpness.copy(), column.anchor.copy())
    started = perf_counter_ns()
    users = horizon_of(envelopes(family, cache, np.zeros(len(cache)), *curve), first, end)
    order = np.argsort(first, kind="stable")
    user, slot, bits, sent, steps = simulate(
        family, users, order, instance.capacity_bits, rate, arrivals == "learned"
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


def _rate(arrivals: str, rate_per_s: Any, slot_s: float) -> float:
    """Return the known rate of arrivals, users a slot, ``UNKNOWN`` where none is known."""
    if (arrivals == "mean") != (rate_per_s is not None):
        found = "nothing" if rate_per_s is None else f"a rate with arrivals = {arrivals}"
        raise InputError(f"rate_per_s: found {found}, expected a rate with arrivals = mean and only there")
    return UNKNOWN if rate_per_s is None else number("rate_per_s", rate_per_s, low=0, high=1e9) * slot_s
