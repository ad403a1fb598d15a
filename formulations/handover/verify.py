"""Verifies slot prices as a bound on the clairvoyant optimum, from scratch, rounded upward.

Shares no code with the methods. For prices p_t ≥ 0 and q_i the lowest price in user i's window, no schedule
exceeds Σ_t p_t C + Σ_i max_{0≤y≤1} [A_i(y) − L_i q_i y]: the bits of a user cost at least q_i each, and those
of a slot number at most C. A_i' rises to τ_i and falls beyond, so an inner maximum is at y = 0, at y = 1, or
where A_i' = L_i q_i beyond τ_i. A candidate that interval arithmetic cannot exclude is kept, which can only
raise the bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from instances.errors import InputError, number
from instances.handover import HandoverTrace, as_decimal

__all__ = ["verified_bound"]

BITS = 192


def verified_bound(instance: HandoverTrace, prices: Mapping[int | str, float]) -> float:
    """Return a double that no schedule's Σ A_i(y_i) exceeds.

    Parameters
    ----------
    instance
        The horizon.
    prices
        Accuracy per bit by slot, each the decimal that it prints as; a slot that is not listed costs nothing.

    Raises
    ------
    InputError
        For a slot that is not an integer, or a price that is not a finite number of at least 0.
    """
    listed = _checked(prices)
    before = ctx.prec
    ctx.prec = BITS
    try:
        capacity = as_decimal(instance.bandwidth_bps) * as_decimal(instance.slot_s)
        total = _ball(sum(listed.values(), Fraction(0)) * capacity)
        users = instance.users
        first, end = instance.windows()
        columns = (users.cache_bits, users.ceiling, users.sharpness, users.anchor)
        for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            lowest = _lowest(listed, int(first[i]), int(end[i]))
            cache, ceiling, sharpness, anchor = (as_decimal(x) for x in row)
            curve = (_ball(ceiling), _ball(sharpness), _ball(anchor))
            total += _surplus(instance.utility, *curve, _ball(cache * lowest))
        return _upper(total)
    finally:
        ctx.prec = before


def _checked(prices: Mapping[int | str, float]) -> dict[int, Fraction]:
    listed: dict[int, Fraction] = {}
    for slot, price in prices.items():
        try:
            place = int(str(slot))
        except ValueError:
            raise InputError(f"prices: found slot {slot!r}, expected an integer") from None
        if place in listed:
            raise InputError(f"prices: slot {place} is listed twice, expected once")
        listed[place] = as_decimal(number(f"prices[{place}]", price, low=0))
    return listed


def _lowest(listed: dict[int, Fraction], first: int, end: int) -> Fraction:
    """Return the lowest price of the slots first … end − 1."""
    if end - first > len(listed):
        return Fraction(0)
    lowest = listed.get(first, Fraction(0))
    for slot in range(first + 1, end):
        lowest = min(lowest, listed.get(slot, Fraction(0)))
    return lowest


def _ball(value: Fraction) -> Any:
    return arb(fmpq(value.numerator, value.denominator))


def _upper(ball: Any) -> float:
    """Return a double at or above every number in ``ball``; infinity for a ball without an upper end."""
    if not ball.is_finite():
        return math.inf
    top = float(ball.mid()) + float(ball.rad())
    while not arb(top) >= ball:
        top = math.nextafter(top, math.inf)
    return top


def _surplus(utility: str, ceiling: Any, sharpness: Any, anchor: Any, cost: Any) -> Any:
    """Return a ball of which no number is below max_{0≤y≤1} A(y) − cost·y by more than the ball's width."""
    best = _accuracy(utility, ceiling, -sharpness * anchor)
    best = best.max(_accuracy(utility, ceiling, sharpness * (1 - anchor)) - cost)
    if not cost > 0:
        return best
    ratio = _peak(utility, ceiling, sharpness) / cost  # how many times steeper than the price the curve gets
    if ratio < 1:
        return best
    u = _reach(utility, ratio.max(arb(1)))
    y = anchor + u / sharpness
    if y > 1:
        return best
    return best.max(_accuracy(utility, ceiling, u) - cost * y)


def _peak(utility: str, ceiling: Any, sharpness: Any) -> Any:
    """Return the slope at the anchor."""
    divisor = {"algebraic": arb(2), "logistic": arb(4), "erf": arb.pi().sqrt(), "arctan": arb.pi()}[utility]
    return ceiling * sharpness / divisor


def _reach(utility: str, ratio: Any) -> Any:
    """Return the u ≥ 0 at which the slope is the peak divided by ``ratio`` ≥ 1."""
    if utility == "algebraic":  # (1 + u²)^{3/2} = ratio
        return _root((ratio * ratio).root(3) - 1)
    if utility == "logistic":  # cosh²(u/2) = ratio
        return 2 * (ratio.sqrt() + _root(ratio - 1)).log()
    if utility == "erf":  # e^{u²} = ratio
        return _root(ratio.log())
    return _root(ratio - 1)  # 1 + u² = ratio


def _root(square: Any) -> Any:
    """Return the square root of a ball whose number is at least 0, though the ball may reach below."""
    return square.max(arb(0)).sqrt()


def _accuracy(utility: str, ceiling: Any, u: Any) -> Any:
    if utility == "algebraic":
        return ceiling / 2 * (1 + u / (1 + u * u).sqrt())
    if utility == "logistic":
        return ceiling / (1 + (-u).exp())
    if utility == "erf":
        return ceiling / 2 * (1 + u.erf())
    return ceiling * (arb(1) / 2 + u.atan() / arb.pi())
