"""Comparisons paired by instance: methods with each other, and two stores with each other."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.jobs.exports.selection import ended_well, method_label, newest, run_of, without_repetitions
from bench.jobs.job import Record
from bench.judging.statistics import (
    PenalisedMean,
    ShiftedMean,
    SignedRank,
    bootstrap_interval,
    holm,
    penalised_mean,
    shifted_geometric_mean,
    signed_rank,
)

__all__ = [
    "MethodComparison",
    "MethodTimes",
    "PairedDifference",
    "PairedRatio",
    "Place",
    "StoreComparison",
    "WorseRow",
    "compare_methods",
    "compare_records",
    "paired_difference",
    "paired_ratio",
    "seconds_by_method",
    "times_by_method",
    "values_by_method",
]

TOLERANCE = 1e-9  # relative to the value, absolute below 1
Place = tuple[Any, Any]  # (instance, seed): seeds are nested in instances


@dataclass(frozen=True)
class PairedDifference:
    """Mean over instances of second − first, with its bootstrap interval over instances."""

    value: float
    low: float
    high: float
    n: int  # instances with at least one pair, the independent units
    n_ok: int  # pairs of runs that both have a value
    n_expected: int  # pairs of runs that should be there
    by_instance: tuple[float, ...]


@dataclass(frozen=True)
class PairedRatio:
    """Geometric mean over instances of second / first, with its bootstrap interval over instances."""

    value: float
    low: float
    high: float
    n: int
    n_ok: int
    n_expected: int


@dataclass(frozen=True)
class MethodComparison:
    """One of several methods against the reference."""

    method: str
    reference: str
    difference: PairedDifference  # method − reference
    test: SignedRank
    p_holm: float  # corrected for the number of methods


@dataclass(frozen=True)
class MethodTimes:
    """Running times of a method over its runs: both means, since each hides what the other shows."""

    method: str
    seconds: ShiftedMean
    par10: PenalisedMean | None  # None where the runs had no limit, or several


@dataclass(frozen=True)
class WorseRow:
    """A run that got worse, and in what."""

    before: Record
    after: Record
    reason: str


@dataclass(frozen=True)
class StoreComparison:
    """The pairs of one experiment, method and parameters in two stores; counts are (better, same, worse)."""

    experiment: str
    method: str
    parameters: str
    values: tuple[int, int, int]
    bounds: tuple[int, int, int]
    statuses: tuple[int, int, int]
    times: PairedRatio  # after / before
    worse: tuple[WorseRow, ...]

    @property
    def n(self) -> int:
        """Number of pairs of rows."""
        return sum(self.statuses)


def paired_difference(
    first: Mapping[Place, float | None],
    second: Mapping[Place, float | None],
    *,
    expected: Iterable[Place] | None = None,
    seed: int = 0,
) -> PairedDifference:
    """Return second − first, paired by (instance, seed) and averaged over an instance's seeds first.

    A missing or empty value leaves its pair out; ``expected`` are the places that should be there (by default
    all that either side has).
    """
    groups, n_ok, n_expected = _paired(first, second, expected)
    means = [float(np.mean([b - a for a, b in pairs])) for pairs in groups]
    value, low, high = _mean_with_interval(means, seed)
    return PairedDifference(value, low, high, len(means), n_ok, n_expected, tuple(means))


def paired_ratio(
    first: Mapping[Place, float | None],
    second: Mapping[Place, float | None],
    *,
    expected: Iterable[Place] | None = None,
    seed: int = 0,
) -> PairedRatio:
    """Return the geometric mean of second / first, paired and averaged as differences are.

    Values must be positive.
    """
    groups, n_ok, n_expected = _paired(first, second, expected)
    if any(not (a > 0 and b > 0) for pairs in groups for a, b in pairs):
        raise ValueError("a geometric mean ratio needs positive values")
    logs = [float(np.mean([math.log(b / a) for a, b in pairs])) for pairs in groups]
    value, low, high = (math.exp(x) for x in _mean_with_interval(logs, seed))
    return PairedRatio(value, low, high, len(logs), n_ok, n_expected)


def compare_methods(
    values: Mapping[str, Mapping[Place, float | None]], reference: str, *, seed: int = 0
) -> list[MethodComparison]:
    """Return every other method against the reference: differences, Wilcoxon's test, and Holm's correction.

    The expected places are those of all methods together.
    """
    if reference not in values:
        raise ValueError(f"reference: found {reference!r}, expected one of {', '.join(sorted(values))}")
    grid = {place: None for runs in values.values() for place in runs}
    others = [method for method in values if method != reference]
    found = {m: paired_difference(values[reference], values[m], expected=grid, seed=seed) for m in others}
    tests = {m: signed_rank(found[m].by_instance) for m in others}
    corrected = holm({m: test.p for m, test in tests.items()})
    return [MethodComparison(m, reference, found[m], tests[m], corrected[m]) for m in others]


def values_by_method(records: Iterable[Record]) -> dict[str, dict[Place, float | None]]:
    """Return the checked objective of each run by method and (instance, seed); a failure is None.

    Methods are told apart by their parameters too. Repetitions of a run count once.
    """
    return _by_method(records, lambda rows: _value(rows[0]))


def seconds_by_method(records: Iterable[Record]) -> dict[str, dict[Place, float | None]]:
    """Return the seconds of each run's fastest repetition; a failure or a limit is None."""
    return _by_method(records, _fastest)


def times_by_method(records: Iterable[Record], *, shift_s: float = 1.0, seed: int = 0) -> list[MethodTimes]:
    """Return each method's shifted geometric mean and PAR-10; what any method ran on is expected of all."""
    rows = newest(records)
    times = seconds_by_method(rows)
    expected = len({place for runs in times.values() for place in runs})
    limits: dict[str, set[float | None]] = defaultdict(set)
    for row in rows:
        limits[method_label(row)].add(row.time_limit_s)
    found = []
    for method, runs in times.items():
        grid: dict[str, Any] = {"expected": expected, "groups": [p[0] for p in runs], "seed": seed}
        seconds, only = list(runs.values()), limits[method]
        limit = next(iter(only)) if len(only) == 1 else None
        par10 = penalised_mean(seconds, limit_s=limit, **grid) if limit else None
        found.append(MethodTimes(method, shifted_geometric_mean(seconds, shift=shift_s, **grid), par10))
    return found


def compare_records(before: Iterable[Record], after: Iterable[Record]) -> list[StoreComparison]:
    """Return the comparison of two stores' rows, by experiment, method and parameters.

    Rows are paired by experiment, instance (content hash), method, parameters, seed and repetition; the rows
    of the newest code count.
    """
    old, new = ({run_of(r): r for r in newest(records)} for records in (before, after))
    groups: dict[tuple[str, str, str], list[tuple[Record, Record]]] = defaultdict(list)
    for run, row in old.items():
        if run in new:
            groups[run.experiment, run.method, run.parameters].append((row, new[run]))
    return [_comparison(*names, pairs) for names, pairs in groups.items()]


def _paired(
    first: Mapping[Place, float | None],
    second: Mapping[Place, float | None],
    expected: Iterable[Place] | None,
) -> tuple[list[list[tuple[float, float]]], int, int]:
    """Return the pairs by instance, how many pairs there are, and how many there should be."""
    grid = dict.fromkeys([*first, *second] if expected is None else expected)
    groups: dict[Hashable, list[tuple[float, float]]] = defaultdict(list)
    for place in grid:
        a, b = first.get(place), second.get(place)
        if a is not None and b is not None:
            groups[place[0]].append((a, b))
    return list(groups.values()), sum(map(len, groups.values())), len(grid)


def _mean_with_interval(values: Sequence[float], seed: int) -> tuple[float, float, float]:
    if not values:
        return math.nan, math.nan, math.nan
    return (float(np.mean(values)), *bootstrap_interval(values, seed=seed))


def _by_method(
    records: Iterable[Record], measure: Callable[[Sequence[Record]], float | None]
) -> dict[str, dict[Place, float | None]]:
    found: dict[str, dict[Place, float | None]] = defaultdict(dict)
    for run, rows in without_repetitions(records).items():
        found[method_label(run)][(run.experiment, run.instance), run.seed] = measure(rows)
    return dict(found)


def _comparison(
    experiment: str, method: str, parameters: str, pairs: Sequence[tuple[Record, Record]]
) -> StoreComparison:
    times = [
        {(run.instance, run.seed): _fastest(rows) for run, rows in without_repetitions(side).items()}
        for side in zip(*pairs, strict=True)
    ]
    worse = [WorseRow(a, b, reason) for a, b in pairs if (reason := _what_got_worse(a, b))]
    return StoreComparison(
        experiment,
        method,
        parameters,
        _counted(_change_of_value(a, b) for a, b in pairs),
        _counted(_change_of_bound(a, b) for a, b in pairs),
        _counted(_change_of_status(a, b) for a, b in pairs),
        paired_ratio(times[0], times[1]),
        tuple(worse),
    )


def _what_got_worse(a: Record, b: Record) -> str:
    """Return in words what got worse, empty if nothing did."""
    reasons = []
    if _change_of_status(a, b) < 0:
        reasons.append(f"status {a.status} -> {b.status}")
    if _change_of_value(a, b) < 0:
        reasons.append(f"value {_figure(_value(a))} -> {_figure(_value(b))}")
    if _change_of_bound(a, b) < 0:
        reasons.append(f"bound {_figure(_bound(a))} -> {_figure(_bound(b))}")
    return ", ".join(reasons)


def _change_of_value(a: Record, b: Record) -> int:
    """Return the sign of the change for the better: values are maximised, a lost value is worse."""
    before, after = _value(a), _value(b)
    if before is None or after is None:
        return (after is not None) - (before is not None)
    return _sign(before, after)


def _change_of_bound(a: Record, b: Record) -> int:
    """Return the sign of the change for the better: a bound is better when smaller, a lost one is worse."""
    before, after = _bound(a), _bound(b)
    if before is None or after is None:
        return (after is not None) - (before is not None)
    return _sign(after, before)


def _change_of_status(a: Record, b: Record) -> int:
    """Return the sign of the change for the better: proofs, claims that held, nothing found, failures."""
    if a.status == "infeasible" and _value(b) is not None:
        return 1  # it was not
    if a.status == "optimal" and b.status != "optimal":
        return -1
    return (_rank(b) > _rank(a)) - (_rank(b) < _rank(a))


def _rank(record: Record) -> int:
    ranks = {"optimal": 3, "infeasible": 3, "feasible": 2, "bound_only": 2, "unknown": 1, "skipped": 1}
    return ranks.get(record.status, 0)


def _sign(before: float, after: float) -> int:
    if abs(after - before) <= TOLERANCE * max(abs(before), abs(after), 1.0):
        return 0
    return 1 if after > before else -1


def _value(record: Record) -> float | None:
    """Return the checked value of a feasible decision whose claim held."""
    held = record.feasible and record.status in ("optimal", "feasible")
    return record.checked_objective if held else None


def _bound(record: Record) -> float | None:
    held = record.status in ("optimal", "feasible", "bound_only")
    return record.bound if held else None


def _fastest(rows: Sequence[Record]) -> float | None:
    seconds = [r.solve_s for r in rows if r.solve_s]
    return min(seconds) if seconds and ended_well(rows) else None


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.12g}"


def _counted(signs: Iterable[int]) -> tuple[int, int, int]:
    found = list(signs)
    return found.count(1), found.count(0), found.count(-1)
