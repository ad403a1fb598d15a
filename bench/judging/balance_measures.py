"""What the records say about BALANCE's sweeps: gains over the baselines, one user's costs, and gaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.experiments.balance_sweeps import FIG1_OUTPUTS, SWEEPS, USERS, Sweep
from bench.jobs.job import Record
from bench.judging.measures import FIG6_FAMILY, Measurement, NotTestableError, fastest_seconds, medians
from bench.judging.selecting import select
from bench.judging.statistics import Mean, mean_gain, mean_of, power_law
from instances.presets import BALANCE_PRESETS

__all__ = [
    "BALANCE_MEASURES",
    "GapPoint",
    "SweepPoint",
    "average_gain",
    "gap_points",
    "setting_of",
    "single_user_change",
    "single_user_rows",
    "single_user_value",
    "sweep_points",
]

Values = Mapping[float, Mapping[int, float]]  # by point and seed


@dataclass(frozen=True)
class SweepPoint:
    """Users served / K at one value of a sweep."""

    mean: Mean
    proved: int  # how many of the values are proved optima
    rows: tuple[Record, ...]


@dataclass(frozen=True)
class GapPoint:
    """A method's mean gap at one size, %."""

    mean: Mean
    proved: int  # instances whose bound is the proved optimum
    median_s: float
    rows: tuple[Record, ...]


def setting_of(record: Record, key: str) -> float | None:
    """Return a setting of the family that an instance was generated with, None where it is the default."""
    settings = dict((record.extra.get("source") or {}).get("settings") or [])
    return None if key not in settings else float(settings[key])


def sweep_points(
    records: Iterable[Record], experiment: str, family: str, method: str
) -> dict[float, SweepPoint]:
    """Return users served / K by the sweep's value, the mean over seeds with its interval."""
    chosen, rows = SWEEPS[experiment], defaultdict(list)
    for r in select(records, experiment=experiment, family=family, method=method):
        at = _place(r, chosen)
        if at is not None and r.size:
            rows[at].append(r)
    points = {}
    for at, group in sorted(rows.items()):
        good = [r for r in group if r.feasible and r.checked_objective is not None]
        if good:
            shares = [(r.checked_objective or 0.0) / r.size for r in good]
            proved = sum(r.status == "optimal" for r in good)
            points[at] = SweepPoint(mean_of(shares, (0.0, 1.0)), proved, tuple(good))
    return points


def average_gain(records: Iterable[Record], experiment: str, family: str, baseline: str) -> Measurement:
    """Return the paper's average improvement of ``hybrid`` over a baseline, %.

    The mean over the sweep's values of (mean with hybrid / mean with the baseline − 1).

    Raises
    ------
    NotTestableError
        Where a value of the sweep has no pair of runs, or the baseline serves nobody.
    """
    chosen = SWEEPS[experiment]
    runs = select(records, experiment=experiment, family=family)
    used = [r for r in runs if r.method in ("hybrid", baseline)]
    ours, theirs = (_served(used, chosen, method) for method in ("hybrid", baseline))
    points = [float(v) for v in chosen.values]
    gain, expected = _gain(ours, theirs, points)
    equal = [s for at in points for s in ours[at] if ours[at][s] == theirs[at].get(s)]
    pairs = sum(len(ours[at]) for at in points)
    detail = f"{len(points)} values of {chosen.axis}; equal in {len(equal)} of {pairs} instances"
    use = _largest_memory_use(r for r in used if r.method == "hybrid")
    detail += "" if use is None else f"; BALANCE's decisions fill at most {100.0 * use:.0f} % of the memory"
    return _percent(gain, expected, detail, used)


def single_user_rows(records: Iterable[Record], family: str, method: str) -> dict[float, list[Record]]:
    """Return the rows of Fig. 1 in which the one user is served, by output tokens."""
    rows: dict[float, list[Record]] = defaultdict(list)
    for r in select(records, experiment="balance-fig1", family=family, method=method):
        tokens = setting_of(r, "output_max")
        if tokens and r.feasible and r.checked_objective == 1.0 and _costs_known(r):
            rows[tokens].append(r)
    return dict(sorted(rows.items()))


def _costs_known(record: Record) -> bool:
    checked = record.extra.get("checked")
    names = ("seconds_ad", "seconds_sd", "memory_bytes")
    return isinstance(checked, dict) and all(isinstance(checked.get(name), int | float) for name in names)


def single_user_value(record: Record, detail: str) -> float:
    """Return the checker's ``seconds`` or ``memory_bytes`` of a run of one user."""
    checked: Mapping[str, float] = record.extra["checked"]
    if detail == "seconds":
        return checked["seconds_ad"] + checked["seconds_sd"]  # one of the two modes is empty
    return checked[detail]


def single_user_change(records: Sequence[Record], family: str, detail: str) -> Measurement:
    """Return the mean change from AD to SD of one user's seconds or memory, %.

    Raises
    ------
    NotTestableError
        Where a number of output tokens has no pair of runs.
    """
    rows = {method: single_user_rows(records, family, method) for method in ("sd-only", "ad-only")}
    sd, ad = (
        {at: {r.seed: single_user_value(r, detail) for r in group} for at, group in by_length.items()}
        for by_length in rows.values()
    )
    points = [float(tokens) for tokens in FIG1_OUTPUTS]
    gain, expected = _gain(sd, ad, points)
    each = [100.0 * (np.mean(list(sd[at].values())) / np.mean(list(ad[at].values())) - 1.0) for at in points]
    used = [r for by_length in rows.values() for group in by_length.values() for r in group]
    return _percent(gain, expected, f"{min(each):.1f} … {max(each):.1f} % by output length", used)


def gap_points(records: Sequence[Record], family: str, method: str) -> dict[int, GapPoint]:
    """Return a method's mean gap to the least bound by size, from ``balance-gap``."""
    rows = select(records, experiment="balance-gap", family=family)
    bounds: dict[str, float] = {}
    best: dict[str, float] = {}
    for r in rows:
        if r.bound is not None and r.status in ("optimal", "feasible", "bound_only"):
            bounds[r.instance_sha256] = min(bounds.get(r.instance_sha256, np.inf), r.bound)
        if r.feasible and r.checked_objective is not None:
            best[r.instance_sha256] = max(best.get(r.instance_sha256, 0.0), r.checked_objective)
    groups: dict[int, list[Record]] = defaultdict(list)
    for r in rows:
        if r.method == method and r.feasible and r.instance_sha256 in bounds:
            groups[r.size].append(r)
    return {size: _gap_point(group, bounds, best) for size, group in sorted(groups.items())}


def _gap_point(group: Sequence[Record], bounds: Mapping[str, float], best: Mapping[str, float]) -> GapPoint:
    gaps = []
    for r in group:
        bound = bounds[r.instance_sha256]
        gaps.append(100.0 * (bound - (r.checked_objective or 0.0)) / bound if bound > 0.0 else 0.0)
    proved = sum(best[r.instance_sha256] >= bounds[r.instance_sha256] for r in group)
    seconds = float(np.median([r.solve_s or 0.0 for r in group]))
    return GapPoint(mean_of(gaps, (0.0, 100.0)), proved, seconds, tuple(group))


def _place(record: Record, chosen: Sweep) -> float | None:
    return float(record.size) if chosen.axis == USERS else setting_of(record, chosen.axis)


def _served(records: Iterable[Record], chosen: Sweep, method: str) -> dict[float, dict[int, float]]:
    """Return users served by the sweep's value and the instance's seed."""
    values: dict[float, dict[int, float]] = defaultdict(dict)
    for r in records:
        at = _place(r, chosen)
        if r.method == method and r.feasible and at is not None and r.checked_objective is not None:
            values[at][r.seed] = r.checked_objective
    return values


def _gain(ours: Values, theirs: Values, points: Sequence[float]) -> tuple[Mean, int]:
    """Return the mean gain over the seeds that have a pair at every point, and how many seeds there are."""
    seeds = sorted({seed for at in points for seed in ours.get(at, {})})
    whole = [s for s in seeds if all(s in ours.get(at, {}) and s in theirs.get(at, {}) for at in points)]
    if not whole:
        raise NotTestableError("no seed with a run at every value of the sweep in the store")

    def table(values: Values) -> NDArray[np.float64]:
        return np.array([[values[at][seed] for at in points] for seed in whole])

    mine, other = table(ours), table(theirs)
    if not np.all(other.mean(axis=0) > 0.0):
        raise NotTestableError("the baseline serves nobody at some value of the sweep")
    return mean_gain(mine, other), len(seeds)


def _percent(gain: Mean, expected: int, detail: str, used: Iterable[Record]) -> Measurement:
    value, low, high = (100.0 * v for v in (gain.value, gain.low, gain.high))
    keys = tuple(r.key for r in used)
    return Measurement(value, low, high, gain.n, expected, "sampled", detail, keys=keys)


def _largest_memory_use(records: Iterable[Record]) -> float | None:
    """Return the largest share of a server's memory that a decision needs."""
    shares = []
    for r in records:
        preset = BALANCE_PRESETS.get(r.family.partition("-")[2])
        needed = (r.extra.get("checked") or {}).get("memory_bytes")
        if preset is not None and needed is not None:
            shares.append(needed / (setting_of(r, "memory_bytes") or preset.memory_bytes))
    return max(shares, default=None)


def _literal_exponent(records: Sequence[Record]) -> Measurement:
    points = medians(fastest_seconds(records, "hybrid-literal", FIG6_FAMILY), 10, 16)
    if len(points) < 6:
        raise NotTestableError(f"found {len(points)} sizes, a growth fit takes at least 6")
    fit = power_law(list(points), list(points.values()))
    detail = f"K = {min(points)} … {max(points)}, largest log residual {fit.residual:.2g}"
    timed = select(records, experiment="balance-fig6", family=FIG6_FAMILY, method="hybrid-literal")
    keys = tuple(r.key for r in timed if r.size in points)
    return Measurement(fit.growth, fit.low, fit.high, fit.n, fit.n, "sampled", detail, keys=keys)


BALANCE_MEASURES: dict[str, Callable[..., Measurement]] = {
    "average_gain": average_gain,
    "single_user_change": single_user_change,
    "literal_exponent": _literal_exponent,
}
