"""What can be decided for each problem: an assignment, an allocation, a schedule, a choice or a sigmoid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, frozen_array, matching_lengths, number, shown
from instances.handover import MAX_SLOTS, UTILITIES

__all__ = ["MODES", "Allocation", "Assignment", "Choice", "Decision", "Schedule", "Sigmoid"]

MODES = ("none", "ad", "sd")


@dataclass(frozen=True)
class Assignment:
    """BALANCE: the mode of each user and AD's share of the compute."""

    mode: tuple[str, ...]  # (K,) one of MODES
    compute_share: float  # z, a member of the server's compute shares

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", tuple(self.mode))
        for i, mode in enumerate(self.mode):
            if mode not in MODES:
                raise InputError(f"mode[{i}]: found {shown(mode)}, expected one of {', '.join(MODES)}")
        object.__setattr__(self, "compute_share", number("compute_share", self.compute_share, low=0, high=1))


@dataclass(frozen=True, eq=False)
class Allocation:
    """One slot: the fraction of its cache that each user holds at the end of the slot."""

    fraction: NDArray[np.float64]  # (N,) y_i in [0, 1]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fraction", frozen_array("fraction", self.fraction, low=0, high=1))

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), (self.fraction,)


@dataclass(frozen=True, eq=False)
class Schedule:
    """A horizon: bits sent to a user in a slot; what is not listed is zero, no pair is listed twice."""

    user: NDArray[np.int64]  # (E,) 0-based
    slot: NDArray[np.int64]  # (E,) counted from 0 at time 0
    bits: NDArray[np.float64]  # (E,) bit

    def __post_init__(self) -> None:
        arrays = {
            "user": frozen_array("user", self.user, low=0, high=10**9, whole=True),
            "slot": frozen_array("slot", self.slot, low=0, high=2 * MAX_SLOTS, whole=True),
            "bits": frozen_array("bits", self.bits, low=0, high=1e30),
        }
        matching_lengths(arrays)
        pairs = np.lexsort((arrays["slot"], arrays["user"]))
        user, slot = arrays["user"][pairs], arrays["slot"][pairs]
        twice = np.flatnonzero((np.diff(user) == 0) & (np.diff(slot) == 0))
        if twice.size:
            i = twice[0]
            raise InputError(f"schedule: user {user[i]} in slot {slot[i]} is listed twice, expected once")
        for key, array in arrays.items():
            object.__setattr__(self, key, array)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), (self.user, self.slot, self.bits)


@dataclass(frozen=True, eq=False)
class Choice:
    """MMKP: the item taken of each group, counted from 0 within its group."""

    item: NDArray[np.int64]  # (n,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "item", frozen_array("item", self.item, low=0, high=10**7, whole=True))

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), (self.item,)


@dataclass(frozen=True)
class Sigmoid:
    """Measured points: the utility A(y) = M φ(k (y − τ)) that stands for them."""

    utility: str  # one of UTILITIES
    ceiling: float  # M, in the unit of the accuracies
    sharpness: float  # k, per fraction
    anchor: float  # τ, fraction; below 0 or above 1 where the points lie on one side of it

    def __post_init__(self) -> None:
        if self.utility not in UTILITIES:
            expected = f"one of {', '.join(UTILITIES)}"
            raise InputError(f"utility: found {shown(self.utility)}, expected {expected}")
        limits: dict[str, dict[str, float]] = {
            "ceiling": {"above": 0},
            "sharpness": {"above": 0, "high": 1e9},
            "anchor": {"low": -1, "high": 2},
        }
        for key, limit in limits.items():
            object.__setattr__(self, key, number(key, getattr(self, key), **limit))


Decision = Assignment | Allocation | Schedule | Choice | Sigmoid
