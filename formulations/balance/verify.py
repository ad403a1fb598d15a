"""Verifies that no decision of a BALANCE instance serves more than a bound, in integers and without a solver.

With W = bound + 1 it is enough to rule out decisions that serve exactly W users, for dropping users keeps a
decision feasible. At each compute share z they split by the size n of the AD batch; decisions of one mode
alone are best at z = 1 or z = 0, which give that mode most. Each case (z, n, W − n) has a tree:

- a node holds an interval for each of ten thresholds (in each mode the longest input, largest accepted
  length, most steps, longest upload, earliest deadline) and what each user may do. The verifier first draws
  its own conclusions (``_narrow``);
- multipliers λ ≥ 0 then bound by weak duality how many users the five rows of ``_Rows`` let in; below W the
  node is closed, and options that would take it below W are struck out;
- otherwise the node is split, and both children must be closed. The children cover it: a threshold's value
  is some user's, and a user does what is chosen or something else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from formulations.balance.exact_costs import ExactBatch, exact_sides, exact_users
from instances.balance import BalanceInstance
from instances.decimals import as_decimal
from instances.errors import InputError, integer, shown
from instances.proof_files import Header, ProofError, from_rational

__all__ = ["Case", "cases", "verify_balance"]

AD, SD, NOBODY = 1, 2, 4  # what a user may do, as bits
BITS = (AD, SD)
AXES = 5
ROWS = 5
MAX_ROUNDS = 100
Records = Iterator[dict[str, Any]]


def verify_balance(instance: BalanceInstance, header: Header, records: Records) -> Fraction:
    """Return the bound when its proof holds.

    Raises
    ------
    ProofError
        With the first step that fails.
    InputError
        For a record of another form.
    """
    if header.bound.denominator != 1 or header.bound < 0:
        raise ProofError(f"bound {header.bound} is no number of users")
    for case in cases(instance, int(header.bound) + 1):
        record = next(records, {})
        if record != case.record:
            raise ProofError(f"case {case.name} is missing: found {shown(record)}")
        case.verify(records)
    if (extra := next(records, None)) is not None:
        raise ProofError(f"found {shown(extra)} behind the last case")
    return header.bound


def cases(instance: BalanceInstance, wanted: int) -> Iterator[Case]:
    """Yield the cases that a proof must close so that nobody serves ``wanted`` users, in order."""
    if wanted > instance.n_users:
        return
    users = exact_users(instance)
    for share in instance.server.compute_shares:
        ad, sd, room = exact_sides(instance, users, as_decimal(share))
        for sizes in _splits(share, wanted):
            yield Case(ad, sd, room, share, sizes, instance.n_users)


def _splits(share: float, wanted: int) -> list[tuple[int, int]]:
    if share in (0.0, 1.0):
        return [(0, wanted) if share == 0.0 else (wanted, 0)]
    return [(n, wanted - n) for n in range(1, wanted)]


@dataclass
class Node:
    """What is still possible; ``lo`` and ``hi`` hold five values for each mode."""

    lo: list[list[int]]
    hi: list[list[int]]
    may: list[int]  # (K,) bits

    def copy(self) -> Node:
        return Node([row[:] for row in self.lo], [row[:] for row in self.hi], self.may[:])


class Case:
    """One compute share and one pair of batch sizes."""

    def __init__(
        self,
        ad: ExactBatch | None,
        sd: ExactBatch | None,
        room: int,
        share: float,
        sizes: tuple[int, int],
        users: int,
    ) -> None:
        self.sides = (ad if sizes[0] else None, sd if sizes[1] else None)
        self.room, self.share, self.sizes, self.users, self.wanted = room, share, sizes, users, sum(sizes)
        self.name = f"share {share}, sizes {sizes}"
        self.record = {"share": share, "sizes": list(sizes)}  # what announces the case in a proof

    def root(self) -> Node:
        """Return the node that allows everything."""
        lo = [[min(row) for row in side.values] if side else [] for side in self.sides]
        hi = [[max(row) for row in side.values] if side else [] for side in self.sides]
        return Node(lo, hi, [AD | SD | NOBODY] * self.users)

    def verify(self, records: Records) -> None:
        """Follow the tree of the next records; raise at the first node that stays open."""
        stack: list[Node | None] = [self.root()]
        done = 0
        while stack:
            node, record = stack.pop(), next(records, None)
            done += 1
            where = f"{self.name}, node {done}"
            if record is None:
                raise ProofError(f"{where}: the proof ends here")
            rounds, split = _content(record, where)
            still = None if node is None or self.closes(node, rounds) else node
            if split is not None:
                stack += self.children(still, split, where)
            elif still is not None:
                raise ProofError(f"{where}: still open, and neither bounded nor split")

    def closes(self, node: Node, rounds: list[list[Fraction]]) -> bool:
        """Return whether the node is closed by conclusions and the bounds at these multipliers."""
        if not self._conclude(node):
            return True
        for multipliers in rounds:
            rows = _Rows(self, node, multipliers)
            if rows.bound < rows.wanted:
                return True
            if rows.strike_out(node) and not self._conclude(node):
                return True
        return False

    def children(self, node: Node | None, split: list[Any], where: str) -> list[Node | None]:
        """Return the children, the one to be followed first at the end; None for one that is closed."""
        kind, which, user = _split(split, self.users, where)
        if node is None:
            return [None, None]
        first, second = node, node.copy()
        if kind == 2:
            first.may[user] &= 1 << which
            second.may[user] &= ~(1 << which)
            return [second, first]
        side = self.sides[kind]
        if side is None:
            raise ProofError(f"{where}: split by a threshold of a mode that serves nobody")
        row = side.values[which]
        above = [value for value in row if value > row[user]]
        first.hi[kind][which] = min(first.hi[kind][which], row[user])
        if not above:
            return [None, first]
        second.lo[kind][which] = max(second.lo[kind][which], min(above))
        return [second, first]

    def _conclude(self, node: Node) -> bool:
        """Narrow the node as far as it goes; return whether both batches are still possible."""
        before: Node | None = None
        while before != node:
            before = node.copy()
            if not (self._narrow(node, 0) and self._narrow(node, 1) and self._fits(node)):
                return False
            if sum(may & (AD | SD) > 0 for may in node.may) < self.wanted or 0 in node.may:
                return False
        return True

    def _narrow(self, node: Node, which: int) -> bool:
        """Narrow one mode; return whether a batch of its size is still possible.

        Each threshold is some member's value, at least the n-th smallest in the pool and at most its
        largest; where only one user reaches its lower end, that user is a member. A user with whom even
        the n lightest would be late at the lower ends is none.
        """
        side, n, bit = self.sides[which], self.sizes[which], BITS[which]
        may, lo, hi = node.may, node.lo[which], node.hi[which]
        if side is None:
            node.may = [m & ~bit for m in may]
            return True
        values = side.values
        for k, m in enumerate(may):
            if m & bit and any(values[axis][k] > hi[axis] for axis in range(AXES)):
                may[k] = m & ~bit
        pool = [k for k, m in enumerate(may) if m & bit]
        if len(pool) < n or not all(self._settle(axis, pool, node, which) for axis in range(AXES)):
            return False
        fixed = [k for k in pool if may[k] == bit]
        free = sorted((values[2][k], k) for k in pool if may[k] != bit)[: n - len(fixed)]
        if len(fixed) > n:
            return False
        steps = [values[2][k] for k in fixed] + [m for m, _ in free]
        last = free[-1][0] if free else None
        s1, s2 = sum(steps), sum(m * m for m in steps)
        if not _in_time(side, lo, n, s1, s2):
            return False
        for k in pool:
            if may[k] != bit and (last is None or not self._joins(side, lo, n, k, s1, s2, last)):
                may[k] &= ~bit
        return True

    def _joins(self, side: ExactBatch, lo: list[int], n: int, k: int, s1: int, s2: int, last: int) -> bool:
        """Return whether n users with k among them may be in time."""
        at = [max(low, row[k]) for low, row in zip(lo, side.values, strict=True)]
        m = max(side.values[2][k], last)
        return _in_time(side, at, n, s1 + m - last, s2 + m * m - last * last)

    def _settle(self, axis: int, pool: list[int], node: Node, which: int) -> bool:
        """Narrow one threshold of one mode to values of the pool."""
        side, n, bit = self.sides[which], self.sizes[which], BITS[which]
        assert side is not None
        row, lo, hi = side.values[axis], node.lo[which], node.hi[which]
        ordered = sorted((row[k], k) for k in pool)
        lowest = max([lo[axis], ordered[n - 1][0], *(row[k] for k in pool if node.may[k] == bit)])
        reaching = [pair for pair in ordered if pair[0] >= lowest]
        if not reaching:
            return False
        lo[axis], hi[axis] = reaching[0][0], min(hi[axis], ordered[-1][0])
        if len(reaching) == 1:
            node.may[reaching[0][1]] = bit
        return True

    def _fits(self, node: Node) -> bool:
        """Return whether the memory holds the lightest batches at the lower ends."""
        used = 0
        for side, n, bit, lo in zip(self.sides, self.sizes, BITS, node.lo, strict=True):
            if side is not None:
                steps = sorted(side.values[2][k] for k, m in enumerate(node.may) if m & bit)[:n]
                used += side.bytes_of(lo[0], lo[1], n, sum(steps), sum(m > 0 for m in steps))
        return used <= self.room


class _Rows:
    """The weak dual bound of a node: rows of AD time, SD time, memory, AD size and SD size, each scaled to 1.

    All numbers are integers over one common denominator.
    """

    def __init__(self, case: Case, node: Node, multipliers: list[Fraction]) -> None:
        self.node = node
        spare = [
            0 if side is None else side.spare(lo, n)
            for side, n, lo in zip(case.sides, case.sizes, node.lo, strict=True)
        ]
        left = case.room - sum(
            side.bytes_of(lo[0], lo[1], n, 0, 0)
            for side, n, lo in zip(case.sides, case.sizes, node.lo, strict=True)
            if side is not None
        )
        right = [*spare, left, *case.sizes]
        kept = [m if r > 0 else Fraction(0) for m, r in zip(multipliers, right, strict=True)]
        scale = math.lcm(*(m.denominator for m in kept))
        product = math.prod(r for r in right if r > 0)
        self.one = scale * product
        self.wanted = case.wanted * self.one
        prices = [int(m * scale) * (product // r) if r > 0 else 0 for m, r in zip(kept, right, strict=True)]
        self.gains = [self._gains(case, node, which, prices) for which in (0, 1)]
        self.best = [max(self._options(k)) for k in range(case.users)]
        self.bound = sum(int(m * scale) for m in kept) * product + sum(self.best)

    def _gains(self, case: Case, node: Node, which: int, prices: list[int]) -> list[int]:
        """Return each user's gain in one mode, (K,)."""
        side, lo = case.sides[which], node.lo[which]
        if side is None:
            return [0] * case.users
        step, growth = side.step_at(lo[0], lo[1]), side.growth_at(lo[1])
        more = side.bytes_of(lo[0], lo[1], 0, 1, 0)
        rest = self.one - prices[3 + which]
        return [
            rest
            - prices[which] * m * (step + growth * m)
            - prices[2] * (m * more - (m > 0) * side.late_bytes)
            for m in side.values[2]
        ]

    def _options(self, k: int) -> list[int]:
        may = self.node.may[k]
        options = [0] if may & NOBODY else []
        return options + [self.gains[i][k] for i in (0, 1) if may & BITS[i]]

    def strike_out(self, node: Node) -> bool:
        """Strike out every option with which the bound falls below what is wanted; return whether any was."""
        changed = False
        for k, best in enumerate(self.best):
            for bit, value in ((AD, self.gains[0][k]), (SD, self.gains[1][k]), (NOBODY, 0)):
                if node.may[k] & bit and self.bound - best + value < self.wanted:
                    node.may[k] &= ~bit
                    changed = True
        return changed


def _in_time(side: ExactBatch, at: list[int], n: int, s1: int, s2: int) -> bool:
    return s1 * side.step_at(at[0], at[1]) + s2 * side.growth_at(at[1]) <= side.spare(at, n)


def _content(record: dict[str, Any], where: str) -> tuple[list[list[Fraction]], list[int] | None]:
    """Return the rounds of multipliers and the split of a node's record."""
    if not set(record) <= {"multipliers", "split"}:
        raise InputError(f"{where}: found {shown(record)}, expected multipliers and split")
    rounds = record.get("multipliers", [])
    if not isinstance(rounds, list) or len(rounds) > MAX_ROUNDS:
        raise InputError(f"{where}: multipliers: found {shown(rounds)}, expected at most {MAX_ROUNDS} rounds")
    try:
        checked = [[from_rational(pair) for pair in row] for row in rounds]
    except (InputError, TypeError) as error:
        raise InputError(f"{where}: multipliers: {error}") from None
    if any(len(row) != ROWS or min(row) < 0 for row in checked):
        raise ProofError(f"{where}: multipliers are not five numbers of at least 0")
    split = record.get("split")
    if split is not None and not (isinstance(split, list) and len(split) == 3):
        raise InputError(f"{where}: split: found {shown(split)}, expected three integers")
    return checked, split


def _split(split: list[Any], users: int, where: str) -> list[int]:
    """Return how a node is split: (mode, threshold, user) or (2, option, user)."""
    kind = integer(f"{where}: split[0]", split[0], low=0, high=2)
    which = integer(f"{where}: split[1]", split[1], low=0, high=2 if kind == 2 else AXES - 1)
    return [kind, which, integer(f"{where}: split[2]", split[2], low=0, high=users - 1)]
