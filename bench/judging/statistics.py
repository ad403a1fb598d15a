"""Means with intervals, and fits of growth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

__all__ = ["Fit", "Mean", "mean_of", "power_law", "semi_log"]

CONFIDENCE = 0.95


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


def mean_of(values: ArrayLike) -> Mean:
    """Return the mean of at least one value, values independent of each other."""
    array = np.asarray(values, dtype=np.float64)
    center = float(array.mean())
    if len(array) < 2 or float(array.std()) == 0.0:
        return Mean(center, center, center, len(array))
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(array) - 1)) * float(stats.sem(array))
    return Mean(center, center - half, center + half, len(array))


def power_law(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit seconds = c · size^growth by least squares in logarithms; at least three points."""
    slope, half, residual = _line(np.log(sizes), np.log(seconds))
    return Fit(slope, slope - half, slope + half, residual, len(sizes))


def semi_log(sizes: Sequence[float], seconds: Sequence[float]) -> Fit:
    """Fit seconds = c · growth^size by least squares in logarithms; at least three points."""
    slope, half, residual = _line(np.asarray(sizes, dtype=np.float64), np.log(seconds))
    low, base, high = np.exp([slope - half, slope, slope + half])
    return Fit(float(base), float(low), float(high), residual, len(sizes))


def _line(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    if len(x) < 3:
        raise ValueError("a growth fit needs at least three points")
    fit = stats.linregress(x, y)
    half = float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(x) - 2)) * float(fit.stderr)
    residual = float(np.abs(y - fit.intercept - fit.slope * x).max())
    return float(fit.slope), half, residual
