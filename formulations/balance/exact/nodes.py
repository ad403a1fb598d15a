"""Nodes of the tree, the stack of open ones, and how a node is split."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.exact.relaxation import ROWS, Rows, bound_of, fill_rows, relaxed_choice
from formulations.balance.exact.tightening import AXES, Users

__all__ = ["NO_SPLIT", "ON_USER", "Node", "Question", "branch", "deepened", "empty_nodes", "pop", "push_root"]

NO_SPLIT = -1
ON_USER = 2  # in place of a mode: the split is of a user's options
LITTLE = 1e-3  # users by which a child's bound counts as falling at least


class Question(NamedTuple):
    """Whether there is a decision at this share with just so many users in each mode."""

    share: float
    room: float  # bytes beside the weights
    sizes: NDArray[np.int64]  # (2,)


class Node(NamedTuple):
    """What is still possible: an interval for each threshold, and what each user may do."""

    lo: NDArray[np.float64]  # (2, 5)
    hi: NDArray[np.float64]  # (2, 5)
    allowed: NDArray[np.bool_]  # (K, 3) AD, SD, nobody
    multipliers: NDArray[np.float64]  # (5,) the best known


def empty_nodes(users: int, *shape: int) -> Node:
    """Return room for nodes, with leading axes of a shape: none for one node, (depth,) for a stack."""
    return Node(
        np.empty((*shape, 2, AXES)),
        np.empty((*shape, 2, AXES)),
        np.empty((*shape, users, 3), dtype=np.bool_),
        np.empty((*shape, ROWS)),
    )


def deepened(stack: Node, open_nodes: int) -> Node:
    """Return a stack of twice the depth with the open nodes of this one."""
    deeper = empty_nodes(stack.allowed.shape[1], 2 * len(stack.lo))
    for old, new in zip(stack, deeper, strict=True):
        new[:open_nodes] = old[:open_nodes]
    return deeper


@numba.njit(cache=True)
def push_root(stack: Node, users: Users, question: Question) -> int:
    """Put the node that allows everything on an empty stack; return the number of open nodes."""
    for side in range(2):
        for axis in range(AXES):
            stack.lo[0, side, axis] = users.values[side, axis].min()
            stack.hi[0, side, axis] = users.values[side, axis].max()
    stack.allowed[0] = True
    stack.multipliers[0] = question.sizes.sum() / ROWS
    return 1


@numba.njit(cache=True)
def pop(stack: Node, place: int, node: Node) -> None:
    """Copy the stack's node at ``place`` into ``node``."""
    node.lo[:], node.hi[:] = stack.lo[place], stack.hi[place]
    node.allowed[:], node.multipliers[:] = stack.allowed[place], stack.multipliers[place]


@numba.njit(cache=True)
def _push(stack: Node, place: int, node: Node) -> None:
    stack.lo[place], stack.hi[place] = node.lo, node.hi
    stack.allowed[place], stack.multipliers[place] = node.allowed, node.multipliers


@numba.njit(cache=True)
def branch(
    stack: Node,
    place: int,
    users: Users,
    question: Question,
    rows: Rows,
    trial: Rows,
    node: Node,
    bound: float,
    split: NDArray[np.int64],
) -> int:
    """Push the children of a node with this bound; return the number of open nodes.

    ``split`` tells how: (mode, threshold, a user with the largest value below) or (ON_USER, option, user);
    the child below, or with the option, is explored first.

    It is split at the threshold whose children's bounds, at the node's multipliers, fall most (product rule);
    when all thresholds are settled, by one user's options.
    """
    best, best_above, best_below = -1.0, 0.0, 0.0
    for side in range(2):
        for axis in range(AXES):
            if node.lo[side, axis] < node.hi[side, axis]:
                user, above, count = _middle(users, node, side, axis)
                below = users.values[side, axis, user]
                low = bound - _bound_below(users, rows, node, side, axis, below)
                high = bound - _bound_above(users, question, trial, node, side, axis, above)
                score = max(low, LITTLE) * max(high, LITTLE) * (1.0 + LITTLE * count)
                if score > best:
                    best, best_above, best_below = score, above, below
                    split[0], split[1], split[2] = side, axis, user
    if best < 0.0:
        return _branch_on_user(stack, place, rows, node, split)
    _push(stack, place, node)
    stack.lo[place, split[0], split[1]] = best_above
    _push(stack, place + 1, node)
    stack.hi[place + 1, split[0], split[1]] = best_below
    return place + 2


@numba.njit(cache=True)
def _middle(users: Users, node: Node, side: int, axis: int) -> tuple[int, float, int]:
    """Return a user of the value that halves the pool's in an interval, the value above, and their number."""
    row, order = users.values[side, axis], users.orders[side, axis]
    low, high = node.lo[side, axis], node.hi[side, axis]
    count = 0
    for k in order:
        count += node.allowed[k, side] and low <= row[k] <= high
    seen, below, above, user = 0, low, high, -1
    for k in order:
        if node.allowed[k, side] and low <= row[k] <= high:
            seen += 1
            if 2 * seen <= count + 1 and row[k] < high:
                below, user = row[k], k
            elif row[k] > below:
                above = row[k]
                break
    return user, above, count


@numba.njit(cache=True)
def _bound_below(users: Users, rows: Rows, node: Node, side: int, axis: int, below: float) -> float:
    """Return the bound of the child in which users above ``below`` leave the mode."""
    allowed = node.allowed.copy()
    for k in range(len(allowed)):
        if users.values[side, axis, k] > below:
            allowed[k, side] = False
    return bound_of(rows, allowed, node.multipliers, np.empty(ROWS))


@numba.njit(cache=True)
def _bound_above(
    users: Users, question: Question, trial: Rows, node: Node, side: int, axis: int, above: float
) -> float:
    """Return the bound of the child whose threshold costs ``above`` at least."""
    lo = node.lo.copy()
    lo[side, axis] = above
    if not fill_rows(trial, users, question.share, question.room, question.sizes, lo):
        return 0.0
    return bound_of(trial, node.allowed, node.multipliers, np.empty(ROWS))


@numba.njit(cache=True)
def _branch_on_user(stack: Node, place: int, rows: Rows, node: Node, split: NDArray[np.int64]) -> int:
    """Push one child for the first open user's likeliest option and one for the others; none if settled."""
    for k in range(len(node.allowed)):
        if node.allowed[k].sum() > 1:
            chosen, _ = relaxed_choice(rows, k, node.allowed, node.multipliers)
            split[0], split[1], split[2] = ON_USER, chosen, k
            _push(stack, place, node)
            stack.allowed[place, k, chosen] = False
            _push(stack, place + 1, node)
            stack.allowed[place + 1, k] = False
            stack.allowed[place + 1, k, chosen] = True
            return place + 2
    return place
