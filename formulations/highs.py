"""HiGHS as the exact methods need it: one thread, no relative gap, statuses and bounds from its own model.

Programmes are handed over as sparse rows and solved as minimisations of the negated objective.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.result import Stopped

__all__ = ["Answer", "SparseRows", "configure", "read_answer", "solve_sparse"]

_STATES = highspy.HighsModelStatus
_STOPPED = {
    _STATES.kTimeLimit: Stopped.TIME,
    _STATES.kSolutionLimit: Stopped.NODES,
    _STATES.kIterationLimit: Stopped.NODES,
    _STATES.kMemoryLimit: Stopped.MEMORY,
    _STATES.kOptimal: Stopped.DONE,
    _STATES.kModelEmpty: Stopped.DONE,
}
_ROW_WISE, _MINIMISE = 2, 1
_new_solver: Any = highspy.Highs


@dataclass(frozen=True)
class Answer:
    """What a solver says of a maximisation; its point can be read if ``found``."""

    stopped: Stopped
    infeasible: bool = False
    found: bool = False
    bound: float = math.inf  # upper bound on the objective
    counters: dict[str, int] = field(default_factory=dict)


class SparseRows:
    """The rows lower ≤ A v ≤ upper of a programme, added block by block."""

    def __init__(self) -> None:
        self.lower: list[NDArray[np.float64]] = []
        self.upper: list[NDArray[np.float64]] = []
        self.counts: list[NDArray[np.int64]] = []
        self.columns: list[NDArray[np.int64]] = []
        self.values: list[NDArray[np.float64]] = []

    def add(
        self,
        count: int,
        *parts: tuple[NDArray[np.int64], ArrayLike],
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add ``count`` rows; a part is columns (m,) and their coefficients, broadcast to (count, m)."""
        spread = [
            np.broadcast_to(np.asarray(c, dtype=np.float64), (count, len(columns))) for columns, c in parts
        ]
        block = np.hstack(spread)
        place = np.concatenate([columns for columns, _ in parts])
        row, column = np.nonzero(block)
        self.counts.append(np.bincount(row, minlength=count))
        self.columns.append(place[column])
        self.values.append(block[row, column])
        for side, bound in ((self.lower, lower), (self.upper, upper)):
            side.append(np.broadcast_to(np.asarray(bound, dtype=np.float64), (count,)))


def solve_sparse(
    objective: NDArray[np.float64],
    bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
    whole: NDArray[np.bool_],
    rows: SparseRows,
    *,
    time_s: float | None,
    options: Mapping[str, Any],
) -> tuple[Answer, NDArray[np.float64]]:
    """Maximise objective · v over the rows and ``bounds`` (lower, upper), (n,) each, v_j integer if whole[j].

    Returns
    -------
    Answer, array
        What HiGHS says, and its point, (n,); empty unless found.
    """
    highs = _new_solver()
    highs.silent()
    configure(highs, time_s, options)
    index = np.concatenate(rows.columns).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(np.concatenate(rows.counts))]).astype(np.int32)
    lower, upper = np.concatenate(rows.lower), np.concatenate(rows.upper)
    status = highs.passModel(
        len(objective), len(lower), len(index), _ROW_WISE, _MINIMISE, 0.0, -objective, *bounds, lower, upper,
        start, index, np.concatenate(rows.values), whole.astype(np.int32),
    )  # fmt: skip
    if status == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the programme")
    highs.run()
    answer = read_answer(highs, 0.0, whole=bool(whole.any()))
    point = np.array(highs.getSolution().col_value) if answer.found else np.empty(0)
    return answer, point


def configure(highs: Any, time_s: float | None, options: Mapping[str, Any]) -> None:
    """Set one thread, no relative gap and the options; an option that HiGHS refuses is an error."""
    chosen = {"threads": 1, "parallel": "off", "random_seed": 0, "mip_rel_gap": 0.0, **options}
    chosen |= {} if time_s is None else {"time_limit": float(time_s)}
    for option, value in chosen.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refused {option} = {value}")
    highspy.Highs.resetGlobalScheduler(True)  # an earlier solve with more threads would end this one


def read_answer(highs: Any, constant: float, *, whole: bool) -> Answer:
    """Return what HiGHS says of a negated maximisation whose objective has a ``constant`` beside."""
    status, info = highs.getModelStatus(), highs.getInfo()
    counters = {
        "nodes": max(int(info.mip_node_count), 0),
        "simplex_iterations": int(info.simplex_iteration_count),
    }
    if status in (_STATES.kInfeasible, _STATES.kUnboundedOrInfeasible):  # every programme here is bounded
        return Answer(Stopped.DONE, infeasible=True, counters=counters)
    if status not in _STOPPED:
        raise RuntimeError(f"HiGHS ended with {highs.modelStatusToString(status)}")
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    bound = constant - _least_value(status, info, whole)
    return Answer(_STOPPED[status], False, found, bound, counters)


def _least_value(status: Any, info: Any, whole: bool) -> float:
    """Return HiGHS's lower bound on the negated objective, minus infinity where it has none."""
    if whole:
        return float(info.mip_dual_bound)
    return float(info.objective_function_value) if status == _STATES.kOptimal else -math.inf
