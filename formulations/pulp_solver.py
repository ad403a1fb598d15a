"""PuLP's solvers as the exact methods need them: named always, one thread, statuses from the solver itself.

PuLP says *Optimal* after a time limit with an incumbent, and hands a maximisation over negated and without its
constant; so status and bound are read from the solver's own model and turned back.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pulp

from formulations.result import Result, Status, Stopped

__all__ = ["Answer", "missing_solver", "solve"]


@dataclass(frozen=True)
class Answer:
    """What the solver itself says of a maximisation."""

    proved: bool  # it claims optimality within its tolerances
    infeasible: bool
    found: bool  # variables hold a feasible point
    bound: float  # upper bound on the objective, infinite when there is none
    nodes: int
    message: str


def missing_solver(name: str) -> Result | None:
    """Return a skipped result that says how to install the solver, None when it can be used."""
    if name not in pulp.listSolvers():
        known = ", ".join(pulp.listSolvers())
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=f"solver: {name} is unknown to PuLP ({known})")
    if name in pulp.listSolvers(onlyAvailable=True):
        return None
    text = f"solver: {name} is not installed; PuLP's documentation says how, HiGHS comes with `pip install highspy`"
    return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)


def solve(problem: pulp.LpProblem, name: str, time_s: float | None, tolerance: float = 1e-9) -> Answer:
    """Solve a maximisation with a PuLP solver by name, to a gap of zero within its tolerances.

    ``tolerance`` bounds rows and integrality where the solver takes it (HiGHS).
    """
    if problem.sense != pulp.LpMaximize:
        raise ValueError("only maximisations are read back")
    if name != "HiGHS":
        return _solve_other(problem, name, time_s)
    solver = pulp.HiGHS(
        msg=False,
        threads=1,
        timeLimit=time_s,
        gapRel=0.0,
        gapAbs=0.0,
        random_seed=0,
        parallel="off",
        mip_feasibility_tolerance=tolerance,
        primal_feasibility_tolerance=tolerance,
        dual_feasibility_tolerance=tolerance,
    )
    problem.solve(solver)
    model: Any = problem.solverModel
    status = model.modelStatusToString(model.getModelStatus())
    info = model.getInfo()
    integer = any(v.cat == pulp.LpInteger for v in problem.variables())
    found = info.primal_solution_status == 2
    raw = info.mip_dual_bound if integer else info.objective_function_value
    infeasible = status in ("Infeasible", "Primal infeasible or unbounded")
    bound = -math.inf if infeasible else math.inf
    if not infeasible and math.isfinite(raw) and (integer or status == "Optimal"):
        bound = -raw + float(problem.objective.constant)
    return Answer(status == "Optimal", infeasible, found, bound, max(int(info.mip_node_count), 0), status)


def _solve_other(problem: pulp.LpProblem, name: str, time_s: float | None) -> Answer:
    """Solve with another of PuLP's solvers: no status of it is taken for a proof, no bound is known."""
    solver = pulp.getSolver(name, msg=False, timeLimit=time_s)
    problem.solve(solver)
    found = problem.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    infeasible = problem.status == pulp.LpStatusInfeasible
    return Answer(False, infeasible, found, math.inf, 0, pulp.LpStatus[problem.status])
