"""Greedy with exchanges: the smallest items first, then the most value for the aggregate resource.

The aggregate resource is Toyoda's (Management Science 21(12), 1975): a resource counts the more, the fuller
it is.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.heuristics.exchanges import Exchanges
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.result import Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["first_point", "solve_greedy"]


def solve_greedy(instance: MmkpInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Choose small items, exchange until all capacities hold, then upgrade while something fits.

    1. Start with the item of each group whose weights, relative to the capacities, sum to the least.
    2. While a capacity is exceeded, make the exchange that lowers the summed relative excess most.
    3. While an exchange raises the value and keeps the capacities, make the one with the most value for
       the aggregate resource Σ_k u_k Δw_k, where u_k is the used share of resource k; exchanges that
       cost none come first. A zero cost is never divided by.

    Ties go to the larger value, then to the first item; nothing is random, so ``seed`` changes nothing.
    Guarantee: none; without a feasible point (which may exist) the status is ``unknown``. Every exchange of
    step 3 raises one group's value, so there are at most as many as items; an exchange costs O(items · m).
    ``limits.steps`` counts exchanges.
    """
    begin = time.perf_counter()
    problem = in_integers(instance)
    built = time.perf_counter()
    search = _Search(problem, limits, begin)
    feasible = search.repair()
    if feasible:
        search.upgrade()
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    counters = {"exchanges": search.steps}
    if not feasible:
        message = "no exchange lowers the excess" if search.stopped is Stopped.DONE else ""
        return Result(Status.UNKNOWN, search.stopped, counters=counters, phases=phases, message=message)
    chosen = search.chosen
    objective = problem.value(sum(int(v) for v in problem.values[chosen]))
    choice = Choice(chosen - problem.group_start[:-1])
    return Result(Status.FEASIBLE, search.stopped, choice, objective, counters=counters, phases=phases)


def first_point(problem: IntegerMmkp, until: float) -> NDArray[np.int64] | None:
    """Return the feasible choice that steps 1 and 2 of the greedy heuristic reach, items (n,), or None.

    None also at the time ``until`` of ``time.perf_counter``.
    """
    search = _Search(problem, Limits(time_s=until), 0.0)
    return search.chosen if search.repair() else None


class _Search(Exchanges):
    """Starts with the smallest items."""

    def first_items(self) -> NDArray[np.int64]:
        """Return the item of each group whose shares sum to the least, (n,)."""
        problem = self.problem
        order = np.lexsort((-problem.values.astype(np.float64), self.shares.sum(axis=1), problem.group))
        return order[problem.group_start[:-1]].astype(np.int64)

    def repair(self) -> bool:
        """Exchange until every capacity holds; tell whether that succeeded."""
        capacities = self.problem.capacities
        while np.any(self.used > capacities):
            if self.limit_reached():
                return False
            excess = np.maximum(self.used_after() - capacities, 0).astype(np.float64) / self.scale
            total = excess.sum(axis=1)
            best = int(np.lexsort((-self.problem.values.astype(np.float64), total))[0])
            if not total[best] < total[self.chosen[0]]:  # a chosen item's row is the current state
                return False
            self.exchange(best)
        return True

    def upgrade(self) -> None:
        """Exchange for more value while an exchange fits."""
        problem = self.problem
        while True:
            gain = problem.values - problem.values[self.chosen[problem.group]]
            fits = np.all(self.used_after() <= problem.capacities, axis=1)
            candidates = np.flatnonzero((gain > 0) & fits)
            if not candidates.size or self.limit_reached():
                return
            self.exchange(int(candidates[self._best(candidates, gain[candidates].astype(np.float64))]))

    def _best(self, candidates: NDArray[np.intp], gain: NDArray[np.float64]) -> int:
        fullness = self.used.astype(np.float64) / self.scale
        before = self.shares[self.chosen[self.problem.group[candidates]]]
        cost = (self.shares[candidates] - before) @ fullness
        free = cost <= 0
        if free.any():
            return int(np.argmax(np.where(free, gain, -np.inf)))
        return int(np.argmax(gain / cost))
