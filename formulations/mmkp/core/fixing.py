"""Reduced costs at the root: which items can still be part of a better choice."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.core.prices import best_prices
from formulations.mmkp.core.subproblem import Core, core_of
from formulations.mmkp.integers import IntegerMmkp

__all__ = ["Root", "root_of", "surviving_groups"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Root:
    """The root's prices and what each item loses against the best of its group at them."""

    prices: Ints  # (m,) in fractions
    bound: int  # in fractions, at least the optimum
    fraction: int
    loss: Ints  # (items,) in fractions, 0 for a best item

    @property
    def whole(self) -> int:
        """The bound in value units, rounded down: totals are integers."""
        return self.bound // self.fraction

    def survives(self, value: int) -> NDArray[np.bool_]:
        """Return the items that a choice of more than ``value`` may take, (items,)."""
        kept: NDArray[np.bool_] = self.bound - self.loss >= (value + 1) * self.fraction
        return kept


def root_of(problem: IntegerMmkp, until: float = math.inf) -> tuple[Core, Root]:
    """Return the core of all groups, and the bound with reduced costs that its best prices give.

    The prices are those found by the time ``until`` of ``time.perf_counter``.
    """
    start = problem.group_start
    everything = [np.arange(start[g], start[g + 1]) for g in range(problem.n_groups)]
    core = core_of(problem, everything, problem.capacities)
    prices, bound = best_prices(core, until)
    surplus = core.values * core.fraction - core.weights @ prices
    top = np.maximum.reduceat(surplus, start[:-1])
    return core, Root(prices, bound, core.fraction, top[problem.group] - surplus)


def surviving_groups(problem: IntegerMmkp, root: Root, value: int) -> list[Ints]:
    """Return the items of each group that survive, by growing loss; a group may be left empty."""
    kept = np.flatnonzero(root.survives(value))
    order = kept[np.lexsort((root.loss[kept], problem.group[kept]))]
    ends = np.searchsorted(problem.group[order], np.arange(problem.n_groups + 1))
    return [order[ends[g] : ends[g + 1]] for g in range(problem.n_groups)]
