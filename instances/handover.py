"""The handover problem's data: KV caches that move over a shared backhaul, in one slot or a horizon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.decimals import as_decimal
from instances.errors import InputError, frozen_array, integer, matching_lengths, name, number, shown
from instances.origin import Origin

__all__ = ["UTILITIES", "HandoverTrace", "HandoverUsers", "SlotInstance", "SlotUsers", "as_decimal"]

UTILITIES = ("algebraic", "logistic", "erf", "arctan")
MAX_SLOTS = 10**7
_CURVE: dict[str, dict[str, Any]] = {
    "cache_bits": {"above": 0, "high": 1e30},
    "ceiling": {"above": 0, "high": 1e6},
    "sharpness": {"above": 0, "high": 1e9},
    "anchor": {"low": 0, "high": 1},
}


@dataclass(frozen=True, eq=False)
class HandoverUsers:
    """Users in handover over a horizon, one entry each."""

    arrival_s: NDArray[np.float64]  # (N,) s
    context_tokens: NDArray[np.int64]  # (N,) token
    cache_bits: NDArray[np.float64]  # (N,) L_i, bit
    ceiling: NDArray[np.float64]  # (N,) M_i, accuracy that the utility approaches
    sharpness: NDArray[np.float64]  # (N,) k_i, per fraction
    anchor: NDArray[np.float64]  # (N,) τ_i, fraction at the inflection

    def __post_init__(self) -> None:
        limits: dict[str, dict[str, Any]] = {
            "arrival_s": {"low": 0, "high": 1e9},
            "context_tokens": {"low": 1, "high": 10**9, "whole": True},
            **_CURVE,
        }
        _freeze(self, limits)

    def __len__(self) -> int:
        return len(self.arrival_s)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class SlotUsers:
    """Users in handover at the beginning of one slot, one entry each."""

    cache_bits: NDArray[np.float64]  # (N,) L_i, bit
    received: NDArray[np.float64]  # (N,) x_i, fraction in [0, 1]
    ceiling: NDArray[np.float64]  # (N,) M_i
    sharpness: NDArray[np.float64]  # (N,) k_i, per fraction
    anchor: NDArray[np.float64]  # (N,) τ_i, fraction at the inflection

    def __post_init__(self) -> None:
        curve = dict(_CURVE)
        limits = {"cache_bits": curve.pop("cache_bits"), "received": {"low": 0, "high": 1}, **curve}
        _freeze(self, limits)

    def __len__(self) -> int:
        return len(self.cache_bits)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class SlotInstance:
    """One slot: share B·Δt bits among the users (problems (3) and (4))."""

    name: str
    utility: str  # one of UTILITIES
    slot_s: float  # Δt, s
    bandwidth_bps: float  # B, bit/s
    users: SlotUsers
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        _check_link(self)

    @property
    def n_users(self) -> int:
        """Number of users N."""
        return len(self.users)

    @property
    def capacity_bits(self) -> float:
        """Bits that the slot carries, C = B·Δt, of the decimals that B and Δt print as."""
        return float(as_decimal(self.bandwidth_bps) * as_decimal(self.slot_s))


@dataclass(frozen=True, eq=False)
class HandoverTrace:
    """A horizon of slots: users arrive, each may receive bits in its window of slots."""

    name: str
    utility: str  # one of UTILITIES
    slot_s: float  # Δt, s
    window_slots: (
        int | NDArray[np.int64] | None
    )  # slots a user may use: one number, one a user, or no deadline
    bandwidth_bps: float  # B, bit/s
    horizon_s: float  # end of the arrivals, s; windows may run past it
    users: HandoverUsers
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        _check_link(self)
        object.__setattr__(self, "horizon_s", number("horizon_s", self.horizon_s, low=0, high=1e9))
        late = np.flatnonzero(self.users.arrival_s > self.horizon_s)
        if late.size:
            found = float(self.users.arrival_s[late[0]])
            raise InputError(
                f"users.arrival_s[{late[0]}]: found {found}, expected at most horizon_s = {self.horizon_s}"
            )
        object.__setattr__(self, "window_slots", _window(self.window_slots, len(self.users)))
        _check_slots(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)

    @property
    def n_users(self) -> int:
        """Number of users N."""
        return len(self.users)

    @property
    def capacity_bits(self) -> float:
        """Bits that one slot carries, C = B·Δt, of the decimals that B and Δt print as."""
        return float(as_decimal(self.bandwidth_bps) * as_decimal(self.slot_s))

    def windows(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each user's first slot and the slot after its last, (N,) each.

        An arrival at time a may send from slot ⌊a/Δt⌋ + 1 on (decimals divided exactly). Without a deadline
        the end is a slot by which every cache fits even if the users are served one after the other.
        """
        first = _whole_slots(self.users.arrival_s, self.slot_s) + 1
        if self.window_slots is None:
            total = sum((as_decimal(bits) for bits in self.users.cache_bits), Fraction(0))
            needed = math.ceil(total / as_decimal(self.capacity_bits)) + 1
            return first, np.full_like(first, int(first.max(initial=0)) + needed)
        return first, first + self.window_slots


def _whole_slots(seconds: NDArray[np.float64], slot_s: float) -> NDArray[np.int64]:
    """Return ⌊seconds / slot_s⌋, (N,), exact for the decimals that the numbers print as."""
    quotient = seconds / slot_s
    whole = np.floor(quotient).astype(np.int64)
    unsure = np.abs(quotient - np.rint(quotient)) <= 1e-9 * np.maximum(quotient, 1.0)
    slot = as_decimal(slot_s)
    for i in np.flatnonzero(unsure):  # the doubles' quotient may be on the other side of an integer
        whole[i] = int(as_decimal(seconds[i]) / slot)
    return whole


def _freeze(users: Any, limits: dict[str, dict[str, Any]]) -> None:
    arrays = {key: frozen_array(key, getattr(users, key), **limit) for key, limit in limits.items()}
    matching_lengths(arrays)
    for key, array in arrays.items():
        object.__setattr__(users, key, array)


def _check_link(instance: SlotInstance | HandoverTrace) -> None:
    name("name", instance.name)
    if instance.utility not in UTILITIES:
        raise InputError(f"utility: found {shown(instance.utility)}, expected one of {', '.join(UTILITIES)}")
    object.__setattr__(instance, "slot_s", number("slot_s", instance.slot_s, above=0, high=1e9))
    object.__setattr__(
        instance, "bandwidth_bps", number("bandwidth_bps", instance.bandwidth_bps, above=0, high=1e21)
    )
    if instance.capacity_bits == 0:
        found = f"{instance.bandwidth_bps} in slots of {instance.slot_s} s"
        raise InputError(f"bandwidth_bps: found {found}, expected a slot that carries something")


def _check_slots(trace: HandoverTrace) -> None:
    """Refuse more slots than a schedule can count."""
    late = np.flatnonzero(trace.users.arrival_s >= MAX_SLOTS * trace.slot_s)
    if late.size:
        found = float(trace.users.arrival_s[late[0]])
        expected = f"less than {MAX_SLOTS} slots of {trace.slot_s} s"
        raise InputError(f"users.arrival_s[{late[0]}]: found {found}, expected {expected}")
    if trace.window_slots is None and trace.users.cache_bits.sum() >= MAX_SLOTS * trace.capacity_bits:
        raise InputError(
            f"window_slots: found None, expected a deadline or caches that fit {MAX_SLOTS} slots"
        )


def _window(value: object, n_users: int) -> int | NDArray[np.int64] | None:
    if value is None:
        return None
    if isinstance(value, list | tuple | np.ndarray):
        window = frozen_array("window_slots", value, low=1, high=MAX_SLOTS, whole=True)
        if len(window) != n_users:
            raise InputError(f"window_slots: found {len(window)} entries, expected {n_users}, one a user")
        return window
    return integer("window_slots", value, low=1, high=MAX_SLOTS)
