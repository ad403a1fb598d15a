"""One price for a block of slots: the envelopes' fractions that use exactly what the block carries.

At the logarithmic price x a user gets its lower end while its chord is flatter than e^x, and beyond its knee
the point with slope e^x once the chord is steeper. Demand falls in x, with a jump at each chord's slope;
where the budget lies inside a jump the tied users are filled one after the other, so at most one of a block
is left inside its chord.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope import Curves, Envelopes
from formulations.handover.utility import drop, drop_rate, reach

__all__ = ["fill_block"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_EVALUATIONS = 200
MET = 1e-10  # relative to the budget; what is left is spread along the tangents


@njit(cache=True)
def point(family: int, curves: Curves, shape: Envelopes, i: int, x: float) -> float:
    """Return user i's fraction at price e^x, which its chord's slope exceeds."""
    if shape.knee[i] >= shape.upper[i]:
        return float(shape.upper[i])
    y = curves.anchor[i] + reach(family, shape.steep[i] - x) / curves.sharpness[i]
    return float(min(shape.upper[i], max(shape.knee[i], y)))


@njit(cache=True)
def demand(
    family: int, curves: Curves, shape: Envelopes, members: Ints, cut: float, inclusive: bool, x: float
) -> tuple[float, float]:
    """Return the bits above the lower ends at price e^x, and minus their derivative with respect to x.

    Users whose chord is flatter than e^cut, or as flat unless ``inclusive``, get nothing.
    """
    bits, rate = 0.0, 0.0
    for i in members:
        if shape.slope[i] < cut or (shape.slope[i] == cut and not inclusive):
            continue
        y = point(family, curves, shape, i, x)
        bits += curves.cache[i] * (y - shape.lower[i])
        if shape.knee[i] < y < shape.upper[i]:
            u = curves.sharpness[i] * (y - curves.anchor[i])
            rate += curves.cache[i] / (curves.sharpness[i] * drop_rate(family, u))
    return bits, rate


@njit(cache=True)
def place(
    family: int,
    curves: Curves,
    shape: Envelopes,
    members: Ints,
    cut: float,
    inclusive: bool,
    x: float,
    fraction: Floats,
) -> None:
    """Write the fractions at price e^x."""
    for i in members:
        if shape.slope[i] < cut or (shape.slope[i] == cut and not inclusive):
            fraction[i] = shape.lower[i]
        else:
            fraction[i] = point(family, curves, shape, i, x)


@njit(cache=True)
def fill_ties(
    curves: Curves, shape: Envelopes, members: Ints, tie: float, budget: float, fraction: Floats
) -> None:
    """Raise the users with slope ``tie`` to their knees, one after the other, until the budget is used."""
    left = budget
    for i in members:
        left -= curves.cache[i] * (fraction[i] - shape.lower[i])
    for i in members:
        if left <= 0:
            return
        if shape.slope[i] == tie:
            room = curves.cache[i] * (shape.knee[i] - shape.lower[i])
            if room <= left:
                fraction[i] = shape.knee[i]
            else:
                fraction[i] = min(shape.knee[i], shape.lower[i] + left / curves.cache[i])
            left -= room


@njit(cache=True)
def spread(
    family: int, curves: Curves, shape: Envelopes, members: Ints, budget: float, fraction: Floats
) -> None:
    """Move the fractions beyond their knees along their tangents until the budget is met, never above it."""
    bits, rate = 0.0, 0.0
    for i in members:
        bits += curves.cache[i] * (fraction[i] - shape.lower[i])
        if shape.knee[i] < fraction[i] < shape.upper[i]:
            u = curves.sharpness[i] * (fraction[i] - curves.anchor[i])
            rate += curves.cache[i] / (curves.sharpness[i] * drop_rate(family, u))
    step = (budget - bits) / rate if rate > 0 else 0.0
    used = 0.0
    for i in members:
        if step != 0.0 and shape.knee[i] < fraction[i] < shape.upper[i]:
            u = curves.sharpness[i] * (fraction[i] - curves.anchor[i])
            y = fraction[i] + step / (curves.sharpness[i] * drop_rate(family, u))
            fraction[i] = min(shape.upper[i], max(shape.knee[i], y))
        used += curves.cache[i] * (fraction[i] - shape.lower[i])
    if used > budget:
        for i in members:
            fraction[i] = shape.lower[i] + (fraction[i] - shape.lower[i]) * (budget / used)


@njit(cache=True)
def lowest_price(family: int, curves: Curves, shape: Envelopes, members: Ints, cut: float) -> float:
    """Return the x at which every user that gets anything is at its upper end."""
    x = math.inf
    for i in members:
        if shape.slope[i] > cut:
            if shape.knee[i] < shape.upper[i]:
                u = curves.sharpness[i] * (shape.upper[i] - curves.anchor[i])
                x = min(x, shape.steep[i] - drop(family, u))
            else:
                x = min(x, shape.slope[i])
    return x


@njit(cache=True)
def level(
    family: int,
    curves: Curves,
    shape: Envelopes,
    members: Ints,
    cut: float,
    budget: float,
    low: float,
    high: float,
    start: float,
) -> float:
    """Return x in [low, high] whose demand is ``budget``, by Newton's method in a user's own coordinate.

    The fraction of the user r that moves most, u_r = reach(steep_r − x), is almost linear in those of others.
    """
    r, most = -1, -1.0
    for i in members:
        moved = curves.cache[i] / curves.sharpness[i]
        if shape.slope[i] > cut and shape.knee[i] < shape.upper[i] and moved > most:
            r, most = i, moved
    x = start if low < start < high else 0.5 * (low + high)
    for _ in range(MOST_EVALUATIONS):
        bits, rate = demand(family, curves, shape, members, cut, False, x)
        if abs(bits - budget) <= MET * budget:
            break
        if bits > budget:
            low = x
        else:
            high = x
        new = low
        if rate > 0:
            v = reach(family, shape.steep[r] - x)
            slope = rate * drop_rate(family, v)
            aimed = v + (budget - bits) / slope if slope > 0 else -1.0
            new = shape.steep[r] - drop(family, aimed) if aimed > 0 else low
        if not low < new < high:
            new = 0.5 * (low + high)
        if not low < new < high:
            return high
        x = new
    return x


@njit(cache=True)
def critical_slopes(
    family: int, curves: Curves, shape: Envelopes, members: Ints, budget: float
) -> tuple[float, float]:
    """Return the chord's slope at which demand comes to exceed the budget, −∞ for none, and the next steeper.

    Of the slopes that are still possible the middle one in the members' order is tried: O(log n) expected.
    """
    low, high = -math.inf, math.inf  # at high demand is within the budget, at low it exceeds it
    while True:
        count = 0
        for i in members:
            count += low < shape.slope[i] < high
        if count == 0:
            return low, high
        wanted, x = count // 2, 0.0
        for i in members:
            if low < shape.slope[i] < high:
                if wanted == 0:
                    x = shape.slope[i]
                    break
                wanted -= 1
        if demand(family, curves, shape, members, x, True, x)[0] <= budget:
            high = x
        else:
            low = x


@njit(cache=True)
def fill_block(
    family: int,
    curves: Curves,
    shape: Envelopes,
    members: Ints,
    budget: float,
    start: float,
    fraction: Floats,
) -> float:
    """Write the best fractions of a block's users as if its slots were one, and return the logarithmic price.

    Parameters
    ----------
    family
        Code of the utility family.
    curves, shape
        Of all users.
    members
        The block's users.
    budget
        Bits that may be sent above the users' lower ends.
    start
        A first guess of the result.
    fraction
        (n,) written at ``members``.

    Returns
    -------
    The logarithm of the price a bit, −∞ when everything fits; O(log n) demand evaluations expected, of O(n)
    each.
    """
    room, steepest = 0.0, -math.inf
    for i in members:
        room += curves.cache[i] * (shape.upper[i] - shape.lower[i])
        steepest = max(steepest, shape.slope[i])
        fraction[i] = shape.upper[i]
    if room <= budget:
        return -math.inf
    if budget <= 0:
        for i in members:
            fraction[i] = shape.lower[i]
        return steepest
    tie, high = critical_slopes(family, curves, shape, members, budget)
    if tie > -math.inf and demand(family, curves, shape, members, tie, False, tie)[0] <= budget:
        place(family, curves, shape, members, tie, False, tie, fraction)
        fill_ties(curves, shape, members, tie, budget, fraction)
        return tie
    low = max(tie, lowest_price(family, curves, shape, members, tie))
    x = level(family, curves, shape, members, tie, budget, low, high, start)
    place(family, curves, shape, members, tie, False, x, fraction)
    spread(family, curves, shape, members, budget, fraction)
    return x
