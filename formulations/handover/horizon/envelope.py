"""The concave envelope of an S-shaped utility on an interval [l, u] of received fractions.

A is convex up to the anchor τ and concave beyond it, so the envelope is a chord from l to a *knee* t and A
itself from t on. On the concave side (l ≥ τ) t is l, on the convex side (u ≤ τ) t is u, and otherwise the
chord touches the curve,

    A(t) − A(l) = A'(t) (t − l),   t in [τ, u],                                                       (1)

or ends at u where no such t exists. Slopes are kept as logarithms a bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import drop, drop_rate, log_peak, reach, value

__all__ = ["Curves", "Envelopes", "envelopes"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_STEPS = 100


class Curves(NamedTuple):
    """Utilities of n users."""

    cache: Floats  # (n,) L, bit
    ceiling: Floats  # (n,) M
    sharpness: Floats  # (n,) k, per fraction
    anchor: Floats  # (n,) τ, fraction


class Envelopes(NamedTuple):
    """Envelopes of n users on [lower, upper]."""

    lower: Floats  # (n,) fraction
    upper: Floats  # (n,) fraction
    knee: Floats  # (n,) t, fraction
    slope: Floats  # (n,) logarithm of the chord's slope, or of A' where the chord is a point; accuracy a bit
    steep: Floats  # (n,) logarithm of A'(τ)/L, accuracy a bit


@njit(cache=True)
def knee(family: int, ceiling: float, sharpness: float, anchor: float, lower: float, upper: float) -> float:
    """Return t of (1), by Newton's method inside a bracket."""
    if lower >= anchor:
        return lower
    if upper <= anchor:
        return upper
    peak, base = log_peak(family, ceiling, sharpness), value(family, ceiling, sharpness, anchor, lower)
    low, high = max(anchor, lower), upper
    t = high
    for step in range(MOST_STEPS):
        u = sharpness * (t - anchor)
        slope = math.exp(peak - drop(family, u))
        rest = slope * (t - lower) - (value(family, ceiling, sharpness, anchor, t) - base)
        if rest >= 0:
            if step == 0:
                return upper
            low = t
        else:
            high = t
        rate = slope * sharpness * drop_rate(family, u) * (t - lower)
        new = t + rest / rate if rate > 0 else low
        if step == 0 or not low < new < high:
            new = 0.5 * (low + high)
        if abs(new - t) <= 1e-15 or not low < new < high:
            break
        t = new
    return t


@njit(cache=True)
def chord(
    family: int,
    cache: float,
    ceiling: float,
    sharpness: float,
    anchor: float,
    lower: float,
    upper: float,
) -> tuple[float, float]:
    """Return the knee and the logarithm of the chord's slope, accuracy a bit; −inf for a point [l, l]."""
    if upper <= lower:
        return lower, -math.inf
    t = knee(family, ceiling, sharpness, anchor, lower, upper)
    if t <= lower:
        peak = log_peak(family, ceiling, sharpness)
        return t, peak - drop(family, sharpness * (t - anchor)) - math.log(cache)
    rise = value(family, ceiling, sharpness, anchor, t) - value(family, ceiling, sharpness, anchor, lower)
    if rise <= 0:
        return t, -math.inf
    return t, math.log(rise) - math.log(t - lower) - math.log(cache)


@njit(cache=True)
def envelopes(family: int, curves: Curves, lower: Floats, upper: Floats) -> Envelopes:
    """Return the envelopes on [lower, upper], (n,) each; O(n)."""
    n = len(lower)
    t, slope, steep = np.empty(n), np.empty(n), np.empty(n)
    for i in range(n):
        curve = (curves.cache[i], curves.ceiling[i], curves.sharpness[i], curves.anchor[i])
        t[i], slope[i] = chord(family, *curve, lower[i], upper[i])
        steep[i] = log_peak(family, curve[1], curve[2]) - math.log(curve[0])
    return Envelopes(lower.copy(), upper.copy(), t, slope, steep)


@njit(cache=True)
def surplus(
    family: int, ceiling: float, sharpness: float, anchor: float, lower: float, upper: float, cost: float
) -> float:
    """Return max over lower ≤ y ≤ upper of A(y) − cost·y; ``cost`` is accuracy per fraction."""
    best = max(
        value(family, ceiling, sharpness, anchor, lower) - cost * lower,
        value(family, ceiling, sharpness, anchor, upper) - cost * upper,
    )
    if cost > 0 and upper > anchor:
        d = log_peak(family, ceiling, sharpness) - math.log(cost)
        y = anchor + reach(family, d) / sharpness
        if d > 0 and lower < y < upper:
            best = max(best, value(family, ceiling, sharpness, anchor, y) - cost * y)
    return best


@njit(cache=True)
def envelope_gap(family: int, curves: Curves, shape: Envelopes, i: int, y: float) -> float:
    """Return by how much user i's envelope exceeds its utility at ``y``, accuracy."""
    if y <= shape.lower[i] or y >= shape.knee[i]:
        return 0.0
    curve = (curves.ceiling[i], curves.sharpness[i], curves.anchor[i])
    at_lower, at_knee = value(family, *curve, shape.lower[i]), value(family, *curve, shape.knee[i])
    share = (y - shape.lower[i]) / (shape.knee[i] - shape.lower[i])
    return float(max(0.0, at_lower + share * (at_knee - at_lower) - value(family, *curve, y)))


@njit(cache=True)
def envelope_gaps(family: int, curves: Curves, shape: Envelopes, fraction: Floats) -> Floats:
    """Return by how much the envelopes exceed the utilities at the fractions, (n,) accuracy."""
    out = np.empty(len(fraction))
    for i in range(len(fraction)):
        out[i] = envelope_gap(family, curves, shape, i, fraction[i])
    return out


@njit(cache=True)
def surpluses_on(family: int, curves: Curves, lower: Floats, upper: Floats, cost: Floats) -> Floats:
    """Return ``surplus`` of every user at its cost, (n,) accuracy."""
    out = np.empty(len(lower))
    for i in range(len(lower)):
        curve = (curves.ceiling[i], curves.sharpness[i], curves.anchor[i])
        out[i] = surplus(family, *curve, lower[i], upper[i], cost[i])
    return out
