"""Writes the proof of an MMKP bound: the prices of its resources."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from formulations.mmkp.verify import exact_bound
from instances.decimals import as_decimal
from instances.errors import InputError
from instances.mmkp import MmkpInstance
from instances.proof_files import as_rational

__all__ = ["prove_lp_bound"]


def prove_lp_bound(
    instance: MmkpInstance, bound: float | None, certificate: dict[str, Any]
) -> tuple[Fraction, Iterator[dict[str, Any]]]:
    """Return the bound that the prices prove, exactly, and their records.

    Raises
    ------
    InputError
        Without prices.
    """
    if "prices" not in certificate:
        raise InputError("--proof: found a run without prices, expected one with a bound")
    prices = certificate["prices"]
    records = ({"resource": int(k), "price": as_rational(as_decimal(p))} for k, p in prices.items())
    return exact_bound(instance, prices), records
