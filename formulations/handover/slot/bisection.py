"""Algorithm 1 of the paper to the letter: the price by bisection to a tolerance.

FindWaterLevel searches λ in [0, λ̄], λ̄ = max_i A_i'(τ_i) Δt / L_i, for the aggregate demand

    g(λ) = Σ_i L_i (max(x_i, W_i(λ)) − x_i) / Δt,   W_i the clipped inverse slope (9),                (1)

to equal B, and halves until the range is narrower than ε. As λ is 10⁻²³ … 10⁻⁹ accuracy a bit/s, an absolute
ε that looks small ends the search before it began: λ̄ is returned, and only C_min is sent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.claim import call, claimed, no_more_options, one_of
from formulations.handover.slot.columns import Slot, columns, log_steepness
from formulations.handover.slot.fallbacks import equalised_bytes, feasible
from formulations.handover.slot.shares import FINISHED
from formulations.handover.utility import reach
from formulations.result import Limits, Result
from instances.errors import number
from instances.handover import SlotInstance

__all__ = ["EPSILON", "TOLERANCES", "bisected", "precision", "solve_bisection"]

Floats = NDArray[np.float64]

TOLERANCES = ("relative", "absolute")
EPSILON = 1e-12
MOST_STEPS = 2000  # more than halve any double to nothing


@njit(cache=True)
def targets(slot: Slot, price: float) -> Floats:
    """Return max(x_i, W_i) of (8) and (9), (N,), at a price a bit."""
    y = np.empty(len(slot.cache))
    for i in range(len(slot.cache)):
        if slot.received[i] >= FINISHED:
            y[i] = slot.received[i]
            continue
        level = 1.0
        if price > 0:
            d = log_steepness(slot, i) - math.log(price)
            level = min(1.0, slot.anchor[i] + reach(slot.family, d) / slot.sharpness[i])
        y[i] = max(slot.received[i], level)
    return y


@njit(cache=True)
def find_water_level(slot: Slot, slot_s: float, tolerance: float, relative: bool) -> tuple[float, int]:
    """Return λ of which the demand (1) is at most B, accuracy a bit/s, and the halvings."""
    highest = 0.0
    for i in range(len(slot.cache)):
        highest = max(highest, math.exp(log_steepness(slot, i)) * slot_s)
    if np.sum(slot.cache * (1.0 - slot.received)) <= slot.capacity:
        return 0.0, 0
    low, high, steps = 0.0, highest, 0
    while high - low > (tolerance * high if relative else tolerance) and steps < MOST_STEPS:
        middle = 0.5 * (low + high)
        y = targets(slot, middle / slot_s)
        if np.sum(slot.cache * (y - slot.received)) > slot.capacity:
            low = middle
        else:
            high = middle
        steps += 1
    return high, steps


@njit(cache=True)
def bisected(slot: Slot, slot_s: float, tolerance: float, relative: bool) -> Floats:
    """Return the bits, (N,), of Algorithm 1 in one slot."""
    if not feasible(slot):
        return equalised_bytes(slot)
    level, _ = find_water_level(slot, slot_s, tolerance, relative)
    return slot.cache * (targets(slot, level / slot_s) - slot.received)


def precision(tolerance: Any, epsilon: Any) -> tuple[float, bool]:
    """Return ε and whether it is relative, of the options of ``solve_bisection``."""
    relative = one_of("tolerance", tolerance, TOLERANCES) == "relative"
    return number("epsilon", epsilon, above=0, high=1), relative


def solve_bisection(
    instance: SlotInstance,
    *,
    limits: Limits,
    seed: int = 0,
    tolerance: str = "relative",
    epsilon: Any = EPSILON,
    **options: Any,
) -> Result:
    """Share one slot by Algorithm 1 as printed, equalised bytes where not every user fits at its anchor.

    Parameters
    ----------
    instance
        One slot.
    limits, seed
        Part of the method contract; the method takes milliseconds and draws nothing.
    tolerance
        ``relative`` (to λ) or ``absolute`` (in accuracy a bit/s), the meaning of ε.
    epsilon
        ε, greater than 0.

    Returns
    -------
    The allocation, of which ``certificate`` holds the price (accuracy a bit). O(N log(λ̄/ε)); the halvings are
    counted in ``steps``. No bound: what the tolerance leaves of the budget is not sent.

    Raises
    ------
    InputError
        For an unknown option or option value.
    """
    no_more_options("water-filling-bisection", options)
    width, relative = precision(tolerance, epsilon)
    slot = columns(instance)
    if not feasible(slot):
        return claimed(instance, call(equalised_bytes, instance))
    level, steps = find_water_level(slot, instance.slot_s, width, relative)
    y = targets(slot, level / instance.slot_s)
    certificate = {"price_per_bit": level / instance.slot_s}
    return claimed(instance, y, counters={"steps": int(steps)}, certificate=certificate)
