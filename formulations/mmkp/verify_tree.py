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
from instances.errors import InputError, shown
from instances.mmkp import MmkpInstance
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["verify_tree"]

ENTERED = -1  # in place of prices
MAX_PLACES = 1024  # prices of a depth that are kept
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


@dataclass(frozen=True)
class _Prices:
    """Prices of a depth, and Σ_{g to come} max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk)."""

    each: list[int]  # (m,)
    rest: int


class _Tree:
    """The groups in the tree's order, their smallest weights taken off from items and capacities alike.

    What is left suffices for the groups to come exactly as long as it is not negative.
    """

    def __init__(self, groups: list[list[_Item]], capacities: list[int], wanted: int) -> None:
        self.wanted, self.left, self.groups = wanted, capacities, list[list[_Item]]()
        for group in groups:
            least = [min(column) for column in zip(*(item.weights for item in group), strict=True)]
            self.groups.append([_Item(i.value, list(map(sub, i.weights, least))) for i in group])
            self.left = list(map(sub, self.left, least))
        self.kept: dict[tuple[int, int], _Prices] = {}  # by depth and place
        self.new: list[int] | None = None  # prices that come with the node at hand

    def verify(self, records: Records) -> None:
        """Follow the tree; raise at the first node that stays open."""
        if min(self.left, default=0) < 0:
            return
        nodes, number, n = self._nodes(records), 0, len(self.groups)
        path = [(0, self.left, iter(self.groups[0]))]  # value, what is left, items to try
        while path:
            value, left, items = path[-1]
            item = next(items, None)
            if item is None:
                path.pop()
                continue
            value, left, depth = value + item.value, list(map(sub, left, item.weights)), len(path)
            if min(left, default=0) < 0:
                continue
            if depth == n:
                if value >= self.wanted:
                    raise ProofError(f"behind node {number}: a choice is worth more than the bound")
                continue
            number += 1
            place = next(nodes, None)
            if place == ENTERED:
                path.append((value, left, iter(self.groups[depth])))
            elif not self._cut_off(depth, place, value, left):
                raise ProofError(f"node {number}, depth {depth}: not cut off (prices {place})")
        if next(nodes, None) is not None:
            raise ProofError(f"the tree is complete with node {number}, but more follow")

    def _cut_off(self, depth: int, place: int | None, value: int, left: list[int]) -> bool:
        """Return whether there are prices at this place that cut the node off; keep new ones."""
        if place is None:
            return False
        if self.new is not None:
            rest = sum(max(item.surplus(self.new) for item in group) for group in self.groups[depth:])
            self.kept[depth, place], self.new = _Prices(self.new, rest), None
        prices = self.kept.get((depth, place))
        return prices is not None and value + _product(prices.each, left) + prices.rest < self.wanted

    def _nodes(self, records: Records) -> Iterator[int]:
        """Yield what becomes of each node: ENTERED, or the place of the prices that cut it off."""
        for record in records:
            nodes = record.get("nodes")
            if not set(record) <= {"prices", "nodes"} or not (isinstance(nodes, list) and nodes):
                raise InputError(f"found {shown(record)}, expected nodes, and prices of the first one")
            if any(type(node) is not int or not ENTERED <= node < MAX_PLACES for node in nodes):
                raise InputError(
                    f"nodes: found {shown(nodes)}, expected integers from -1 to {MAX_PLACES - 1}"
                )
            if "prices" in record:
                self.new = _prices(record["prices"], len(self.left))
                if nodes[0] == ENTERED:
                    raise InputError(f"found {shown(record)}, expected a first node that its prices cut off")
            yield from nodes


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
    return units, _prices(record["prices"], resources)


def _prices(found: Any, resources: int) -> list[int]:
    if not isinstance(found, list) or len(found) != resources or any(type(p) is not int for p in found):
        raise InputError(f"prices: found {shown(found)}, expected {resources} integers")
    if not all(0 <= price < LARGEST_PRICE for price in found):
        raise ProofError(f"prices: found {shown(found)}, expected integers from 0 to 2**63 − 1")
    return found


def _order(record: dict[str, Any], groups: int) -> list[int]:
    """Return the order in which the tree decides the groups."""
    found = record.get("order")
    if set(record) != {"order"} or not isinstance(found, list) or any(type(g) is not int for g in found):
        raise InputError(f"found {shown(record)}, expected the order of groups")
    if sorted(found) != list(range(groups)):
        raise ProofError(f"order: found {shown(found)}, expected each of {groups} groups once")
    return found
