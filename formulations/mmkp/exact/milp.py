"""The MMKP as a mixed-integer programme in PuLP, solved by HiGHS or any other solver that PuLP knows."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.pulp_solver import Answer, missing_solver, solve
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["solve_milp"]

GAP = 0.5  # in value units: totals are whole, so a smaller gap closes
SMALLEST_GAP = 1e-9  # where they are not
EXACT = 2**53  # integers up to here are exact as doubles


@dataclass(frozen=True)
class _Model:
    """The programme in PuLP, and what its objective counts."""

    programme: pulp.LpProblem
    take: list[pulp.LpVariable]  # x_j, (items,)
    unit: Fraction  # value of 1 in the objective
    whole: bool  # whether every total is an integer


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
    return _read_back(problem, model, answer, phases)


def _build(problem: IntegerMmkp) -> _Model:
    programme = pulp.LpProblem("mmkp", pulp.LpMaximize)
    items = range(len(problem.values))
    take = [programme.add_variable(f"x_{j:08d}", cat=pulp.LpBinary) for j in items]  # (4)
    largest = int(problem.values.max())
    whole = largest <= EXACT
    scale = 1 if whole else largest
    value = [(take[j], int(problem.values[j]) / scale) for j in items]
    programme += pulp.LpAffineExpression(value)  # (1)
    start = problem.group_start.tolist()
    for g in range(len(start) - 1):
        programme += pulp.lpSum(take[start[g] : start[g + 1]]) == 1, f"group_{g}"  # (2)
    for k in range(len(problem.capacities)):
        weights, capacity = _row(problem.weights[:, k].tolist(), int(problem.capacities[k]))
        used = [(take[j], weights[j]) for j in items if weights[j]]
        if used:
            programme += pulp.LpAffineExpression(used) <= capacity, f"resource_{k}"  # (3)
    return _Model(programme, take, problem.value_unit * scale, whole)


def _row(weights: list[int], capacity: int) -> tuple[list[float], float]:
    """Return a resource as doubles; what they cannot hold is scaled and relaxed, to cut nothing off."""
    largest = max(capacity, *weights)
    if largest <= EXACT:
        return [float(w) for w in weights], float(capacity)
    return [w / largest for w in weights], capacity / largest + 1e-9


def _highs_options(model: _Model, limits: Limits, seed: int) -> dict[str, Any]:
    options: dict[str, Any] = {
        "random_seed": seed % 2**31,
        "mip_abs_gap": GAP if model.whole else SMALLEST_GAP,
    }
    if limits.nodes is not None:
        options["mip_max_nodes"] = min(limits.nodes, 2**31 - 1)
    return options


def _read_back(problem: IntegerMmkp, model: _Model, answer: Answer, phases: dict[str, float]) -> Result:
    """Return the claim; the decision counts only if it keeps the capacities in integers."""
    if answer.infeasible:
        return Result(Status.INFEASIBLE, phases=phases, counters=answer.counters)
    bound, whole = _safe_bound(model, answer.bound, problem.n_groups)
    kind = None if bound is None else BoundKind.MILP_DUAL
    result = Result(
        Status.UNKNOWN, answer.stopped, bound=bound, bound_kind=kind, counters=answer.counters, phases=phases
    )
    if not answer.found:
        return result
    chosen = _chosen(problem, np.array([variable.varValue or 0.0 for variable in model.take]))
    if np.any(problem.weights[chosen].sum(axis=0) > problem.capacities):
        message = "the solver's point exceeds a capacity when re-checked in integers"
        return replace(result, message=message)
    units = sum(int(v) for v in problem.values[chosen])
    objective = problem.value(units)
    if whole is not None and units > whole:
        raise RuntimeError(f"the solver's bound {bound} is below the value {objective} of its point")
    status, stopped = Status.FEASIBLE, answer.stopped
    if units == whole:
        status, stopped = Status.OPTIMAL, Stopped.DONE
    elif stopped is Stopped.DONE:
        stopped = Stopped.GAP
    decision = Choice(chosen - problem.group_start[:-1])
    return replace(result, status=status, stopped=stopped, decision=decision, objective=objective)


def _chosen(problem: IntegerMmkp, point: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the item with the largest x of each group, (n,)."""
    order = np.lexsort((-point, problem.group))
    return order[problem.group_start[:-1]].astype(np.int64)


def _safe_bound(model: _Model, bound: float, n_groups: int) -> tuple[float | None, int | None]:
    """Return the bound, not below the optimum, and the integer that it rounds down to where that is safe.

    The error granted to the solver is ten times its dual tolerance for each group, (2) being the rows that
    carry it, and some rounding.
    """
    if not math.isfinite(bound):
        return None, None
    error = 1e-6 * n_groups + 1e-10 * abs(bound)
    whole = math.floor(bound + error) if model.whole and error < GAP else None
    exact = model.unit * (Fraction(bound + error) if whole is None else whole)
    nearest = float(exact)
    if whole is None and Fraction(nearest) < exact:
        nearest = math.nextafter(nearest, math.inf)
    return nearest, whole
