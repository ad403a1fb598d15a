"""A plan for users with windows on the concave envelopes of their accuracy curves.

From a received fraction x_i below the anchor, the least concave function above A_i is the tangent from x_i up
to the point w_i where it touches the curve, and the curve beyond; from x_i ≥ τ_i it is the curve itself. The
plan maximises the sum of these envelopes over what the slots carry:

    maximise    Σ_i Â_i(y_i)                                                              (1)
    subject to  Σ_t z_{i,t} = L_i (y_i − x_i),   Σ_i z_{i,t} ≤ C_t,   z_{i,t} ≥ 0 in i's window only      (2)
                x_i ≤ y_i ≤ 1                                                             (3)

A block of segments is filled at one price as if it were one slot; the union of segments that its users
overload most becomes a block of its own, and the rest is filled again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.price_blocks import most_violated
from formulations.handover.slot.price_search import fill
from formulations.handover.slot.shares import ascending
from formulations.handover.utility import drop, log_peak, reach, value

__all__ = ["Envelopes", "envelopes", "plan", "touching_point"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # of a block's capacity
MOST_STEPS = 60
TINY = 1e-300  # a gain that underflows


class Envelopes(NamedTuple):
    """Users with the concave envelopes of their curves, one entry each."""

    cache: Floats  # (n,) L_i, bit
    start: Floats  # (n,) x_i, fraction
    ceiling: Floats  # (n,) M_i
    sharpness: Floats  # (n,) k_i, per fraction
    anchor: Floats  # (n,) τ_i, fraction
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
    return Envelopes(cache, start, ceiling, sharpness, anchor, touch, steepness)


@njit(cache=True)
def bits_at(family: int, users: Envelopes, chosen: Ints, log_price: float) -> float:
    """Return the bits that ``chosen`` users ask for at a price below their envelopes' slopes at x_i."""
    bits = 0.0
    for i in chosen:
        d = log_peak(family, users.ceiling[i], users.sharpness[i]) - math.log(users.cache[i]) - log_price
        y = users.anchor[i] + reach(family, d) / users.sharpness[i]
        bits += users.cache[i] * (min(1.0, max(users.touch[i], y)) - users.start[i])
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
def filled(family: int, users: Envelopes, member: Ints, budget: float) -> Floats:
    """Return the fractions of the ``member`` users, (len(member),), that maximise (1) with one budget.

    Users enter in the order of their envelopes' slopes a bit. The answer is a water-filling of those who have
    entered, or the next one's tangent takes what is left of the budget.
    """
    order = member[ascending(-users.steepness[member])]
    count = entering(family, users, order, budget)
    entered, y = order[:count], users.start.copy()
    floor = np.maximum(users.touch[entered], users.anchor[entered])
    left = budget - np.sum(users.cache[entered] * (floor - users.start[entered]))
    if count < len(order):
        marginal = order[count]
        spare = budget - bits_at(family, users, entered, users.steepness[marginal])
        if spare > 0:
            left -= spare
            y[marginal] += spare / users.cache[marginal]
    y[entered], _, _ = fill(
        family,
        users.cache[entered],
        floor,
        users.ceiling[entered],
        users.sharpness[entered],
        users.anchor[entered],
        left,
    )
    return y[member]


@njit(cache=True)
def plan(family: int, users: Envelopes, first: Ints, end: Ints, carried: Floats) -> Floats:
    """Return the fractions y, (n,), that maximise (1)–(3).

    Parameters
    ----------
    family
        Code of the utility family.
    users
        The envelopes, (n,).
    first, end
        First segment of each window and the segment after its last, (n,) each.
    carried
        Bits that each segment carries, (m,).
    """
    y = users.start.copy()
    user_block, segment_block = np.zeros(len(y), np.int64), np.zeros(len(carried), np.int64)
    block, blocks = 0, 1
    while block < blocks:
        member, segments = np.flatnonzero(user_block == block), np.flatnonzero(segment_block == block)
        room = carried[segments]
        y[member] = filled(family, users, member, np.sum(room))
        a, b = np.searchsorted(segments, first[member]), np.searchsorted(segments, end[member])
        amount = users.cache[member] * (y[member] - users.start[member])
        excess, union = most_violated(amount, a, b, room)
        position = np.zeros(len(union) + 1, np.int64)
        position[1:] = np.cumsum(union)
        within = position[b] - position[a] == b - a
        if excess > ROUNDING * np.sum(room) and np.any(within) and not np.all(union):
            user_block[member[within]] = blocks
            segment_block[segments[union]] = blocks
            blocks += 1
        else:
            block += 1
    return y
