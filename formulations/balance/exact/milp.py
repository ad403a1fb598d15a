"""P1 as one mixed-integer programme for each compute share, through PuLP.

For a fixed share z, with s = 1 − z, input lengths L_j, accepted lengths a_i and the costs of ``costs.py``:

    max  Σ_k x_k + y_k                                                                             (1)
    s.t. x_k + y_k ≤ 1                                                              all k          (2)
         Σ_j p_j = 1,  x_k ≤ Σ_{j: L_j ≥ I_k} p_j           longest input in AD: L_j    all k      (3)
         Σ_j q_j = 1,  y_k ≤ Σ_{j: L_j ≥ I_k} q_j           longest input in SD: L_j    all k      (4)
         Σ_i r_i = 1,  y_k ≤ Σ_{i: a_i ≥ a_k} r_i           longest accepted: a_i       all k      (5)
         w ≥ u_k x_k,  o ≥ m_k x_k  (AD),  w' ≥ u_k y_k,  o' ≥ m'_k y_k  (SD)           all k      (6)
         t  ≥ w  + wait + wait_step o + Σ_k cost_k(L_j) x_k / z − M (1 − p_j)           all j      (7)
         f  ≥ Σ_k (part of cost_k that depends on L_j) y_k / s − M (1 − q_j)            all j      (8)
         g  ≥ Σ_k (part of cost_k that depends on a_i) y_k / s − M (1 − r_i)            all i      (9)
         t' ≥ w' + wait + wait_step o' + f + g                                                     (10)
         t ≤ T'_k + M (1 − x_k),  t' ≤ T'_k + M (1 − y_k)                               all k      (11)
         b  ≥ Σ_k bytes_k(L_j) x_k − M (1 − p_j)                                        all j      (12)
         c  ≥ Σ_k (part of bytes_k that depends on L_j) y_k − M (1 − q_j)               all j      (13)
         d  ≥ Σ_k (part of bytes_k that depends on a_i) y_k − M (1 − r_i)               all i      (14)
         b + c + d ≤ memory beside the weights                                                     (15)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pulp
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem
from formulations.balance.exact.share_search import HIGHS_OPTIONS, search_over_shares
from formulations.balance.exact.weights import (
    ad_bytes,
    ad_seconds,
    largest_wait,
    sd_accepted_bytes,
    sd_accepted_seconds,
    sd_input_bytes,
    sd_input_seconds,
)
from formulations.highs import Answer
from formulations.pulp_solver import missing_solver, solve
from formulations.result import Limits, Result
from instances.balance import BalanceInstance
from instances.decisions import Assignment

__all__ = ["solve_milp"]


def solve_milp(instance: BalanceInstance, *, limits: Limits, seed: int = 0, solver: str = "HiGHS") -> Result:
    """Solve P1 by a mixed-integer programme for each compute share; optimal when every one is proved.

    ``limits.nodes`` is HiGHS's only; other solvers run without it.
    """
    if (missing := missing_solver(solver)) is not None:
        return missing

    def build(problem: Problem, share: float, at_least: int) -> _Model:
        return _build(problem, share, at_least, solver)

    return search_over_shares(instance, build, limits)


@dataclass(frozen=True, eq=False)
class _Model:
    programme: pulp.LpProblem
    x: list[pulp.LpVariable]
    y: list[pulp.LpVariable]
    solver: str

    def solve(self, time_s: float | None, nodes: int | None) -> Answer:
        limit = {} if nodes is None else {"mip_max_nodes": min(nodes, 2**31 - 1)}
        return solve(self.programme, self.solver, time_s=time_s, options=HIGHS_OPTIONS | limit)

    def assignment(self, share: float) -> Assignment:
        pairs = zip(self.x, self.y, strict=True)
        mode = ("ad" if x.value() > 0.5 else "sd" if y.value() > 0.5 else "none" for x, y in pairs)
        return Assignment(tuple(mode), share)

    def forbid(self, decision: Assignment) -> None:
        """Cut off the assignment and every one that contains it."""
        chosen = [
            self.x[k] if mode == "ad" else self.y[k] for k, mode in enumerate(decision.mode) if mode != "none"
        ]
        self.programme.addConstraint(pulp.lpSum(chosen) <= len(chosen) - 1)


def _build(problem: Problem, share: float, at_least: int, solver: str) -> _Model:
    programme = pulp.LpProblem("balance", pulp.LpMaximize)
    users = range(len(problem.ad_steps))
    x = [programme.add_variable(f"x{k}", 0, int(share > 0.0), cat="Integer") for k in users]
    y = [programme.add_variable(f"y{k}", 0, int(share < 1.0), cat="Integer") for k in users]
    programme += pulp.lpSum(x) + pulp.lpSum(y)  # (1)
    programme += pulp.lpSum(x) + pulp.lpSum(y) >= at_least
    for k in users:
        programme += x[k] + y[k] <= 1  # (2)
    room = problem.cache_bytes(share)
    unit = max(room, 1e-6 * problem.memory_bytes)  # keeps the rows' coefficients near 1
    memory = pulp.LpAffineExpression()
    if share > 0.0:
        memory += _add_ad(programme, problem, share, x, unit)
    if share < 1.0:
        memory += _add_sd(programme, problem, 1.0 - share, y, unit)
    programme += memory <= room / unit  # (15)
    return _Model(programme, x, y, solver)


def _add_ad(
    programme: pulp.LpProblem, problem: Problem, share: float, x: list[pulp.LpVariable], unit: float
) -> pulp.LpVariable:
    """Add the rows of AD; return the variable of its memory in ``unit`` bytes."""
    costs, steps = problem.ad, problem.ad_steps
    lengths = np.unique(problem.input_tokens)
    p = _pick(programme, "p", lengths, problem.input_tokens, x)  # (3)
    waits = _waits(programme, "ad", problem, costs, steps, x)  # (6)
    seconds = programme.add_variable("t_ad", lowBound=0)
    used = programme.add_variable("b_ad", lowBound=0)
    for j, length in enumerate(lengths):
        work = ad_seconds(problem, length) / share
        _at_least(programme, seconds, work, x, 1 - p[j], waits, largest_wait(problem, costs, steps))  # (7)
        _at_least(programme, used, ad_bytes(problem, length) / unit, x, 1 - p[j])  # (12)
    _deadlines(programme, problem, seconds, x)  # (11)
    return used


def _add_sd(
    programme: pulp.LpProblem, problem: Problem, share: float, y: list[pulp.LpVariable], unit: float
) -> pulp.LpAffineExpression:
    """Add the rows of SD; return its memory in ``unit`` bytes."""
    costs, steps = problem.sd, problem.sd_steps
    lengths, accepted = np.unique(problem.input_tokens), np.unique(problem.accepted)
    q = _pick(programme, "q", lengths, problem.input_tokens, y)  # (4)
    r = _pick(programme, "r", accepted, problem.accepted, y)  # (5)
    by_input, by_accepted = programme.add_variable("f", lowBound=0), programme.add_variable("g", lowBound=0)
    bytes_input, bytes_accepted = (
        programme.add_variable("c", lowBound=0),
        programme.add_variable("d", lowBound=0),
    )
    for j, length in enumerate(lengths):
        _at_least(programme, by_input, sd_input_seconds(problem, length) / share, y, 1 - q[j])  # (8)
        _at_least(programme, bytes_input, sd_input_bytes(problem, length) / unit, y, 1 - q[j])  # (13)
    for i, length in enumerate(accepted):
        _at_least(programme, by_accepted, sd_accepted_seconds(problem, length) / share, y, 1 - r[i])  # (9)
        _at_least(programme, bytes_accepted, sd_accepted_bytes(problem, length) / unit, y, 1 - r[i])  # (14)
    seconds = programme.add_variable("t_sd", lowBound=0)
    waits = _waits(programme, "sd", problem, costs, steps, y)  # (6)
    programme += seconds >= waits + by_input + by_accepted  # (10)
    _deadlines(programme, problem, seconds, y)  # (11)
    return bytes_input + bytes_accepted


def _pick(
    programme: pulp.LpProblem,
    name: str,
    levels: NDArray[np.float64],
    values: NDArray[np.float64],
    chosen: list[pulp.LpVariable],
) -> list[pulp.LpVariable]:
    """Add binaries that pick a level at least as high as the value of every chosen user."""
    picks = [programme.add_variable(f"{name}{j}", cat="Binary") for j in range(len(levels))]
    if picks:
        programme += pulp.lpSum(picks) == 1
    for k, variable in enumerate(chosen):
        programme += variable <= pulp.lpSum(picks[int(np.searchsorted(levels, values[k])) :])
    return picks


def _waits(
    programme: pulp.LpProblem,
    name: str,
    problem: Problem,
    costs: ModeCosts,
    steps: NDArray[np.int64],
    chosen: list[pulp.LpVariable],
) -> pulp.LpAffineExpression:
    """Add the batch's upload and last step; return the seconds that no share shortens."""
    upload, last = (
        programme.add_variable(f"w_{name}", lowBound=0),
        programme.add_variable(f"o_{name}", lowBound=0),
    )
    for k, variable in enumerate(chosen):
        programme += upload >= float(problem.upload_s[k]) * variable
        programme += last >= costs.wait_step * float(steps[k]) * variable
    return upload + last + costs.wait


def _at_least(
    programme: pulp.LpProblem,
    total: pulp.LpVariable,
    weights: NDArray[np.float64],
    chosen: list[pulp.LpVariable],
    off: pulp.LpAffineExpression,
    extra: pulp.LpAffineExpression | float = 0.0,
    largest_extra: float = 0.0,
) -> None:
    """Add total ≥ Σ weights · chosen + extra unless ``off`` is 1."""
    big = float(weights.sum()) + largest_extra
    work = pulp.lpSum(float(weight) * variable for weight, variable in zip(weights, chosen, strict=True))
    programme += total >= work + extra - big * off


def _deadlines(
    programme: pulp.LpProblem, problem: Problem, seconds: pulp.LpVariable, chosen: list[pulp.LpVariable]
) -> None:
    """Add seconds ≤ T'_k for everyone chosen; ``seconds`` never needs to exceed the longest budget."""
    longest = float(problem.budget_s.max(initial=0.0)) + LATENCY_SLACK_S
    for k, variable in enumerate(chosen):
        budget = float(problem.budget_s[k]) + LATENCY_SLACK_S
        if budget < 0.0:
            programme += variable <= 0
        else:
            programme += seconds <= budget + (longest - budget) * (1 - variable)
    seconds.upBound = max(longest, 0.0)
