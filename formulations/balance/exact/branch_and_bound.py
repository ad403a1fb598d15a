"""P1 by branch and bound on thresholds: proved optima far beyond what enumeration and MILP solvers reach.

P1 is down-closed, so it asks, for one compute share after the other, whether any decision serves just one
user more than the best one known, and splits that question by how many of them are in AD. With both batch
sizes given

- a threshold is at least the n-th smallest value among the users that a mode may still take, and a user whose
  own length, steps, upload or deadline leaves too little time for n users cannot be in that mode
  (``tightening.py``);
- what remains is a choice under three rows, bounded by its Lagrangian dual with the two sizes as further rows
  (``relaxation.py``), which also fixes users;
- a node that survives is split at one of the ten thresholds (``nodes.py``, ``tree.py``).

The best batch of one mode alone is found by sweeps and proves the cases without AD or without SD.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import problem_of
from formulations.balance.exact.nodes import Question, deepened, empty_nodes, push_root
from formulations.balance.exact.tightening import AD, NONE, SD, users_of
from formulations.balance.exact.tree import CLOSED, FOUND, FULL, empty_log, explore
from formulations.balance.heuristics.batches import Batch, ModeView
from formulations.balance.heuristics.hybrid import algorithm_3
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.decisions import Assignment
from instances.errors import integer

__all__ = ["solve_exact"]

NAMES = ("ad", "sd", "none")
FIRST_DEPTH = 256  # open nodes to begin with
WORK_BETWEEN_CLOCKS = 20_000  # users × nodes


class _LimitError(Exception):
    """A limit ended the search."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped)
        self.stopped = stopped


def solve_exact(instance: BalanceInstance, *, limits: Limits, seed: int = 0, absolute_gap: int = 0) -> Result:
    """Serve the most users, proved; with ``absolute_gap`` g at least the optimum − g, proved.

    A limit ends it with the best decision and a bound that holds. Worst case exponential; ``nodes`` and
    ``steps`` (of the subgradient) are the deterministic limits. Source: P1 of the paper, eq. (21).

    Raises
    ------
    InputError
        For a gap that is no number of users.
    """
    gap = integer("set.absolute_gap", absolute_gap, low=0, high=instance.n_users)
    if problem_of(instance).cache_bytes(1.0) < 0.0:
        return Result(Status.INFEASIBLE, message="the LLM's weights do not fit the memory")
    search = _Search(instance, limits, gap)
    stopped = Stopped.DONE
    try:
        search.run()
    except _LimitError as limit:
        stopped = limit.stopped
    except MemoryError:
        stopped = Stopped.MEMORY
    return search.result(stopped)


class _Search:
    """The best decision so far, and for each compute share the most that it may still serve."""

    def __init__(self, instance: BalanceInstance, limits: Limits, gap: int) -> None:
        self.problem, self.limits, self.gap, self.k = problem_of(instance), limits, gap, instance.n_users
        self.begun = time.perf_counter()
        self.best, self.decision = 0, Assignment(("none",) * self.k, 1.0)
        self.incumbents: list[tuple[float, float]] = []
        self.users = users_of(self.problem)
        self.counts = np.zeros(2, dtype=np.int64)  # nodes, steps
        self.mode = np.empty(self.k, dtype=np.int64)
        self.stack = empty_nodes(self.k, FIRST_DEPTH)
        self.chunk = max(1, WORK_BETWEEN_CLOCKS // max(self.k, 1))  # nodes between looks at the clock
        self.log = empty_log(self.chunk)
        self.single: dict[float, tuple[int, int]] = {}  # by share: most users in AD alone, in SD alone
        self.upper: dict[float, int] = {share: self.k for share in self.problem.compute_shares}

    @property
    def wanted(self) -> int:
        """How many users a decision must serve to be worth finding."""
        return self.best + 1 + self.gap

    def run(self) -> None:
        """Close every share; raise when a limit is met."""
        self._begin()
        for share in self.problem.compute_shares:
            self._survey(share)
        for share in sorted(self.upper, key=lambda share: -self.upper[share]):
            self._close(share)

    def _begin(self) -> None:
        """Take the better of Algorithm 3 and of the best batches of one mode."""
        problem = self.problem
        nobody = Batch(np.empty(0, dtype=np.int64), 0.0, 0)
        ad_view, sd_view = ModeView(problem, "ad"), ModeView(problem, "sd")
        for share in problem.compute_shares:
            room = problem.cache_bytes(share)
            ad, sd = ad_view.solve(share, room, False), sd_view.solve(1.0 - share, room, False)
            self.single[share] = len(ad), len(sd)
            self.upper[share] = min(self.k, len(ad) + len(sd))
            self._take(ad, nobody, share)
            self._take(nobody, sd, share)
        ad, sd, share, _ = algorithm_3(problem, False, problem.compute_shares, problem.memory_shares)
        self._take(ad, sd, share)

    def _take(self, ad: Batch, sd: Batch, share: float) -> None:
        mode = np.full(self.k, NONE)
        mode[ad.members], mode[sd.members] = AD, SD
        self._improve(len(ad) + len(sd), mode, share)

    def _improve(self, served: int, mode: NDArray[np.int64], share: float) -> None:
        if served > self.best:
            self.best = served
            self.decision = Assignment(tuple(NAMES[i] for i in mode), share)
            self.incumbents.append((time.perf_counter() - self.begun, float(served)))

    def _survey(self, share: float) -> None:
        """Bisect the number of users that the root nodes alone rule out."""
        low, high = self.best, self.upper[share] + 1
        while high - low > 1:
            middle = (low + high) // 2
            if self._exists(share, middle, only_roots=True):
                low = middle
            else:
                high = middle
        self.upper[share] = high - 1

    def _close(self, share: float) -> None:
        """Find ever better decisions at a share until none is left."""
        while self.upper[share] >= self.wanted:
            if not self._exists(share, self.wanted):
                self.upper[share] = self.wanted - 1

    def _exists(self, share: float, served: int, only_roots: bool = False) -> bool:
        """Return whether a decision of two modes serves so many (may serve, after the root nodes only)."""
        most_ad, most_sd = self.single[share]
        for n in range(max(1, served - most_sd), min(most_ad, served - 1) + 1):
            sizes = np.array([n, served - n], dtype=np.int64)
            question = Question(share, self.problem.cache_bytes(share), sizes)
            if self._explore(question, only_roots):
                return True
        return False

    def _explore(self, question: Question, only_root: bool) -> bool:
        open_nodes = push_root(self.stack, self.users, question)
        while True:
            most = 1 if only_root else self._allowance()
            code, open_nodes, _ = explore(
                self.stack, open_nodes, self.users, question, self.counts, most, self.mode, self.log
            )
            if code == FOUND:
                self._improve(int(question.sizes.sum()), self.mode, question.share)
            if code in (CLOSED, FOUND) or only_root:
                return code != CLOSED
            if code == FULL:
                self.stack = deepened(self.stack, open_nodes)

    def _allowance(self) -> int:
        """Return the nodes until limits are looked at again; raise when one is met."""
        nodes, steps = (int(count) for count in self.counts)
        limits, most = self.limits, self.chunk
        if limits.time_s is not None and time.perf_counter() - self.begun >= limits.time_s:
            raise _LimitError(Stopped.TIME)
        if limits.nodes is not None:
            most = min(most, limits.nodes - nodes)
        if most <= 0 or (limits.steps is not None and steps >= limits.steps):
            raise _LimitError(Stopped.NODES)
        return most

    def result(self, stopped: Stopped) -> Result:
        """Return the claim: optimal only if no share may serve more."""
        bound = max(self.best, *self.upper.values())
        proved = bound == self.best
        if not proved and stopped is Stopped.DONE:
            stopped = Stopped.GAP
        return Result(
            Status.OPTIMAL if proved else Status.FEASIBLE,
            Stopped.DONE if proved else stopped,
            decision=self.decision,
            objective=float(self.best),
            bound=float(bound),
            bound_kind=BoundKind.TREE,
            counters={"nodes": int(self.counts[0]), "steps": int(self.counts[1])},
            incumbents=self.incumbents,
        )
