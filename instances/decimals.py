"""Numbers as the decimals that they print as."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["as_decimal"]


def as_decimal(value: float) -> Fraction:
    """Return the number that ``value`` prints as: 0.1 is one tenth, not its nearest double."""
    return Fraction(repr(float(value)))
