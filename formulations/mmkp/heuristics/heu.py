"""HEU (Khan, Li, Manning and Akbar, Studia Informatica Universalis 2(1), 2002)."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.heuristics.exchanges import Exchanges
from formulations.mmkp.integers import in_integers
from formulations.result import Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["solve_heu"]


def solve_heu(instance: MmkpInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Exchange items by what they save of the aggregate resource, with upgrades that downgrades pay for.

    An exchange of the item taken of a group by item j saves Δa = Σ_k (w_now,k − w_jk) C_k / |C| of the
    aggregate resource, C being what is used of each resource relative to its capacity.

    1. Start with the least valued item of each group. While a capacity is exceeded, take the exchange that
       saves most among those that use less of the fullest resource and do not exceed another capacity
       further; without one the status is ``unknown``.
    2. While a feasible exchange raises the value, take the one that saves most, or, if none saves, the one
       with the most value for the aggregate resource it costs.
    3. With R_k left of each resource, Δp = (v_now − v_j) / Σ_k (w_now,k − w_jk) / R_k, over the resources of
       which something is left. Make the upgrade of the largest Δp, feasible or not, then the downgrade of the
       largest Δp among those that make the choice feasible and worth more than before, and go on with 2;
       without one the choice before stands.

    Ties go to the first item; nothing is random, so ``seed`` changes nothing. Guarantee: none. An exchange
    costs O(items · m); ``limits.steps`` counts exchanges.

    Descriptions of HEU leave its rules open in part. These give the authors' own solutions, which Khan's
    files hold, on I02, I05 and I06; elsewhere the values differ, by up to 11 % on the five groups of I01.
    """
    begin = time.perf_counter()
    problem = in_integers(instance)
    built = time.perf_counter()
    search = _Search(problem, limits, begin)
    feasible = search.make_feasible()
    while feasible and search.stopped is Stopped.DONE:
        search.upgrade()
        if not search.exchange_upward():
            break
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    counters = {"exchanges": search.steps}
    if not feasible:
        message = "no exchange relieves the fullest resource" if search.stopped is Stopped.DONE else ""
        return Result(Status.UNKNOWN, search.stopped, counters=counters, phases=phases, message=message)
    objective = problem.value(sum(int(v) for v in problem.values[search.chosen]))
    choice = Choice(search.chosen - problem.group_start[:-1])
    return Result(Status.FEASIBLE, search.stopped, choice, objective, counters=counters, phases=phases)


class _Search(Exchanges):
    """Starts with the least valued items."""

    def first_items(self) -> NDArray[np.int64]:
        """Return the least valued item of each group, (n,)."""
        order = np.lexsort((self.problem.values.astype(np.float64), self.problem.group))
        return order[self.problem.group_start[:-1]].astype(np.int64)

    def make_feasible(self) -> bool:
        """Step 1; tell whether it succeeded."""
        capacities = self.problem.capacities
        while np.any(self.used > capacities):
            if self.limit_reached():
                return False
            fullest = int(np.argmax(self.used / self.scale))
            after = self.used_after()
            allowed = np.all((after <= capacities) | (after <= self.used), axis=1)
            allowed &= after[:, fullest] < self.used[fullest]
            if not allowed.any():
                return False
            self.exchange(int(np.argmax(np.where(allowed, self._savings(), -np.inf))))
        return True

    def upgrade(self) -> None:
        """Step 2."""
        while not self.limit_reached():
            gain = self._gains()
            fits = np.all(self.used_after() <= self.problem.capacities, axis=1)
            item = self._best_upgrade((gain > 0) & fits, gain)
            if item is None:
                return
            self.exchange(item)

    def exchange_upward(self) -> bool:
        """Step 3; tell whether the value rose. Otherwise the choice is as it was."""
        before, used, value = self.chosen.copy(), self.used, self._value()
        item = self._largest_ratio(self._gains() > 0)
        if item is None or self.limit_reached():
            return False
        self.exchange(item)
        lost = self._gains()
        allowed = (lost < 0) & (lost > value - self._value())
        allowed &= np.all(self.used_after() <= self.problem.capacities, axis=1)
        item = self._largest_ratio(allowed)
        if item is not None and not self.limit_reached():
            self.exchange(item)
            return True
        self.chosen, self.used = before, used
        return False

    def _best_upgrade(self, allowed: NDArray[np.bool_], gain: NDArray[np.float64]) -> int | None:
        """Return the item that saves most, or else the one with the most value for what it costs."""
        if not allowed.any():
            return None
        saving = self._savings()
        free = allowed & (saving >= 0)
        if free.any():
            best = np.lexsort((-gain, -np.where(free, saving, -np.inf)))
            return int(best[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            return int(np.argmax(np.where(allowed, gain / -saving, -np.inf)))

    def _largest_ratio(self, allowed: NDArray[np.bool_]) -> int | None:
        """Return the allowed item of the largest Δp, None where nothing is allowed."""
        if not allowed.any():
            return None
        left = (self.problem.capacities - self.used).astype(np.float64)
        rate = np.divide(1.0, left, out=np.zeros(len(left)), where=left > 0)
        now = self.chosen[self.problem.group]
        saved = (self.problem.weights[now] - self.problem.weights).astype(np.float64) @ rate
        with np.errstate(divide="ignore", invalid="ignore"):
            return int(np.argmax(np.where(allowed, -self._gains() / saved, -np.inf)))

    def _savings(self) -> NDArray[np.float64]:
        """Return Δa of an exchange to each item, (items,), but for the factor 1 / |C|."""
        fullness = self.used.astype(np.float64) / self.scale
        now = self.shares[self.chosen[self.problem.group]]
        result: NDArray[np.float64] = (now - self.shares) @ fullness
        return result

    def _gains(self) -> NDArray[np.float64]:
        values = self.problem.values
        result: NDArray[np.float64] = (values - values[self.chosen[self.problem.group]]).astype(np.float64)
        return result

    def _value(self) -> int:
        return sum(int(v) for v in self.problem.values[self.chosen])
