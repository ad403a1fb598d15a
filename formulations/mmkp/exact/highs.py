"""The MMKP handed to HiGHS directly, as sparse columns: no modelling layer, so building costs little."""

from __future__ import annotations

import math
import time
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.exact.readback import GAP, SMALLEST_GAP, claim_of, row_in_doubles, value_scale
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.pulp_solver import Answer
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["model_of", "relaxation_prices", "solve_milp_highs"]

_STATES = highspy.HighsModelStatus
_STOPPED = {
    _STATES.kTimeLimit: Stopped.TIME,
    _STATES.kSolutionLimit: Stopped.NODES,
    _STATES.kIterationLimit: Stopped.NODES,
    _STATES.kMemoryLimit: Stopped.MEMORY,
    _STATES.kOptimal: Stopped.DONE,
}


def solve_milp_highs(instance: MmkpInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Solve the MMKP exactly by HiGHS.

    With x_j = 1 if item j is taken, G_g the items of group g, v_j values, w_jk weights, W_k capacities::

        (1)  maximise   Σ_j v_j x_j
        (2)  subject to Σ_{j ∈ G_g} x_j = 1        for every group g
        (3)             Σ_j w_jk x_j ≤ W_k         for every resource k
        (4)             x_j ∈ {0, 1}               for every item j

    Values and weights are whole units, so a bound may be rounded down to an integer; ``optimal`` is claimed
    when the decision, re-checked in integers, meets it. ``limits.nodes`` is the deterministic limit.

    Guarantee: exact. Running time is exponential in the worst case.
    """
    begin = time.perf_counter()
    problem = in_integers(instance)
    if instance.n_groups == 0:
        empty = Choice(np.array([]))
        return Result(Status.OPTIMAL, Stopped.DONE, empty, 0.0, 0.0, BoundKind.TRIVIAL)
    highs = _solver(limits.time_s, seed)
    whole = value_scale(problem)[1]
    _set(highs, "mip_rel_gap", 0.0)
    _set(highs, "mip_abs_gap", GAP if whole else SMALLEST_GAP)
    if limits.nodes is not None:
        _set(highs, "mip_max_nodes", min(limits.nodes, 2**31 - 1))
    highs.passModel(model_of(problem))
    built = time.perf_counter()
    highs.run()
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    answer, point = _answer(highs)
    return claim_of(problem, point, answer, phases)


def relaxation_prices(problem: IntegerMmkp, time_s: float | None) -> NDArray[np.float64] | None:
    """Return HiGHS's duals of (3) in the LP relaxation, (m,), in whole units; None without them."""
    model = model_of(problem)
    model.integrality_ = []
    highs = _solver(time_s, 0)
    highs.passModel(model)
    highs.run()
    if highs.getModelStatus() != _STATES.kOptimal:
        return None
    duals = np.array(highs.getSolution().row_dual)[problem.n_groups :]
    prices: NDArray[np.float64] = np.maximum(duals, 0.0)
    return prices


def model_of(problem: IntegerMmkp) -> highspy.HighsLp:
    """Return (1) to (4) with rows for the groups first and the resources after them, as sparse columns."""
    items, m = problem.weights.shape
    rows = [row_in_doubles(problem.weights[:, k].tolist(), int(problem.capacities[k])) for k in range(m)]
    dense = np.array([row[0] for row in rows]).reshape(m, items).T  # (items, m)
    scale, _ = value_scale(problem)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = items, problem.n_groups + m
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = problem.values.astype(np.float64) / scale
    model.col_lower_, model.col_upper_ = np.zeros(items), np.ones(items)
    model.row_lower_ = np.concatenate((np.ones(problem.n_groups), np.full(m, -highspy.kHighsInf)))
    model.row_upper_ = np.concatenate((np.ones(problem.n_groups), np.array([row[1] for row in rows])))
    used = dense != 0
    filled = np.concatenate((np.ones((items, 1), dtype=bool), used), axis=1)
    index = np.concatenate((problem.group[:, None], np.tile(np.arange(m) + problem.n_groups, (items, 1))), 1)
    matrix = model.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kColwise
    matrix.start_ = np.concatenate(([0], np.cumsum(filled.sum(axis=1)))).astype(np.int32)
    matrix.index_ = index[filled].astype(np.int32)
    matrix.value_ = np.concatenate((np.ones((items, 1)), dense), axis=1)[filled]
    model.integrality_ = [highspy.HighsVarType.kInteger] * items
    return model


def _solver(time_s: float | None, seed: int) -> highspy.Highs:
    highspy.Highs.resetGlobalScheduler(True)  # an earlier solve with more threads would end this one
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (("output_flag", False), ("threads", 1), ("parallel", "off")):
        _set(highs, option, value)
    _set(highs, "random_seed", seed % 2**31)
    if time_s is not None:
        _set(highs, "time_limit", float(time_s))
    return highs


def _set(highs: highspy.Highs, option: str, value: Any) -> None:
    if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
        raise RuntimeError(f"HiGHS refused {option} = {value}")


def _answer(highs: highspy.Highs) -> tuple[Answer, NDArray[np.float64] | None]:
    """Return what HiGHS says of the maximisation, and its point if it has one."""
    status, info = highs.getModelStatus(), highs.getInfo()
    counters = {
        "nodes": max(int(info.mip_node_count), 0),
        "simplex_iterations": max(int(info.simplex_iteration_count), 0),
    }
    if status in (_STATES.kInfeasible, _STATES.kUnboundedOrInfeasible):  # the programme is bounded
        return Answer(Stopped.DONE, infeasible=True, counters=counters), None
    if status not in _STOPPED:
        raise RuntimeError(f"HiGHS ended with {highs.modelStatusToString(status)}")
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    bound = float(info.mip_dual_bound)
    answer = Answer(_STOPPED[status], False, found, bound if math.isfinite(bound) else math.inf, counters)
    return answer, np.array(highs.getSolution().col_value) if found else None
