"""PuLP's solvers as the exact methods need them: named always, one thread, statuses from the solver itself.

PuLP says *Optimal* after a time limit with an incumbent, and hands a maximisation over negated and without
its constant; so status and bound are read from the solver's own model and turned back.
"""

from __future__ import annotations

import inspect
import time
from typing import Any

import pulp

from formulations.highs import Answer, configure, read_answer
from formulations.result import Result, Status, Stopped
from instances.errors import InputError, shown

__all__ = ["Answer", "missing_solver", "solve"]


def missing_solver(name: str) -> Result | None:
    """Return a skipped result that says how to install the solver, None when it can be used.

    Raises
    ------
    InputError
        When PuLP knows no such solver.
    """
    if name not in pulp.listSolvers():
        raise InputError(
            f"solver: found {shown(name)}, expected one of {', '.join(dict.fromkeys(pulp.listSolvers()))}"
        )
    if pulp.getSolver(name, msg=False).available():  # asking for all that are available takes seconds
        return None
    text = (
        f"PuLP's solver {name} is not installed: install the program or Python package that it calls "
        "(see PuLP's documentation, 'How to configure a solver in PuLP'), or use solver=HiGHS"
    )
    return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)


def solve(
    programme: pulp.LpProblem, name: str, *, time_s: float | None, options: dict[str, Any] | None = None
) -> Answer:
    """Solve a linear or mixed-integer maximisation by a PuLP solver, on one thread, without a relative gap.

    ``options`` are HiGHS's own, and other solvers' runs do without them.
    """
    if programme.sense != pulp.LpMaximize:
        raise ValueError("only maximisations are read back")
    if name == "HiGHS":
        return _solve_highs(programme, time_s, options or {})
    return _solve_other(programme, name, time_s)


def _solve_highs(programme: pulp.LpProblem, time_s: float | None, options: dict[str, Any]) -> Answer:
    """PuLP builds HiGHS's model; status, point and bound are HiGHS's own."""
    backend = pulp.HiGHS(msg=False)
    backend.createAndConfigureSolver(programme)
    highs = programme.solverModel
    configure(highs, time_s, options)
    backend.buildSolverModel(programme)
    backend.callSolver(programme)
    answer = read_answer(highs, float(programme.objective.constant), whole=programme.isMIP())
    if answer.found:
        _read_point(programme, highs.getSolution())
    return answer


def _read_point(programme: pulp.LpProblem, solution: Any) -> None:
    """Enter HiGHS's point into the variables, and its row duals (none for integers) into the constraints."""
    columns, duals = list(solution.col_value), list(solution.row_dual)
    for variable in programme.variables():
        variable.varValue = columns[variable.index]
    for row in programme.constraints() if duals else ():
        row.pi = duals[row.index]


def _solve_other(programme: pulp.LpProblem, name: str, time_s: float | None) -> Answer:
    """Solve by another of PuLP's solvers; it says by ``sol_status`` whether the point was proved optimal."""
    accepted = inspect.signature(type(pulp.getSolver(name)).__init__).parameters
    options = {"msg": False, "threads": 1, "gapRel": 0.0, "timeLimit": time_s}
    if "CBC" in name or name.startswith("COIN"):
        del options["threads"]  # one is its default; told so, it waits ten seconds now and then
    begun = time.perf_counter()
    programme.solve(pulp.getSolver(name, **{k: v for k, v in options.items() if k in accepted}))
    in_time = time_s is None or time.perf_counter() - begun < time_s
    # CBC's "integer infeasible" arrives in PuLP's other status only; after a limit that is not to be trusted.
    if programme.status == pulp.LpStatusInfeasible and in_time:
        return Answer(Stopped.DONE, infeasible=True)
    if programme.sol_status not in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible):
        return Answer(Stopped.TIME)
    if programme.sol_status == pulp.LpSolutionOptimal:
        return Answer(Stopped.DONE, False, True, float(pulp.value(programme.objective)))
    return Answer(Stopped.TIME, False, True)
