"""The four utility families: value, slope and inverse slope of the accuracy curve A(y).

Every family is written with u = k(y − τ) in one shape: the slope A'(y) peaks at the anchor and falls by a
factor exp(drop(u)), where ``drop`` is even in u. ``reach`` is its inverse for u ≥ 0, so the point of the
concave side with slope s is y = τ + reach(log(peak / s)) / k, which is (12) of the paper for the algebraic
family. Slopes are handled as logarithms: in double A'(1) is 0 for erf with k = 50.

| code | family | A(y) | peak slope | drop(u) |
|---|---|---|---|---|
| 0 | algebraic (6) | M/2 (1 + u/√(1+u²)) | Mk/2 | 3/2 log(1+u²) |
| 1 | logistic (13) | M/(1+e^{−u}) | Mk/4 | 2 log cosh(u/2) |
| 2 | erf | M/2 (1 + erf u) | Mk/√π | u² |
| 3 | arctan | M (1/2 + arctan(u)/π) | Mk/π | log(1+u²) |
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from instances.handover import UTILITIES

__all__ = ["CODES", "covering", "log_slopes", "slopes", "total", "values"]

Floats = NDArray[np.float64]

CODES = {name: code for code, name in enumerate(UTILITIES)}
ALGEBRAIC, LOGISTIC, ERF, ARCTAN = range(4)
LOG_2 = math.log(2.0)
ROUNDING = 2.0**-50  # relative, of a sum Σ A_i(y_i): of the y_i, of the A_i there, and of the sum
LARGE = 1e100  # beyond it u² is handled as a logarithm


@njit(cache=True)
def value(family: int, ceiling: float, sharpness: float, anchor: float, y: float) -> float:
    """Return A(y), accuracy; accurate relative to itself on both tails."""
    u = sharpness * (y - anchor)
    if family == ALGEBRAIC:
        root = math.sqrt(1.0 + u * u)
        return 0.5 * ceiling * (1.0 + u / root) if u >= 0 else 0.5 * ceiling / (root * (root - u))
    if family == LOGISTIC:
        if u >= 0:
            return ceiling / (1.0 + math.exp(-u))
        return ceiling * math.exp(u) / (1.0 + math.exp(u))
    if family == ERF:
        return 0.5 * ceiling * math.erfc(-u)
    return ceiling * math.atan2(1.0, -u) / math.pi


@njit(cache=True)
def log_peak(family: int, ceiling: float, sharpness: float) -> float:
    """Return the logarithm of the slope at the anchor, accuracy per fraction."""
    base = math.log(ceiling) + math.log(sharpness)
    if family == ALGEBRAIC:
        return base - LOG_2
    if family == LOGISTIC:
        return base - 2.0 * LOG_2
    if family == ERF:
        return base - 0.5 * math.log(math.pi)
    return base - math.log(math.pi)


@njit(cache=True)
def slope(family: int, ceiling: float, sharpness: float, u: float) -> float:
    """Return A'(τ + u/k), accuracy per fraction, to a few roundings; 0 below the range of doubles."""
    if family == ERF:
        return ceiling * sharpness / math.sqrt(math.pi) * math.exp(-u * u)
    if family == LOGISTIC:
        half = math.exp(-0.5 * abs(u))
        return ceiling * sharpness * (half / (1.0 + half * half)) ** 2
    fall = 1.0 + u * u
    if family == ALGEBRAIC:
        return 0.5 * ceiling * sharpness / (fall * math.sqrt(fall))
    return ceiling * sharpness / (math.pi * fall)


@njit(cache=True)
def drop(family: int, u: float) -> float:
    """Return −log(A'(τ + u/k) / A'(τ)), dimensionless; accurate relative to itself near 0."""
    if family == ERF:
        return u * u
    if family == LOGISTIC:
        size = abs(u)
        if size > 40.0:
            return size - 2.0 * LOG_2
        half = math.sinh(0.25 * size)
        return 2.0 * math.log1p(2.0 * half * half)
    factor = 1.5 if family == ALGEBRAIC else 1.0
    size = abs(u)
    return factor * (2.0 * math.log(size) if size > LARGE else math.log1p(u * u))


@njit(cache=True)
def drop_rate(family: int, u: float) -> float:
    """Return the derivative of ``drop`` with respect to u, dimensionless."""
    if family == ERF:
        return 2.0 * u
    if family == LOGISTIC:
        return math.tanh(0.5 * u)
    factor = 3.0 if family == ALGEBRAIC else 2.0
    return factor / u if abs(u) > LARGE else factor * u / (1.0 + u * u)


@njit(cache=True)
def reach(family: int, d: float) -> float:
    """Return the u ≥ 0 with drop(u) = d; 0 for d ≤ 0, and no overflow for large d."""
    if d <= 0:
        return 0.0
    if family == ERF:
        return math.sqrt(d)
    if family == LOGISTIC:
        if d > 80.0:
            return d + 2.0 * LOG_2
        return 4.0 * math.asinh(math.sqrt(0.5 * math.expm1(0.5 * d)))
    scaled = d / 1.5 if family == ALGEBRAIC else d
    if scaled > 80.0:
        return math.exp(min(0.5 * scaled, 700.0))
    return math.sqrt(math.expm1(scaled))


@njit(cache=True)
def _values(family: int, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> Floats:
    out = np.empty(len(y))
    for i in range(len(y)):
        out[i] = value(family, ceiling[i], sharpness[i], anchor[i], y[i])
    return out


@njit(cache=True)
def _total(family: int, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> float:
    total, lost = 0.0, 0.0
    for i in range(len(y)):
        term = value(family, ceiling[i], sharpness[i], anchor[i], y[i])
        new = total + term
        added = new - total
        lost += (total - (new - added)) + (term - added)
        total = new
    return total + lost


@njit(cache=True)
def _log_slopes(family: int, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> Floats:
    out = np.empty(len(y))
    for i in range(len(y)):
        u = sharpness[i] * (y[i] - anchor[i])
        out[i] = log_peak(family, ceiling[i], sharpness[i]) - drop(family, u)
    return out


def values(utility: str, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> Floats:
    """Return A_i(y_i), (N,) accuracy.

    Parameters
    ----------
    utility
        One of ``instances.handover.UTILITIES``.
    ceiling, sharpness, anchor
        M_i, k_i (per fraction) and τ_i (fraction), (N,) each.
    y
        Received fractions, (N,).
    """
    result: Floats = _values(CODES[utility], ceiling, sharpness, anchor, y)
    return result


def total(utility: str, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> float:
    """Return Σ A_i(y_i), accuracy; parameters as in ``values``.

    The sum is compensated (Knuth's two-sum), so its own error is a rounding of the result.
    """
    return float(_total(CODES[utility], ceiling, sharpness, anchor, y))


def covering(bound: float, objective: float) -> float:
    """Return a bound that a decision's exact value does not exceed by the rounding of its ``objective``.

    A search whose bound meets its best decision has both in floating point; the checker has the decision's
    value without rounding, perhaps a few units of the last place above. A sum of far tails alone rounds more.
    """
    return max(bound, objective * (1.0 + ROUNDING))


def log_slopes(utility: str, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> Floats:
    """Return log A_i'(y_i), (N,) natural logarithm of accuracy per fraction; parameters as in ``values``."""
    result: Floats = _log_slopes(CODES[utility], ceiling, sharpness, anchor, y)
    return result


def slopes(utility: str, ceiling: Floats, sharpness: Floats, anchor: Floats, y: Floats) -> Floats:
    """Return A_i'(y_i) of (7), (N,) accuracy per fraction; it underflows to 0 on the far tails."""
    result: Floats = np.exp(_log_slopes(CODES[utility], ceiling, sharpness, anchor, y))
    return result
