"""Groups of a branched clairvoyant bound, read with suspicion: no user twice, and proper trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from instances.errors import InputError, integer, number, shown
from instances.handover import MAX_SLOTS, HandoverTrace, as_decimal

__all__ = ["Group", "Interval", "checked_groups"]

Interval = tuple[Fraction, Fraction]

WHOLE = (Fraction(0), Fraction(1))
MOST_SLOTS = 10**6  # of all groups


@dataclass(frozen=True)
class Leaf:
    """A node without children."""

    prices: tuple[Fraction, ...]  # of each run, accuracy a bit


@dataclass(frozen=True)
class Split:
    """A node that splits the fractions of a user in two."""

    user: int
    at: Fraction
    below: int  # node of the fractions up to ``at``
    above: int


@dataclass(frozen=True)
class Group:
    """Users and runs of slots with a tree of prices."""

    users: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]  # first slot and number of slots
    nodes: tuple[Leaf | Split, ...]

    def slots(self) -> list[int]:
        """Return the slots of all runs."""
        return [first + k for first, count in self.runs for k in range(count)]

    def slot_prices(self, prices: Sequence[Fraction]) -> dict[int, Fraction]:
        """Return the price of each slot, given that of each run."""
        pairs = zip(self.runs, prices, strict=True)
        return {first + k: price for (first, count), price in pairs for k in range(count)}

    def leaves(self) -> Iterator[tuple[dict[int, Interval], dict[int, Fraction]]]:
        """Yield, for each leaf, the intervals of the users that were split, and the prices by slot."""
        waiting: list[tuple[int, dict[int, Interval]]] = [(0, {})]
        while waiting:
            k, intervals = waiting.pop()
            node = self.nodes[k]
            if isinstance(node, Leaf):
                yield intervals, self.slot_prices(node.prices)
                continue
            low, high = intervals.get(node.user, WHOLE)
            if node.at >= low:
                waiting.append((node.below, intervals | {node.user: (low, min(node.at, high))}))
            if node.at <= high:
                waiting.append((node.above, intervals | {node.user: (max(node.at, low), high)}))


def checked_groups(instance: HandoverTrace, documents: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Return the groups: none has a user of another one, or a slot twice.

    Raises
    ------
    InputError
        Naming what is wrong with them.
    """
    groups: list[Group] = []
    users, slots = set[int](), 0
    for g, document in enumerate(_listed("groups", documents)):
        group = _checked_group(f"groups[{g}]", instance, document, MOST_SLOTS - slots)
        own = group.slots()
        if users & set(group.users) or len(set(group.users)) < len(group.users):
            raise InputError(f"groups[{g}].users: found a user a second time, expected no user twice")
        if len(set(own)) < len(own):
            raise InputError(f"groups[{g}].runs: found a slot a second time, expected no slot twice")
        users |= set(group.users)
        slots += len(own)
        groups.append(group)
    return groups


def _checked_group(place: str, instance: HandoverTrace, document: Any, most_slots: int) -> Group:
    keys = ("users", "runs", "nodes")
    if not isinstance(document, Mapping) or set(document) != set(keys):
        raise InputError(f"{place}: found {shown(document)}, expected {', '.join(keys)}")
    rows = {key: _listed(f"{place}.{key}", document[key]) for key in keys}
    last = len(instance.users) - 1
    users = tuple(integer(f"{place}.users", i, low=0, high=last) for i in rows["users"])
    runs = tuple(_checked_run(f"{place}.runs[{r}]", run) for r, run in enumerate(rows["runs"]))
    if sum(count for _, count in runs) > most_slots:
        raise InputError(f"{place}.runs: found more than {most_slots} slots, expected at most as many")
    nodes = tuple(
        _checked_node(f"{place}.nodes[{k}]", node, frozenset(users), len(runs))
        for k, node in enumerate(rows["nodes"])
    )
    _check_tree(f"{place}.nodes", nodes)
    return Group(users, runs, nodes)


def _checked_run(place: str, run: Any) -> tuple[int, int]:
    if len(_listed(place, run)) != 2:
        raise InputError(f"{place}: found {shown(run)}, expected a first slot and a number of slots")
    return integer(place, run[0], low=0, high=2 * MAX_SLOTS), integer(place, run[1], low=1, high=MOST_SLOTS)


def _checked_node(place: str, node: Any, users: frozenset[int], runs: int) -> Leaf | Split:
    if isinstance(node, Mapping) and set(node) == {"prices"}:
        prices = _listed(f"{place}.prices", node["prices"])
        if len(prices) != runs:
            raise InputError(f"{place}.prices: found {len(prices)} entries, expected {runs}, one a run")
        return Leaf(tuple(as_decimal(number(f"{place}.prices", price, low=0)) for price in prices))
    if not isinstance(node, Mapping) or set(node) != {"user", "at", "below", "above"}:
        raise InputError(f"{place}: found {shown(node)}, expected prices, or user, at, below and above")
    user = integer(f"{place}.user", node["user"], low=0, high=2**53)
    if user not in users:
        raise InputError(f"{place}.user: found {user}, expected one of the group's users")
    at = as_decimal(number(f"{place}.at", node["at"], low=0, high=1))
    below, above = (integer(f"{place}.{key}", node[key], low=0, high=2**53) for key in ("below", "above"))
    return Split(user, at, below, above)


def _check_tree(place: str, nodes: Sequence[Leaf | Split]) -> None:
    """Refuse nodes that do not form a tree with root 0: each other one has one parent, before it."""
    parents = [0] * len(nodes)
    for k, node in enumerate(nodes):
        for child in (node.below, node.above) if isinstance(node, Split) else ():
            if not k < child < len(nodes):
                raise InputError(f"{place}[{k}]: found child {child}, expected {k + 1} to {len(nodes) - 1}")
            parents[child] += 1
    if not nodes or any(count != 1 for count in parents[1:]):
        raise InputError(f"{place}: found no tree, expected a root, and one parent for every other node")


def _listed(place: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{place}: found {shown(value)}, expected a list")
    return value
