"""What the records say about the handover paper's sweeps, latencies and crossovers."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bench.experiments.handover_sweeps import BASELINES, SWEEPS, Curve
from bench.jobs.job import Record, parameters_of
from bench.jobs.sources import source_from_dict
from bench.judging.measures import PERCENT, SOLVED, Measurement, NotTestableError
from bench.judging.selecting import select
from bench.judging.statistics import Mean, mean_of, ratio_of_sums
from formulations.handover.hybrid import hybrid_latencies
from instances.handover import HandoverTrace

__all__ = [
    "HANDOVER_MEASURES",
    "crossover",
    "curve_means",
    "curve_rows",
    "curve_values",
    "hybrid_mean",
    "hybrid_of_lengths",
    "latency_mean",
    "latency_of_lengths",
    "settings_of",
]

Values = dict[float, dict[int, float]]  # by point and seed
RESAMPLES = 999
LENGTHS = (4096, 8192, 16384)  # of contexts, tokens


def settings_of(record: Record) -> dict[str, float]:
    """Return the settings of the family that an instance was generated with."""
    return dict((record.extra.get("source") or {}).get("settings") or [])


def curve_values(records: Iterable[Record], experiment: str, curve: Curve, what: str = "accuracy") -> Values:
    """Return a curve's values of a sweep, %, by the sweep's value and seed; ``what`` may be ``starved``."""
    found = curve_rows(records, experiment, curve)
    return {at: {r.seed: _percent(r, what) for r in rows} for at, rows in found.items()}


def _percent(record: Record, what: str) -> float:
    total = record.extra["checked"]["starved"] if what == "starved" else record.checked_objective or 0.0
    return 100.0 * float(total) / record.size


def curve_rows(records: Iterable[Record], experiment: str, curve: Curve) -> dict[float, list[Record]]:
    """Return the rows behind each point of a curve, by the sweep's value, one a seed."""
    chosen, parameters = SWEEPS[experiment], parameters_of(curve.options)
    rows: dict[float, dict[int, Record]] = defaultdict(dict)
    own = select(records, experiment=experiment, family=curve.family, method=curve.method)
    for r in select(own, parameters=parameters):
        at = settings_of(r).get(chosen.axis)
        if at is not None and r.size and r.feasible and r.status in SOLVED:
            rows[at][r.seed] = r
    return {at: list(by_seed.values()) for at, by_seed in sorted(rows.items())}


def curve_means(
    records: Iterable[Record], experiment: str, curve: Curve, what: str = "accuracy"
) -> dict[float, Mean]:
    """Return a curve's means over traces, %, with intervals, by the sweep's value."""
    found = curve_values(records, experiment, curve, what)
    return {at: mean_of(list(by_seed.values()), PERCENT) for at, by_seed in found.items()}


def _sweep_value(
    records: Sequence[Record], experiment: str, method: str, family: str, what: str, at: float
) -> Measurement:
    by_seed = curve_values(records, experiment, Curve(method, (), family), what).get(float(at), {})
    if not by_seed:
        raise NotTestableError(f"no run of {method} at {at:g} in the store")
    mean = mean_of(list(by_seed.values()), PERCENT)
    return _measured(mean, _expected(records, experiment, method, family, at), "")


def _difference(
    records: Sequence[Record], experiment: str, first: str, second: str, at: float
) -> Measurement:
    """Return the mean paired difference of two methods' accuracies at one value, points."""
    pairs = [curve_values(records, experiment, Curve(m)).get(float(at), {}) for m in (first, second)]
    common = sorted(set(pairs[0]) & set(pairs[1]))
    if not common:
        raise NotTestableError(f"no pair of runs at {at:g} in the store")
    mean = mean_of([pairs[0][s] - pairs[1][s] for s in common])
    return _measured(mean, len(pairs[0]), "points of mean accuracy")


def _smallest_lead(records: Sequence[Record], experiment: str) -> Measurement:
    """Return water-filling's smallest mean lead on a baseline over a sweep, points."""
    leads = []
    for at in SWEEPS[experiment].values:
        for baseline in BASELINES:
            lead = _difference(records, experiment, "water-filling", baseline, at)
            leads.append((lead.value, f"on {baseline} at {at:g}", lead))
    value, where, lead = min(leads, key=lambda entry: entry[0])
    return Measurement(value, lead.low, lead.high, lead.n, lead.expected, "sampled", f"least {where}")


def _largest_spread(records: Sequence[Record], experiment: str, at: float, *methods: str) -> Measurement:
    """Return the largest mean paired difference among curves that are said to coincide, points."""
    spreads = []
    for i, first in enumerate(methods):
        for second in methods[i + 1 :]:
            found = _difference(records, experiment, first, second, at)
            sign = 1.0 if found.value >= 0 else -1.0
            low, high = sorted((sign * found.low, sign * found.high))
            detail = f"{first} against {second}"
            spreads.append(
                Measurement(sign * found.value, low, high, found.n, found.expected, "sampled", detail)
            )
    return max(spreads, key=lambda m: m.value)


def crossover(
    records: Sequence[Record],
    experiment: str,
    family: str = "importance",
    options: tuple[tuple[str, object], ...] = (),
) -> Measurement:
    """Return the value of a sweep at which equal shares and winner-take-all change places.

    The mean difference of the two is interpolated between the sweep's values; the interval is a percentile
    bootstrap over traces.

    Raises
    ------
    NotTestableError
        When there are no runs, or the curves do not cross.
    """
    equal, winner = (
        curve_values(records, experiment, Curve(method, options, family))
        for method in ("equal", "winner-take-all")
    )
    points = [at for at in equal if at in winner]
    whole = set.intersection(*(set(equal[at]) & set(winner[at]) for at in points)) if points else set()
    if not whole:
        raise NotTestableError("no trace with both policies at every value in the store")
    seeds = sorted(whole)
    table = np.array([[equal[at][s] - winner[at][s] for s in seeds] for at in points])
    crossing = _crossing(points, table.mean(axis=1))
    if crossing is None:
        ahead = "equal" if table.mean() > 0 else "winner-take-all"
        raise NotTestableError(f"no crossing: {ahead} is ahead throughout")
    draws = np.random.Generator(np.random.PCG64(0)).integers(0, len(seeds), (RESAMPLES, len(seeds)))
    found = [_crossing(points, table[:, draw].mean(axis=1)) for draw in draws]
    usable = [at for at in found if at is not None]
    low, high = (float(v) for v in np.quantile(usable, (0.025, 0.975)))
    rises = table[-1].mean() > 0
    detail = f"{'equal shares' if rises else 'winner-take-all'} is ahead above"
    if len(usable) < RESAMPLES:
        detail += f"; {RESAMPLES - len(usable)} of {RESAMPLES} resamples do not cross"
    return Measurement(crossing, low, high, len(seeds), len(seeds), "sampled", detail)


def _crossing(points: Sequence[float], difference: NDArray[np.float64]) -> float | None:
    """Return where a curve last crosses 0, None if it does not."""
    for i in range(len(points) - 1, 0, -1):
        left, right = float(difference[i - 1]), float(difference[i])
        if left * right < 0:
            return points[i - 1] + (points[i] - points[i - 1]) * left / (left - right)
    return None


def _crossover_ms(
    records: Sequence[Record], experiment: str, family: str = "importance", deadline_s: float | None = None
) -> Measurement:
    """Return ``crossover`` in ms; with ``deadline_s`` of the runs whose last slot is cut there."""
    options = () if deadline_s is None else (("deadline_s", deadline_s),)
    m = crossover(records, experiment, family, options)
    value, low, high = (1000.0 * v for v in (m.value, m.low, m.high))
    return Measurement(value, low, high, m.n, m.expected, m.evidence, m.detail)


def latency_mean(records: Iterable[Record], tokens: int) -> Measurement:
    """Return the mean latency of users of a context length, ms, pooled over users, by the checker.

    Raises
    ------
    NotTestableError
        When nobody of this length has 99 % of its accuracy in the store's runs.
    """
    sums, unfinished = [], 0
    for r in records:
        if r.experiment == "handover-latency" and r.feasible:
            users, reached, total, _ = r.extra["checked"]["latency"].get(str(tokens), (0, 0, 0.0, 0.0))
            unfinished += users - reached
            if reached:
                sums.append((1000.0 * total, reached))
    detail = "" if not unfinished else f"{unfinished} users never have it"
    return _pooled(sums, detail)


def hybrid_mean(records: Iterable[Record], tokens: int) -> Measurement:
    """Return the Hybrid baseline's mean latency of users of a context length, ms, on the stored arrivals.

    Raises
    ------
    NotTestableError
        When there is nobody of this length.
    """
    sums = []
    for r in records:
        if r.experiment == "handover-latency":
            trace = source_from_dict(r.extra["source"]).make()
            assert isinstance(trace, HandoverTrace)
            own = hybrid_latencies(trace)[trace.users.context_tokens == tokens]
            if len(own):
                sums.append((1000.0 * float(own.sum()), len(own)))
    return _pooled(sums, "model with the published 4K and 16K prefill times")


def latency_of_lengths(records: Iterable[Record]) -> Measurement:
    """Return the mean over the context lengths of ``latency_mean``."""
    return _of_lengths(records, latency_mean)


def hybrid_of_lengths(records: Iterable[Record]) -> Measurement:
    """Return the mean over the context lengths of ``hybrid_mean``."""
    return _of_lengths(records, hybrid_mean)


def _of_lengths(
    records: Iterable[Record], mean_at: Callable[[list[Record], int], Measurement]
) -> Measurement:
    """Return the mean of the context lengths' mean latencies, ms, in which the lengths count alike.

    Its interval is the mean of theirs, which holds however they depend on each other.
    """
    rows = list(records)
    found = [mean_at(rows, tokens) for tokens in LENGTHS]
    half = math.fsum(m.high - m.value for m in found) / len(found)
    value = math.fsum(m.value for m in found) / len(found)
    n = min(m.n for m in found)
    return Measurement(value, value - half, value + half, n, n, "sampled", found[0].detail.partition("; ")[2])


def _pooled(sums: Sequence[tuple[float, int]], detail: str) -> Measurement:
    """Return the mean over users of runs' sums, with the interval of a ratio of runs' totals."""
    if not sums:
        raise NotTestableError("no user of this context length in the store")
    total, count = zip(*sums, strict=True)
    mean = ratio_of_sums(total, count)
    users = f"{sum(count)} users"
    text = f"{users}; {detail}" if detail else users
    return _measured(mean, mean.n, text)


def _expected(records: Iterable[Record], experiment: str, method: str, family: str, at: float) -> int:
    axis = SWEEPS[experiment].axis
    chosen = (experiment, method, family, json.dumps({}))
    return sum(
        (r.experiment, r.method, r.family, r.parameters) == chosen
        and math.isclose(settings_of(r).get(axis, math.nan), at)
        for r in records
    )


def _measured(mean: Mean, expected: int, detail: str) -> Measurement:
    return Measurement(mean.value, mean.low, mean.high, mean.n, expected, "sampled", detail)


HANDOVER_MEASURES: Mapping[str, Callable[..., Measurement]] = {
    "sweep_value": _sweep_value,
    "sweep_difference": _difference,
    "smallest_lead": _smallest_lead,
    "largest_spread": _largest_spread,
    "crossover_ms": _crossover_ms,
    "latency_mean": latency_mean,
    "hybrid_mean": hybrid_mean,
    "latency_of_lengths": latency_of_lengths,
    "hybrid_of_lengths": hybrid_of_lengths,
}
