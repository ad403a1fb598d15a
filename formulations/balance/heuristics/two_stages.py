"""One mode first, the other for who is left, over all pairs of compute and memory share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from formulations.balance.costs import Problem
from formulations.balance.heuristics.batches import NOBODY, Batch, ModeView
from formulations.balance.heuristics.claim import claim
from formulations.result import Result

__all__ = ["Pair", "Plan", "TwoStages"]

MODES = ("ad", "sd")


class Plan(NamedTuple):
    """Two batches at a compute share."""

    ad: Batch
    sd: Batch
    share: float  # of compute for AD
    sweeps: int  # spent to find it

    @property
    def served(self) -> int:
        """Number of users served."""
        return len(self.ad) + len(self.sd)

    def result(self, problem: Problem) -> Result:
        """Return what a method claims with this plan."""
        counters = {"sweeps": self.sweeps, "steps": self.sweeps * len(problem.ad_steps)}
        return claim(problem, self.ad, self.sd, self.share, counters)


class _Side:
    """One mode at one compute share: a batch found under some room is kept for all rooms in which it fits.

    The first of the largest batches stays so under less room as long as it fits.
    """

    def __init__(self, view: ModeView, share: float, padded: bool) -> None:
        self.view, self.share, self.padded = view, share, padded
        self.batches: list[tuple[float, Batch]] = []
        self.sweeps = 0

    def batch(self, room: float, widest: float, size: int) -> Batch:
        """Return the first batch within ``room`` bytes of the largest possible ``size``.

        ``widest`` is the most room at which batches are no larger.
        """
        for attempt in (widest, room):
            for upper, known in self.batches:
                if known.bytes <= room <= upper:
                    return known
            batch = self.view.first(self.share, attempt, self.padded, size)
            self.sweeps += batch.sweeps
            self.batches.append((attempt, batch))
        return self.batches[-1][1]


class Pair(NamedTuple):
    """A compute and a memory share."""

    place: tuple[int, int]  # of z and λ in their grids
    rooms: tuple[float, float]  # byte, of AD and SD
    widest: tuple[float, float]  # byte, the most room at which the batches are of the same sizes
    sizes: tuple[int, int]  # of the largest batch of AD and of SD, if the other serves nobody
    bound: int  # users that both may serve together


class TwoStages:
    """All pairs of shares (z outside, λ inside, both ascending), and what each mode could serve alone."""

    def __init__(
        self,
        problem: Problem,
        padded: bool,
        compute_shares: Sequence[float],
        memory_shares: Sequence[float],
    ) -> None:
        self.everybody = len(problem.ad_steps)
        self.padded, self.compute_shares = padded, compute_shares
        self.views = ModeView(problem, "ad"), ModeView(problem, "sd")
        self.sides = [
            (_Side(self.views[0], share, padded), _Side(self.views[1], 1.0 - share, False))
            for share in compute_shares
        ]
        caches = np.array([problem.cache_bytes(share) for share in compute_shares])
        parts = np.array(memory_shares)
        self.rooms = np.stack((np.outer(caches, parts), np.outer(caches, 1.0 - parts)), axis=2)
        self.pairs = self._all_pairs()
        self.ranked = sorted(self.pairs, key=lambda pair: -pair.bound)  # stable: then by place

    def plan(self, first: str, beyond: int = 0) -> Plan:
        """Return the first pair that serves most users when ``first``, ``ad`` or ``sd``, is served first.

        If none serves more than ``beyond``, the plan serves nobody.

        Pairs are visited in order of an upper bound; of the second batch only its size is asked for, and only
        whether it improves, until the best pair is known.
        """
        one = MODES.index(first)
        best, place, winner = beyond, (-1, -1), (NOBODY, 0)
        chosen: Pair | None = None
        known: dict[tuple[int, int], list[tuple[float, int]]] = {}  # by z and the first batch's identity
        for pair in self.ranked:
            if (-pair.bound, pair.place) > (-best, place):
                break
            sides = self.sides[pair.place[0]]
            batch = sides[one].batch(pair.rooms[one], pair.widest[one], pair.sizes[one])
            floor = max(best - len(batch) - (pair.place < place), 0)
            size = self._second(pair, 1 - one, batch, floor, known.setdefault((pair.place[0], id(batch)), []))
            if (-len(batch) - size, pair.place) < (-best, place):
                best, place, winner, chosen = len(batch) + size, pair.place, (batch, size), pair
        if chosen is None:
            return Plan(NOBODY, NOBODY, 1.0, self.sweeps)
        side = self.sides[place[0]][1 - one]
        other = side.view.first(side.share, chosen.rooms[1 - one], side.padded, winner[1], winner[0])
        side.sweeps += other.sweeps
        batches = (winner[0], other) if one == 0 else (other, winner[0])
        return Plan(*batches, self.compute_shares[place[0]], self.sweeps)

    @property
    def sweeps(self) -> int:
        """Sweeps so far."""
        return sum(side.sweeps for pair in self.sides for side in pair)

    def _second(
        self, pair: Pair, mode: int, closed: Batch, floor: int, known: list[tuple[float, int]]
    ) -> int:
        """Return the second batch's size, ``floor`` if no larger; ``known`` bounds it by room."""
        room, ceiling = pair.rooms[mode], pair.sizes[mode]
        ceiling = min([ceiling, *(most for upper, most in known if room <= upper)])
        if floor >= ceiling:
            return floor
        side = self.sides[pair.place[0]][mode]
        size, sweeps = side.view.count(side.share, room, side.padded, closed, floor, ceiling)
        side.sweeps += sweeps
        known.append((room, size))
        return size

    def _all_pairs(self) -> list[Pair]:
        ad_rooms, sd_rooms = self.rooms[:, :, 0], self.rooms[:, :, 1]
        shares = np.array(self.compute_shares)
        first, second = self.sides[0]
        ads, ad_sweeps = first.view.counts(shares[::-1].copy(), ad_rooms[::-1, ::-1].copy(), first.padded)
        sds, sd_sweeps = second.view.counts(1.0 - shares, sd_rooms.copy(), second.padded)
        first.sweeps += ad_sweeps
        second.sweeps += sd_sweeps
        sizes = np.stack((ads[::-1, ::-1], sds), axis=2)
        alike = sizes[:, :, None, :] == sizes[:, None, :, :]
        widest = np.where(alike, self.rooms[:, None, :, :], 0.0).max(axis=2)
        places = [(i, j) for i in range(len(sizes)) for j in range(len(sizes[0]))]
        tables = (map(tuple, table.reshape(-1, 2).tolist()) for table in (self.rooms, widest, sizes))
        bounds = np.minimum(sizes.sum(axis=2), self.everybody).ravel().tolist()
        return list(map(Pair, places, *tables, bounds))
