"""The MMKP as a mixed-integer programme in PuLP, solved by HiGHS or any other solver that PuLP knows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulp

from formulations.mmkp.exact.readback import GAP, SMALLEST_GAP, claim_of, row_in_doubles, value_scale
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.pulp_solver import missing_solver, solve
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["programme_of", "solve_milp"]


@dataclass(frozen=True)
class _Model:
    """The programme in PuLP, and whether its every total is an integer."""

    programme: pulp.LpProblem
    take: list[pulp.LpVariable]  # x_j, (items,)
    whole: bool


def solve_milp(instance: MmkpInstance, *, limits: Limits, seed: int = 0, solver: str = "HiGHS") -> Result:
    """Solve the MMKP exactly.

    With x_j = 1 if item j is taken, G_g the items of group g, v_j values, w_jk weights, W_k capacities::

        (1)  maximise   Σ_j v_j x_j
        (2)  subject to Σ_{j ∈ G_g} x_j = 1        for every group g
        (3)             Σ_j w_jk x_j ≤ W_k         for every resource k
        (4)             x_j ∈ {0, 1}               for every item j

    Values and each resource are counted in whole units (the largest that divide their decimals), so the
    optimum is an integer and a bound may be rounded down to one. The decision is re-checked in integers;
    ``optimal`` is claimed when its value meets that bound, and nothing else than this proves it. With HiGHS,
    status and bound are read from HiGHS itself and ``limits.nodes`` is a deterministic limit; of other
    solvers, PuLP passes on whether they proved their point optimal, but no bound.

    Guarantee: exact. Running time is exponential in the worst case.

    Raises
    ------
    InputError
        When PuLP knows no such solver.
    """
    if (missing := missing_solver(solver)) is not None:
        return missing
    begin = time.perf_counter()
    problem = in_integers(instance)
    if instance.n_groups == 0:
        empty = Choice(np.array([]))
        return Result(Status.OPTIMAL, Stopped.DONE, empty, 0.0, 0.0, BoundKind.TRIVIAL)
    model = _build(problem)
    built = time.perf_counter()
    answer = solve(model.programme, solver, time_s=limits.time_s, options=_highs_options(model, limits, seed))
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    point = np.array([variable.varValue or 0.0 for variable in model.take]) if answer.found else None
    return claim_of(problem, point, answer, phases)


def programme_of(instance: MmkpInstance) -> pulp.LpProblem:
    """Return (1) to (4) in whole units; item j is the variable ``x_`` with eight digits of j."""
    return _build(in_integers(instance)).programme


def _build(problem: IntegerMmkp) -> _Model:
    programme = pulp.LpProblem("mmkp", pulp.LpMaximize)
    items = range(len(problem.values))
    take = [programme.add_variable(f"x_{j:08d}", cat=pulp.LpBinary) for j in items]  # (4)
    scale, whole = value_scale(problem)
    value = [(take[j], int(problem.values[j]) / scale) for j in items]
    programme += pulp.LpAffineExpression(value)  # (1)
    start = problem.group_start.tolist()
    for g in range(len(start) - 1):
        programme += pulp.lpSum(take[start[g] : start[g + 1]]) == 1, f"group_{g}"  # (2)
    for k in range(len(problem.capacities)):
        weights, capacity = row_in_doubles(problem.weights[:, k].tolist(), int(problem.capacities[k]))
        used = [(take[j], weights[j]) for j in items if weights[j]]
        if used:
            programme += pulp.LpAffineExpression(used) <= capacity, f"resource_{k}"  # (3)
    return _Model(programme, take, whole)


def _highs_options(model: _Model, limits: Limits, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {
        "random_seed": seed % 2**31,
        "mip_abs_gap": GAP if model.whole else SMALLEST_GAP,
    }
    if limits.nodes is not None:
        options["mip_max_nodes"] = min(limits.nodes, 2**31 - 1)
    return options
