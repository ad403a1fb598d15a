"""A case's tree built in integers, for where the search's fails by rounding: no multipliers, more nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from formulations.balance.verify import Case, Node
from instances.proof_files import ProofError

__all__ = ["exact_tree"]

ON_USER = 2  # in place of a mode: the split is of a user's options


def exact_tree(case: Case) -> Iterator[dict[str, Any]]:
    """Yield the records of a tree that closes the case by the verifier's own conclusions.

    Raises
    ------
    ProofError
        When a node stays open with everything settled: that is a decision of the case.
    """
    stack: list[Node | None] = [case.root()]
    while stack:
        node = stack.pop()
        if node is None or case.closes(node, []):
            yield {}
            continue
        split = _widest(case, node) or _undecided(node)
        if split is None:
            raise ProofError(f"a decision of {case.wanted} users turned up, above the bound")
        yield {"split": split}
        stack += case.children(node, split, case.name)


def _widest(case: Case, node: Node) -> list[int] | None:
    """Return the split in the middle of the threshold with the most values left, None if all are settled."""
    best: list[int] = []
    chosen = None
    for mode, side in enumerate(case.sides):
        for axis, row in enumerate(side.values if side else ()):
            low, high = node.lo[mode][axis], node.hi[mode][axis]
            pool = [k for k, may in enumerate(node.may) if may & (1 << mode) and low <= row[k] < high]
            by_value = {row[k]: k for k in pool}
            users = [by_value[value] for value in sorted(by_value)]
            if len(users) > len(best):
                best, chosen = users, [mode, axis, users[(len(users) - 1) // 2]]
    return chosen


def _undecided(node: Node) -> list[int] | None:
    """Return the split of the first user who may still do several things."""
    for k, may in enumerate(node.may):
        if may & (may - 1):
            return [ON_USER, (may & -may).bit_length() - 1, k]
    return None
