"""Verifies a tree that bounds an MMKP's optimum, in Python's integers and without a solver.

Totals are whole multiples of the largest unit that divides every value, so a choice worth more than the
bound is worth at least ``wanted``, the next multiple. The proof shows that there is none:

- at the root's prices λ ≥ 0 the bound U = Σ_k λ_k W_k + Σ_g max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk) falls by an
  item's loss, its distance from its group's maximum, for the choices that take it. Items with
  U − loss < wanted are struck out; if U < wanted, or a group has no item left, nothing remains to be shown;
- the groups, in an order of the proof's, are chosen depth first, each one's items by growing loss. A child
  in which some resource does not suffice for the smallest weights of the groups to come leads to no choice;
  a complete choice must be worth less than ``wanted``; any other child is entered, or cut off by prices
  λ ≥ 0 at which value + Σ_k λ_k left_k + Σ_{g to come} max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk) < wanted.

Both steps are weak duality. A bound below 0 says that no choice fits at all, for values are at least 0. The
verifier holds one path of the tree, and the prices not yet replaced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from operator import mul, sub
from typing import Any

from instances.decimals import as_decimal
from instances.errors import InputError, integer, shown
from instances.mmkp import MmkpInstance
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["verify_tree"]

ENTERED = -1  # in place of prices
MAX_PLACES = 1024  # prices of a depth
MAX_SCALE_BITS = 4096
LARGEST_PRICE = 2**63
Records = Iterator[dict[str, Any]]


def verify_tree(instance: MmkpInstance, header: Header, records: Records) -> Fraction:
    """Return the bound when its proof holds.

    Raises
    ------
    ProofError
        With the first step that fails.
    InputError
        For a record of another form.
    """
    units, prices = _root_record(next(records, {}), instance.n_resources)
    problem = _scaled(instance, units)
    wanted = problem.above(header.bound)
    groups = problem.surviving(prices, wanted)
    if groups is not None:
        order = _order(next(records, {}), len(groups))
        _Tree([groups[g] for g in order], problem.capacities, wanted).verify(records)
    if (extra := next(records, None)) is not None:
        raise ProofError(f"found {shown(extra)} behind the last step")
    return header.bound


@dataclass(frozen=True)
class _Item:
    value: int
    weights: list[int]  # (m,)

    def surplus(self, prices: list[int]) -> int:
        """Return v − Σ_k λ_k w_k."""
        return self.value - _product(prices, self.weights)


@dataclass(frozen=True)
class _Problem:
    """The instance in integers: values in 1/scale, weights in the value, in 1/scale, of a price of 1."""

    groups: list[list[_Item]]
    capacities: list[int]  # (m,)
    scale: int

    def above(self, bound: Fraction) -> int:
        """Return the smallest total above the bound: a multiple of the unit of all values."""
        unit = math.gcd(*(item.value for group in self.groups for item in group)) or 1
        return (math.floor(bound * self.scale / unit) + 1) * unit

    def surviving(self, prices: list[int], wanted: int) -> list[list[_Item]] | None:
        """Return each group's items that are not struck out, by growing loss; None if nothing is left."""
        surplus = [[item.surplus(prices) for item in group] for group in self.groups]
        bound = _product(prices, self.capacities) + sum(map(max, surplus))
        kept = []
        for group, values in zip(self.groups, surplus, strict=True):
            ranked = sorted(zip(values, group, strict=True), key=lambda pair: -pair[0])
            top = ranked[0][0]
            kept.append([item for value, item in ranked if bound - (top - value) >= wanted])
        return kept if bound >= wanted and all(kept) else None


def _scaled(instance: MmkpInstance, units: list[Fraction]) -> _Problem:
    """Return the instance in integers over one common denominator."""
    start = [int(s) for s in instance.group_start]
    values = [as_decimal(v) for v in instance.values]
    weights = [[as_decimal(w) * u for w, u in zip(row, units, strict=True)] for row in instance.weights]
    capacities = [as_decimal(c) * u for c, u in zip(instance.capacities, units, strict=True)]
    scale = 1
    for numbers in (values, capacities, *weights):
        scale = math.lcm(scale, *(number.denominator for number in numbers))
        if scale.bit_length() > MAX_SCALE_BITS:
            raise InputError(
                f"unit: found a common denominator above 2**{MAX_SCALE_BITS}, expected a smaller one"
            )
    items = [
        _Item(int(v * scale), [int(w * scale) for w in row]) for v, row in zip(values, weights, strict=True)
    ]
    groups = [items[a:b] for a, b in itertools.pairwise(start)]
    return _Problem(groups, [int(c * scale) for c in capacities], scale)


class _Tree:
    """The groups in the tree's order, their smallest weights taken off from items and capacities alike.

    What is left fits the groups to come exactly as long as it is not negative.
    """

    def __init__(self, groups: list[list[_Item]], capacities: list[int], wanted: int) -> None:
        self.wanted, self.left, self.groups = wanted, capacities, []
        for group in groups:
            least = [min(column) for column in zip(*(item.weights for item in group), strict=True)]
            self.groups.append([_Item(i.value, list(map(sub, i.weights, least))) for i in group])
            self.left = list(map(sub, self.left, least))
        self.prices: dict[
            tuple[int, int], tuple[list[int], int]
        ] = {}  # by depth and place, with its constant

    def verify(self, records: Records) -> None:
        """Follow the tree; raise at the first node that stays open."""
        if min(self.left, default=0) < 0:
            return
        nodes, number, last = self._nodes(records), 0, len(self.groups) - 1
        path = [(0, self.left, iter(self.groups[0]))]  # value, what is left, items to try
        while path:
            value, left, items = path[-1]
            item = next(items, None)
            if item is None:
                path.pop()
                continue
            total, after = value + item.value, list(map(sub, left, item.weights))
            if min(after, default=0) < 0:
                continue
            depth = len(path)
            if depth > last:
                if total >= self.wanted:
                    raise ProofError(f"behind node {number}: a choice is worth more than the bound")
                continue
            number += 1
            place = next(nodes, None)
            if place == ENTERED:
                path.append((total, after, iter(self.groups[depth])))
                continue
            prices, constant = self._prices(depth, place, number)
            if total + _product(prices, after) + constant >= self.wanted:
                raise ProofError(f"node {number}, depth {depth}: price {place} does not cut it off")
        if next(nodes, None) is not None:
            raise ProofError(f"the tree is complete with node {number}, but more follow")

    def _prices(self, depth: int, place: int | None, number: int) -> tuple[list[int], int]:
        """Return the prices of a node that is cut off."""
        if place is None:
            raise ProofError(f"node {number}, depth {depth}: the proof ends here")
        if (depth, place) not in self.prices:
            raise ProofError(f"node {number}, depth {depth}: there is no price {place}")
        return self.prices[depth, place]

    def _nodes(self, records: Records) -> Iterator[int]:
        """Yield what becomes of each node, and keep the prices that stand between."""
        for record in records:
            if set(record) == {"nodes"}:
                nodes = record["nodes"]
                if not isinstance(nodes, list) or not nodes or any(type(node) is not int for node in nodes):
                    raise InputError(f"nodes: found {shown(nodes)}, expected integers")
                yield from nodes
            elif set(record) == {"depth", "place", "prices"}:
                self._keep(record)
            else:
                raise InputError(f"found {shown(record)}, expected nodes, or prices with depth and place")

    def _keep(self, record: dict[str, Any]) -> None:
        """Keep prices with the constant of their bound, Σ_{g ≥ depth} max_j (v_j − Σ_k λ_k w_jk)."""
        depth = integer("depth", record["depth"], low=1, high=len(self.groups) - 1)
        place = integer("place", record["place"], low=0, high=MAX_PLACES - 1)
        prices = _prices("prices", record["prices"], len(self.left))
        constant = sum(max(item.surplus(prices) for item in group) for group in self.groups[depth:])
        self.prices[depth, place] = prices, constant


def _product(prices: list[int], weights: list[int]) -> int:
    total: int = sum(map(mul, prices, weights))
    return total


def _root_record(record: dict[str, Any], resources: int) -> tuple[list[Fraction], list[int]]:
    """Return each resource's unit of prices, and the root's prices."""
    if set(record) != {"unit", "prices"}:
        raise InputError(f"found {shown(record)}, expected the root's unit and prices")
    found = record["unit"]
    if not isinstance(found, list) or len(found) != resources:
        raise InputError(f"unit: found {shown(found)}, expected {resources} rationals")
    units = [from_rational(pair) for pair in found]
    if any(unit <= 0 for unit in units):
        raise ProofError("a unit of prices is not positive")
    return units, _prices("prices", record["prices"], resources)


def _prices(field: str, found: Any, resources: int) -> list[int]:
    if not isinstance(found, list) or len(found) != resources or any(type(p) is not int for p in found):
        raise InputError(f"{field}: found {shown(found)}, expected {resources} integers")
    if not all(0 <= price < LARGEST_PRICE for price in found):
        raise ProofError(f"{field}: found {shown(found)}, expected integers from 0 to 2**63 − 1")
    return found


def _order(record: dict[str, Any], groups: int) -> list[int]:
    """Return the order in which the tree decides the groups."""
    found = record.get("order")
    if set(record) != {"order"} or not isinstance(found, list) or any(type(g) is not int for g in found):
        raise InputError(f"found {shown(record)}, expected the order of groups")
    if sorted(found) != list(range(groups)):
        raise ProofError(f"order: found {shown(found)}, expected each of {groups} groups once")
    return found
