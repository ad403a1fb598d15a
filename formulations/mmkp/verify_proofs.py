"""Verifies proof files of MMKP bounds: reads their records and hands the prices to ``verify.py``."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from formulations.mmkp.verify import exact_bound
from instances.decimals import as_decimal
from instances.errors import InputError, integer, shown
from instances.mmkp import MmkpInstance
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["verify_lp_bound"]


def verify_lp_bound(instance: MmkpInstance, header: Header, records: Iterator[dict[str, Any]]) -> Fraction:
    """Return the bound when the prices prove it.

    Raises
    ------
    ProofError
        When they prove less.
    InputError
        For a record of another form, or a resource that there is not.
    """
    prices: dict[int | str, float] = {}
    for record in records:
        if set(record) != {"resource", "price"}:
            raise InputError(f"found {shown(record)}, expected a resource and its price")
        resource = integer("resource", record["resource"], low=0, high=instance.n_resources - 1)
        if resource in prices:
            raise ProofError(f"resource {resource} has two prices")
        price = from_rational(record["price"])
        prices[resource] = float(price)
        if as_decimal(prices[resource]) != price:
            raise InputError(f"resource {resource}: found {shown(record['price'])}, expected a decimal")
    proved = exact_bound(instance, prices)
    if proved > header.bound:
        raise ProofError(f"the prices prove {float(proved)!r} only, not {float(header.bound)!r}")
    return header.bound
