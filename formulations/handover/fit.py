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

from formulations.result import Limits, Result, Status
from instances.decisions import Sigmoid
from instances.errors import InputError, shown
from instances.handover import UTILITIES
from instances.retention import RetentionCurve

__all__ = ["Parameter", "UtilityFit", "fit_utilities", "fit_utility", "fitted_values", "solve_least_squares"]

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

    @property
    def ends(self) -> list[float | None]:
        """The interval's ends, None for an infinite one."""
        return [end if math.isfinite(end) else None for end in (self.low, self.high)]


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

    @property
    def sigmoid(self) -> Sigmoid:
        """The fitted curve."""
        return Sigmoid(self.utility, self.ceiling.value, self.sharpness.value, self.anchor.value)

    @property
    def intervals(self) -> dict[str, list[float | None]]:
        """The parameters' 95 % intervals by name, None for an end that the points do not bound."""
        return {name: getattr(self, name).ends for name in ("ceiling", "sharpness", "anchor")}


def solve_least_squares(
    curve: RetentionCurve, *, limits: Limits, seed: int = 0, utility: str = "algebraic"
) -> Result:
    """Claim R² of the least-squares fit of a family (Section IV-2); nothing proves that no fit is better.

    The certificate holds the parameters' intervals, the message why k and τ are not identified.

    Raises
    ------
    InputError
        For an unknown family, or accuracies without a spread, of which R² says nothing.
    """
    if utility not in UTILITIES:
        raise InputError(f"set.utility: found {shown(utility)}, expected one of {', '.join(UTILITIES)}")
    if np.ptp(curve.accuracy) == 0.0:
        raise InputError("accuracy: found the same at every point, expected different ones")
    fit = fit_utility(curve, utility)
    return Result(
        Status.FEASIBLE,
        decision=fit.sigmoid,
        objective=fit.r_squared,
        certificate={"interval_95": fit.intervals},
        message=fit.warning,
    )


def fit_utilities(curve: RetentionCurve) -> list[UtilityFit]:
    """Fit each of ``instances.handover.UTILITIES``."""
    return [fit_utility(curve, utility) for utility in UTILITIES]


def fit_utility(curve: RetentionCurve, utility: str) -> UtilityFit:
    """Fit a family of ``instances.handover.UTILITIES`` to measured points by least squares."""
    y, a = curve.kept, curve.accuracy
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


def fitted_values(sigmoid: Sigmoid, y: ArrayLike) -> Floats:
    """Return the curve's accuracies at fractions ``y``, in the unit of the measured ones."""
    at = np.asarray(y, dtype=np.float64)
    return sigmoid.ceiling * _shape(sigmoid.utility, sigmoid.sharpness * (at - sigmoid.anchor))


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
