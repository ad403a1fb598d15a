"""The tangent MILP of one busy period through highspy: (1)–(8) of ``tangent_model`` as sparse rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from formulations.handover.horizon.busy_periods import BusyPeriod
from formulations.handover.horizon.tangent_model import HIGHS_OPTIONS, Curve, Solution, solution_of
from formulations.highs import Solved, SparseRows, solve_sparse

__all__ = ["solve_model_highs"]

Terms = list[tuple[int, float]]


@dataclass
class _Programme:
    """Columns and rows of a maximisation as they are added, one at a time."""

    gain: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    lower: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    row_lower: list[float] = field(default_factory=list)
    row_upper: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)

    def column(
        self, gain: float = 0.0, lower: float = 0.0, upper: float = math.inf, whole: bool = False
    ) -> int:
        """Add a column worth ``gain`` a unit; return its number."""
        self.gain.append(gain)
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(whole)
        return len(self.gain) - 1

    def row(self, terms: Terms, lower: float, upper: float) -> int:
        """Add a row; return its number."""
        for column, coefficient in terms:
            self.index.append(column)
            self.value.append(coefficient)
        self.counts.append(len(terms))
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return len(self.row_lower) - 1

    def solve(self, time_s: float | None) -> Solved:
        """Solve it by HiGHS."""
        rows = SparseRows()
        counts, index = np.array(self.counts, dtype=np.int64), np.array(self.index, dtype=np.int64)
        rows.append(counts, index, np.array(self.value), lower=self.row_lower, upper=self.row_upper)
        bounds = (np.array(self.lower), np.array(self.upper))
        whole = np.array(self.whole, dtype=np.bool_)
        return solve_sparse(np.array(self.gain), bounds, whole, rows, time_s=time_s, options=HIGHS_OPTIONS)


def solve_model_highs(
    curves: list[Curve], period: BusyPeriod, capacity: float, time_s: float | None, relaxed: bool
) -> Solution:
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
    answer, point, duals = programme.solve(time_s)
    fraction, touch = np.empty(0), np.empty(0)
    if answer.found:
        fraction = np.array([point[pieces].sum() for pieces, _ in received])
        touch = np.array(
            [point[p[-1]] / point[w] if w is not None and point[w] > 1e-6 else math.nan for p, w in received]
        )
    price = np.abs(duals[rows]) / capacity if relaxed and answer.found else np.zeros(len(rows))
    binaries = sum(len(pieces) for pieces, _ in received)
    times = (built - begun, perf_counter() - built)
    return solution_of(answer, fraction, touch, price, binaries, times)


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
