"""The tangent MILP of one busy period through highspy: (1)–(8) of ``tangent_model`` as sparse rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import highspy
import numpy as np

from formulations.handover.horizon.busy_periods import BusyPeriod
from formulations.handover.horizon.tangent_model import HIGHS_OPTIONS, Curve, Solved

__all__ = ["solve_model_highs"]

Terms = list[tuple[int, float]]
ROW_WISE, MINIMISE = 2, 1
_new_solver: Any = highspy.Highs


@dataclass
class _Programme:
    """Columns and rows of a minimisation as they are added."""

    cost: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [0])
    index: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def column(
        self, gain: float = 0.0, lower: float = 0.0, upper: float = math.inf, whole: bool = False
    ) -> int:
        """Add a column worth ``gain`` a unit; return its number."""
        self.cost.append(-gain)
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(int(whole))
        return len(self.cost) - 1

    def row(self, terms: Terms, lower: float, upper: float) -> int:
        """Add a row; return its number."""
        for column, coefficient in terms:
            self.index.append(column)
            self.value.append(coefficient)
        self.start.append(len(self.index))
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return len(self.row_lower) - 1


def solve_model_highs(
    curves: list[Curve], period: BusyPeriod, capacity: float, time_s: float | None, relaxed: bool
) -> Solved:
    """Build, solve and read back one busy period; ``relaxed`` drops the integrality of (8)."""
    begun = perf_counter()
    programme = _Programme()
    carried: list[Terms] = [[] for _ in period.slots]
    received: list[tuple[list[int], int | None]] = []
    for i, curve in enumerate(curves):
        pieces, parts = _sides(programme, curve, not relaxed)
        flow: Terms = [(column, -1.0) for column in pieces]
        for e in range(period.first[i], period.end[i]):
            share = programme.column()
            carried[e].append((share, 1.0))
            flow.append((share, capacity / curve.cache))
        programme.row(flow, 0.0, 0.0)  # (3)
        programme.row([(column, 1.0) for column in parts], 1.0, 1.0)  # (4)
        received.append((pieces, parts[-1] if curve.concave else None))
    rows = [
        programme.row(terms, -math.inf, float(count))  # (2)
        for terms, count in zip(carried, period.slots.tolist(), strict=True)
    ]
    built = perf_counter()
    highs = _run(programme, time_s)
    solved = _read_back(highs, programme, received, rows, capacity, relaxed)
    solved.build_s, solved.solve_s = built - begun, perf_counter() - built
    return solved


def _sides(programme: _Programme, curve: Curve, whole: bool) -> tuple[list[int], list[int]]:
    """Add (5)–(7) of one user; return the columns that add up to y_i, and the binaries."""
    pieces, parts = [], []
    for j in sorted(curve.pieces):
        low, high = curve.breaks[j], curve.breaks[j + 1]
        slope = (curve.value(high) - curve.value(low)) / (high - low)
        q = programme.column(curve.value(low) - slope * low, upper=1.0, whole=whole)
        s = programme.column(slope)
        programme.row([(s, 1.0), (q, -high)], -math.inf, 0.0)  # (5)
        if low > 0:
            programme.row([(s, 1.0), (q, -low)], 0.0, math.inf)  # (5)
        pieces.append(s)
        parts.append(q)
    if curve.concave:
        w = programme.column(upper=1.0, whole=whole)
        h, v = programme.column(), programme.column(1.0, lower=-math.inf)
        programme.row([(h, 1.0), (w, -1.0)], -math.inf, 0.0)  # (6)
        programme.row([(h, 1.0), (w, -curve.anchor)], 0.0, math.inf)  # (6)
        for p in curve.tangents:
            slope = curve.slope(p)
            programme.row([(v, 1.0), (w, slope * p - curve.value(p)), (h, -slope)], -math.inf, 0.0)  # (7)
        pieces.append(h)
        parts.append(w)
    return pieces, parts


def _run(programme: _Programme, time_s: float | None) -> Any:
    """Solve on one thread without a relative gap; a refused option or programme is an error."""
    highs = _new_solver()
    highs.silent()
    chosen = {"threads": 1, "parallel": "off", "random_seed": 0, "mip_rel_gap": 0.0} | HIGHS_OPTIONS
    chosen |= {} if time_s is None else {"time_limit": float(time_s)}
    for option, value in chosen.items():
        if highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise RuntimeError(f"HiGHS refused {option} = {value}")
    highspy.Highs.resetGlobalScheduler(True)  # an earlier solve with more threads would end this one
    columns = [
        np.array(column, dtype=np.float64) for column in (programme.cost, programme.lower, programme.upper)
    ]
    sides = [np.array(side, dtype=np.float64) for side in (programme.row_lower, programme.row_upper)]
    start, index, whole = (
        np.array(x, dtype=np.int32) for x in (programme.start, programme.index, programme.whole)
    )
    sizes = (len(programme.cost), len(programme.row_lower), len(programme.index))
    value = np.array(programme.value, dtype=np.float64)
    status = highs.passModel(*sizes, ROW_WISE, MINIMISE, 0.0, *columns, *sides, start, index, value, whole)
    if status == highspy.HighsStatus.kError:
        raise RuntimeError("HiGHS refused the programme")
    highs.run()
    return highs


def _read_back(
    highs: Any,
    programme: _Programme,
    received: list[tuple[list[int], int | None]],
    rows: list[int],
    capacity: float,
    relaxed: bool,
) -> Solved:
    """Read the fractions and, from the relaxation, the slot prices; HiGHS minimised the negated objective."""
    states, status, info = highspy.HighsModelStatus, highs.getModelStatus(), highs.getInfo()
    done = status in (states.kOptimal, states.kModelEmpty)
    if not done and status not in (states.kTimeLimit, states.kIterationLimit, states.kSolutionLimit):
        empty = np.empty(0)
        return Solved("failed", math.inf, empty, empty, empty, sum(programme.whole), 0)
    bound, nodes = math.inf, max(int(info.mip_node_count), 0)
    if any(programme.whole):
        bound = -float(info.mip_dual_bound)
    elif done:
        bound = -float(info.objective_function_value)
    binaries = sum(len(pieces) for pieces, _ in received)
    if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
        empty = np.empty(0)
        return Solved("failed" if done else "none", bound, empty, empty, empty, binaries, nodes)
    solution = highs.getSolution()
    point = list(solution.col_value)
    fraction = np.array([math.fsum(point[column] for column in pieces) for pieces, _ in received])
    touch = np.array(
        [point[p[-1]] / point[w] if w is not None and point[w] > 1e-6 else math.nan for p, w in received]
    )
    price = np.zeros(len(rows))
    if relaxed and done:
        duals = list(solution.row_dual)
        price = np.array([abs(duals[row]) / capacity for row in rows])
    text = "optimal" if done else "limit"
    return Solved(text, bound, np.clip(fraction, 0.0, 1.0), touch, price, binaries, nodes)
