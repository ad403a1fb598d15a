"""Meeting in the middle: sets of changes in two halves of the groups, joined by what they use.

A choice's value is the Lagrangian bound less the losses of its items, less what the prices charge for unused
capacity. Near the bound both are small. So the groups are parted in halves, as in the two-list algorithm of
Horowitz and Sahni (Journal of the ACM 21(2), 1974), each half lists sets of changes of small loss, and those
pairs are looked for that use the capacities up to little. A pair fits the likelier, the closer both are to
the weights where the halves' distributions meet; sets further away are not listed.

All numbers are whole fractions, as in ``subproblem``, so a choice found is worth what was computed.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.mmkp.core.changes import Changes, Listed, limit_of, listed, moments
from formulations.mmkp.core.fixing import Root
from formulations.mmkp.integers import IntegerMmkp

__all__ = ["TwoLists"]

Ints = NDArray[np.int64]
FIRST, LAST = 1_000, 50_000  # sets in a list
LOOKED_AT = 80  # sets for each one listed
WORK = 10_000_000  # pairs and cells of a join
ADAPTATION = 0.1  # power of the wanted over the found number of sets by which the radius changes
KEYS = 3  # resources that part sets in cells
SIDE = 64  # cells along a resource
WIDEST = 2**50


class Cells(NamedTuple):
    """A list in cells of sets that use as much of three resources."""

    weights: Ints  # (sets, m), cell by cell
    cost: Ints  # (sets,) loss less priced weights
    taken: NDArray[np.int32]  # (sets, DEEPEST)
    head: Ints  # (cells+1,) first set of each cell
    keys: Ints  # (3,) resources
    low: Ints  # (3,) least use of them
    width: Ints  # (3,) units of a cell
    side: Ints  # (3,) cells


class TwoLists:
    """The search, with lists that grow as long as joining them is cheap."""

    def __init__(self, problem: IntegerMmkp, root: Root) -> None:
        self.problem, self.root = problem, root
        order = np.lexsort((root.loss, problem.group))
        self.best: Ints = order[problem.group_start[:-1]].astype(np.int64)  # (n,) items
        self.others = np.setdiff1d(np.arange(len(problem.values)), self.best)
        self.others = self.others[np.argsort(root.loss[self.others], kind="stable")]
        self.left = problem.capacities - problem.weights[self.best].sum(axis=0)
        self.priced = np.flatnonzero(root.prices)
        self.size = FIRST
        degrees = max(len(self.priced), 1)
        self.radius = degrees * LOOKED_AT ** (-2.0 / degrees)

    def search(self, value: int, rng: np.random.Generator, until: float) -> Ints | None:
        """Return a choice of more than ``value``, at least 0, from a random pair of halves, or None.

        None also at the time ``until`` of ``time.perf_counter``.
        """
        gap = self.root.bound - (value + 1) * self.root.fraction
        n = self.problem.n_groups
        side = rng.permutation(n) < n // 2
        halves = [self._changes(side, gap), self._changes(~side, gap)]
        lists = self._lists(halves, gap, until)
        if any(len(half.loss) == 0 for half in lists) or time.perf_counter() >= until:
            return None
        first, second = lists
        cells, start = _in_cells(second, self.root.prices), int(rng.integers(len(first.loss)))
        i, j, work = _join(first, cells, self.left, self.root.prices, gap, self.root.fraction, start, WORK)
        self.size = max(self.size // 2, FIRST) if work >= WORK else min(2 * self.size, LAST)
        if i < 0:
            return None
        chosen = self.best.copy()
        for half, row in ((halves[0], first.taken[i]), (halves[1], cells.taken[j])):
            items = half.item[row[row >= 0]]
            chosen[self.problem.group[items]] = items
        return chosen

    def _changes(self, side: NDArray[np.bool_], gap: int) -> Changes:
        group = self.problem.group
        item = self.others[side[group[self.others]] & (self.root.loss[self.others] <= gap)]
        weights = self.problem.weights[item] - self.problem.weights[self.best[group[item]]]
        _, number = np.unique(group[item], return_inverse=True)
        return Changes(number.astype(np.int64), self.root.loss[item], weights, item)

    def _lists(self, halves: list[Changes], gap: int, until: float) -> list[Listed]:
        """Return the lists of both halves, near the weights where their distributions meet.

        The second is missing if the time is over after the first.
        """
        visits = LOOKED_AT * self.size
        limits = [limit_of(half, gap, visits) for half in halves]
        (mean, variance), (other_mean, other) = (moments(*pair) for pair in zip(halves, limits, strict=True))
        slack = np.zeros(len(mean))
        prices = self.root.prices[self.priced]
        slack[self.priced] = gap / (2.0 * max(len(prices), 1) * prices)
        wanted = self.left - slack
        share = (variance + 1e-6) / (variance + other + 2e-6)
        centre = mean + (wanted - mean - other_mean) * share
        lists = []
        for half, limit, middle, spread in zip(
            halves, limits, (centre, wanted - centre), (variance, other), strict=True
        ):
            scale = np.zeros(len(mean))
            scale[self.priced] = 1.0 / np.sqrt(spread + slack**2 + 1e-6)[self.priced]
            whole = limit_of(half, gap, self.size) == gap
            radius = np.inf if whole else self.radius
            lists.append(listed(half, limit, middle, scale, radius, visits, 4 * self.size))
            if not whole:
                ratio = self.size / max(len(lists[-1].loss), 1)
                self.radius *= min(max(ratio, 0.1), 10.0) ** ADAPTATION
            if time.perf_counter() >= until:
                break
        return lists


def _in_cells(sets: Listed, prices: Ints) -> Cells:
    """Sort sets into cells by the three resources that part them most, priced."""
    weights = sets.weights
    keys = np.argsort(-weights.std(axis=0) * prices, kind="stable")[:KEYS]
    missing = (0, KEYS - len(keys))
    low, span = weights.min(axis=0)[keys], np.ptp(weights, axis=0)[keys] + 1
    width = -(-span // SIDE)
    side = np.pad(-(-span // width), missing, constant_values=1)
    keys, low = np.pad(keys, missing), np.pad(low, missing)
    width = np.pad(width, missing, constant_values=WIDEST)
    place = (weights[:, keys] - low) // width
    cell = (place[:, 0] * side[1] + place[:, 1]) * side[2] + place[:, 2]
    order = np.argsort(cell, kind="stable")
    head = np.searchsorted(cell[order], np.arange(int(side.prod()) + 1))
    cost = sets.loss - weights @ prices
    return Cells(weights[order], cost[order], sets.taken[order], head, keys, low, width, side)


@njit(cache=True)
def _join(
    first: Listed, second: Cells, left: Ints, prices: Ints, gap: int, fraction: int, start: int, work: int
) -> tuple[int, int, int]:
    """Return the pair within ``left`` that loses and leaves least, at most ``gap``, or −1, −1; and the work.

    Pairs are tried from ``start`` of the first list on.
    """
    found, other, spent = -1, -1, 0
    rest = np.empty(len(left), dtype=np.int64)
    for turn in range(len(first.loss)):
        if spent >= work:
            break
        i = (start + turn) % len(first.loss)
        priced = first.loss[i]
        for k in range(len(left)):
            rest[k] = left[k] - first.weights[i, k]
            priced += rest[k] * prices[k]
        j, least, tried = _match(second, rest, prices, priced, gap - first.loss[i], gap)
        spent += tried
        if j >= 0:
            found, other, gap = i, j, least - fraction
    return found, other, spent


@njit(cache=True)
def _match(cells: Cells, left: Ints, prices: Ints, priced: int, room: int, gap: int) -> tuple[int, int, int]:
    """Return the set within ``left`` whose cost and ``priced`` sum to the least, at most ``gap``, or −1.

    What the prices charge for unused capacity is at most ``room``. Also returned: the sum, and the work.
    """
    found, tried = -1, 1
    a, b, c = cells.keys
    x = min((left[a] - cells.low[0]) // cells.width[0], cells.side[0] - 1)
    y_top = min((left[b] - cells.low[1]) // cells.width[1], cells.side[1] - 1)
    z_top = min((left[c] - cells.low[2]) // cells.width[2], cells.side[2] - 1)
    while x >= 0 and z_top >= 0:
        room_y = room - prices[a] * max(left[a] - cells.low[0] - (x + 1) * cells.width[0] + 1, 0)
        if room_y < 0:
            break
        y = y_top
        while y >= 0:
            room_z = room_y - prices[b] * max(left[b] - cells.low[1] - (y + 1) * cells.width[1] + 1, 0)
            if room_z < 0:
                break
            z = 0
            if prices[c] > 0:
                z = max((left[c] - room_z // prices[c] - cells.low[2]) // cells.width[2], 0)
            row = (x * cells.side[1] + y) * cells.side[2]
            begin, end = cells.head[row + min(z, z_top)], cells.head[row + z_top + 1]
            tried += 1 + end - begin
            for j in range(begin, end):
                if cells.cost[j] + priced <= gap and _fits(cells.weights[j], left):
                    found, gap = j, cells.cost[j] + priced
            y -= 1
        x -= 1
    return found, gap, tried


@njit(cache=True)
def _fits(weights: Ints, left: Ints) -> bool:
    fits = True
    for k in range(len(left)):
        fits &= weights[k] <= left[k]
    return fits
