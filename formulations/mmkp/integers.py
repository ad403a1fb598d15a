"""Decimals counted in whole units, so that methods compare sums exactly; the checker does not use it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError
from instances.mmkp import MmkpInstance

__all__ = ["IntegerMmkp", "in_integers", "whole_units"]

MAX_UNITS = 10**100
_EXACT_FLOAT = 2**53
_EXACT_SUM = 2**62


@dataclass(frozen=True, eq=False)
class IntegerMmkp:
    """An MMKP with values in whole ``value_unit`` and each resource in whole units of its own."""

    group_start: NDArray[np.int64]  # (n+1,)
    group: NDArray[np.int64]  # (items,) group of each item
    values: NDArray[np.int64]  # (items,); int64, or Python integers where sums could overflow
    weights: NDArray[np.int64]  # (items, m); likewise
    capacities: NDArray[np.int64]  # (m,); likewise
    value_unit: Fraction

    @property
    def n_groups(self) -> int:
        """Number of groups n."""
        return len(self.group_start) - 1

    def value(self, units: int) -> float:
        """Return the double nearest to a total value given in units."""
        return float(units * self.value_unit)


def in_integers(instance: MmkpInstance) -> IntegerMmkp:
    """Return the instance in whole units: the largest unit that divides every decimal of a row.

    Raises
    ------
    InputError
        When a row's decimals span more than 100 digits.
    """
    n = instance.n_groups
    values, unit = whole_units("values", instance.values, n)
    columns = []
    for k in range(instance.n_resources):
        row = np.append(instance.weights[:, k], instance.capacities[k])
        columns.append(whole_units(f"weights of resource {k + 1}", row, n)[0])
    dtype = object if any(column.dtype == object for column in columns) else np.int64
    table = np.empty((len(values) + 1, len(columns)), dtype=dtype)
    for k, column in enumerate(columns):
        table[:, k] = column
    group = np.repeat(np.arange(n), np.diff(instance.group_start))
    return IntegerMmkp(instance.group_start, group, values, table[:-1], table[-1], unit)


def whole_units(field: str, numbers: NDArray[np.float64], terms: int) -> tuple[NDArray[np.int64], Fraction]:
    """Return integers and the unit, a fraction, with ``numbers = integers · unit`` as decimals.

    The integers are int64 if a sum of ``terms`` of them is safe, else Python integers in an object array.
    """
    distinct, place = np.unique(numbers, return_inverse=True)
    decimals = [_as_decimal(x) for x in distinct.tolist()]
    denominator = math.lcm(*(d.denominator for d in decimals))
    scaled = [int(d * denominator) for d in decimals]
    divisor = math.gcd(*scaled) or 1
    whole = [x // divisor for x in scaled]
    largest = max(whole, default=0)
    if largest > MAX_UNITS:
        raise InputError(f"{field}: found decimals that span more than 100 digits, expected fewer")
    dtype = np.int64 if largest * max(terms, 1) < _EXACT_SUM else object
    return np.array(whole, dtype=dtype)[place], Fraction(divisor, denominator)


def _as_decimal(number: float) -> Fraction:
    return Fraction(int(number)) if number.is_integer() and number < _EXACT_FLOAT else Fraction(repr(number))
