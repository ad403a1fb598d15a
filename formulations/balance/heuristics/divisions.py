"""Users divided between the modes at a cut of some order: each mode's largest batch, one after the other.

One mode is offered a part of the users, the other everybody who is left; once together they serve more than
the best known, each is offered again whom the other does not serve, until nothing is gained. Only what may
improve is searched: a first batch too small for any second one, or a second one too small, is abandoned.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import ModeCosts
from formulations.balance.heuristics.pool import Pool, kept
from formulations.balance.heuristics.thresholds import (
    Choice,
    Setting,
    largest_count,
    members,
    sweep,
)

__all__ = ["Candidates", "Side", "divide"]


class Side(NamedTuple):
    """One mode."""

    costs: ModeCosts
    padded: bool
    pool: Pool
    order: NDArray[np.int64]  # (K,) users' indices by position


class Candidates(NamedTuple):
    """Pairs of shares worth trying, C entries each, the most promising first."""

    shares: NDArray[np.float64]  # (C, 2) of compute, for AD and SD
    caches: NDArray[np.float64]  # (C,) byte, of both modes together
    rooms: NDArray[np.float64]  # (C, 2) byte, for the mode that is served first
    most: NDArray[np.int64]  # (C, 2) users, if the mode has all memory and the other serves nobody


@numba.njit(cache=True)
def _batch(
    side: Side, share: float, room: float, closed: NDArray[np.bool_], floor: int, ceiling: int
) -> tuple[NDArray[np.bool_], int, float, int]:
    """Return a largest batch without the closed users as a mask, its size, its bytes and the sweeps.

    The size is −1 if it is not above ``floor``.
    """
    chosen = np.zeros(len(closed), dtype=np.bool_)
    if room < 0.0:
        return chosen, -1, 0.0, 0
    keep = np.empty(len(closed), dtype=np.bool_)
    for i in range(len(closed)):
        keep[i] = not closed[side.order[i]]
    pool = kept(side.pool, keep)
    setting = Setting(side.costs, side.padded, share, room)
    size, _, at, sweeps = largest_count(setting, pool, max(floor, 0), ceiling)
    if size <= floor:
        return chosen, -1, 0.0, sweeps
    if size == 0:
        return chosen, 0, 0.0, sweeps
    inside = np.empty(len(pool.steps), dtype=np.bool_)
    _, _, steps, seconds = sweep(setting, pool, at, at, size, inside)
    choice = Choice(at.input, at.accepted, steps, seconds, at.upload)
    places, used = members(setting, pool, choice, size)
    offset, k = 0, 0
    for i in range(len(closed)):  # places count the kept users only
        if keep[i]:
            if k < size and places[k] == offset:
                chosen[side.order[i]] = True
                k += 1
            offset += 1
    return chosen, size, used, sweeps + 1


@numba.njit(cache=True)
def _attempt(
    sides: tuple[Side, Side],
    candidates: Candidates,
    c: int,
    closed: NDArray[np.bool_],
    first: int,
    best: int,
) -> tuple[NDArray[np.bool_], int, int]:
    """Return masks (2, K) of AD and SD, how many they serve, 0 if no more than ``best``, and the sweeps."""
    chosen = np.zeros((2, len(closed)), dtype=np.bool_)
    sizes, used, most = np.zeros(2, dtype=np.int64), np.zeros(2), candidates.most[c]
    sizes[1 - first] = most[1 - first]
    room, mode, served, sweeps = candidates.rooms[c, first], first, 0, 0
    while True:
        floor = max(best, served) - sizes[1 - mode]
        share = candidates.shares[c, mode]
        mask, size, occupied, more = _batch(sides[mode], share, room, closed, floor, most[mode])
        sweeps += more
        if size < 0:
            return chosen, served, sweeps
        sizes[mode], used[mode] = size, occupied
        for k in range(len(mask)):
            chosen[mode, k] = mask[k]
        if served > 0 or mode != first:
            served = sizes[0] + sizes[1]
        closed, mode = mask, 1 - mode
        room = candidates.caches[c] - used[1 - mode]


@numba.njit(cache=True)
def divide(
    sides: tuple[Side, Side],
    candidates: Candidates,
    ranked: NDArray[np.int64],
    cuts: NDArray[np.int64],
    best: int,
    most_sweeps: int,
) -> tuple[NDArray[np.bool_], int, int, int]:
    """Return masks (2, K) of AD and SD, the candidate, how many they serve, and the number of sweeps.

    At each cut AD is offered the users ranked before it, or SD those from it on. Nobody is chosen if no
    division serves more than ``best``; no attempt begins after ``most_sweeps``.
    """
    users = len(ranked)
    chosen, winner, sweeps = np.zeros((2, users), dtype=np.bool_), -1, 0
    for c in range(len(candidates.caches)):
        for cut in cuts:
            for first in range(2):
                reachable = min(candidates.most[c, 0] + candidates.most[c, 1], users)
                if reachable <= best or sweeps >= most_sweeps:
                    continue
                closed = np.empty(users, dtype=np.bool_)
                for k in range(users):
                    closed[ranked[k]] = (k >= cut) == (first == 0)
                masks, served, more = _attempt(sides, candidates, c, closed, first, best)
                sweeps += more
                if served > best:
                    chosen, winner, best = masks, c, served
    return chosen, winner, best, sweeps
