"""Performance profiles (Dolan and Moré) and data profiles (Moré and Wild), as step functions."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.jobs.exports.selection import method_label, without_repetitions
from bench.jobs.job import Record
from bench.judging.comparisons import seconds_by_method

__all__ = [
    "MAX_CURVES",
    "Curve",
    "Profile",
    "cost_to_reach",
    "data_profile",
    "mean_gaps",
    "performance_profile",
    "profile_of_records",
    "trajectories_by_method",
]

MAX_CURVES = 8
Costs = Mapping[str, Mapping[Any, float | None]]  # by method and problem; a failure is None
Trajectory = Sequence[tuple[float, float]]  # (cost, value) of each incumbent


@dataclass(frozen=True)
class Curve:
    """The share of the expected problems that a method solves within a factor or budget, a step function."""

    method: str
    at: tuple[float, ...]  # where it steps: a ratio to the reference, or a budget
    share: tuple[float, ...]  # from there on, a fraction of n_expected
    n_ok: int
    n_expected: int

    def __call__(self, x: float) -> float:
        """Return the share at ``x``."""
        steps = bisect_right(self.at, x)
        return self.share[steps - 1] if steps else 0.0


@dataclass(frozen=True)
class Profile:
    """At most eight curves; the other methods belong in a table."""

    curves: tuple[Curve, ...]  # best mean gap first, where gaps are given
    reference: str  # what the abscissa is relative to
    left_out: tuple[str, ...]


def performance_profile(
    costs: Costs,
    *,
    reference: str | None = None,
    gaps: Mapping[str, float | None] | None = None,
    expected: Iterable[Hashable] | None = None,
) -> Profile:
    """Return the profile of ratios r = cost / cost of the reference on the same problem.

    The reference is the best of all methods on each problem, also of those that are not drawn, or one method.
    A failure (None, an infinite cost, no entry) has an infinite ratio, also where the reference fails; the
    ratio to a cost of 0 is 1 for another 0, else infinite. Problems that nobody solves count.
    """
    if reference is not None and reference not in costs:
        raise ValueError(f"reference: found {reference!r}, expected one of {', '.join(sorted(costs))}")
    _check(costs)
    problems = _problems(costs, expected)
    judges = costs if reference is None else {reference: costs[reference]}
    best = {p: min((_cost(runs, p) for runs in judges.values()), default=math.inf) for p in problems}
    drawn, left_out = _chosen(costs, gaps)
    curves = [_curve(m, [_ratio(_cost(costs[m], p), best[p]) for p in problems]) for m in drawn]
    name = f"the best of {len(costs)} methods on each problem" if reference is None else reference
    return Profile(tuple(curves), name, left_out)


def data_profile(
    costs: Costs,
    *,
    units: Mapping[Hashable, float] | None = None,
    unit: str = "seconds",
    gaps: Mapping[str, float | None] | None = None,
    expected: Iterable[Hashable] | None = None,
) -> Profile:
    """Return the share of problems solved within a budget, in ``units`` of each problem (1 by default).

    Moré and Wild count evaluations in units of n + 1 for a problem of n variables.
    """
    _check(costs)
    problems = _problems(costs, expected)
    scale = {p: 1.0 if units is None else units[p] for p in problems}
    if any(not s > 0 for s in scale.values()):
        raise ValueError("units: expected a positive number for each problem")
    drawn, left_out = _chosen(costs, gaps)
    curves = [_curve(m, [_cost(costs[m], p) / scale[p] for p in problems]) for m in drawn]
    return Profile(tuple(curves), unit, left_out)


def cost_to_reach(
    trajectory: Trajectory, best: float, *, start: float = 0.0, tolerance: float
) -> float | None:
    """Return the cost of the first value ≥ best − tolerance·(best − start), None if it is never reached."""
    target = best - tolerance * (best - start)
    return min((cost for cost, value in trajectory if value >= target), default=None)


def profile_of_records(records: Iterable[Record], *, reference: str | None = None) -> Profile:
    """Return the performance profile of running times, the eight methods of the smallest mean gap drawn."""
    rows = list(records)
    return performance_profile(seconds_by_method(rows), reference=reference, gaps=mean_gaps(rows))


def mean_gaps(records: Iterable[Record]) -> dict[str, float | None]:
    """Return each method's mean gap over the runs that have one, None if none has."""
    found: dict[str, list[float]] = {}
    for run, rows in without_repetitions(records).items():
        gaps = found.setdefault(method_label(run), [])
        if rows[0].gap is not None:
            gaps.append(rows[0].gap)
    return {method: sum(gaps) / len(gaps) if gaps else None for method, gaps in found.items()}


def trajectories_by_method(records: Iterable[Record]) -> dict[str, dict[Hashable, Trajectory]]:
    """Return the incumbents of each run by method and problem; a run without any has its checked value.

    A problem is an instance with the method's seed; the first repetition counts.
    """
    found: dict[str, dict[Hashable, Trajectory]] = {}
    for run, rows in without_repetitions(records).items():
        first = rows[0]
        trajectory = [(float(s), float(v)) for s, v in first.extra.get("incumbents") or []]
        held = first.feasible and first.status in ("optimal", "feasible")
        if held and first.solve_s is not None and first.checked_objective is not None:
            trajectory.append((first.solve_s, first.checked_objective))
        problem = (run.experiment, run.instance), run.seed
        found.setdefault(method_label(run), {})[problem] = trajectory if held else []
    return found


def _check(costs: Costs) -> None:
    for method, runs in costs.items():
        for problem, cost in runs.items():
            if cost is not None and not cost >= 0:
                raise ValueError(f"costs: found {cost} for {method} on {problem}, expected at least 0")


def _problems(costs: Costs, expected: Iterable[Hashable] | None) -> list[Hashable]:
    everything = [p for runs in costs.values() for p in runs]
    return list(dict.fromkeys(everything if expected is None else expected))


def _cost(runs: Mapping[Hashable, float | None], problem: Hashable) -> float:
    cost = runs.get(problem)
    return math.inf if cost is None else cost


def _ratio(cost: float, best: float) -> float:
    if math.isinf(cost) or math.isinf(best):
        return math.inf
    if best == 0:
        return 1.0 if cost == 0 else math.inf
    return cost / best


def _chosen(costs: Costs, gaps: Mapping[str, float | None] | None) -> tuple[list[str], tuple[str, ...]]:
    """Return at most eight methods, the smallest mean gaps first, and the others."""
    ranked = list(costs)
    if gaps is not None:
        known = {m: math.inf if (gap := gaps.get(m)) is None else gap for m in costs}
        ranked.sort(key=lambda m: known[m])
    return ranked[:MAX_CURVES], tuple(ranked[MAX_CURVES:])


def _curve(method: str, places: Sequence[float]) -> Curve:
    finite = sorted(x for x in places if math.isfinite(x))
    at = tuple(dict.fromkeys(finite))
    share = tuple(bisect_right(finite, x) / len(places) for x in at)
    return Curve(method, at, share, len(finite), len(places))
