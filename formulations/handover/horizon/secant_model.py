"""The secant MILP of one busy period, through PuLP.

A_i is interpolated on the grid 0 = b_0 < … < b_n = 1, b_j = j/n. Pieces that begin below the anchor have a
binary each; from the first grid point b_κ ≥ τ_i on the interpolation is concave and needs one for all of
them. Weights at the ends of a piece, or at the grid points of the concave part, say where y_i lies. Segments
e stand for n_e slots that the same windows cover.

    maximise    Σ_i Σ_j A_i(b_j) (λ_ij + α_ij + β_{i,j−1})                                          (1)
    subject to  Σ_i z_ie ≤ n_e                                          for each segment e      (2)
                C Σ_e z_ie = L_i Σ_j b_j (λ_ij + α_ij + β_{i,j−1})      for each user i         (3)
                α_ij + β_ij = q_ij                                      for each piece j of i   (4)
                Σ_{j≥κ} λ_ij = w_i                                      for each user i         (5)
                w_i + Σ_j q_ij = 1                                      for each user i         (6)
                λ, α, β, z ≥ 0, z_ie only inside i's window; w_i, q_ij in {0, 1}              (7)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pulp
from numpy.typing import NDArray

from formulations.handover.horizon.busy_periods import BusyPeriod
from formulations.pulp_solver import solve
from formulations.result import Stopped

__all__ = ["Interpolated", "Interpolation", "solve_interpolated"]

Floats = NDArray[np.float64]

OVERHEAD = 3.0  # building, handing over to the solver and reading back, in units of the first
HIGHS_OPTIONS: dict[str, Any] = {
    "mip_abs_gap": 1e-10,
    "mip_feasibility_tolerance": 1e-9,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_heuristic_effort": 0.0,
}


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A user's utility at the grid's points."""

    cache: float  # L, bit
    anchor: float
    accuracy: Floats  # (n + 1,) A(j/n)

    def first_concave(self) -> int:
        """Return κ, the first grid point at or above the anchor."""
        n = len(self.accuracy) - 1
        return min(n, math.ceil(self.anchor * n - 1e-12))


@dataclass(frozen=True, eq=False)
class Interpolated:
    """What the solver said; ``fraction`` is empty without a solution."""

    stopped: Stopped
    bound: float  # upper bound on (1), infinite if there is none
    fraction: Floats  # (n,) y_i
    nodes: int
    build_s: float
    solve_s: float


def solve_interpolated(
    users: list[Interpolation], period: BusyPeriod, capacity: float, solver: str, time_s: float | None
) -> Interpolated:
    """Build, solve and read back (1)–(7) for one busy period."""
    begun = perf_counter()
    model, received = _build(users, period, capacity)
    built = perf_counter()
    left = None if time_s is None else time_s - OVERHEAD * (built - begun)
    if left is not None and left <= 0:
        return Interpolated(Stopped.TIME, math.inf, np.empty(0), 0, built - begun, 0.0)
    answer = solve(model, solver, time_s=left, options=HIGHS_OPTIONS)
    fraction = np.empty(0)
    if answer.found:
        fraction = np.array([math.fsum(c * (v.varValue or 0.0) for v, c in terms) for terms in received])
    bound = math.inf if answer.infeasible else answer.bound
    times = (built - begun, perf_counter() - built)
    return Interpolated(
        answer.stopped, bound, np.clip(fraction, 0.0, 1.0), answer.counters.get("nodes", 0), *times
    )


def _build(users: list[Interpolation], period: BusyPeriod, capacity: float) -> tuple[Any, list[Any]]:
    model = pulp.LpProblem("secant", pulp.LpMaximize)
    objective: list[tuple[Any, float]] = []
    carried: list[list[tuple[Any, float]]] = [[] for _ in period.slots]
    received = []
    for i, user in enumerate(users):
        weights = _weights(model, user, f"{i}")
        n = len(user.accuracy) - 1
        objective += [(variable, float(user.accuracy[j])) for variable, j in weights]  # (1)
        terms = [(variable, j / n) for variable, j in weights if j > 0]
        flow = []
        for e in range(period.first[i], period.end[i]):
            share = model.add_variable(f"z_{i}_{e}", 0)
            carried[e].append((share, 1.0))
            flow.append((share, capacity / user.cache))
        model += pulp.LpAffineExpression([*flow, *((v, -c) for v, c in terms)]) == 0  # (3)
        received.append(terms)
    for e, parts in enumerate(carried):
        model += pulp.LpAffineExpression(parts) <= int(period.slots[e])  # (2)
    model.setObjective(pulp.LpAffineExpression(objective))
    return model, received


def _weights(model: Any, user: Interpolation, tag: str) -> list[tuple[Any, int]]:
    """Add (4)–(6) of one user; return each weight with its grid point."""
    first = user.first_concave()
    concave = [(model.add_variable(f"l_{tag}_{j}", 0), j) for j in range(first, len(user.accuracy))]
    w = model.add_variable(f"w_{tag}", 0, 1, pulp.LpInteger)
    model += _sum([v for v, _ in concave], w) == 0  # (5)
    sides, weights = [w], concave
    for j in range(first):
        a, b = model.add_variable(f"a_{tag}_{j}", 0), model.add_variable(f"b_{tag}_{j}", 0)
        q = model.add_variable(f"q_{tag}_{j}", 0, 1, pulp.LpInteger)
        model += _sum([a, b], q) == 0  # (4)
        weights += [(a, j), (b, j + 1)]
        sides.append(q)
    model += _sum(sides) == 1  # (6)
    return weights


def _sum(plus: list[Any], minus: Any = None) -> Any:
    terms = [(v, 1.0) for v in plus] + ([] if minus is None else [(minus, -1.0)])
    return pulp.LpAffineExpression(terms)
