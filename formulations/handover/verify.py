"""Verifies slot prices as a bound on the clairvoyant optimum, from scratch, rounded upward.

Shares no code with the methods. For prices p_t ≥ 0 and q_i the lowest price in user i's window, no schedule
exceeds Σ_t p_t C + Σ_i max_{0≤y≤1} [A_i(y) − L_i q_i y]: the bits of a user cost at least q_i each, and those
of a slot number at most C. A_i' rises to τ_i and falls beyond, so an inner maximum is at y = 0, at y = 1, or
where A_i' = L_i q_i beyond τ_i. A candidate that interval arithmetic cannot exclude is kept, which can only
raise the bound.

Prices may depend on where the fractions lie. A *group* has users, slots, and a tree whose nodes split the
fraction of one of its users in two; each leaf restricts the users to intervals and raises the prices of the
slots by e_t ≥ 0. Every schedule lies in one leaf of each group. A group's users alone send at most C bits in
a slot, so their bits may be charged e_t more if e_t C is added. With the maxima of the group's users over
their intervals at the raised prices, the largest leaf of each group may be taken apart from the others.
Groups may have slots in common, but no users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from flint import arb, ctx, fmpq

from formulations.handover.verify_groups import Group, Interval, checked_groups
from instances.errors import InputError, number
from instances.handover import HandoverTrace, SlotInstance, as_decimal

__all__ = ["verified_bound", "verified_slot_bound"]

BITS = 192
WHOLE = (Fraction(0), Fraction(1))


def verified_bound(
    instance: HandoverTrace, prices: Mapping[int | str, float], groups: Sequence[Mapping[str, Any]] = ()
) -> float:
    """Return a double that no schedule's Σ A_i(y_i) exceeds.

    Parameters
    ----------
    instance
        The horizon.
    prices
        Accuracy per bit by slot, each the decimal that it prints as; a slot that is not listed costs nothing.
    groups
        Groups without a user in common: ``users`` (indices), ``runs`` ([first slot, number of slots] each)
        and ``nodes``, the root first: ``user``, ``at`` (a fraction), ``below`` and ``above`` (nodes), or a
        leaf's ``prices`` of the runs, which count where they are above the argument ``prices``.

    Raises
    ------
    InputError
        For a slot that is not an integer, a price that is not a finite number of at least 0, or groups that
        have a user in common or whose nodes are no tree.
    """
    listed = _checked(prices)
    before = ctx.prec
    ctx.prec = BITS
    try:
        capacity = as_decimal(instance.bandwidth_bps) * as_decimal(instance.slot_s)
        checked = checked_groups(instance, groups)
        horizon = _Horizon(instance)
        grouped = {i for group in checked for i in group.users}
        total = _ball(sum(listed.values(), Fraction(0)) * capacity)
        for i in range(len(instance.users)):
            if i not in grouped:
                total += horizon.surplus(i, listed, WHOLE)
        for group in checked:
            total += _largest_leaf(horizon, group, listed, capacity)
        return _upper(total)
    finally:
        ctx.prec = before


def verified_slot_bound(instance: SlotInstance, price: Fraction) -> float:
    """Return a double that Σ A_i(y_i) does not exceed with y_i ≥ max(x_i, τ_i), the constraints of (4).

    For a price θ ≥ 0 a bit: θ C + Σ_i max_{max(x_i, τ_i) ≤ y ≤ 1} [A_i(y) − θ L_i (y − x_i)].
    """
    before = ctx.prec
    ctx.prec = BITS
    try:
        users = instance.users
        total = _ball(price * as_decimal(instance.bandwidth_bps) * as_decimal(instance.slot_s))
        columns = (users.cache_bits, users.received, users.ceiling, users.sharpness, users.anchor)
        for row in zip(*(c.tolist() for c in columns), strict=True):
            cache, received, *curve = map(as_decimal, row)
            lower = max(received, curve[2])
            balls = map(_ball, (*curve, cache * price, lower, max(lower, Fraction(1))))
            total += _surplus(instance.utility, *balls) + _ball(price * cache * received)
        return _upper(total)
    finally:
        ctx.prec = before


class _Horizon:
    """Users' windows and curves, exactly, and their surpluses, each computed once."""

    def __init__(self, instance: HandoverTrace) -> None:
        users = instance.users
        self.utility = instance.utility
        self.first, self.end = (edge.tolist() for edge in instance.windows())
        columns = (users.cache_bits, users.ceiling, users.sharpness, users.anchor)
        self.rows = [tuple(map(as_decimal, row)) for row in zip(*(c.tolist() for c in columns), strict=True)]
        self.known: dict[tuple[int, Fraction, Interval], Any] = {}

    def surplus(self, i: int, prices: Mapping[int, Fraction], interval: Interval) -> Any:
        """Return user i's largest gain within an interval of fractions, at the lowest price of its window."""
        price = _lowest(prices, self.first[i], self.end[i])
        key = (i, price, interval)
        if key not in self.known:
            cache, *curve = self.rows[i]
            ceiling, sharpness, anchor, lower, upper = map(_ball, (*curve, *interval))
            cost = _ball(cache * price)
            self.known[key] = _surplus(self.utility, ceiling, sharpness, anchor, cost, lower, upper)
        return self.known[key]


def _largest_leaf(horizon: _Horizon, group: Group, listed: Mapping[int, Fraction], capacity: Fraction) -> Any:
    """Return a ball of at least the largest of a group's leaves: what it raises, and its users' surpluses."""
    low = min((horizon.first[i] for i in group.users), default=0)
    high = max((horizon.end[i] for i in group.users), default=0)
    near = {slot: price for slot, price in listed.items() if low <= slot < high}
    best: Any = None
    for intervals, prices in group.leaves():
        raised = {
            slot: max(price - listed.get(slot, Fraction(0)), Fraction(0)) for slot, price in prices.items()
        }
        combined = near | {slot: near.get(slot, Fraction(0)) + more for slot, more in raised.items()}
        total = _ball(sum(raised.values(), Fraction(0)) * capacity)
        for i in group.users:
            total += horizon.surplus(i, combined, intervals.get(i, WHOLE))
        best = total if best is None else best.max(total)
    return best


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


def _lowest(listed: Mapping[int, Fraction], first: int, end: int) -> Fraction:
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


def _surplus(
    utility: str, ceiling: Any, sharpness: Any, anchor: Any, cost: Any, lower: Any, upper: Any
) -> Any:
    """Return a ball of at least max_{lower≤y≤upper} A(y) − cost·y, and above it by no more than its width."""
    best = _accuracy(utility, ceiling, sharpness * (lower - anchor)) - cost * lower
    best = best.max(_accuracy(utility, ceiling, sharpness * (upper - anchor)) - cost * upper)
    if not cost > 0:
        return best
    ratio = _peak(utility, ceiling, sharpness) / cost  # how many times steeper than the price the curve gets
    if ratio < 1:
        return best
    u = _reach(utility, ratio.max(arb(1)))
    y = anchor + u / sharpness
    if y > upper or y < lower:
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
    return square.sqrt() if square > 0 else square.upper().sqrt().union(arb(0))


def _accuracy(utility: str, ceiling: Any, u: Any) -> Any:
    if utility == "algebraic":
        return ceiling / 2 * (1 + u / (1 + u * u).sqrt())
    if utility == "logistic":
        return ceiling / (1 + (-u).exp())
    if utility == "erf":
        return ceiling / 2 * (1 + u.erf())
    return ceiling * (arb(1) / 2 + u.atan() / arb.pi())
