"""From a policy's bits or fractions to the Result that it claims, and the checks of its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.slot.columns import Slot, columns
from formulations.handover.utility import total
from formulations.result import Result, Status
from instances.decisions import Allocation
from instances.errors import InputError, shown
from instances.handover import SlotInstance

__all__ = ["call", "claimed", "flag", "no_more_options", "one_of"]

Floats = NDArray[np.float64]


def call(kernel: Callable[[Slot], Floats], instance: SlotInstance) -> Floats:
    """Return the fractions, (N,), after the slot in which ``kernel`` gives out the bits."""
    slot = columns(instance)
    return slot.received + kernel(slot) / slot.cache


def claimed(instance: SlotInstance, fraction: Floats, **claims: Any) -> Result:
    """Return the Result of a policy: the allocation and its objective Σ A_i(y_i), without a bound."""
    users = instance.users
    y = np.clip(fraction, users.received, 1.0)
    objective = total(instance.utility, users.ceiling, users.sharpness, users.anchor, y)
    return Result(Status.FEASIBLE, decision=Allocation(y), objective=objective, **claims)


def one_of(field: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, else raise ``InputError``."""
    if value not in choices:
        raise InputError(f"{field}: found {shown(value)}, expected one of {', '.join(choices)}")
    return str(value)


def flag(field: str, value: Any) -> bool:
    """Return ``value`` as a truth value: true or false, also as text; else raise ``InputError``."""
    text = str(value).lower()
    if text not in ("true", "false"):
        raise InputError(f"{field}: found {shown(value)}, expected true or false")
    return text == "true"


def no_more_options(method: str, options: dict[str, Any]) -> None:
    """Raise ``InputError`` naming the first option that ``method`` does not have."""
    for key in options:
        raise InputError(f"set.{key}: unknown for {method}, expected none of that name")
