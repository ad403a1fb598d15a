"""Means with intervals, and fits of growth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = [
    "Fit",
    "Mean",
    "PenalisedMean",
    "ShiftedMean",
    "SignedRank",
    "bootstrap_interval",
    "holm",
    "mean_gain",
    "mean_of",
    "penalised_mean",
    "power_law",
    "ratio_of_sums",
    "semi_log",
    "shifted_geometric_mean",
    "signed_rank",
    "stratified_mean",
]

CONFIDENCE = 0.95
RESAMPLES = 9999
LARGE_SAMPLE = 1000
PENALTY = 10.0  # of PAR-10


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % Student interval; without width information low and high are the mean."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Fit:
    """A straight line through logarithms: the growth with its 95 % interval and the largest residual."""

    growth: float  # exponent of a power law, or base of an exponential
    low: float
    high: float
    residual: float  # largest |log residual|, natural
    n: int


@dataclass(frozen=True)
class ShiftedMean:
    """A shifted geometric mean of what ended well, with its bootstrap interval."""

    value: float
    low: float
    high: float
    shift: float  # in the unit of the values
    n_ok: int
    n_expected: int


@dataclass(frozen=True)
class PenalisedMean:
    """PAR-10: mean seconds, a failure or a limit costing ten times the limit, with its bootstrap interval."""

    value: float
    low: float
    high: float
    limit_s: float
    n_ok: int
    n_expected: int


@dataclass(frozen=True)
class SignedRank:
    """Wilcoxon's signed-rank test of paired differences, two-sided, zeros ranked as Pratt does."""

    statistic: float  # the smaller of the two sums of ranks
    p: float
    n: int
    n_zero: int


def mean_of(values: ArrayLike, within: tuple[float, float] = (-np.inf, np.inf)) -> Mean:
    """Return the mean of at least one value, values independent of each other.

    The interval is cut to ``within``, the range that a value can have.
    """
    array = np.asarray(values, dtype=np.float64)
    center = float(array.mean())
    if len(array) < 2 or float(array.std()) == 0.0:
        return Mean(center, center, center, len(array))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(array) - 1)) * float(stats.sem(array))
    low, high = max(center - half, within[0]), min(center + half, within[1])
    return Mean(center, low, high, len(array))


def ratio_of_sums(above: ArrayLike, below: ArrayLike) -> Mean:
    """Return Σ above / Σ below over pairs, (n,) each, with the Student interval of the linearised ratio.

    Parameters
    ----------
    above, below
        Pairs that are independent of each other; the sum of ``below`` is positive.
    """
    a, b = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    ratio, n = float(a.sum() / b.sum()), len(a)
    residual = mean_of(a - ratio * b)  # around 0
    half = n * (residual.high - residual.value) / float(b.sum())
    return Mean(ratio, ratio - half, ratio + half, n)


def stratified_mean(strata: Sequence[Sequence[float]]) -> Mean:
    """Return the mean of the strata's means with its 95 % interval; strata count alike."""
    means = [float(np.mean(values)) for values in strata]
    center, n = float(np.mean(means)), sum(len(values) for values in strata)
    freedom = n - len(strata)
    if freedom < 1:
        return Mean(center, center, center, n)
    error = np.sqrt(sum(np.var(v, ddof=1) / len(v) for v in strata if len(v) > 1)) / len(strata)
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, freedom) * error)
    return Mean(center, center - half, center + half, n)


def mean_gain(ours: ArrayLike, theirs: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> Mean:
    """Return the mean over points of (our mean / their mean − 1) with its paired bootstrap interval.

    Parameters
    ----------
    ours, theirs : array_like, (seeds, points)
        Values of two methods on the same instances, each of their means positive. Seeds are resampled, each
        with all its points and both methods; the interval is that of the percentiles.
    """
    pair = np.stack([np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)])
    count = pair.shape[1]

    def gain(means: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((means[0] / means[1] - 1.0).mean(axis=-1))

    value = float(gain(pair.mean(axis=1)))
    if count < 2:
        return Mean(value, value, value, count)
    times = _resampled(count, seed, resamples)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = gain(times @ pair / count)
    low, high = np.quantile(drawn[~np.isnan(drawn)], [0.5 - CONFIDENCE / 2, 0.5 + CONFIDENCE / 2])
    return Mean(value, float(low), float(high), count)


@lru_cache(maxsize=2)
def _resampled(count: int, seed: int, resamples: int) -> NDArray[np.float64]:
    """Return how often each of ``count`` seeds is drawn, (resamples, count); read-only."""
    rng = np.random.Generator(np.random.PCG64(seed))
    times = rng.multinomial(count, np.full(count, 1.0 / count), resamples).astype(np.float64)
    times.setflags(write=False)
    return times


def power_law(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit seconds = c · size^growth by least squares in logarithms; at least three points."""
    slope, half, residual = _line(np.log(sizes), np.log(seconds))
    return Fit(slope, slope - half, slope + half, residual, len(sizes))


def semi_log(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit seconds = c · growth^size by least squares in logarithms; at least three points."""
    slope, half, residual = _line(np.asarray(sizes, dtype=np.float64), np.log(seconds))
    low, base, high = np.exp([slope - half, slope, slope + half])
    return Fit(float(base), float(low), float(high), residual, len(sizes))


def bootstrap_interval(
    values: ArrayLike, *, seed: int = 0, confidence: float = CONFIDENCE, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Return the bootstrap interval of a mean of at least one value, values independent of each other.

    BCa up to 1000 values; percentiles beyond, where the two agree, and where BCa has no answer. Of a single
    or constant value, both ends are the value.
    """
    array = np.asarray(values, dtype=np.float64)
    center = float(array.mean())
    if len(array) < 2 or np.ptp(array) == 0.0:
        return center, center
    for method in ("BCa", "percentile")[len(array) > LARGE_SAMPLE :]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a degenerate BCa, whose ends are then NaN
            interval = stats.bootstrap(
                (array,),
                np.mean,
                confidence_level=confidence,
                n_resamples=resamples,
                batch=max(1, 2**20 // len(array)),
                method=method,
                rng=np.random.Generator(np.random.PCG64(seed)),
            ).confidence_interval
        if np.isfinite(interval.low) and np.isfinite(interval.high):
            break
    return float(interval.low), float(interval.high)


def shifted_geometric_mean(
    values: Sequence[float | None],
    *,
    shift: float,
    expected: int | None = None,
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> ShiftedMean:
    """Return exp(mean of ln(value + shift)) − shift of the values that are there.

    ``None`` is a failure; runs of the ``expected`` ones that are not among the values failed too. Failures
    are left out and counted, so PAR-10 belongs beside it. Without any value it is NaN. ``groups`` names each
    value's instance: seeds of an instance are averaged first, and the interval is over instances.
    """
    good = [v for v in values if v is not None]
    if any(not v + shift > 0 for v in good):
        raise ValueError(f"a shifted geometric mean needs values above −{shift:g}, found {min(good):g}")
    total = _expected(len(values), expected)
    if not good:
        return ShiftedMean(math.nan, math.nan, math.nan, shift, 0, total)
    kept = [g for g, v in zip(_own_groups(groups, len(values)), values, strict=True) if v is not None]
    logs = _group_means([math.log(v + shift) for v in good], kept)
    low, high = bootstrap_interval(logs, seed=seed)
    center, low, high = (math.exp(x) - shift for x in (float(np.mean(logs)), low, high))
    return ShiftedMean(center, low, high, shift, len(good), total)


def penalised_mean(
    seconds: Sequence[float | None],
    *,
    limit_s: float | None,
    expected: int | None = None,
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
) -> PenalisedMean:
    """Return PAR-10: ``None`` (a failure), a time at or beyond the limit and a missing run cost 10 limits.

    ``groups`` names each run's instance, as for the shifted geometric mean.
    """
    if limit_s is None or not 0.0 < limit_s < math.inf:
        raise ValueError(f"PAR-10 needs a time limit above 0, found {limit_s}")
    total = _expected(len(seconds), expected)
    costs = [PENALTY * limit_s if s is None or s >= limit_s else s for s in seconds]
    good = [s for s in seconds if s is not None and s < limit_s]
    if not total:
        return PenalisedMean(math.nan, math.nan, math.nan, limit_s, 0, 0)
    means = _group_means(costs, _own_groups(groups, len(seconds)))
    means += [PENALTY * limit_s] * (total - len(seconds))
    low, high = bootstrap_interval(means, seed=seed)
    return PenalisedMean(float(np.mean(means)), low, high, limit_s, len(good), total)


def signed_rank(differences: ArrayLike) -> SignedRank:
    """Return Wilcoxon's signed-rank test; of no difference but zeros, p is 1."""
    array = np.asarray(differences, dtype=np.float64)
    zeros = int(np.count_nonzero(array == 0.0))
    if zeros == len(array):
        return SignedRank(0.0, 1.0, len(array), zeros)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small samples: the p-value says it
        result = stats.wilcoxon(array, zero_method="pratt")
    return SignedRank(float(result.statistic), float(result.pvalue), len(array), zeros)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Return Holm's adjusted p-values: the k-th smallest of m times m − k + 1, monotone, at most 1."""
    adjusted: dict[str, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def _own_groups(groups: Sequence[Hashable] | None, count: int) -> Sequence[Hashable]:
    return range(count) if groups is None else groups


def _group_means(values: Sequence[float], groups: Sequence[Hashable]) -> list[float]:
    members: dict[Hashable, list[float]] = {}
    for group, value in zip(groups, values, strict=True):
        members.setdefault(group, []).append(value)
    return [float(np.mean(part)) for part in members.values()]


def _expected(found: int, expected: int | None) -> int:
    if expected is not None and expected < found:
        raise ValueError(f"found {found} runs, expected at most {expected}")
    return found if expected is None else expected


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    if len(x) < 3:
        raise ValueError("a growth fit needs at least three points")
    fit = stats.linregress(x, y)
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(x) - 2)) * float(fit.stderr)
    residual = float(np.abs(y - fit.intercept - fit.slope * x).max())
    return float(fit.slope), half, residual
