"""HiGHS as the exact methods need it: one thread, no relative gap, statuses and bounds from its own model.

Programmes are handed over as sparse rows and solved as minimisations of the negated objective.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.result import Stopped

__all__ = ["Answer", "Solved", "SparseRows", "configure", "read_answer", "solve_sparse"]

Floats = NDArray[np.float64]

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


class Solved(NamedTuple):
    """What HiGHS says of a maximisation over n columns and m rows."""

    answer: Answer
    point: Floats  # (n,); empty unless found
    duals: Floats  # (m,) what one more unit of each row is worth; empty with integers or unless found


class SparseRows:
    """The rows lower ≤ A v ≤ upper of a programme, added block by block."""

    def __init__(self) -> None:
        self.lower: list[Floats] = []
        self.upper: list[Floats] = []
        self.counts: list[NDArray[np.int64]] = []
        self.columns: list[NDArray[np.int64]] = []
        self.values: list[Floats] = []

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
        counts = np.bincount(row, minlength=count)
        self.append(counts, place[column], block[row, column], lower=lower, upper=upper)

    def append(
        self,
        counts: NDArray[np.int64],
        columns: NDArray[np.int64],
        values: Floats,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add rows of ``counts`` (m,) terms each, whose columns and values follow one another."""
        self.counts.append(counts)
        self.columns.append(columns)
        self.values.append(values)
        for side, bound in ((self.lower, lower), (self.upper, upper)):
            side.append(np.broadcast_to(np.asarray(bound, dtype=np.float64), counts.shape))


def solve_sparse(
    objective: Floats,
    bounds: tuple[Floats, Floats],
    whole: NDArray[np.bool_],
    rows: SparseRows,
    *,
    time_s: float | None,
    options: Mapping[str, Any],
) -> Solved:
    """Maximise objective · v over the rows and ``bounds``, (n,) each; v_j is an integer if whole[j]."""
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
    if not answer.found:
        return Solved(answer, np.empty(0), np.empty(0))
    solution = highs.getSolution()
    duals = np.empty(0) if whole.any() else -np.array(solution.row_dual)
    return Solved(answer, np.array(solution.col_value), duals)


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
        "simplex_iterations": max(int(info.simplex_iteration_count), 0),
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
