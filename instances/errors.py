"""The error for input that cannot be used, and the checks that raise it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["InputError", "frozen_array", "integer", "matching_lengths", "name", "number"]

NAME_LENGTH = 100
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")


class InputError(ValueError):
    """One line for the user: ``place: field: what was found, what was expected``."""

    def within(self, place: object) -> InputError:
        """Return the same message with ``place`` (a file, a line, a record) in front."""
        return type(self)(f"{place}: {self}")


def shown(value: object) -> str:
    """Return ``value`` as a short single-line text for an error message."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        text = plain if isinstance(plain, str) else repr(plain)
    except ValueError:  # Python does not print integers of more than 4300 digits
        text = "a number of thousands of digits"
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 60 else text[:57] + "..."


def name(field: str, value: object) -> str:
    """Return ``value`` if it is a safe name, one that can be a file's name on any system."""
    good = isinstance(value, str) and 0 < len(value) <= NAME_LENGTH
    if not good or value[0] == "." or not _NAME_CHARACTERS.issuperset(value):  # type: ignore[index,arg-type]
        raise InputError(
            f"{field}: found {shown(value)!r}, expected 1 to {NAME_LENGTH} of A-Z a-z 0-9 . _ + - "
            "without a leading dot"
        )
    return value  # type: ignore[return-value]


def number(
    field: str, value: object, *, low: float = -math.inf, high: float = math.inf, above: float | None = None
) -> float:
    """Return ``value`` as a finite float in [low, high], greater than ``above`` if that is given."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        found = f'"{shown(value)}" (text)' if isinstance(value, str) else shown(value)
        raise InputError(f"{field}: found {found}, expected a number")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise InputError(f"{field}: found {shown(value)}, expected a finite number")
    if above is not None and result <= above:
        raise InputError(f"{field}: found {shown(value)}, expected more than {above:g}")
    if not low <= result <= high:
        raise InputError(f"{field}: found {shown(value)}, expected {_range(low, high)}")
    return result


def integer(field: str, value: object, *, low: int, high: int) -> int:
    """Return ``value`` as an integer in [low, high]; 3.0 counts as 3, 3.5 does not."""
    result = number(field, value, low=low, high=high)
    if not result.is_integer():
        raise InputError(f"{field}: found {shown(value)}, expected an integer")
    return int(result)


def frozen_array(
    field: str,
    values: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    above: float | None = None,
    whole: bool = False,
) -> NDArray[Any]:
    """Return a read-only copy of a one-dimensional array of numbers in the range, ``whole`` for integers.

    Raises
    ------
    InputError
        Naming the first entry that is not a finite number in the range.
    """
    check = integer if whole else number
    limits: dict[str, Any] = {"low": low, "high": high} | ({} if whole else {"above": above})
    array = _fast_array(values, whole)
    if array is None or not _all_within(array, low, high, above):
        if isinstance(values, str | bytes | dict) or not hasattr(values, "__len__"):
            raise InputError(f"{field}: found {shown(values)}, expected a list of numbers")
        if getattr(values, "ndim", 1) != 1:
            raise InputError(f"{field}: found {values.ndim} dimensions, expected one")
        listed = [check(f"{field}[{i}]", value, **limits) for i, value in enumerate(values)]
        array = np.array(listed, dtype=np.int64 if whole else np.float64)
    array.setflags(write=False)
    return array


def matching_lengths(arrays: dict[str, NDArray[Any]]) -> int:
    """Return the common length of ``arrays``; raise naming the first that differs."""
    first = next(iter(arrays))
    expected = len(arrays[first])
    for key, array in arrays.items():
        if len(array) != expected:
            raise InputError(f"{key}: found {len(array)} entries, expected {expected} as in {first}")
    return expected


def increasing_shares(field: str, values: Sequence[float]) -> tuple[float, ...]:
    """Return ``values`` as strictly increasing shares from 0 to 1, both ends included."""
    shares = tuple(float(v) for v in frozen_array(field, values, low=0, high=1))
    if not shares or shares[0] != 0 or shares[-1] != 1:
        raise InputError(f"{field}: found {shown(list(shares))}, expected shares from 0 to 1, both included")
    for i in range(1, len(shares)):
        if shares[i] <= shares[i - 1]:
            raise InputError(f"{field}[{i}]: found {shares[i]}, expected more than {shares[i - 1]}")
    return shares


def _range(low: float, high: float) -> str:
    if math.isinf(high):
        return f"at least {low:g}"
    return f"at most {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"


def _fast_array(values: Any, whole: bool) -> NDArray[Any] | None:
    """Return an array or list of plain numbers as an int64 or float64 copy where its type fits, else None."""
    if isinstance(values, list) and set(map(type, values)) <= {int, float}:
        try:
            values = np.array(values, dtype=np.float64)
        except OverflowError:
            return None
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind not in "iuf":
        return None
    if whole and values.dtype.kind == "f" and not np.all(values == np.rint(values)):
        return None
    with np.errstate(invalid="ignore"):
        return np.array(values, dtype=np.int64 if whole else np.float64)


def _all_within(array: NDArray[Any], low: float, high: float, above: float | None) -> bool:
    inside = np.isfinite(array) & (array >= low) & (array <= high)
    if above is not None:
        inside &= array > above
    return bool(np.all(inside))
