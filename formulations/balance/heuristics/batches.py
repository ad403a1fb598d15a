"""The largest batch of one mode within time and memory: Algorithms 1 and 2."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import Problem
from formulations.balance.heuristics.pool import Pool
from formulations.balance.heuristics.thresholds import (
    MANY,
    Setting,
    count_open,
    first_open,
    largest_counts,
)

__all__ = ["NOBODY", "Batch", "ModeView"]


@dataclass(frozen=True, eq=False)
class Batch:
    """The batch that the published enumeration would return."""

    members: NDArray[np.int64]  # users' indices
    bytes: float  # as charged at the thresholds
    sweeps: int

    def __len__(self) -> int:
        return len(self.members)


NOBODY = Batch(np.empty(0, dtype=np.int64), 0.0, 0)


class ModeView:
    """One mode of a problem: its users in sorted order, ready for the kernels."""

    def __init__(self, problem: Problem, mode: str) -> None:
        steps = problem.ad_steps if mode == "ad" else problem.sd_steps
        accepted = problem.accepted if mode == "sd" else np.zeros_like(problem.accepted)
        self.order = np.lexsort((np.arange(len(steps)), steps))
        self.costs = problem.ad if mode == "ad" else problem.sd
        budgets, inputs = problem.budget_s[self.order], problem.input_tokens[self.order]
        accepted, uploads = accepted[self.order], problem.upload_s[self.order]
        by_budget = np.argsort(-budgets, kind="stable")
        self.pool = Pool(
            steps[self.order],
            inputs,
            accepted,
            uploads,
            np.argsort(inputs, kind="stable"),
            np.argsort(accepted, kind="stable"),
            np.argsort(uploads, kind="stable"),
            by_budget,
            budgets[by_budget],
        )
        self.times = np.unique(np.append(budgets, 0.0))

    def solve(self, share: float, room: float, padded: bool, closed: Batch = NOBODY) -> Batch:
        """Return the first largest batch within a compute share and ``room`` bytes, nobody of ``closed``."""
        size, sweeps = self.count(share, room, padded, closed)
        batch = self.first(share, room, padded, size, closed)
        return replace(batch, sweeps=batch.sweeps + sweeps)

    def count(
        self,
        share: float,
        room: float,
        padded: bool,
        closed: Batch = NOBODY,
        floor: int = 0,
        ceiling: int = MANY,
    ) -> tuple[int, int]:
        """Return the size of the largest batch, ``floor`` if none is larger, and the number of sweeps.

        No batch may have more than ``ceiling`` users.
        """
        if share <= 0.0 or room < 0.0:
            return floor, 0
        setting = Setting(self.costs, padded, share, room)
        size, sweeps = count_open(setting, self.pool, self._open(closed), floor, ceiling)
        return int(size), int(sweeps)

    def counts(
        self, shares: NDArray[np.float64], rooms: NDArray[np.float64], padded: bool
    ) -> tuple[NDArray[np.int64], int]:
        """Return sizes of largest batches, (Z, Λ), for shares and rooms that do not increase, and sweeps."""
        return largest_counts(self.costs, padded, shares, rooms, self.pool)

    def first(self, share: float, room: float, padded: bool, size: int, closed: Batch = NOBODY) -> Batch:
        """Return the first batch of ``size`` users, the largest possible.

        It is the one with the least (longest input, accepted length, last steps, time threshold, upload),
        which the nested loops of Algorithms 1 and 2 meet first.
        """
        if size == 0:
            return NOBODY
        keep = self._open(closed)
        setting = Setting(self.costs, padded, share, room)
        places, used, sweeps = first_open(setting, self.pool, keep, self.times, size)
        return Batch(np.sort(self.order[keep][places]), used, sweeps)

    def _open(self, closed: Batch) -> NDArray[np.bool_]:
        """Return by position who is not in ``closed``."""
        free = np.ones(len(self.order), dtype=np.bool_)
        free[closed.members] = False
        return free[self.order]
