"""The tangent MILP of one busy period, through PuLP.

User i is on one of the pieces of its convex part [0, τ_i], cut at 0 = β_0 < … < β_J = τ_i, or on its concave
part [τ_i, 1]; each has a binary. A chord lies above a convex piece and tangents above the concave part, so
the optimum is an upper bound without any correction. Segments e stand for n_e slots that the same windows
cover.

    maximise    Σ_i v_i + Σ_ij (A_i(β_{j−1}) − g_ij β_{j−1}) q_ij + g_ij s_ij                   (1)
    subject to  Σ_i z_ie ≤ n_e                                     for each segment e      (2)
                C Σ_e z_ie = L_i (h_i + Σ_j s_ij)                  for each user i         (3)
                w_i + Σ_j q_ij = 1                                 for each user i         (4)
                β_{j−1} q_ij ≤ s_ij ≤ β_j q_ij                     for each piece j of i   (5)
                τ_i w_i ≤ h_i ≤ w_i                                for each user i         (6)
                v_i ≤ (A_i(p) − A_i'(p) p) w_i + A_i'(p) h_i       for each tangent p of i (7)
                z_ie ≥ 0, only inside i's window; w_i, q_ij in {0, 1}                     (8)

with the chord's slope g_ij = (A_i(β_j) − A_i(β_{j−1})) / (β_j − β_{j−1}). Sides that cannot be optimal are
left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from formulations.handover.horizon.busy_periods import BusyPeriod
from formulations.handover.utility import CODES, drop, log_peak, value
from formulations.pulp_solver import Answer, solve
from formulations.result import Stopped

__all__ = ["Curve", "Solution", "curves_of", "solution_of", "solve_model"]

Floats = NDArray[np.float64]

FIRST_TANGENTS = 8
GRADED = (1 / 4, 1 / 32)  # parts of the gaps beside a new break that are cut as well
HIGHS_OPTIONS: dict[str, Any] = {
    "mip_abs_gap": 1e-10,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    # Heuristics at the root cost more than the trees of these small models.
    "mip_allow_restart": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_rins": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_root_reduced_cost": False,
}


@dataclass
class Curve:
    """One user's utility in the model: its cuts, and the sides that may still be optimal."""

    family: int
    cache: float  # L, bit
    ceiling: float
    sharpness: float
    anchor: float
    breaks: list[float] = field(default_factory=list)  # of the convex part, from 0 to τ
    tangents: list[float] = field(default_factory=list)  # points of [τ, 1]
    concave: bool = True  # whether the concave part may be optimal
    pieces: set[int] = field(default_factory=set)  # convex pieces that may be optimal, by their index

    def __post_init__(self) -> None:
        tau = self.anchor
        self.breaks = [0.0, tau] if tau > 0 else []
        self.pieces = {0} if tau > 0 else set()
        self.tangents = self._spread(FIRST_TANGENTS)

    def value(self, y: float) -> float:
        """Return A(y)."""
        return float(value(self.family, self.ceiling, self.sharpness, self.anchor, y))

    def slope(self, y: float) -> float:
        """Return A'(y), per fraction."""
        u = self.sharpness * (y - self.anchor)
        return math.exp(log_peak(self.family, self.ceiling, self.sharpness) - drop(self.family, u))

    def cut(self, y: float) -> bool:
        """Make the model exact at ``y`` by a tangent or a break; return whether that was new."""
        if y >= self.anchor:
            if any(abs(y - p) <= 1e-13 for p in self.tangents):
                return False
            self.tangents.append(y)
            return True
        place = int(np.searchsorted(self.breaks, y))
        below, above = self.breaks[max(0, place - 1)], self.breaks[min(place, len(self.breaks) - 1)]
        if min(y - below, above - y) <= 1e-10:
            return False
        left = [y - part * (y - below) for part in GRADED]
        right = [y + part * (above - y) for part in reversed(GRADED)]
        new, old = [*left, y, *right], place - 1
        moved = {j if j < old else j + len(new) for j in self.pieces if j != old}
        split = set(range(old, place + len(new))) if old in self.pieces else set()
        self.pieces = moved | split
        self.breaks[place:place] = new
        return True

    def _spread(self, count: int) -> list[float]:
        """Return points of [τ, 1], denser where the curvature is larger: the tangents' errors are alike."""
        top = self.sharpness * (1.0 - self.anchor)
        if top <= 0:
            return [self.anchor]
        u = np.concatenate(([0.0], np.geomspace(min(1e-2, top / 2), top, 200)))
        slope = np.array([self.slope(self.anchor + a / self.sharpness) for a in u])
        density = np.sqrt(np.abs(np.diff(slope)) * np.diff(u))
        mass = np.concatenate(([0.0], np.cumsum(density)))
        if mass[-1] <= 0:
            return [self.anchor, 1.0]
        points = np.interp(np.linspace(0, mass[-1], count), mass, u)
        return [min(1.0, self.anchor + float(a) / self.sharpness) for a in points]


@dataclass
class Solution:
    """What the solver said about one model; ``fraction`` is empty without a solution."""

    status: str
    bound: float  # upper bound on (1), infinite if there is none
    fraction: Floats  # (n,) y_i
    touch: Floats  # (n,) h_i / w_i, the point of the concave part that is used; nan where w_i is 0
    price: Floats  # (m,) accuracy per bit, of the relaxation only
    binaries: int
    nodes: int
    build_s: float = 0.0
    solve_s: float = 0.0


def curves_of(instance: Any, period: BusyPeriod) -> list[Curve]:
    """Return the model's curves of a busy period's users, (n,)."""
    users, family = instance.users, CODES[instance.utility]
    columns = (users.cache_bits, users.ceiling, users.sharpness, users.anchor)
    rows = zip(*(column[period.user].tolist() for column in columns), strict=True)
    return [Curve(family, cache, m, k, tau) for cache, m, k, tau in rows]


def solve_model(
    curves: list[Curve],
    period: BusyPeriod,
    capacity: float,
    solver: str,
    time_s: float | None,
    relaxed: bool,
) -> Solution:
    """Build, solve and read back (1)–(8) for one busy period; ``relaxed`` drops the integrality of (8)."""
    started = perf_counter()
    model, rows, received, binaries = _build(curves, period, capacity, relaxed)
    built = perf_counter()
    answer = solve(model, solver, time_s=time_s, options=HIGHS_OPTIONS)
    fraction, touch, price = np.empty(0), np.empty(0), np.zeros(len(rows))
    if answer.found:
        fraction = np.array([math.fsum(v.varValue for v in terms) for terms, _ in received])
        touch = np.array(
            [h.varValue / w.varValue if w and w.varValue > 1e-6 else math.nan for (*_, h), w in received]
        )
        if relaxed:
            price = np.array([abs(row.pi or 0.0) / capacity for row in rows])
    # Of other solvers PuLP passes on no bound that a limit could not have made wrong.
    trusted = answer if solver == "HiGHS" else replace(answer, bound=math.inf)
    times = (built - started, perf_counter() - built)
    return solution_of(trusted, fraction, touch, price, binaries, times)


def solution_of(
    answer: Answer, fraction: Floats, touch: Floats, price: Floats, binaries: int, times: tuple[float, float]
) -> Solution:
    """Return what an answer says; prices of a relaxation that a limit ended are none."""
    done, nodes = answer.stopped is Stopped.DONE, answer.counters.get("nodes", 0)
    if answer.infeasible or not answer.found:
        status = "failed" if answer.infeasible or done else "none"
        empty = np.empty(0)
        return Solution(status, answer.bound, empty, empty, empty, binaries, nodes, *times)
    status, price = ("optimal", price) if done else ("limit", np.zeros(len(price)))
    return Solution(status, answer.bound, np.clip(fraction, 0.0, 1.0), touch, price, binaries, nodes, *times)


def _build(
    curves: list[Curve], period: BusyPeriod, capacity: float, relaxed: bool
) -> tuple[Any, list[Any], list[Any], int]:
    model = pulp.LpProblem("tangent", pulp.LpMaximize)
    kind = pulp.LpContinuous if relaxed else pulp.LpInteger
    objective: list[tuple[Any, float]] = []
    carried: list[list[tuple[Any, float]]] = [[] for _ in period.slots]
    received, binaries = [], 0
    for i, curve in enumerate(curves):
        terms, parts = _sides(model, curve, f"{i}", kind, objective)
        binaries += len(parts)
        share = [(model.add_variable(f"z_{i}_{e}", 0), e) for e in range(period.first[i], period.end[i])]
        for variable, e in share:
            carried[e].append((variable, 1.0))
        flow = [(variable, capacity / curve.cache) for variable, _ in share]
        model += _sum(flow + [(variable, -1.0) for variable in terms]) == 0  # (3)
        model += _sum([(variable, 1.0) for variable in parts]) == 1  # (4)
        received.append((terms, parts[-1] if curve.concave else None))
    rows = []
    for e, terms in enumerate(carried):
        row = _sum(terms) <= int(period.slots[e])  # (2)
        model.addConstraint(row, f"carried_{e}")
        rows.append(row)
    model.setObjective(_sum(objective))  # (1)
    return model, rows, received, binaries


def _sides(
    model: Any, curve: Curve, tag: str, kind: str, objective: list[tuple[Any, float]]
) -> tuple[list[Any], list[Any]]:
    """Add (5)–(7) of one user; return the variables that add up to y_i and the binaries."""
    terms, parts = [], []
    for j in sorted(curve.pieces):
        low, high = curve.breaks[j], curve.breaks[j + 1]
        q = model.add_variable(f"q_{tag}_{j}", 0, 1, kind)
        s = model.add_variable(f"s_{tag}_{j}", 0)
        slope = (curve.value(high) - curve.value(low)) / (high - low)
        objective += [(q, curve.value(low) - slope * low), (s, slope)]
        model += _sum([(s, 1.0), (q, -high)]) <= 0  # (5)
        if low > 0:
            model += _sum([(s, 1.0), (q, -low)]) >= 0  # (5)
        terms.append(s)
        parts.append(q)
    if curve.concave:
        w = model.add_variable(f"w_{tag}", 0, 1, kind)
        h, v = model.add_variable(f"h_{tag}", 0), model.add_variable(f"v_{tag}")
        objective.append((v, 1.0))
        model += _sum([(h, 1.0), (w, -1.0)]) <= 0  # (6)
        model += _sum([(h, 1.0), (w, -curve.anchor)]) >= 0  # (6)
        for p in curve.tangents:
            slope = curve.slope(p)
            model += _sum([(v, 1.0), (w, slope * p - curve.value(p)), (h, -slope)]) <= 0  # (7)
        terms.append(h)
        parts.append(w)
    return terms, parts


def _sum(terms: list[tuple[Any, float]]) -> Any:
    return pulp.LpAffineExpression(terms)
