"""Writes the proofs of handover bounds: the price of a slot; the prices of a horizon and its trees."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from formulations.handover.verify import verified_bound, verified_slot_bound
from instances.errors import InputError
from instances.handover import HandoverTrace, SlotInstance, as_decimal
from instances.proof_files import as_rational

__all__ = ["prove_clairvoyant", "prove_water_filling"]

Proof = tuple[Fraction, Iterator[dict[str, Any]]]


def prove_water_filling(instance: SlotInstance, bound: float | None, certificate: dict[str, Any]) -> Proof:
    """Return the least bound that a slot's price proves for decisions that lift everybody, and its record.

    Raises
    ------
    InputError
        Where not every user can reach its anchor: the price is one of problem (4), which has no solution.
    """
    if "price_per_bit" not in certificate:
        raise InputError("--proof: found a slot in which not everybody reaches its anchor, expected a price")
    price = as_decimal(certificate["price_per_bit"])
    records = iter([{"price": as_rational(price)}])
    return Fraction(verified_slot_bound(instance, price)), records


def prove_clairvoyant(instance: HandoverTrace, bound: float | None, certificate: dict[str, Any]) -> Proof:
    """Return the least bound that a horizon's prices and trees prove, and their records."""
    prices, groups = certificate["prices"], certificate.get("groups", [])
    return Fraction(verified_bound(instance, prices, groups)), _records(prices, groups)


def _records(prices: dict[str, float], groups: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for slot, price in prices.items():
        yield {"slot": int(slot), "price": _rational(price)}
    for group in groups:
        yield {"users": group["users"], "runs": group["runs"], "nodes": len(group["nodes"])}
        for node in group["nodes"]:
            if "prices" in node:
                yield {"prices": [_rational(price) for price in node["prices"]]}
            else:
                yield node | {"at": _rational(node["at"])}


def _rational(value: float) -> list[str]:
    return as_rational(as_decimal(value))
