"""Verifies proof files of handover bounds: reads records and hands prices and trees to ``verify.py``."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from formulations.handover.verify import verified_bound, verified_slot_bound
from instances.errors import InputError, integer, shown
from instances.handover import HandoverTrace, SlotInstance, as_decimal
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["verify_clairvoyant", "verify_water_filling"]

MOST_NODES = 10**7  # of a group
Records = Iterator[dict[str, Any]]


def verify_water_filling(instance: SlotInstance, header: Header, records: Records) -> Fraction:
    """Return the bound of decisions that lift everybody to its anchor when its price proves it.

    Raises
    ------
    ProofError
        When the price proves less.
    InputError
        For a record of another form.
    """
    record = next(records, {})
    if set(record) != {"price"} or next(records, None) is not None:
        raise InputError(f"found {shown(record)}, expected one record with a price")
    price = _fraction("price", record["price"])
    if price < 0:
        raise ProofError(f"price {price} is below 0")
    return _at_most(header, verified_slot_bound(instance, price))


def verify_clairvoyant(instance: HandoverTrace, header: Header, records: Records) -> Fraction:
    """Return the bound when the prices and the trees prove it; raises as ``verify_water_filling``."""
    prices: dict[int | str, float] = {}
    groups: list[dict[str, Any]] = []
    for record in records:
        if set(record) == {"slot", "price"} and not groups:
            slot = integer("slot", record["slot"], low=-(2**53), high=2**53)
            if slot in prices:
                raise ProofError(f"slot {slot} has two prices")
            prices[slot] = _double(f"slot {slot}: price", record["price"])
        elif set(record) == {"users", "runs", "nodes"}:
            count = integer("nodes", record["nodes"], low=1, high=MOST_NODES)
            nodes = [_node(records, f"groups[{len(groups)}].nodes[{k}]") for k in range(count)]
            groups.append(record | {"nodes": nodes})
        else:
            raise InputError(f"found {shown(record)}, expected a slot's price or a group")
    return _at_most(header, verified_bound(instance, prices, groups))


def _at_most(header: Header, verified: float) -> Fraction:
    if verified > header.bound:
        raise ProofError(f"the prices prove {verified!r} only, not {float(header.bound)!r}")
    return header.bound


def _node(records: Records, place: str) -> dict[str, Any]:
    record = next(records, None)
    if record is None:
        raise ProofError(f"{place} is missing")
    if "prices" in record and isinstance(record["prices"], list):
        return record | {"prices": [_double(f"{place}.prices", pair) for pair in record["prices"]]}
    if "at" in record:
        return record | {"at": _double(f"{place}.at", record["at"])}
    raise InputError(f"{place}: found {shown(record)}, expected prices, or user, at, below and above")


def _fraction(place: str, pair: Any) -> Fraction:
    try:
        return from_rational(pair)
    except InputError as error:
        raise InputError(f"{place}: {error}") from None


def _double(place: str, pair: Any) -> float:
    """Return the double that prints as a rational."""
    value = _fraction(place, pair)
    try:
        double = float(value)
    except OverflowError:
        raise InputError(f"{place}: found more than a double holds, expected less") from None
    if as_decimal(double) != value:
        raise InputError(f"{place}: found {shown(pair)}, expected a decimal of at most 17 digits")
    return double
