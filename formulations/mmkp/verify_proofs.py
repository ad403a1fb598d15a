"""Verifies proof files of MMKP bounds: prices alone by ``verify.py``, a tree by ``verify_tree.py``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from formulations.mmkp.verify import exact_bound
from formulations.mmkp.verify_tree import verify_tree
from instances.decimals import as_decimal
from instances.errors import InputError, integer, shown
from instances.mmkp import MmkpInstance
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["verify_lp_bound", "verify_mmkp"]


def verify_mmkp(instance: MmkpInstance, header: Header, records: Iterator[dict[str, Any]]) -> Fraction:
    """Return the bound when its proof holds; the first record tells which kind of proof it is.

    Raises
    ------
    ProofError
        With the first step that fails.
    InputError
        For a record of another form.
    """
    first = next(records, None)
    if first is None:
        return verify_lp_bound(instance, header, records)
    verify = verify_tree if "unit" in first else verify_lp_bound
    return verify(instance, header, itertools.chain((first,), records))


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
