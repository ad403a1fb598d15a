"""The users of a horizon as a policy meets them, and those that it expects to come.

An expected user looks like one of the last that arrived. It counts a number of times, its weight: it asks for
that many times the bits and gains that many times the accuracy, so its slope a bit is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.envelope import Envelopes

__all__ = ["Horizon", "expected", "horizon_of", "joined"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

REMEMBERED = 300  # last arrivals that expected users look like
MOST_TYPES = 6  # of them that differ
MOST_GROUPS = 8  # of slots in which arrivals are expected


class Horizon(NamedTuple):
    """The users of a horizon, one entry each."""

    curves: Envelopes  # (N,) of users that have received nothing
    first: Ints  # (N,) first slot
    end: Ints  # (N,) slot after the last
    kind: Ints  # (N,) the same for users of the same cache, curve and number of slots


def horizon_of(curves: Envelopes, first: Ints, end: Ints) -> Horizon:
    """Return the horizon of users of these envelopes and windows, (N,) each."""
    curve = (curves.cache, curves.ceiling, curves.sharpness, curves.anchor)
    columns = np.column_stack((*curve, end - first))
    _, kind = np.unique(columns, axis=0, return_inverse=True)
    return Horizon(curves, first, end, kind.reshape(-1))


@njit(cache=True)
def most_similar(cache: Floats, chosen: Ints, i: int) -> int:
    """Return the position in ``chosen`` of the user whose cache is nearest to that of user i, as a ratio."""
    return int(np.argmin(np.abs(np.log(cache[chosen] / cache[i]))))


@njit(cache=True)
def types_of(cache: Floats, kind: Ints, seen: Ints) -> tuple[Ints, Floats]:
    """Return representatives of the users in ``seen``, the latest first, and the share of each.

    A user unlike all ``MOST_TYPES`` representatives counts for the one of the most similar cache.
    """
    chosen, count, found = np.empty(MOST_TYPES, np.int64), np.zeros(MOST_TYPES), 0
    for i in seen[::-1]:
        match = 0
        while match < found and kind[chosen[match]] != kind[i]:
            match += 1
        if match == MOST_TYPES:
            match = most_similar(cache, chosen, i)
        elif match == found:
            chosen[found] = i
            found += 1
        count[match] += 1.0
    return chosen[:found], count[:found] / max(1, len(seen))


@njit(cache=True)
def expected(users: Horizon, seen: Ints, slots: int, rate: float) -> tuple[Ints, Ints, Floats]:
    """Return user, slot from now and weight of the arrivals expected in the next ``slots`` slots, (E,) each.

    ``rate`` is the weight a slot, ``seen`` the users that have arrived. Neighbouring slots form at most
    ``MOST_GROUPS`` groups, whose arrivals are expected in the middle slot.
    """
    if slots == 0:
        return seen[:0].copy(), seen[:0].copy(), np.empty(0)
    kinds, share = types_of(users.curves.cache, users.kind, seen[-REMEMBERED:])
    width = -(-slots // MOST_GROUPS)
    groups = -(-slots // width)
    user, after = np.empty(groups * len(kinds), np.int64), np.empty(groups * len(kinds), np.int64)
    weight = np.empty(groups * len(kinds))
    for g in range(groups):
        start, stop = 1 + g * width, min(1 + slots, 1 + (g + 1) * width)
        group = slice(g * len(kinds), (g + 1) * len(kinds))
        user[group], after[group] = kinds, (start + stop - 1) // 2
        weight[group] = rate * (stop - start) * share
    return user, after, weight


@njit(cache=True)
def joined(present: Envelopes, curves: Envelopes, later: Ints, weight: Floats) -> Envelopes:
    """Return the envelopes of those present, (n,), and of users ``later`` of ``curves``, (E,), as one."""
    return Envelopes(
        np.concatenate((present.cache, weight * curves.cache[later])),
        np.concatenate((present.start, curves.start[later])),
        np.concatenate((present.ceiling, weight * curves.ceiling[later])),
        np.concatenate((present.sharpness, curves.sharpness[later])),
        np.concatenate((present.anchor, curves.anchor[later])),
        np.concatenate((present.top, curves.top[later])),
        np.concatenate((present.touch, curves.touch[later])),
        np.concatenate((present.steepness, curves.steepness[later])),
    )
