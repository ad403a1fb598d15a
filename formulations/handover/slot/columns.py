"""One slot as compiled code takes it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.utility import CODES, log_peak
from instances.handover import SlotInstance

__all__ = ["Slot", "columns", "log_steepness"]

Floats = NDArray[np.float64]


class Slot(NamedTuple):
    """A slot's users, one entry each, and its capacity; a policy's kernel goes from it to bits, (N,)."""

    family: int  # code of the utility
    cache: Floats  # (N,) L_i, bit
    received: Floats  # (N,) x_i, fraction
    ceiling: Floats  # (N,) M_i
    sharpness: Floats  # (N,) k_i, per fraction
    anchor: Floats  # (N,) τ_i, fraction
    capacity: float  # C, bit


def columns(instance: SlotInstance) -> Slot:
    """Return copies of an instance's columns; for read-only arrays numba compiles all kernels anew."""
    users = instance.users
    return Slot(
        CODES[instance.utility],
        users.cache_bits.copy(),
        users.received.copy(),
        users.ceiling.copy(),
        users.sharpness.copy(),
        users.anchor.copy(),
        instance.capacity_bits,
    )


@njit(cache=True)
def log_steepness(slot: Slot, i: int) -> float:
    """Return the logarithm of user i's slope per bit at its anchor, accuracy per bit."""
    steepness: float = log_peak(slot.family, slot.ceiling[i], slot.sharpness[i]) - math.log(slot.cache[i])
    return steepness
