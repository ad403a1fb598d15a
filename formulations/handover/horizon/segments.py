"""A horizon as arrays for the kernels: users by the end of their windows, slots joined to segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope import Curves
from formulations.handover.horizon.envelope_optimum import Windows
from formulations.handover.utility import CODES
from instances.decisions import Schedule
from instances.handover import HandoverTrace

__all__ = ["Horizon", "Period", "horizon_of", "horizon_within", "periods_of", "schedule_of"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Horizon:
    """What the kernels take; a segment is a run of slots that the same windows cover."""

    family: int
    user: Ints  # (n,) index in the instance of each user, in the order of the windows' ends
    curves: Curves
    windows: Windows
    start: Ints  # (m,) first slot of each segment
    slots: Ints  # (m,) number of slots in each segment
    capacity: float  # C, bit a slot


def horizon_of(instance: HandoverTrace) -> Horizon:
    """Return the arrays of an instance."""
    first, end = instance.windows()
    user = np.lexsort((first, end))
    edges = np.unique(np.concatenate((first, end)))
    users, capacity = instance.users, instance.capacity_bits
    columns = (users.cache_bits, users.ceiling, users.sharpness, users.anchor)
    slots = np.diff(edges)
    windows = Windows(
        np.searchsorted(edges, first[user]), np.searchsorted(edges, end[user]), slots * capacity
    )
    curves = Curves(*(column[user] for column in columns))
    return Horizon(CODES[instance.utility], user, curves, windows, edges[:-1], slots, capacity)


class Period(NamedTuple):
    """Users and segments of a busy period."""

    users: slice
    segments: slice


def periods_of(horizon: Horizon) -> list[Period]:
    """Return the busy periods: no window reaches over their borders."""
    first, end, carried = horizon.windows
    opened = np.bincount(first + 1, minlength=len(carried) + 2)
    closed = np.bincount(end, minlength=len(carried) + 2)
    border = np.flatnonzero(np.cumsum(opened - closed)[: len(carried) + 1] == 0)
    user = np.searchsorted(end, border, side="right")
    return [
        Period(slice(*user[k : k + 2].tolist()), slice(*border[k : k + 2].tolist()))
        for k in np.flatnonzero(np.diff(user)).tolist()
    ]


def horizon_within(horizon: Horizon, period: Period) -> Horizon:
    """Return a busy period as a horizon of its own."""
    users, segments = period
    first, end, carried = horizon.windows
    low = segments.start
    return Horizon(
        horizon.family,
        horizon.user[users],
        Curves(*(column[users] for column in horizon.curves)),
        Windows(first[users] - low, end[users] - low, carried[segments]),
        horizon.start[segments],
        horizon.slots[segments],
        horizon.capacity,
    )


def schedule_of(horizon: Horizon, fraction: Floats) -> tuple[Schedule, Floats]:
    """Return a schedule that sends the fractions, in the horizon's order, and what of them it sends, (n,)."""
    amount = horizon.curves.cache * fraction
    user, slot, bits = send(amount, *horizon.windows[:2], horizon.start, horizon.slots, horizon.capacity)
    sent = np.bincount(user, weights=bits, minlength=len(amount)) / horizon.curves.cache
    return Schedule(horizon.user[user], slot, bits), np.minimum(sent, 1.0)


@njit(cache=True)
def send(
    amount: Floats, first: Ints, end: Ints, start: Ints, slots: Ints, capacity: float
) -> tuple[Ints, Ints, Floats]:
    """Send amounts, (n,) bits, to users in the order of their windows' ends, each as early as it can be.

    This sends everything that is schedulable at all: who comes later may as well use any later slot of the
    earlier one's window. Returns user, slot and bits of each transmission, (E,) each; O((n + E) α).
    """
    m = len(slots)
    link, used, room = np.arange(m + 1), np.zeros(m, dtype=np.int64), np.full(m, capacity)
    size = len(amount) + int(amount.sum() / capacity) + 2 * m + 16
    user, slot, bits = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64), np.empty(size)
    count = 0
    for i in range(len(amount)):
        left, e = amount[i], first[i]
        while left > 0:
            while link[e] != e:
                link[e] = link[link[e]]
                e = link[e]
            if e >= end[i]:
                break
            part = min(left, room[e])
            user[count], slot[count], bits[count] = i, start[e] + used[e], part
            count += 1
            left -= part
            room[e] -= part
            if room[e] <= 0:
                used[e] += 1
                room[e] = capacity
                if used[e] == slots[e]:
                    link[e] = e + 1
    return user[:count], slot[:count], bits[:count]
