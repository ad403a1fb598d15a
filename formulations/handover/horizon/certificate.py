"""The dual certificate: slot prices bound the clairvoyant optimum from above, in floating point.

For any prices p_t ≥ 0 a bit,

    Σ_t p_t C + Σ_i max_{0≤y≤1} [A_i(y) − L_i y q_i],   q_i = min_{t in i's window} p_t,                  (1)

is at least Σ A_i(y_i) of every schedule. The inner maximum is at y = 0, y = 1 or where A_i' = L_i q_i on the
concave side. ``formulations.handover.verify`` repeats it in interval arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import CODES, log_peak, reach, value
from instances.errors import number
from instances.handover import HandoverTrace

__all__ = ["price_bound"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def price_bound(instance: HandoverTrace, prices: Mapping[int | str, float]) -> float:
    """Return the dual bound (1) on Σ A_i(y_i), in floating point.

    Parameters
    ----------
    instance
        The horizon.
    prices
        Accuracy per bit by slot; a slot that is not listed costs nothing.

    Raises
    ------
    InputError
        For a price that is not a finite number of at least 0.
    """
    listed = {int(slot): number(f"prices[{slot}]", price, low=0) for slot, price in prices.items()}
    slots = np.array(sorted(listed), dtype=np.int64)
    price = np.array([listed[slot] for slot in slots.tolist()], dtype=np.float64)
    first, end = instance.windows()
    users = instance.users
    lowest = window_minimum(slots, price, first, end)
    surplus = surpluses(
        CODES[instance.utility], users.cache_bits, users.ceiling, users.sharpness, users.anchor, lowest
    )
    return math.fsum([*(price * instance.capacity_bits), *surplus])


@njit(cache=True)
def window_minimum(slots: Ints, price: Floats, first: Ints, end: Ints) -> Floats:
    """Return q_i, (N,): the lowest price in each user's window, 0 where a slot of it is not listed."""
    left, right = np.searchsorted(slots, first), np.searchsorted(slots, end)
    out = np.zeros(len(first))
    for i in range(len(first)):
        if right[i] - left[i] == end[i] - first[i]:
            out[i] = np.min(price[left[i] : right[i]])
    return out


@njit(cache=True)
def surpluses(
    family: int, cache: Floats, ceiling: Floats, sharpness: Floats, anchor: Floats, price: Floats
) -> Floats:
    """Return max over 0 ≤ y ≤ 1 of A_i(y) − L_i y q_i, (N,), accuracy."""
    out = np.empty(len(cache))
    for i in range(len(cache)):
        cost = cache[i] * price[i]
        best = max(
            value(family, ceiling[i], sharpness[i], anchor[i], 0.0),
            value(family, ceiling[i], sharpness[i], anchor[i], 1.0) - cost,
        )
        if cost > 0:
            d = log_peak(family, ceiling[i], sharpness[i]) - math.log(cost)
            y = anchor[i] + reach(family, d) / sharpness[i]
            if d > 0 and y < 1.0:
                best = max(best, value(family, ceiling[i], sharpness[i], anchor[i], y) - cost * y)
        out[i] = best
    return out
