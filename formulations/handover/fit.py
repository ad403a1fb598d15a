"""Utilities from measurements: the four families fitted to points (kept fraction, accuracy), with intervals.

For a family's shape φ the curve A(y) = M φ(k (y − τ)) is fitted by least squares. M enters linearly, so the
sum of squares is a function of k and τ alone (variable projection), which is searched on grids that close in
on the least. The interval of a parameter holds every value with which the sum of squares can be brought to at
most

    S_min (1 + F⁻¹(.95; 1, n − 3) / (n − 3)),                                             (1)

the profile likelihood's 95 % interval. Where that set reaches the end of the search, the points do not say
what the parameter is; such k and τ are *not identified*, however well the curve fits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, expit
from scipy.stats import f as f_distribution

from instances.errors import InputError
from instances.handover import UTILITIES

__all__ = ["Parameter", "UtilityFit", "fit_utilities", "fit_utility", "fitted_values"]

Floats = NDArray[np.float64]

SHARPNESS = (0.1, 1e4)  # k, per fraction: what is searched
ANCHOR = (-0.5, 1.5)  # τ, fraction
COARSE, FINE = 81, 21  # points of each axis in the first grid and in those that close in
ZOOMS = 16
HALVINGS = 32
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter with its 95 % interval, whose ends are infinite where the points do not bound it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class UtilityFit:
    """A family fitted to points."""

    utility: str
    ceiling: Parameter  # M, in the unit of the accuracies
    sharpness: Parameter  # k, per fraction
    anchor: Parameter  # τ, fraction
    r_squared: float
    rmse: float  # in the unit of the accuracies
    n: int
    identified: bool  # whether k and τ are bounded on both sides, and the points tell their curve apart
    warning: str  # why not


def fit_utilities(kept: ArrayLike, accuracy: ArrayLike) -> list[UtilityFit]:
    """Fit each of ``instances.handover.UTILITIES``; parameters as in ``fit_utility``."""
    return [fit_utility(kept, accuracy, utility) for utility in UTILITIES]


def fit_utility(kept: ArrayLike, accuracy: ArrayLike, utility: str) -> UtilityFit:
    """Fit a family to measured points by least squares.

    Parameters
    ----------
    kept
        Kept or received fractions of the cache, (n,), in [0, 1].
    accuracy
        Accuracies there, (n,), in any unit, at least 0.
    utility
        The family.

    Raises
    ------
    InputError
        For fewer than three different fractions, numbers out of range, or accuracies that are all 0.
    """
    y, a = _points(kept, accuracy)
    search = _Search(utility, y, a)
    least, log_k, tau, ceiling = search.least()
    intervals = search.intervals(least, log_k, tau, ceiling)
    total = float(np.sum((a - a.mean()) ** 2))
    r_squared = 1.0 - least / total if total > 0 else math.nan
    top, slope, middle = (
        Parameter(value, min(value, low), max(value, high))
        for value, (low, high) in zip((ceiling, math.exp(log_k), tau), intervals, strict=True)
    )
    warning, rmse = _warning(y, slope, middle), math.sqrt(least / len(y))
    return UtilityFit(utility, top, slope, middle, r_squared, rmse, len(y), not warning, warning)


def fitted_values(fit: UtilityFit, y: ArrayLike) -> Floats:
    """Return the fitted curve's accuracies at fractions ``y``, in the unit of the measured ones."""
    at = np.asarray(y, dtype=np.float64)
    return fit.ceiling.value * _shape(fit.utility, fit.sharpness.value * (at - fit.anchor.value))


def _points(kept: ArrayLike, accuracy: ArrayLike) -> tuple[Floats, Floats]:
    y, a = np.asarray(kept, dtype=np.float64), np.asarray(accuracy, dtype=np.float64)
    if y.shape != a.shape or y.ndim != 1:
        raise InputError(f"points: found shapes {y.shape} and {a.shape}, expected two columns of one length")
    if not (np.all(np.isfinite(y)) and np.all(np.isfinite(a))):
        raise InputError("points: found a number that is not finite, expected finite ones")
    if np.any((y < 0) | (y > 1)):
        raise InputError(f"kept_fraction: found {y[(y < 0) | (y > 1)][0]:g}, expected 0 to 1")
    if np.any(a < 0) or not np.any(a > 0):
        raise InputError("accuracy: found one below 0 or none above it, expected at least 0 and some above")
    if len(np.unique(y)) < 3:
        raise InputError(f"points: found {len(np.unique(y))} different fractions, expected at least 3")
    return y, a


def _shape(utility: str, u: Floats) -> Floats:
    """Return φ(u), A = M φ: (6), (13) and the two further families."""
    if utility == "algebraic":
        return np.asarray(0.5 * (1.0 + u / np.hypot(1.0, u)))
    if utility == "logistic":
        return np.asarray(expit(u))
    if utility == "erf":
        return np.asarray(0.5 * (1.0 + erf(u)))
    return np.asarray(0.5 + np.arctan(u) / math.pi)


LOG_SHARPNESS = (math.log(SHARPNESS[0]), math.log(SHARPNESS[1]))
Range = tuple[float, float]


class _Search:
    """Least sums of squares over log k and τ, and over M unless that is given."""

    def __init__(self, utility: str, y: Floats, a: Floats) -> None:
        self.utility, self.y, self.a = utility, y, a

    def on_grid(self, log_k: Floats, anchor: Floats, ceiling: float | None) -> tuple[Floats, Floats]:
        """Return the sums of squares and M on a grid, (log k, τ) each."""
        u = np.exp(log_k)[:, None, None] * (self.y - anchor[:, None])
        phi = _shape(self.utility, u)
        best = np.sum(phi * self.a, axis=2) / np.maximum(np.sum(phi * phi, axis=2), 1e-300)
        chosen = best if ceiling is None else np.full_like(best, ceiling)
        return np.sum((chosen[:, :, None] * phi - self.a) ** 2, axis=2), chosen

    def least(
        self, log_k: Range = LOG_SHARPNESS, anchor: Range = ANCHOR, ceiling: float | None = None
    ) -> tuple[float, float, float, float]:
        """Return the least sum of squares in the ranges, and log k, τ and M there.

        The grid closes in on its least point, to a quarter of its width each time.
        """
        limits = (log_k, anchor)
        for zoom in range(ZOOMS):
            points = FINE if zoom else COARSE
            axes = [np.linspace(*r, points if r[1] > r[0] else 1) for r in (log_k, anchor)]
            squares, chosen = self.on_grid(axes[0], axes[1], ceiling)
            i, j = np.unravel_index(int(np.argmin(squares)), squares.shape)
            at = (float(axes[0][i]), float(axes[1][j]))
            log_k = _narrowed(at[0], log_k, limits[0])
            anchor = _narrowed(at[1], anchor, limits[1])
        return float(squares[i, j]), *at, float(chosen[i, j])

    def intervals(self, least: float, log_k: float, tau: float, ceiling: float) -> list[Range]:
        """Return the profile intervals of M, k and τ; an end at the end of the search is infinite (k: 0)."""
        free = len(self.y) - 3
        if free < 1:
            return [(-math.inf, math.inf), (0.0, math.inf), (-math.inf, math.inf)]
        spread = max(least, 1e-18 * float(np.sum(self.a**2)))
        limit = least + spread * float(f_distribution.ppf(CONFIDENCE, 1, free)) / free
        largest = 10.0 * float(self.a.max())
        ceilings = self._interval(lambda m: self.least(ceiling=m)[0], limit, ceiling, (0.0, largest))
        slopes = self._interval(lambda k: self.least(log_k=(k, k))[0], limit, log_k, LOG_SHARPNESS)
        anchors = self._interval(lambda t: self.least(anchor=(t, t))[0], limit, tau, ANCHOR)
        return [ceilings, (math.exp(slopes[0]), math.exp(slopes[1])), anchors]

    def _interval(self, profile: Callable[[float], float], limit: float, best: float, ends: Range) -> Range:
        """Return where a profile stays below the limit around its least, by halving on both sides."""
        found = []
        for end, beyond in zip(ends, (-math.inf, math.inf), strict=True):
            inside, outside = best, end
            if profile(end) <= limit:
                found.append(beyond)
                continue
            for _ in range(HALVINGS):
                middle = 0.5 * (inside + outside)
                inside, outside = (middle, outside) if profile(middle) <= limit else (inside, middle)
            found.append(inside)
        return found[0], found[1]


def _narrowed(middle: float, around: Range, limits: Range) -> Range:
    half = (around[1] - around[0]) / 8.0
    return max(limits[0], middle - half), min(limits[1], middle + half)


def _warning(y: Floats, sharpness: Parameter, anchor: Parameter) -> str:
    """Return why k and τ are not identified, empty if they are."""
    reasons = []
    if len(y) < 4:
        reasons.append(f"{len(y)} points leave nothing to judge three parameters by")
    if anchor.value < float(y.min()):
        reasons.append(f"no point lies below the anchor {anchor.value:.3g}")
    if sharpness.low <= 0.0 or math.isinf(sharpness.high) or sharpness.high > 10.0 * sharpness.low:
        reasons.append(f"k may be {sharpness.low:.3g} to {sharpness.high:.3g}")
    if math.isinf(anchor.low) or math.isinf(anchor.high) or anchor.high - anchor.low > 0.25:
        reasons.append(f"τ may be {anchor.low:.3g} to {anchor.high:.3g}")
    return f"k and τ are not identified: {'; '.join(reasons)}" if reasons else ""
