"""P1 by one programme for each compute share: the search over the shares, whoever builds and solves them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Protocol

from formulations.balance.costs import Problem, is_feasible, problem_of
from formulations.highs import Answer
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.decisions import Assignment

__all__ = ["HIGHS_OPTIONS", "ShareProgramme", "search_over_shares"]

MAX_REPAIRS = 1000
ROUNDING = 1e-6  # granted to a solver's bound on an integer
HIGHS_OPTIONS = {
    "mip_abs_gap": 0.5,  # the objective is an integer
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
}


class ShareProgramme(Protocol):
    """P1 at one compute share, at least as large as the feasible decisions that it holds."""

    def solve(self, time_s: float | None, nodes: int | None) -> Answer:
        """Maximise the number of users served, within the limits."""

    def assignment(self, share: float) -> Assignment:
        """Return the decision at the point found."""

    def forbid(self, decision: Assignment) -> None:
        """Cut off the assignment and every one that contains it."""


Build = Callable[[Problem, float, int], ShareProgramme]  # (problem, share, least number served)


def search_over_shares(instance: BalanceInstance, build: Build, limits: Limits) -> Result:
    """Solve P1 share by share, each programme asked to serve more users than the best decision known.

    P1 is down-closed, so a point that passes the solver's tolerances but not the exact check is cut off with
    all that contains it, and the programme is solved again. Optimal when every share is closed.
    """
    problem = problem_of(instance)
    if problem.cache_bytes(1.0) < 0.0:
        return Result(Status.INFEASIBLE, message="the LLM's weights do not fit the memory")
    search = _Search(problem, build, limits)
    for share in problem.compute_shares:
        search.improve_at(share)
    return search.result()


class _Search:
    """The best assignment over the shares so far, and what is proved about the rest."""

    def __init__(self, problem: Problem, build: Build, limits: Limits) -> None:
        self.problem, self.build, self.max_nodes = problem, build, limits.nodes
        self.begun = time.perf_counter()
        self.deadline = None if limits.time_s is None else self.begun + limits.time_s
        self.users = len(problem.ad_steps)
        nobody = ("none",) * self.users
        self.best, self.decision, self.bound = 0, Assignment(nobody, 1.0), 0
        self.nodes = self.repairs = 0
        self.phases = {"build": 0.0, "solve": 0.0}
        self.incumbents: list[tuple[float, float]] = []
        self.proved = True
        self.stopped = Stopped.DONE  # why the first share that was not closed was left

    def improve_at(self, share: float) -> None:
        """Search for an assignment at ``share`` that serves more users than the best one known."""
        if self.problem.cache_bytes(share) < 0.0 or self.best == self.users:
            return
        begun = time.perf_counter()
        if self.deadline is not None and begun >= self.deadline:
            bound = self._leave(Stopped.TIME)
        else:
            programme = self.build(self.problem, share, self.best + 1)
            self.phases["build"] += time.perf_counter() - begun
            bound = self._solve(programme, share)
        self.bound = max(self.bound, bound)

    def _solve(self, programme: ShareProgramme, share: float) -> int:
        """Solve, repair and return an upper bound at this share."""
        for _ in range(MAX_REPAIRS):
            begun = time.perf_counter()
            left = None if self.deadline is None else self.deadline - begun
            nodes = None if self.max_nodes is None else self.max_nodes - self.nodes
            if left is not None and left <= 0.0:
                return self._leave(Stopped.TIME)
            if nodes is not None and nodes <= 0:
                return self._leave(Stopped.NODES)
            answer = programme.solve(left, nodes)
            self.phases["solve"] += time.perf_counter() - begun
            self.nodes += answer.counters.get("nodes", 0)
            if answer.infeasible:
                return self.best
            if not answer.found:
                return self._leave(answer.stopped, answer.bound)
            decision = programme.assignment(share)
            if is_feasible(self.problem, decision):
                return self._accept(decision, answer)
            self.repairs += 1
            programme.forbid(decision)
        return self._leave(Stopped.GAP)

    def _accept(self, decision: Assignment, answer: Answer) -> int:
        served = sum(mode != "none" for mode in decision.mode)
        if served > self.best:
            self.best, self.decision = served, decision
            self.incumbents.append((time.perf_counter() - self.begun, float(served)))
        bound = self._whole(answer.bound)
        return self._leave(answer.stopped, answer.bound) if bound > self.best else self.best

    def _leave(self, stopped: Stopped, bound: float = math.inf) -> int:
        """Note why a share is left open, and return the bound that holds without a proof."""
        if self.proved:
            self.stopped = Stopped.GAP if stopped is Stopped.DONE else stopped
        self.proved = False
        return max(self._whole(bound), self.best)

    def _whole(self, bound: float) -> int:
        """Return a solver's bound on an integer as one, at most the number of users."""
        return math.floor(min(bound, float(self.users)) + ROUNDING)

    def result(self) -> Result:
        """Return the claim: optimal only if the bound over all shares is met."""
        bound = max(self.bound, self.best)
        closed = self.proved or bound == self.best
        return Result(
            Status.OPTIMAL if closed else Status.FEASIBLE,
            Stopped.DONE if closed else self.stopped,
            decision=self.decision,
            objective=float(self.best),
            bound=float(bound),
            bound_kind=BoundKind.MILP_DUAL if bound < self.users or closed else BoundKind.TRIVIAL,
            counters={"nodes": self.nodes, "repairs": self.repairs},
            phases=self.phases,
            incumbents=self.incumbents,
        )
