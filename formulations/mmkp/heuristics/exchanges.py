"""One item a group and what they use: the state that heuristics change by exchanges, compared in integers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.integers import IntegerMmkp
from formulations.result import Limits, Stopped

__all__ = ["Exchanges"]


class Exchanges:
    """The current item of each group, what they use, and the exchanges made so far."""

    def __init__(self, problem: IntegerMmkp, limits: Limits, begin: float) -> None:
        self.problem, self.limits, self.begin = problem, limits, begin
        self.steps, self.stopped = 0, Stopped.DONE
        self.scale = np.maximum(problem.capacities.astype(np.float64), 1.0)  # (m,)
        self.shares = problem.weights.astype(np.float64) / self.scale  # (items, m)
        self.chosen = self.first_items()  # (n,) items
        self.used: NDArray[Any] = problem.weights[self.chosen].sum(axis=0)  # (m,)

    def first_items(self) -> NDArray[np.int64]:
        """Return the item of each group to begin with, (n,)."""
        raise NotImplementedError

    def used_after(self) -> NDArray[Any]:
        """Return what is used after exchanging to each item, (items, m)."""
        weights = self.problem.weights
        result: NDArray[Any] = self.used + weights - weights[self.chosen[self.problem.group]]
        return result

    def exchange(self, item: int) -> None:
        """Take an item in place of the one of its group."""
        group = self.problem.group[item]
        self.used = self.used + self.problem.weights[item] - self.problem.weights[self.chosen[group]]
        self.chosen[group] = item
        self.steps += 1

    def limit_reached(self) -> bool:
        """Return whether the steps or the time are over, and note which."""
        if self.limits.steps is not None and self.steps >= self.limits.steps:
            self.stopped = Stopped.NODES
        elif self.limits.time_s is not None and time.perf_counter() - self.begin >= self.limits.time_s:
            self.stopped = Stopped.TIME
        return self.stopped is not Stopped.DONE
