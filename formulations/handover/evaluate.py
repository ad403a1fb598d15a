"""The independent evaluator of allocations and schedules: exact decimals, objective in interval arithmetic.

Shares no code with the methods. Numbers mean the decimals that they print as; sums and comparisons are exact
(``decimal`` with a precision that never rounds, and a trap should it), the utilities are evaluated as
python-flint balls.

Slot: x ≤ y ≤ 1 within 10⁻¹², Σ L_i (y_i − x_i) ≤ C (1 + 10⁻¹²) + Σ L_i ulp(y_i). Horizon: each transmission
inside its user's window, slot sums ≤ C (1 + 10⁻¹²), user sums ≤ L_i (1 + 10⁻¹²).
"""

from __future__ import annotations

import math
from decimal import Context, Decimal, Inexact, localcontext
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from formulations.evaluation import Evaluation
from formulations.handover.outcomes import outcomes
from instances.decisions import Allocation, Schedule
from instances.handover import HandoverTrace, SlotInstance

__all__ = ["BITS", "accuracy_ball", "ball_of", "decimals", "evaluate_horizon", "evaluate_slot"]

BITS = 192  # precision of the balls
TOLERANCE = Decimal("1e-12")
# Doubles have decimals between 1e-341 and 1e309, so sums of products of three of them fit exactly.
EXACT = Context(prec=4000, Emax=10**6, Emin=-(10**6), traps=[Inexact])
SHOWN = Context(prec=17)  # for ratios that are reported, never decided on


def evaluate_slot(instance: SlotInstance, allocation: Allocation) -> Evaluation:
    """Check an allocation of one slot.

    Parameters
    ----------
    instance
        The slot.
    allocation
        Fractions y, (N,).

    Returns
    -------
    The verdict. ``violation`` is, tolerated or not, the largest of the fractions' excesses and of the
    budget's excess relative to C. ``details``: ``lifted`` (every user reaches its anchor), ``radius`` (of the
    objective's ball).
    """
    users, y = instance.users, allocation.fraction
    if len(y) != len(users):
        return _refused(f"fraction: found {len(y)} entries, expected {len(users)}, one a user")
    with localcontext(EXACT):
        fraction, received = decimals(y), decimals(users.received)
        cache, anchor = decimals(users.cache_bits), decimals(users.anchor)
        worst = _Worst()
        for i, (a, b) in enumerate(zip(fraction, received, strict=True)):
            if a < b:
                worst.add(b - a, b - a > TOLERANCE, f"user {i}: fraction {a} is below the received {b}")
            if a > 1:
                worst.add(a - 1, a - 1 > TOLERANCE, f"user {i}: fraction {a} is above 1")
        capacity = Decimal(repr(instance.bandwidth_bps)) * Decimal(repr(instance.slot_s))
        used = sum((c * (a - b) for c, a, b in zip(cache, fraction, received, strict=True)), Decimal(0))
        if used > capacity:
            allowed = capacity * (1 + TOLERANCE)
            if used > allowed:
                allowed += sum(
                    (c * Decimal(math.ulp(float(v))) for c, v in zip(cache, y, strict=True)), Decimal(0)
                )
            excess = SHOWN.divide(used - capacity, capacity)
            worst.add(excess, used > allowed, f"budget: {float(used)} bits sent, {float(capacity)} carried")
        lifted = all(a >= t for a, t in zip(fraction, anchor, strict=True))
    whole = Decimal(1)
    ball = _objective(instance, [(min(a, whole), whole) for a in fraction])
    return worst.verdict(ball, lifted=lifted)


def evaluate_horizon(instance: HandoverTrace, schedule: Schedule) -> Evaluation:
    """Check a schedule of a horizon.

    Parameters
    ----------
    instance
        The horizon.
    schedule
        User, slot and bits of each transmission, (E,) each.

    Returns
    -------
    The verdict. ``violation`` is, tolerated or not, the largest of: bits outside a window relative to the
    user's cache, a slot's excess relative to C, a user's excess relative to its cache. The objective counts
    every user, one that was sent nothing with A_i(0), and one that was sent more than its cache with A_i(1).
    ``details``: ``lifted`` (every user reaches its anchor), ``radius`` (of the objective's ball), ``starved``
    and ``latency`` (see ``outcomes``).
    """
    users = instance.users
    if len(schedule.user) and int(schedule.user.max()) >= len(users):
        return _refused(f"schedule: found user {int(schedule.user.max())}, expected 0 to {len(users) - 1}")
    first, end = (edge.tolist() for edge in instance.windows())
    with localcontext(EXACT):
        cache, anchor = decimals(users.cache_bits), decimals(users.anchor)
        capacity = Decimal(repr(instance.bandwidth_bps)) * Decimal(repr(instance.slot_s))
        sent, slots, worst = [Decimal(0)] * len(users), dict[int, Decimal](), _Worst()
        entries = zip(schedule.user.tolist(), schedule.slot.tolist(), decimals(schedule.bits), strict=True)
        for i, t, bits in entries:
            sent[i] += bits
            slots[t] = slots.get(t, Decimal(0)) + bits
            if bits > 0 and not first[i] <= t < end[i]:
                row = f"user {i}: slot {t} is outside its window of slots {first[i]} to {end[i] - 1}"
                worst.add(SHOWN.divide(bits, cache[i]), True, row)
        for t, total in slots.items():
            if total > capacity:
                row = f"slot {t}: {float(total)} bits sent, {float(capacity)} carried"
                excess = total - capacity
                worst.add(SHOWN.divide(excess, capacity), excess > capacity * TOLERANCE, row)
        for i, total in enumerate(sent):
            if total > cache[i]:
                row = f"user {i}: {float(total)} bits sent, its cache has {float(cache[i])}"
                excess = total - cache[i]
                worst.add(SHOWN.divide(excess, cache[i]), excess > cache[i] * TOLERANCE, row)
        lifted = all(s >= t * c for s, t, c in zip(sent, anchor, cache, strict=True))
    ball = _objective(instance, [(min(s, c), c) for s, c in zip(sent, cache, strict=True)])
    return worst.verdict(ball, lifted=lifted, **outcomes(instance, schedule))


class _Worst:
    """The largest violation so far, its row, and whether any exceeds what is tolerated."""

    def __init__(self) -> None:
        self.violation = Decimal(0)
        self.row = ""
        self.feasible = True

    def add(self, violation: Decimal, refused: bool, row: str) -> None:
        if violation > self.violation:
            self.violation, self.row = violation, row
        self.feasible = self.feasible and not refused

    def verdict(self, objective: Any, **details: Any) -> Evaluation:
        details["radius"] = float(objective.rad())
        message = "" if self.feasible else self.row
        return Evaluation(
            float(objective.mid()), self.feasible, float(self.violation), message, details=details
        )


def _refused(message: str) -> Evaluation:
    """Return the verdict on a decision that does not fit the instance; it has no objective."""
    return Evaluation(math.nan, False, math.inf, message, details={"lifted": False, "radius": 0.0})


def decimals(array: NDArray[np.float64]) -> list[Decimal]:
    """Return the numbers as they print, exactly."""
    return [Decimal(repr(x)) for x in array.tolist()]


def ball_of(value: Decimal) -> Any:
    """Return a ball that holds ``value``."""
    numerator, denominator = value.as_integer_ratio()
    return arb(fmpq(numerator, denominator))


def _objective(instance: SlotInstance | HandoverTrace, parts: list[tuple[Decimal, Decimal]]) -> Any:
    """Return Σ A_i(y_i) as a ball, y_i = received part / whole."""
    users, before = instance.users, ctx.prec
    ctx.prec = BITS
    try:
        total = arb(0)
        curves = (decimals(users.ceiling), decimals(users.sharpness), decimals(users.anchor))
        for (part, whole), m, k, tau in zip(parts, *curves, strict=True):
            y = ball_of(part) / ball_of(whole)
            total += accuracy_ball(instance.utility, ball_of(m), ball_of(k) * (y - ball_of(tau)))
        return total
    finally:
        ctx.prec = before


def accuracy_ball(utility: str, ceiling: Any, u: Any) -> Any:
    """Return A as a ball, of the ceiling M and u = k(y − τ): (6), (13) and the two further families."""
    if utility == "algebraic":
        return ceiling / 2 * (1 + u / (1 + u * u).sqrt())
    if utility == "logistic":
        return ceiling / (1 + (-u).exp())
    if utility == "erf":
        return ceiling / 2 * (1 + u.erf())
    return ceiling * (arb(1) / 2 + u.atan() / arb.pi())
