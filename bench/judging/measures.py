"""What the records say about a published claim: one function a measure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.jobs.job import Record
from bench.judging.selecting import select
from bench.judging.statistics import Fit, mean_of, power_law, semi_log, stratified_mean
from bench.registry import METHODS

__all__ = [
    "MEASURES",
    "Measurement",
    "NotTestableError",
    "certified_bounds",
    "family_minima",
    "fastest_seconds",
    "load_of",
    "medians",
    "optima",
    "paired_ratios",
    "rows_behind",
    "witness_counts",
]

FIG6_FAMILY = "calibrated-fig4"
LARGEST_FIG6 = 16  # users
PERCENT = (0.0, 100.0)
SOLVED = ("optimal", "feasible")


class NotTestableError(Exception):
    """The records cannot decide a claim, for the reason given."""


@dataclass(frozen=True)
class Measurement:
    """A measured value with what backs it."""

    value: float
    low: float
    high: float
    n: int
    expected: int
    evidence: str  # verified, proved, bounded or sampled
    detail: str = ""  # both times of a ratio, residuals, which family
    witness: str = ""  # instance that decides an inequality
    key: str = ""  # of the row that decides
    keys: tuple[str, ...] = ()  # of the rows that the value is computed from


@dataclass(frozen=True)
class Ratio:
    """One heuristic's value against the proved optimum of the same instance."""

    value: float
    record: Record
    optimum: float


def optima(records: Iterable[Record]) -> dict[str, float]:
    """Return the proved optimum of each BALANCE or MMKP instance, by content hash."""
    exact = {method.name for method in METHODS.values() if method.role == "exact"}
    return {
        r.instance_sha256: r.checked_objective
        for r in records
        if r.status == "optimal" and r.method in exact and r.checked_objective is not None
    }


def witness_counts(records: Iterable[Record]) -> dict[str, int]:
    """Return how many exact methods proved each instance's optimum."""
    proofs: dict[str, set[str]] = defaultdict(set)
    for r in records:
        if r.status == "optimal":
            proofs[r.instance_sha256].add(r.method)
    return {digest: len(methods) for digest, methods in proofs.items()}


def paired_ratios(records: Sequence[Record], method: str, experiment: str) -> tuple[list[Ratio], int]:
    """Return a method's ratios to the proved optimum, and how many runs of it there are.

    A ratio is 1 where optimum and value are both 0.
    """
    best = optima(r for r in records if r.experiment == experiment)
    runs = [r for r in records if r.experiment == experiment and r.method == method and r.status != "skipped"]
    ratios = []
    for r in runs:
        if r.instance_sha256 in best and r.status in SOLVED and r.checked_objective is not None:
            optimum = best[r.instance_sha256]
            ratios.append(Ratio(1.0 if optimum == 0 else r.checked_objective / optimum, r, optimum))
    return ratios, len(runs)


def family_minima(records: Sequence[Record], method: str) -> list[tuple[str, int, float, float, Record]]:
    """Return (family, n, smallest ratio, mean ratio, the row of the smallest) by family, smallest first."""
    groups: dict[str, list[Ratio]] = defaultdict(list)
    for ratio in paired_ratios(records, method, "balance-guarantee")[0]:
        groups[ratio.record.family].append(ratio)
    rows = []
    for family, ratios in groups.items():
        least = min(ratios, key=lambda ratio: ratio.value)
        mean = float(np.mean([ratio.value for ratio in ratios]))
        rows.append((family, len(ratios), least.value, mean, least.record))
    return sorted(rows, key=lambda row: (row[2], row[0]))


def load_of(record: Record) -> float | None:
    """Return the handover rate ρ of a generated trace."""
    settings = dict((record.extra.get("source") or {}).get("settings") or [])
    value = settings.get("rate_per_s")
    return None if value is None else float(value)


def fastest_seconds(
    records: Sequence[Record], method: str, family: str, experiment: str = "balance-fig6"
) -> dict[int, dict[str, float]]:
    """Return by size and instance the seconds in an experiment, the fastest of the repetitions.

    Rows of several workers, of the calling process and of exact methods that did not finish carry no
    published time.
    """
    finished = ("optimal",) if method.startswith(("exhaustive", "exact")) else SOLVED
    sizes: dict[int, dict[str, float]] = defaultdict(dict)
    for r in select(records, experiment=experiment, family=family, method=method):
        timed = (r.executor, r.workers) == ("processes", 1) and r.solve_s is not None
        if timed and r.status in finished:
            known = sizes[r.size].get(r.instance_sha256, np.inf)
            sizes[r.size][r.instance_sha256] = min(known, r.solve_s or np.inf)
    return dict(sorted(sizes.items()))


def medians(by_size: Mapping[int, Mapping[str, float]], low: int = 0, high: int = 10**9) -> dict[int, float]:
    """Return the median over instances of each size from ``low`` to ``high``."""
    return {k: float(np.median(list(column.values()))) for k, column in by_size.items() if low <= k <= high}


def certified_bounds(records: Iterable[Record], experiment: str) -> dict[str, tuple[float, bool]]:
    """Return each trace's least upper bound by content hash, and whether its proof was verified.

    A verified bound goes before one that a solver claims.
    """
    bounds: dict[str, tuple[float, bool]] = {}
    for r in records:
        if r.experiment == experiment and r.bound is not None and r.status in (*SOLVED, "bound_only"):
            verified = r.extra.get("verified_bound")
            found = (r.bound, False) if verified is None else (float(verified), True)
            known = bounds.get(r.instance_sha256, found)
            bounds[r.instance_sha256] = min(known, found, key=lambda b: (not b[1], b[0]))
    return bounds


def rows_behind(records: Iterable[Record], used: Iterable[Record]) -> tuple[str, ...]:
    """Return the keys of the used rows and of those that bound or prove the same instances."""
    own, places = set(), set()
    for r in used:
        own.add(r.key)
        places.add((r.experiment, r.instance_sha256))
    return tuple(
        r.key
        for r in records
        if r.key in own or (r.bound is not None and (r.experiment, r.instance_sha256) in places)
    )


def _smallest_ratio(records: Sequence[Record], method: str, family: str | None = None) -> Measurement:
    """Return a method's smallest ratio to the optimum, of one family or of all."""
    own = [r for r in records if family in (None, r.family)]
    ratios, expected = paired_ratios(own, method, "balance-guarantee")
    if not ratios:
        raise NotTestableError("no run with a proved optimum in the store")
    return _extreme(records, ratios, expected)


def _extreme(records: Sequence[Record], ratios: list[Ratio], expected: int) -> Measurement:
    least = min(ratios, key=lambda ratio: ratio.value)
    counts = witness_counts(r for r in records if r.experiment == "balance-guarantee")
    proofs = counts.get(least.record.instance_sha256, 0)
    witnesses = f"{proofs} witness{'es' if proofs != 1 else ''}"
    shown = any(
        r.extra.get("verified_bound") == least.optimum
        for r in records
        if r.instance_sha256 == least.record.instance_sha256
    )
    served = f"{least.record.checked_objective:g} of {least.optimum:g} served"
    return Measurement(
        least.value,
        least.value,
        least.value,
        len(ratios),
        expected,
        f"verified (proof checked; {witnesses})" if shown else f"proved ({witnesses})",
        f"{served}, family {least.record.family}",
        least.record.instance,
        least.record.key,
        rows_behind(records, (ratio.record for ratio in ratios)),
    )


def _smallest_ad_ratio(records: Sequence[Record]) -> Measurement:
    pairs = [r for r in records if (r.experiment, r.method) == ("balance-guarantee", "ad-only-own")]
    held = [r for r in pairs if r.checked_objective is not None and r.feasible and r.status in SOLVED]
    own = {r.instance_sha256: r.checked_objective for r in held}
    runs = [r for r in records if (r.experiment, r.method) == ("balance-guarantee", "ad-only")]
    ratios = []
    for r in runs:
        best = own.get(r.instance_sha256)
        if r.checked_objective is not None and best is not None and r.feasible and r.status in SOLVED:
            ratios.append(Ratio(1.0 if best == 0 else r.checked_objective / best, r, best))
    if not ratios:
        raise NotTestableError("no pair of AD-only runs in the store")
    least = min(ratios, key=lambda ratio: ratio.value)
    detail = f"{least.record.checked_objective:g} served, {least.optimum:g} feasible by (15)"
    return Measurement(
        least.value, least.value, least.value, len(ratios), len(runs), "proved (checked decisions)", detail,
        least.record.instance, least.record.key, tuple(r.key for r in (*runs, *pairs)),
    )  # fmt: skip


def _clairvoyant_pairs(
    records: Sequence[Record], load: float
) -> tuple[list[tuple[float, float, bool, Record]], int]:
    """Return (value, bound, whether the bound was verified, row) of each trace at a load."""
    own = [r for r in records if r.experiment == "handover-clairvoyant" and load_of(r) == load]
    bounds = certified_bounds(own, "handover-clairvoyant")
    runs = [r for r in own if r.method == "water-filling"]
    pairs = [
        (r.checked_objective, *bounds[r.instance_sha256], r)
        for r in runs
        if r.checked_objective is not None and r.instance_sha256 in bounds and r.status in SOLVED and r.size
    ]
    return pairs, len(runs)


def _clairvoyant_ratio(records: Sequence[Record], load: float) -> Measurement:
    pairs, expected = _clairvoyant_pairs(records, load)
    if not pairs:
        raise NotTestableError(f"no trace with a certified bound at ρ = {load:g}")
    mean = mean_of([100.0 * value / bound for value, bound, _, _ in pairs], PERCENT)
    verified = all(verified for _, _, verified, _ in pairs)
    evidence = "verified (slot prices)" if verified else "bounded"
    return Measurement(
        mean.value, mean.low, mean.high, mean.n, expected, evidence, "ratio to an upper bound",
        keys=rows_behind(records, (r for *_, r in pairs)),
    )  # fmt: skip


def _smallest_clairvoyant_ratio(records: Sequence[Record]) -> Measurement:
    loads = sorted({load for r in records if (load := load_of(r)) and r.experiment == "handover-clairvoyant"})
    if not loads:
        raise NotTestableError("no trace with a certified bound in the store")
    return _least(((load, _clairvoyant_ratio(records, load)) for load in loads), "ρ")


def _least(measured: Iterable[tuple[float, Measurement]], name: str) -> Measurement:
    pairs = list(measured)
    at, least = min(pairs, key=lambda pair: pair[1].value)
    keys = tuple(key for _, measurement in pairs for key in measurement.keys)
    return replace(least, detail=f"least of {len(pairs)}, at {name} = {at:g}", keys=keys)


def _mean_accuracy(records: Sequence[Record], load: float) -> Measurement:
    runs = [
        r
        for r in records
        if (r.experiment, r.method) == ("handover-clairvoyant", "water-filling") and load_of(r) == load
    ]
    values = [
        100.0 * r.checked_objective / r.size
        for r in runs
        if r.checked_objective is not None and r.size and r.feasible and r.status in SOLVED
    ]
    if not values:
        raise NotTestableError(f"no run at ρ = {load:g}")
    mean = mean_of(values, PERCENT)
    keys = tuple(r.key for r in runs)
    return Measurement(mean.value, mean.low, mean.high, mean.n, len(runs), "sampled", keys=keys)


def _smallest_mean_accuracy(records: Sequence[Record]) -> Measurement:
    return _least(((float(load), _mean_accuracy(records, load)) for load in range(2, 9)), "ρ")


def _speed_up(records: Sequence[Record], baseline: str, which: str) -> Measurement:
    slow = fastest_seconds(records, baseline, FIG6_FAMILY)
    fast = fastest_seconds(records, "hybrid", FIG6_FAMILY)
    paired = {k: [slow[k][i] / fast[k][i] for i in slow[k] if i in fast[k]] for k in slow if k in fast}
    sizes = [k for k, ratios in paired.items() if ratios]
    if LARGEST_FIG6 not in sizes:
        largest = f"up to K = {max(sizes)}" if sizes else "not"
        raise NotTestableError(
            f"{baseline} ran {largest} here; `nox -s fig6` runs it up to K = {LARGEST_FIG6}"
        )
    both = [medians({LARGEST_FIG6: times[LARGEST_FIG6]})[LARGEST_FIG6] for times in (slow, fast)]
    times = f"{both[0]:.3g} s against {1e3 * both[1]:.3g} ms"
    expected = len(fast[LARGEST_FIG6])
    if which == "last":
        mean = mean_of(paired[LARGEST_FIG6])
    else:
        mean = stratified_mean([paired[k] for k in sizes])
        times = f"K = {sizes[0]} … {sizes[-1]}; at {LARGEST_FIG6} {times}"
        expected = sum(len(fast[k]) for k in sizes)
    used = [LARGEST_FIG6] if which == "last" else sizes
    keys = _timed_keys(records, (baseline, "hybrid"), used)
    return Measurement(mean.value, mean.low, mean.high, mean.n, expected, "sampled", times, keys=keys)


def _timed_keys(records: Iterable[Record], methods: Iterable[str], sizes: Iterable[int]) -> tuple[str, ...]:
    """Return the keys of the runs of Fig. 6 that these methods' times at these sizes are taken from."""
    wanted = {(method, size) for method in methods for size in sizes}
    own = [r for r in records if (r.experiment, r.family) == ("balance-fig6", FIG6_FAMILY)]
    return tuple(r.key for r in own if (r.method, r.size) in wanted)


def _fit(
    fit: Callable[[Sequence[float], Sequence[float]], Fit],
    records: Sequence[Record],
    method: str,
    low: int,
    high: int,
) -> Measurement:
    points = medians(fastest_seconds(records, method, FIG6_FAMILY), low, high)
    if len(points) < 6:
        raise NotTestableError(f"found {len(points)} sizes, a growth fit takes at least 6")
    result = fit(list(points), list(points.values()))
    detail = f"K = {min(points)} … {max(points)}, largest log residual {result.residual:.2g}"
    return Measurement(
        result.growth, result.low, result.high, result.n, result.n, "sampled", detail,
        keys=_timed_keys(records, (method,), points),
    )  # fmt: skip


def _growth_exponent(records: Sequence[Record]) -> Measurement:
    return _fit(power_law, records, "hybrid", 32, 1024)


def _growth_base(records: Sequence[Record], method: str) -> Measurement:
    return _fit(semi_log, records, method, 10, 16)


def _mean_degradation(records: Sequence[Record]) -> Measurement:
    ratios, _ = paired_ratios(records, "hybrid", "balance-fig6")
    unique = {
        r.record.instance_sha256: r for r in ratios if r.record.family == FIG6_FAMILY and r.record.size <= 16
    }
    if not unique:
        raise NotTestableError("no run with a proved optimum in the store")
    mean = mean_of([100.0 * (1.0 - ratio.value) for ratio in unique.values()], PERCENT)
    keys = rows_behind(records, (ratio.record for ratio in unique.values()))
    return Measurement(mean.value, mean.low, mean.high, mean.n, mean.n, "proved", keys=keys)


def _proved_value(records: Sequence[Record], instance: str) -> Measurement:
    runs = [r for r in records if (r.experiment, r.family) == ("mmkp", instance)]
    proved = [r for r in runs if r.status == "optimal" and r.checked_objective is not None]
    if not proved:
        reasons = {r.message for r in runs if r.message} or {"no exact run in the store"}
        raise NotTestableError("; ".join(sorted(reasons)))
    value = proved[0].checked_objective or 0.0
    count = len({r.method for r in proved if r.checked_objective == proved[0].checked_objective})
    witnesses = "1 witness" if count == 1 else f"{count} witnesses"
    keys = tuple(r.key for r in proved)
    return Measurement(value, value, value, 1, 1, f"proved ({witnesses})", key=keys[0], keys=keys)


MEASURES: dict[str, Callable[..., Measurement]] = {
    "smallest_ratio": _smallest_ratio,
    "smallest_ad_ratio": _smallest_ad_ratio,
    "clairvoyant_ratio": _clairvoyant_ratio,
    "smallest_clairvoyant_ratio": _smallest_clairvoyant_ratio,
    "mean_accuracy": _mean_accuracy,
    "smallest_mean_accuracy": _smallest_mean_accuracy,
    "speed_up": _speed_up,
    "growth_exponent": _growth_exponent,
    "growth_base": _growth_base,
    "mean_degradation": _mean_degradation,
    "proved_value": _proved_value,
}
