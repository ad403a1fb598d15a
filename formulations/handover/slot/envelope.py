"""Concave envelopes of accuracy curves, and the best use of one budget on them.

From a fraction x below the anchor, the least concave function above A is the tangent from (x, A(x)) up to the
point w where it touches the curve, and the curve beyond; from x ≥ τ it is the curve itself. A user that may
rise to some point below its anchor only has the chord.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.price_search import fill
from formulations.handover.slot.shares import ascending
from formulations.handover.utility import drop, log_peak, reach, value

__all__ = ["Envelopes", "envelopes", "filled", "touching_point"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_STEPS = 60
TINY = 1e-300  # a gain that underflows


class Envelopes(NamedTuple):
    """Users with the concave envelopes of their curves, one entry each."""

    cache: Floats  # (n,) L_i, bit
    start: Floats  # (n,) x_i, fraction
    ceiling: Floats  # (n,) M_i
    sharpness: Floats  # (n,) k_i, per fraction
    anchor: Floats  # (n,) τ_i, fraction
    top: Floats  # (n,) where the fraction may rise to
    touch: Floats  # (n,) w_i, fraction from which the envelope is the curve
    steepness: Floats  # (n,) log of the envelope's slope at x_i, a bit


@njit(cache=True)
def touching_point(
    family: int, ceiling: float, sharpness: float, anchor: float, x: float
) -> tuple[float, float]:
    """Return where the tangent from (x, A(x)) touches the curve beyond its anchor, and the log of its slope.

    The point is x itself beyond the anchor, and 1 where the chord to 1 stays above the curve. Bisection on
    A'(y) (y − x) − A(y) + A(x), which falls beyond the anchor.
    """
    peak = log_peak(family, ceiling, sharpness)
    if x >= anchor:
        return x, peak - drop(family, sharpness * (x - anchor))
    at_x = value(family, ceiling, sharpness, anchor, x)
    low, high = anchor, 1.0
    for _ in range(MOST_STEPS):
        y = 0.5 * (low + high)
        slope = math.exp(peak - drop(family, sharpness * (y - anchor)))
        if slope * (y - x) > value(family, ceiling, sharpness, anchor, y) - at_x:
            low = y
        else:
            high = y
        if high - low <= 1e-15 * high:
            break
    gain = value(family, ceiling, sharpness, anchor, high) - at_x
    return high, math.log(max(gain, TINY)) - math.log(high - x)


@njit(cache=True)
def envelopes(
    family: int, cache: Floats, start: Floats, ceiling: Floats, sharpness: Floats, anchor: Floats
) -> Envelopes:
    """Return the envelopes of curves from the fractions ``start``, (n,)."""
    touch, steepness = np.empty(len(cache)), np.empty(len(cache))
    for i in range(len(cache)):
        touch[i], log_slope = touching_point(family, ceiling[i], sharpness[i], anchor[i], start[i])
        steepness[i] = log_slope - math.log(cache[i])
    return Envelopes(cache, start, ceiling, sharpness, anchor, np.ones(len(cache)), touch, steepness)


@njit(cache=True)
def bits_at(family: int, users: Envelopes, chosen: Ints, log_price: float) -> float:
    """Return the bits that ``chosen`` users ask for at a price below their envelopes' slopes at x_i."""
    bits = 0.0
    for i in chosen:
        d = log_peak(family, users.ceiling[i], users.sharpness[i]) - math.log(users.cache[i]) - log_price
        y = users.anchor[i] + reach(family, d) / users.sharpness[i]
        bits += users.cache[i] * (min(users.top[i], max(users.touch[i], y)) - users.start[i])
    return bits


@njit(cache=True)
def entering(family: int, users: Envelopes, order: Ints, budget: float) -> int:
    """Return how many users of ``order``, by falling slope, may reach their touching points."""
    low, high = 0, len(order)
    while low < high:
        middle = (low + high + 1) // 2
        needed = bits_at(family, users, order[:middle], users.steepness[order[middle - 1]])
        if needed <= budget:
            low = middle
        else:
            high = middle - 1
    return low


@njit(cache=True)
def filled(family: int, users: Envelopes, member: Ints, budget: float) -> tuple[Floats, float]:
    """Maximise the envelopes' sum over the ``member`` users with one budget.

    Users enter in the order of their envelopes' slopes a bit. The answer is a water-filling of those who have
    entered, or the next one's tangent takes what is left of the budget. O(n log n) and a water-filling.

    Parameters
    ----------
    family, users
        Code of the utility family, and the envelopes, (n,).
    member
        Indices of the users, (m,).
    budget
        Bits that may be sent.

    Returns
    -------
    The fractions, (m,), and the price, accuracy per bit, 0 when everything fits. The price lies between the
    slopes of the last user that entered and of the next one, also where the budget ends at a touching point
    and rounding leaves the curved users short by less than a bit.
    """
    order = member[ascending(-users.steepness[member])]
    count = entering(family, users, order, budget)
    entered, y = order[:count], users.start.copy()
    y[entered] = users.touch[entered]
    curved = entered[users.touch[entered] < users.top[entered]]
    left = budget - np.sum(users.cache[entered] * (y[entered] - users.start[entered]))
    marginal, spare = -1, 0.0
    if count < len(order):
        marginal = order[count]
        spare = budget - bits_at(family, users, entered, users.steepness[marginal])
        if spare > 0:
            left -= spare
            y[marginal] += spare / users.cache[marginal]
    y[curved], price, _, _ = fill(
        family,
        users.cache[curved],
        np.maximum(y[curved], users.anchor[curved]),
        users.ceiling[curved],
        users.sharpness[curved],
        users.anchor[curved],
        left,
    )
    if count > 0:
        price = min(price, math.exp(users.steepness[order[count - 1]]))
    if marginal >= 0:
        asked = math.exp(users.steepness[marginal])
        price = asked if spare > 0 or len(curved) == 0 else max(price, asked)
    return y[member], price
