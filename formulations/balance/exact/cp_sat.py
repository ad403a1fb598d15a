"""P1 as one constraint programme for each compute share, solved by OR-Tools' CP-SAT in integers.

The programme is that of ``milp.py`` with switches in place of its large constants: P_j says that the batch's
longest input is at least L_j, Q_j and R_i likewise in SD for inputs and accepted lengths.

    x_k ⇒ P_j for the level j of I_k,  P_{j+1} ⇒ P_j,  and so for y with Q and R                 (3)–(5)
    x_k ⇒ w ≥ u_k and o ≥ m_k,  y_k ⇒ w' ≥ u_k and o' ≥ m'_k                                     (6)
    P_j ⇒ t ≥ w + wait + wait_step o + Σ_k cost_k(L_j) x_k / z,  and so f, g and bytes      (7)–(9), (12)–(14)
    x_k ⇒ t ≤ T'_k,  y_k ⇒ t' ≤ T'_k                                                             (11)

Seconds and bytes are counted in whole units, costs rounded down and budgets up, so each feasible decision of
P1 is one of the programme, and the programme's bound is one on P1. A decision that only the rounding admits
fails the exact check, is cut off with all that contain it, and the search goes on.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem
from formulations.balance.exact.share_search import search_over_shares
from formulations.balance.exact.weights import (
    ad_bytes,
    ad_seconds,
    sd_accepted_bytes,
    sd_accepted_seconds,
    sd_input_bytes,
    sd_input_seconds,
)
from formulations.highs import Answer
from formulations.result import Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.decisions import Assignment

__all__ = ["solve_cp_sat"]

UNITS = 2**20  # in the latest deadline, and in the memory beside the weights
MARGIN = 1e-12  # relative, above the error of a cost in doubles
MISSING = "OR-Tools is not installed: pip install ortools, or pip install 'certigap[cp-sat]'"

Floats = NDArray[np.float64]


def solve_cp_sat(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Solve P1 by CP-SAT for each compute share; optimal when every one is proved.

    One worker, so that a seed gives one run; ``limits.nodes`` is a deterministic limit on CP-SAT's conflicts
    over all shares, which the counter ``nodes`` holds.
    """
    try:
        cp_model = importlib.import_module("ortools.sat.python.cp_model")
    except ImportError:
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=MISSING)

    def build(problem: Problem, share: float, at_least: int) -> _Programme:
        return _build(cp_model, problem, share, at_least, seed % 2**31)

    return search_over_shares(instance, build, limits)


@dataclass(eq=False)
class _Programme:
    """The programme at one share."""

    cp_model: Any
    model: Any
    x: list[Any]
    y: list[Any]
    seed: int
    solver: Any = None

    def solve(self, time_s: float | None, nodes: int | None) -> Answer:
        """Maximise the number of users served."""
        self.solver = self.cp_model.CpSolver()
        parameters = self.solver.parameters
        parameters.num_workers, parameters.random_seed = 1, self.seed
        parameters.presolve_inclusion_work_limit = 0  # release 9.15 cuts off optima in this step, large sums
        if time_s is not None:
            parameters.max_time_in_seconds = time_s
        if nodes is not None:
            parameters.max_number_of_conflicts = nodes
        status = self.solver.solve(self.model)
        counters = {"nodes": int(self.solver.num_conflicts)}
        if status == self.cp_model.INFEASIBLE:
            return Answer(Stopped.DONE, infeasible=True, counters=counters)
        if status not in (self.cp_model.OPTIMAL, self.cp_model.FEASIBLE, self.cp_model.UNKNOWN):
            raise RuntimeError(f"CP-SAT ended with {self.solver.status_name(status)}")
        found, bound = status != self.cp_model.UNKNOWN, float(self.solver.best_objective_bound)
        if status == self.cp_model.OPTIMAL:
            return Answer(Stopped.DONE, False, True, bound, counters)
        by_nodes = nodes is not None and counters["nodes"] >= nodes
        bound = bound if found else math.inf
        return Answer(Stopped.NODES if by_nodes else Stopped.TIME, False, found, bound, counters)

    def assignment(self, share: float) -> Assignment:
        """Return the decision at the point found."""
        pairs = zip(self.x, self.y, strict=True)
        value = self.solver.boolean_value
        return Assignment(tuple("ad" if value(x) else "sd" if value(y) else "none" for x, y in pairs), share)

    def forbid(self, decision: Assignment) -> None:
        """Cut off the assignment and every one that contains it."""
        modes = enumerate(decision.mode)
        chosen = [self.x[k] if mode == "ad" else self.y[k] for k, mode in modes if mode != "none"]
        self.model.add_bool_or([v.negated() for v in chosen])


@dataclass(frozen=True, eq=False)
class _Side:
    """One mode's part of the programme: who is in it, and how its numbers are counted."""

    model: Any
    problem: Problem
    costs: ModeCosts
    steps: NDArray[np.int64]
    share: float
    chosen: list[Any]
    horizon: float  # s, UNITS of time
    room: float  # byte, UNITS of memory

    def total(self, weights: list[Floats], switches: list[Any], scale: float, extra: Any = 0) -> Any:
        """Return a variable that is at least weights[j] · chosen + extra where switch j is on."""
        total = self.model.new_int_var(0, UNITS + 1, "")
        for row, switch in zip(weights, switches, strict=True):
            coefficients = [_below(v, scale) for v in row]
            work = sum(c * v for c, v in zip(coefficients, self.chosen, strict=True))
            self.model.add(total >= work + extra).only_enforce_if(switch)
        return total

    def switches(self, values: Floats) -> tuple[Floats, list[Any]]:
        """Return the levels of the values, and whether the batch's maximum reaches each."""
        levels, place = np.unique(values, return_inverse=True)
        switches = [self.model.new_bool_var("") for _ in levels]
        for higher, lower in zip(switches[1:], switches, strict=False):
            self.model.add_implication(higher, lower)
        for k, variable in enumerate(self.chosen):
            self.model.add_implication(variable, switches[int(place[k])])
        return levels, switches

    def waits(self) -> Any:
        """Return the seconds that no share shortens: upload, last step, and what every batch waits."""
        total = _below(self.costs.wait, self.horizon)
        for seconds in (self.problem.upload_s, self.costs.wait_step * self.steps):
            largest = self.model.new_int_var(0, UNITS + 1, "")
            for variable, value in zip(self.chosen, seconds, strict=True):
                self.model.add(largest >= _below(value, self.horizon)).only_enforce_if(variable)
            total = total + largest
        return total

    def deadlines(self, seconds: Any) -> None:
        """Add seconds ≤ T'_k for everyone chosen."""
        for variable, budget in zip(self.chosen, self.problem.budget_s + LATENCY_SLACK_S, strict=True):
            if budget < 0.0:
                self.model.add(variable == 0)
            else:
                self.model.add(seconds <= _above(budget, self.horizon)).only_enforce_if(variable)


def _below(value: float, scale: float) -> int:
    """Return a cost in whole units, rounded down; one that is beyond every budget is just that."""
    return min(math.floor(float(value) / scale * UNITS * (1.0 - MARGIN)), UNITS + 2)


def _above(value: float, scale: float) -> int:
    """Return a budget in whole units, rounded up."""
    return math.ceil(float(value) / scale * UNITS * (1.0 + MARGIN))


def _build(cp_model: Any, problem: Problem, share: float, at_least: int, seed: int) -> _Programme:
    model, users = cp_model.CpModel(), range(len(problem.ad_steps))
    x = [model.new_bool_var("") for _ in users]
    y = [model.new_bool_var("") for _ in users]
    for ad, sd in zip(x, y, strict=True):
        model.add_at_most_one([ad, sd])  # (2)
    model.add(sum(x) + sum(y) >= at_least)
    model.maximize(sum(x) + sum(y))  # (1)
    horizon = max(float(problem.budget_s.max(initial=0.0)) + LATENCY_SLACK_S, LATENCY_SLACK_S)
    room = problem.cache_bytes(share)
    scale = max(room, 1e-6 * problem.memory_bytes)
    used: list[Any] = []
    if share > 0.0:
        ad_side = _Side(model, problem, problem.ad, problem.ad_steps, share, x, horizon, scale)
        used += _add_ad(ad_side)
    if share < 1.0:
        sd_side = _Side(model, problem, problem.sd, problem.sd_steps, 1.0 - share, y, horizon, scale)
        used += _add_sd(sd_side)
    model.add(sum(used) <= _above(room, scale))  # (15)
    idle = (x if share == 0.0 else []) + (y if share == 1.0 else [])
    model.add(sum(idle) == 0)
    return _Programme(cp_model, model, x, y, seed)


def _add_ad(side: _Side) -> Iterator[Any]:
    """Add the rows of AD, and yield the variable of its memory."""
    levels, switches = side.switches(side.problem.input_tokens)  # (3)
    work = [ad_seconds(side.problem, length) / side.share for length in levels]
    seconds = side.total(work, switches, side.horizon, side.waits())  # (6), (7)
    side.deadlines(seconds)  # (11)
    yield side.total([ad_bytes(side.problem, length) for length in levels], switches, side.room)  # (12)


def _add_sd(side: _Side) -> Iterator[Any]:
    """Add the rows of SD, and yield the variables of its memory."""
    problem, share = side.problem, side.share
    lengths, by_length = side.switches(problem.input_tokens)  # (4)
    accepted, by_accepted = side.switches(problem.accepted)  # (5)
    inputs = [sd_input_seconds(problem, length) / share for length in lengths]
    drafts = [sd_accepted_seconds(problem, a) / share for a in accepted]
    first = side.total(inputs, by_length, side.horizon)  # (8)
    second = side.total(drafts, by_accepted, side.horizon)  # (9)
    side.deadlines(first + second + side.waits())  # (6), (10), (11)
    yield side.total([sd_input_bytes(problem, length) for length in lengths], by_length, side.room)  # (13)
    yield side.total([sd_accepted_bytes(problem, a) for a in accepted], by_accepted, side.room)  # (14)
