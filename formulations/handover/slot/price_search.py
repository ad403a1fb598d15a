"""Theorem 1's price: raise fractions above given floors at one price per bit until a budget is used up.

The unknown is the level v of ``slot.demand``, in which the fractions are almost linear. A bracket of two
levels is narrowed by Newton's method until one of them meets the budget to rounding; the answer lies on the
line between the fractions at its two levels. No tolerance is absolute: prices are 10⁻²² … 10⁻⁸ per bit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.demand import Users, demand, measured, place, steepest
from formulations.handover.utility import drop, drop_rate, log_peak, slope

__all__ = ["fill", "fill_in"]

Floats = NDArray[np.float64]

CLOSED = 2e-15  # relative width at which a bracket cannot shrink further in double
MOST_EVALUATIONS = 400
NOISE = 5e-17  # of a budget and the root of the users' number: what a sum's rounding hides
NEAR = 1e-13  # of a level, its price and the budget: how close the bracket's better end must be
JUMP = 1e-12  # of a budget: what must be missing for a jump of the demand
BENT = 1e-17  # that closeness times the bracket's relative width: how far a fraction leaves the line
SAMPLE = 250  # fewest users that give a first guess
SAMPLED = 64  # of so many users one is in it


class Bracket(NamedTuple):
    """Two levels around the one whose demand is the budget."""

    low: float
    high: float
    below: float  # demand at ``low``, bit, at most the budget
    above: float  # demand at ``high``, bit, at least the budget


@njit(cache=True)
def next_level(v: float, newton: float, low: float, high: float, stalled: bool) -> float:
    """Return the next v inside (low, high): Newton's, stepping just beyond the root when it is near.

    The step beyond, about as long as Newton's error, closes the far side of the bracket, which Newton alone
    would leave where it was.
    """
    step = newton - v
    size = abs(step)
    if size < 1e-3 * abs(v):
        newton += math.copysign(max(size * size / abs(v), 2e-16 * abs(v)), step)
    if low < newton < high and not stalled:
        return newton
    if low > 0 and high > 4.0 * low:
        return math.sqrt(low) * math.sqrt(high)
    if low == 0 and stalled:
        return 1e-2 * high
    return 0.5 * (low + high)


@njit(cache=True)
def narrow(family: int, users: Users, budget: float, bracket: Bracket, v: float) -> tuple[Bracket, int]:
    """Return a bracket with an end that meets the budget to rounding, and the evaluations; v is tried first.

    Where the demand jumps between neighbouring doubles, the bracket closes around the jump instead.
    """
    low, high, below, above = bracket
    width, step, evaluations, since = high - low, high - low, 0, 0
    while high - low > CLOSED * high and evaluations < MOST_EVALUATIONS:
        bits, rise = demand(family, users, v)
        evaluations += 1
        if bits <= budget:
            low, below = v, bits
        if bits >= budget:
            high, above = v, bits
        if abs(bits - budget) <= NOISE * math.sqrt(len(users.cache)) * budget:
            break
        newton = v + (budget - bits) / rise if rise > 0 else low - 1.0
        miss = max(abs(newton - v) * max(1.0 / v, drop_rate(family, v)), abs(bits - budget) / budget)
        if miss <= NEAR and miss * (high - low) <= BENT * v:
            break
        since += 1
        # Newton's steps from one side leave the bracket's other end where it was; that is no stall.
        stalled = since >= 4 and high - low > 0.25 * width and abs(newton - v) > 0.25 * step
        if since >= 4:
            width, step, since = high - low, abs(newton - v), 0
        new = next_level(v, newton, low, high, stalled)
        if not low < new < high:
            break
        v = new
    return Bracket(low, high, below, above), evaluations


@njit(cache=True)
def weight(bracket: Bracket, budget: float) -> float:
    """Return where between the bracket's ends the budget is met, 0 for ``low``."""
    spread = bracket.above - bracket.below
    return min(1.0, max(0.0, (budget - bracket.below) / spread)) if spread > 0 else 0.0


@njit(cache=True)
def first_guess(family: int, users: Users, part: float, low: float, high: float) -> float:
    """Return about the level at which the users need ``part`` of their room, by a sample of many users."""
    stride = min(SAMPLED, len(users.cache) // SAMPLE)
    if stride < 2:
        return 0.5 * (low + high)
    some = Users(
        users.cache[::stride].copy(),
        users.floor[::stride].copy(),
        users.sharpness[::stride].copy(),
        users.anchor[::stride].copy(),
        users.factor[::stride].copy(),
        users.excess[::stride].copy(),
    )
    room = np.sum(some.cache * (1.0 - some.floor))
    found, _ = narrow(family, some, part * room, Bracket(low, high, 0.0, room), 0.5 * (low + high))
    return found.low + weight(found, part * room) * (found.high - found.low)


@njit(cache=True)
def missing(bracket: Bracket, budget: float) -> float:
    """Return by how many bits the bracket's better end misses the budget."""
    return max(0.0, min(budget - bracket.below, bracket.above - budget))


@njit(cache=True)
def price_at(family: int, users: Users, ceiling: Floats, reference: int, v: float) -> float:
    """Return the price θ = A_r'(τ_r + v/k_r) / L_r, accuracy per bit."""
    cache, curve = users.cache[reference], (ceiling[reference], users.sharpness[reference])
    if len(users.factor) == 0:
        return math.exp(log_peak(family, *curve) - math.log(cache) - drop(family, v))
    price: float = slope(family, *curve, v) / cache
    return price


@njit(cache=True)
def widest(cache: Floats, below: Floats, above: Floats) -> int:
    """Return the user whose bits differ most between two placements."""
    best, most = 0, -1.0
    for i in range(len(cache)):
        spread = cache[i] * (above[i] - below[i])
        if spread > most:
            best, most = i, spread
    return best


@njit(cache=True)
def resolved(
    family: int,
    users: Users,
    ceiling: Floats,
    reference: int,
    budget: float,
    room: float,
    bracket: Bracket,
    evaluations: int,
) -> tuple[Users, int, Bracket, int]:
    """Measure from the user on whose rise the bracket closed: its own level resolves what is left of it.

    Returns users, reference, bracket and evaluations as they are unless demand jumps inside the bracket.
    """
    for _ in range(2):
        if missing(bracket, budget) <= JUMP * budget:
            break
        below, above = np.empty(len(users.cache)), np.empty(len(users.cache))
        place(family, users, bracket.low, bracket.high, 0.0, below)
        place(family, users, bracket.low, bracket.high, 1.0, above)
        mover = widest(users.cache, below, above)
        if mover == reference:
            break
        reference = mover
        users, low, high = measured(family, users, ceiling, reference)
        bracket = Bracket(low, high, 0.0, room)
        for y in (below[mover], above[mover]):
            v = users.sharpness[mover] * (y - users.anchor[mover])
            if bracket.low < v < bracket.high:
                bits = demand(family, users, v)[0]
                if bits <= budget:
                    bracket = Bracket(v, bracket.high, bits, bracket.above)
                else:
                    bracket = Bracket(bracket.low, v, bracket.below, bits)
        start = 0.5 * (bracket.low + bracket.high)
        bracket, more = narrow(family, users, budget, bracket, start)
        evaluations += more
    return users, reference, bracket, evaluations


@njit(cache=True)
def fill_in(
    family: int,
    cache: Floats,
    floor: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    budget: float,
    work: Floats,
) -> tuple[Floats, float, float, int]:
    """Fill as ``fill`` does in the memory ``work``, (3, N), of which the fractions are the first row."""
    y, users = work[0], Users(cache, floor, sharpness, anchor, work[1], work[2])
    room = 0.0
    for i in range(len(cache)):
        room += cache[i] * (1.0 - floor[i])
    if len(cache) == 0 or room <= budget:
        y[:] = 1.0
        return y, 0.0, 0.0, 0
    reference = steepest(family, cache, ceiling, sharpness)
    users, low, high = measured(family, users, ceiling, reference)
    if budget <= 0:
        y[:] = floor
        return y, price_at(family, users, ceiling, reference, low), 0.0, 0
    guess = first_guess(family, users, budget / room, low, high)
    bracket, evaluations = narrow(family, users, budget, Bracket(low, high, 0.0, room), guess)
    users, reference, bracket, evaluations = resolved(
        family, users, ceiling, reference, budget, room, bracket, evaluations
    )
    part = weight(bracket, budget)
    sent = place(family, users, bracket.low, bracket.high, part, y)
    dear = price_at(family, users, ceiling, reference, bracket.low)
    cheap = price_at(family, users, ceiling, reference, bracket.high)
    price = cheap if part > 0.5 else dear
    # A user's slope a bit lies between the prices of the ends, and the users' bits differ from those at the
    # better end, which are best at its price, by what that end misses of the budget.
    change = -dear * math.expm1(drop(family, bracket.low) - drop(family, bracket.high))
    return y, price, price * max(0.0, budget - sent) + change * missing(bracket, budget), evaluations


@njit(cache=True)
def fill(
    family: int,
    cache: Floats,
    floor: Floats,
    ceiling: Floats,
    sharpness: Floats,
    anchor: Floats,
    budget: float,
) -> tuple[Floats, float, float, int]:
    """Maximise Σ A_i(y_i) over floor_i ≤ y_i ≤ 1, Σ L_i (y_i − floor_i) ≤ budget.

    Parameters
    ----------
    family
        Code of the utility family.
    cache
        L_i, (N,) bit.
    floor
        (N,) fraction, at least the anchor τ_i, so that the problem is concave.
    ceiling, sharpness, anchor
        M_i, k_i (per fraction), τ_i (fraction), (N,) each.
    budget
        Bits that may be sent above the floors.

    Returns
    -------
    The fractions y, (N,); the price θ, accuracy per bit, 0 when everything fits; the gap, by which the dual
    value at θ is at most above Σ A_i(y_i), to rounding; the number of demand evaluations, O(N) each.
    """
    work = np.empty((3, len(cache)))
    return fill_in(family, cache, floor, ceiling, sharpness, anchor, budget, work)
