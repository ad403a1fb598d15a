"""The aggregate demand at a price: what every user asks for above its floor.

Slopes are measured from a reference user r: with the ratio a_i = (A_i'(τ_i)/L_i) / (A_r'(τ_r)/L_r), a price
θ = A_r'(τ_r)/L_r · exp(−drop(v)) puts user i at u_i = k_i (y_i − τ_i) with drop(u_i) = drop(v) + log a_i, so
its fraction is τ_i + u_i/k_i clipped to [floor_i, 1]. The *level* v is the reference user's own u, in which
y_r is linear. In every family this is a line between squares,

    s(u_i)² = factor_i s(v)² + excess_i,    s(u) = u, in the logistic family sinh(u/2),                   (1)

| family | factor | excess |
|---|---|---|
| algebraic | a^{2/3} | a^{2/3} − 1 |
| logistic, arctan | a | a − 1 |
| erf | 1 | log a |

so that a demand takes a square root a user, and keeps its full relative precision near the peak. Where (1)
leaves the range of doubles, logarithms take its place: ``excess`` is log a then, and no factors are held.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import ALGEBRAIC, ERF, LOGISTIC, drop, drop_rate, log_peak, reach

__all__ = ["Users", "demand", "measured", "place", "steepest"]

Floats = NDArray[np.float64]

SMALLEST_RATIO = 1e-200  # of two steepnesses that are divided, not subtracted as logarithms
LARGEST_SQUARE = 1e250  # of s(u)


class Users(NamedTuple):
    """Users who share a budget, measured from a reference user; one entry each."""

    cache: Floats  # (N,) L_i, bit
    floor: Floats  # (N,) fraction from which y_i rises
    sharpness: Floats  # (N,) k_i, per fraction
    anchor: Floats  # (N,) τ_i, fraction
    factor: Floats  # (N,) of (1), or (0,) where logarithms take its place
    excess: Floats  # (N,) of (1), or log a_i


@njit(cache=True, error_model="numpy")
def steepest(family: int, cache: Floats, ceiling: Floats, sharpness: Floats) -> int:
    """Return the user whose slope per bit at its anchor is largest."""
    best, most, safe = 0, 0.0, True
    for i in range(len(cache)):
        steepness = ceiling[i] * sharpness[i] / cache[i]
        safe = safe and SMALLEST_RATIO < steepness < 1.0 / SMALLEST_RATIO
        if steepness > most:
            best, most = i, steepness
    if safe:
        return best
    best, most = 0, -math.inf
    for i in range(len(cache)):
        steepness = log_peak(family, ceiling[i], sharpness[i]) - math.log(cache[i])
        if steepness > most:
            best, most = i, steepness
    return best


@njit(cache=True, error_model="numpy")
def square(family: int, u: float) -> float:
    """Return s(u)² of (1)."""
    if family != LOGISTIC:
        return u * u
    if u < 1.0:
        s = math.sinh(0.5 * u)
        return s * s
    power = math.exp(u)
    return 0.25 * (power - 2.0 + 1.0 / power)


@njit(cache=True, error_model="numpy")
def root(family: int, s_squared: float) -> float:
    """Return the u ≥ 0 of which s(u)² is given."""
    s = math.sqrt(s_squared)
    if family != LOGISTIC:
        return s
    if s > 1.0:
        return 2.0 * math.log(s + math.sqrt(1.0 + s_squared))
    return 2.0 * math.log1p(s + s_squared / (1.0 + math.sqrt(1.0 + s_squared)))


@njit(cache=True, error_model="numpy")
def rate(family: int, s_squared: float, u: float) -> float:
    """Return half the derivative of s(u)²."""
    return 0.5 * math.sqrt(s_squared * (1.0 + s_squared)) if family == LOGISTIC else u


@njit(cache=True, error_model="numpy")
def line(family: int, ratio: float) -> tuple[float, float]:
    """Return factor and excess of (1) for a ratio a of steepnesses; the excess is accurate near a = 1."""
    if family == ALGEBRAIC:
        factor = ratio ** (2.0 / 3.0)
        return factor, (ratio - 1.0) / (1.0 + factor + factor * factor) * (ratio + 1.0)
    if family == ERF:
        return 1.0, math.log(ratio)
    return ratio, ratio - 1.0


@njit(cache=True, error_model="numpy")
def measure(family: int, users: Users, ceiling: Floats, reference: int) -> bool:
    """Write factors and excesses of (1) against a reference user; return whether doubles hold them."""
    cache, sharpness, safe = users.cache, users.sharpness, True
    for i in range(len(cache)):
        ratio = (ceiling[i] / ceiling[reference]) * (sharpness[i] / sharpness[reference])
        ratio *= cache[reference] / cache[i]
        safe = safe and SMALLEST_RATIO < ratio < 1.0 / SMALLEST_RATIO
        users.factor[i], users.excess[i] = line(family, ratio)
    return safe


@njit(cache=True, error_model="numpy")
def measure_logarithms(family: int, users: Users, ceiling: Floats, reference: int) -> None:
    """Write log a_i as the excesses."""
    base = log_peak(family, ceiling[reference], users.sharpness[reference]) - math.log(users.cache[reference])
    for i in range(len(users.cache)):
        users.excess[i] = log_peak(family, ceiling[i], users.sharpness[i]) - math.log(users.cache[i]) - base


@njit(cache=True, error_model="numpy")
def square_range(family: int, users: Users) -> tuple[float, float]:
    """Return s(v)² at which the first fraction leaves its floor and the last one reaches 1."""
    first, last = math.inf, 0.0
    for i in range(len(users.cache)):
        low = square(family, users.sharpness[i] * (users.floor[i] - users.anchor[i]))
        high = square(family, users.sharpness[i] * (1.0 - users.anchor[i]))
        first = min(first, (low - users.excess[i]) / users.factor[i])
        last = max(last, (high - users.excess[i]) / users.factor[i])
    return max(0.0, first), last


@njit(cache=True, error_model="numpy")
def drop_range(family: int, users: Users) -> tuple[float, float]:
    """Return drop(v) at which the first fraction leaves its floor and the last one reaches 1."""
    first, last = math.inf, 0.0
    for i in range(len(users.cache)):
        low = drop(family, users.sharpness[i] * (users.floor[i] - users.anchor[i]))
        high = drop(family, users.sharpness[i] * (1.0 - users.anchor[i]))
        first, last = min(first, low - users.excess[i]), max(last, high - users.excess[i])
    return max(0.0, first), last


@njit(cache=True, error_model="numpy")
def measured(family: int, users: Users, ceiling: Floats, reference: int) -> tuple[Users, float, float]:
    """Measure the users from a reference user, into their last two columns.

    Returns
    -------
    The users, without factors where logarithms take the place of (1), and the levels at which the first
    fraction leaves its floor and the last one reaches 1.
    """
    first, last = 0.0, math.inf
    if measure(family, users, ceiling, reference):
        first, last = square_range(family, users)
    if last < LARGEST_SQUARE:
        low, high = root(family, first), root(family, last)
    else:
        measure_logarithms(family, users, ceiling, reference)
        users = Users(users.cache, users.floor, users.sharpness, users.anchor, users.factor[:0], users.excess)
        first, last = drop_range(family, users)
        low, high = reach(family, first), reach(family, last)
    return users, low * (1.0 - 1e-15), high * (1.0 + 1e-15)


@njit(cache=True, error_model="numpy")
def clipped(users: Users, i: int, u: float) -> float:
    """Return the fraction with this u, between the user's floor and 1."""
    y: float = min(1.0, max(users.floor[i], users.anchor[i] + u / users.sharpness[i]))
    return y


@njit(cache=True, error_model="numpy")
def demand_by_logarithms(family: int, users: Users, v: float) -> tuple[float, float]:
    """Return ``demand`` where logarithms take the place of (1)."""
    delta, bits, slope = drop(family, v), 0.0, 0.0
    for i in range(len(users.cache)):
        u = reach(family, delta + users.excess[i])
        y = clipped(users, i, u)
        bits += users.cache[i] * (y - users.floor[i])
        if users.floor[i] < y < 1.0:
            slope += users.cache[i] / (users.sharpness[i] * drop_rate(family, u))
    return bits, slope * drop_rate(family, v)


# Loops without branches take several users at once; in which order sums are taken is within their rounding.
@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def demand(family: int, users: Users, v: float) -> tuple[float, float]:
    """Return the bits above the floors at level v, and their derivative with respect to v."""
    if len(users.factor) == 0:
        return demand_by_logarithms(family, users, v)
    base, bits, slope = square(family, v), 0.0, 0.0
    for i in range(len(users.cache)):
        s_squared = max(0.0, users.factor[i] * base + users.excess[i])
        u = root(family, s_squared)
        y = clipped(users, i, u)
        bits += users.cache[i] * (y - users.floor[i])
        rise = users.cache[i] * users.factor[i] / (users.sharpness[i] * rate(family, s_squared, u))
        slope += rise if users.floor[i] < y < 1.0 else 0.0
    return bits, slope * rate(family, base, v)


@njit(cache=True, error_model="numpy")
def place_by_logarithms(
    family: int, users: Users, low: float, high: float, weight: float, out: Floats
) -> float:
    """Do what ``place`` does where logarithms take the place of (1)."""
    first, last, bits = drop(family, low), drop(family, high), 0.0
    for i in range(len(users.cache)):
        below = clipped(users, i, reach(family, first + users.excess[i]))
        out[i] = below + weight * (clipped(users, i, reach(family, last + users.excess[i])) - below)
        bits += users.cache[i] * (out[i] - users.floor[i])
    return bits


@njit(cache=True, error_model="numpy", fastmath={"reassoc"})
def place(family: int, users: Users, low: float, high: float, weight: float, out: Floats) -> float:
    """Write the fractions on the line between two levels into ``out``, (N,); return the bits sent.

    At ``weight`` 0 they are those at the level ``low``.
    """
    if len(users.factor) == 0:
        return place_by_logarithms(family, users, low, high, weight, out)
    first, last, bits = square(family, low), square(family, high), 0.0
    for i in range(len(users.cache)):
        out[i] = clipped(users, i, root(family, max(0.0, users.factor[i] * first + users.excess[i])))
    for i in range(len(users.cache)):
        y = clipped(users, i, root(family, max(0.0, users.factor[i] * last + users.excess[i])))
        y = out[i] + weight * (y - out[i])
        out[i] = y
        bits += users.cache[i] * (y - users.floor[i])
    return bits
