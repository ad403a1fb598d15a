"""The MMKP handed to HiGHS directly, as sparse rows: no modelling layer, so building costs little."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.highs import Answer, Solved, SparseRows, solve_sparse
from formulations.mmkp.exact.readback import GAP, SMALLEST_GAP, claim_of, row_in_doubles, value_scale
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["solve_milp_highs", "solve_relaxation"]

Floats = NDArray[np.float64]


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
    whole = value_scale(problem)[1]
    options: dict[str, Any] = {
        "random_seed": seed % 2**31,
        "mip_abs_gap": GAP if whole else SMALLEST_GAP,
    }
    if limits.nodes is not None:
        options["mip_max_nodes"] = min(limits.nodes, 2**31 - 1)
    values, rows = _values(problem), _rows(problem)
    built = time.perf_counter()
    answer, point, _ = _solve(values, rows, whole=True, time_s=limits.time_s, options=options)
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    return claim_of(problem, point if answer.found else None, answer, phases)


def solve_relaxation(problem: IntegerMmkp, time_s: float | None) -> tuple[Answer, Floats]:
    """Return what HiGHS says of the LP relaxation, and its duals of (3) in whole units.

    The duals are (m,) with a finite bound, else empty.
    """
    answer, _, duals = _solve(_values(problem), _rows(problem), whole=False, time_s=time_s, options={})
    return answer, np.maximum(duals[problem.n_groups :], 0.0)


def _values(problem: IntegerMmkp) -> Floats:
    """Return the coefficients of (1)."""
    return problem.values.astype(np.float64) / value_scale(problem)[0]


def _rows(problem: IntegerMmkp) -> SparseRows:
    """Return (2) and, after it, (3)."""
    items, m = problem.weights.shape
    rows = SparseRows()
    sizes = np.diff(problem.group_start)
    rows.append(sizes, np.arange(items), np.ones(items), lower=1.0, upper=1.0)
    for k in range(m):
        weights, capacity = row_in_doubles(problem.weights[:, k].tolist(), int(problem.capacities[k]))
        rows.add(1, (np.arange(items), weights), upper=capacity)
    return rows


def _solve(
    values: Floats, rows: SparseRows, *, whole: bool, time_s: float | None, options: dict[str, Any]
) -> Solved:
    """Solve (1) to (4), with x_j in [0, 1] unless ``whole``."""
    n = len(values)
    bounds, kind = (np.zeros(n), np.ones(n)), np.full(n, whole)
    return solve_sparse(values, bounds, kind, rows, time_s=time_s, options=options)
