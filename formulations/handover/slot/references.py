"""Other ways to the price of Theorem 1, against which water-filling is measured.

``sorted_breakpoints`` finds the interval between two prices at which some user leaves its floor or reaches 1,
and the price inside it; ``log_bisection`` halves the logarithm of the price; ``root_of_scipy`` hands the
demand to Brent's method; ``sixty_digits`` bisects in 200-bit arithmetic and is what errors are measured from.
All solve a feasible slot. They are run by their dotted names, as a user's own method is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray
from scipy.optimize import brentq

from formulations.handover.slot.claim import claimed, no_more_options
from formulations.handover.utility import log_slopes
from formulations.result import Limits, Result
from instances.decimals import as_decimal
from instances.errors import InputError
from instances.handover import SlotInstance

__all__ = ["log_bisection", "root_of_scipy", "sixty_digits", "sorted_breakpoints"]

Floats = NDArray[np.float64]

BITS = 200
HALVINGS = 200


def _reaches(utility: str, d: Floats) -> Floats:
    """Return the u ≥ 0 at which the slope has fallen by e^{−d}, (N,)."""
    if utility == "erf":
        return np.sqrt(d)
    if utility == "logistic":
        return np.asarray(2.0 * np.arccosh(np.exp(0.5 * d)))
    return np.sqrt(np.expm1(d / 1.5 if utility == "algebraic" else d))


class _Demand:
    """The fractions and the aggregate demand at a logarithm of the price, in numpy."""

    def __init__(self, instance: SlotInstance) -> None:
        users = instance.users
        self.instance, self.users = instance, users
        self.floor = np.maximum(users.received, users.anchor)
        self.budget = instance.capacity_bits - math.fsum(users.cache_bits * (self.floor - users.received))
        if self.budget < -1e-12 * instance.capacity_bits:
            raise InputError(f"slot: found {instance.capacity_bits:g} bits, expected every user to fit")
        self.steepness = self.log_slopes_a_bit(users.anchor)

    def log_slopes_a_bit(self, y: Floats) -> Floats:
        """Return log(A_i'(y_i) / L_i), (N,)."""
        users = self.users
        shape = (users.ceiling, users.sharpness, users.anchor)
        return log_slopes(self.instance.utility, *shape, y) - np.log(users.cache_bits)

    def fractions(self, log_price: float) -> Floats:
        """Return the clipped inverse slopes (9), (N,)."""
        d = np.maximum(self.steepness - log_price, 0.0)
        with np.errstate(over="ignore"):
            u = _reaches(self.instance.utility, d)
        y: Floats = np.clip(self.users.anchor + u / self.users.sharpness, self.floor, 1.0)
        return y

    def excess(self, log_price: float) -> float:
        """Return the bits asked for above the budget."""
        return float(np.sum(self.users.cache_bits * (self.fractions(log_price) - self.floor))) - self.budget

    def range(self) -> tuple[float, float]:
        """Return logarithms of prices at which everything and nothing is asked for."""
        return float(np.min(self.log_slopes_a_bit(np.ones(len(self.floor))))), float(np.max(self.steepness))


def _answer(instance: SlotInstance, options: dict[str, Any], find: Callable[[_Demand], float]) -> Result:
    """Return the allocation at the price that ``find`` finds; everything where it fits."""
    no_more_options("reference", options)
    if len(instance.users) == 0:
        return claimed(instance, instance.users.received)
    demand = _Demand(instance)
    low, _ = demand.range()
    log_price = low if demand.excess(low) <= 0 else find(demand)
    return claimed(instance, demand.fractions(log_price), certificate={"price_per_bit": math.exp(log_price)})


def log_bisection(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Halve the range of log θ 200 times; O(200 N). Raises ``InputError`` for an infeasible slot."""

    def find(demand: _Demand) -> float:
        low, high = demand.range()
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            if demand.excess(middle) > 0:
                low = middle
            else:
                high = middle
        return high

    return _answer(instance, options, find)


def root_of_scipy(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Solve demand(log θ) = budget by Brent's method. Raises ``InputError`` for an infeasible slot."""

    def find(demand: _Demand) -> float:
        low, high = demand.range()
        return float(brentq(demand.excess, low, high, xtol=1e-15, rtol=4 * np.finfo(float).eps, maxiter=500))

    return _answer(instance, options, find)


def sorted_breakpoints(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Sort the 2 N prices at which the demand bends, find the two around the budget, halve between them.

    O(N log N). Raises ``InputError`` for an infeasible slot.
    """

    def find(demand: _Demand) -> float:
        bends = np.concatenate(
            (demand.log_slopes_a_bit(demand.floor), demand.log_slopes_a_bit(np.ones(len(demand.floor))))
        )
        # Rounding may ask for bits at the last bend; at the anchors' largest slope none are asked for.
        bends = np.sort(np.append(bends, demand.range()[1]))
        low, high = 0, len(bends) - 1
        while high - low > 1:
            middle = (low + high) // 2
            if demand.excess(float(bends[middle])) > 0:
                low = middle
            else:
                high = middle
        return float(brentq(demand.excess, bends[low], bends[high], xtol=1e-15, rtol=4 * np.finfo(float).eps))

    return _answer(instance, options, find)


def sixty_digits(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Bisect log θ in 200-bit ball arithmetic, for hundreds of users.

    Only for the algebraic utility, whose inverse (12) takes a root. Raises ``InputError`` for another one,
    and for an infeasible slot.
    """
    no_more_options("sixty_digits", options)
    if instance.utility != "algebraic":
        raise InputError(f"utility: found {instance.utility}, expected algebraic")
    _Demand(instance)  # refuses an infeasible slot
    before = ctx.prec
    ctx.prec = BITS
    try:
        return claimed(instance, _bisected(instance))
    finally:
        ctx.prec = before


def _ball(value: float) -> arb:
    exact = as_decimal(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def _bisected(instance: SlotInstance) -> Floats:
    """Return the fractions at the price whose demand is the budget, to 55 digits."""
    users = instance.users
    names = ("cache_bits", "received", "ceiling", "sharpness", "anchor")
    rows = [[_ball(x) for x in row] for row in zip(*(getattr(users, c).tolist() for c in names), strict=True)]
    floors = [max(x, t, key=float) for _, x, _, _, t in rows]
    budget = _ball(instance.bandwidth_bps) * _ball(instance.slot_s)

    def fractions(price: arb) -> list[arb]:
        out = []
        for (cache, _, ceiling, sharpness, anchor), floor in zip(rows, floors, strict=True):
            square = (ceiling * sharpness / (2 * price * cache)) ** (arb(2) / 3) - 1
            y = anchor + square.sqrt() / sharpness if square > 0 else floor
            out.append(min(max(y, floor, key=float), arb(1), key=float))
        return out

    def used(price: arb) -> arb:
        return sum((r[0] * (y - r[1]) for r, y in zip(rows, fractions(price), strict=True)), arb(0))

    low = min((c * k / 2 / L / (1 + (k * (1 - t)) ** 2) ** (arb(3) / 2) for L, _, c, k, t in rows), key=float)
    high = max((c * k / 2 / L for L, _, c, k, _ in rows), key=float)
    if used(low) <= budget:
        return np.array([float(y) for y in fractions(low)])
    for _ in range(BITS - 10):
        middle = ((low * high).sqrt()).mid()
        low, high = (middle, high) if used(middle) > budget else (low, middle)
    return np.array([float(y) for y in fractions(high)])
