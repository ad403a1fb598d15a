"""Theorem 1 and Algorithm 1 of the paper: the best slot that lifts everybody, and a fallback.

The programme (4), for a slot with C ≥ C_min = Σ L_i [τ_i − x_i]⁺:

    maximise    Σ_i A_i(y_i)                                                              (4a)
    subject to  Σ_i L_i (y_i − x_i) ≤ C                                                   (4b)
                max(x_i, τ_i) ≤ y_i ≤ 1                              for all i            (4c)

Its optimum has one price θ per bit: y_i is the point of slope θ L_i on the concave side, clipped to (4c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.claim import call, claimed, no_more_options, one_of
from formulations.handover.slot.columns import Slot, columns
from formulations.handover.slot.fallbacks import (
    FALLBACKS,
    READINGS,
    drop_lowest,
    equalised_bytes,
    feasible,
    jumping_demand,
    listed_order,
    minimum_bits,
    scaled_demand,
    water_fill_some,
)
from formulations.handover.slot.price_search import fill_in
from formulations.handover.slot.shares import FINISHED, equal, winner_take_all
from formulations.handover.slot.sides import best_sides
from formulations.result import Limits, Result
from instances.handover import SlotInstance

__all__ = [
    "solve_no_admission",
    "solve_water_filling",
    "solve_water_filling_drop_lowest",
    "solve_water_filling_wta",
]

Floats = NDArray[np.float64]

ROUNDED = 2.3e-16  # of all caches' bits: what the rounding of price, budget and fractions may be worth


@njit(cache=True)
def water_filling(slot: Slot) -> Floats:
    """Return the bits, (N,), of Theorem 1 in a feasible slot; finished users get none."""
    chosen = np.flatnonzero(slot.received < FINISHED)
    return water_fill_some(slot, chosen)


def _theorem_1(instance: SlotInstance) -> Result | None:
    """Solve (4) and state its price and dual gap; None where it has no solution."""
    slot = columns(instance)
    if not feasible(slot):
        return None
    family, cache, received, ceiling, sharpness, anchor, capacity = slot
    budget = capacity - minimum_bits(slot)
    # numpy takes large pages for large arrays, which compiled code does not.
    floor, work = np.maximum(received, anchor), np.empty((3, len(cache)))
    y, price, gap, steps = fill_in(family, cache, floor, ceiling, sharpness, anchor, budget, work)
    certificate = {"price_per_bit": price, "gap": gap + ROUNDED * price * float(np.sum(cache))}
    return claimed(instance, y, counters={"steps": steps}, certificate=certificate)


_FALLBACK_KERNELS: dict[str, Callable[[Slot], Floats]] = {
    "eb": equalised_bytes,
    "wta": winner_take_all,
    "drop-lowest": drop_lowest,
    "exact": best_sides,
}
_READING_KERNELS: dict[str, Callable[[Slot], Floats]] = {
    "bisect": jumping_demand,
    "scaled": scaled_demand,
    "arrival-order": listed_order,
    "equal-bytes": equal,
}


def solve_water_filling(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, fallback: str = "eb", **options: Any
) -> Result:
    """Share one slot by Algorithm 1: water-filling if every user fits at its anchor, else a fallback.

    On a feasible slot this is the optimum of (4); ``certificate`` then holds the price (accuracy per bit) and
    the gap of the dual value at that price. Neither bounds the slot without the floor (4c), so no bound is
    claimed. O(N) a demand evaluation, about ten of them, counted in ``counters["steps"]``.

    Parameters
    ----------
    instance
        One slot.
    limits, seed
        Part of the method contract; the method takes milliseconds and draws nothing.
    fallback
        ``eb`` (equalised bytes, the paper's), ``wta``, ``drop-lowest`` or ``exact`` (the best slot without
        the anchors' floor, see ``slot.sides``).

    Raises
    ------
    InputError
        For an unknown option or fallback.
    """
    no_more_options("water-filling", options)
    kernel = _FALLBACK_KERNELS[one_of("fallback", fallback, FALLBACKS)]
    return _theorem_1(instance) or claimed(instance, call(kernel, instance))


def solve_water_filling_wta(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Share one slot by water-filling with winner-take-all as its fallback; see ``solve_water_filling``."""
    no_more_options("water-filling+wta", options)
    return solve_water_filling(instance, limits=limits, seed=seed, fallback="wta")


def solve_water_filling_drop_lowest(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Share one slot by water-filling, leaving out the lowest users where not all fit; see there."""
    no_more_options("water-filling+drop-lowest", options)
    return solve_water_filling(instance, limits=limits, seed=seed, fallback="drop-lowest")


def solve_no_admission(
    instance: SlotInstance, *, limits: Limits, seed: int = 0, reading: str = "bisect", **options: Any
) -> Result:
    """Share one slot without admission control: Theorem 1 in a feasible slot, an unfloored demand in others.

    Parameters
    ----------
    instance
        One slot.
    limits, seed
        Part of the method contract; the method takes milliseconds and draws nothing.
    reading
        What the paper's ablation sends in an infeasible slot: ``bisect`` (the smallest price whose jumping
        demand fits), ``scaled`` (bits to the anchor, scaled to the budget), ``arrival-order`` (bits to the
        anchor in the listed order), ``equal-bytes`` (C/N each) or ``nothing``.

    Raises
    ------
    InputError
        For an unknown option or reading.
    """
    no_more_options("no-admission", options)
    one_of("reading", reading, READINGS)
    best = _theorem_1(instance)
    if best is not None:
        return best
    if reading == "nothing":
        return claimed(instance, instance.users.received)
    return claimed(instance, call(_READING_KERNELS[reading], instance))
