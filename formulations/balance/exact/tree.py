"""Branch and bound for one compute share and one pair of batch sizes: whether such batches exist."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import batch_bytes
from formulations.balance.exact.nodes import NO_SPLIT, Node, Question, branch, pop
from formulations.balance.exact.relaxation import (
    MARGIN,
    ROWS,
    Rows,
    fill_rows,
    fix_users,
    improve,
    relaxed_choice,
)
from formulations.balance.exact.tightening import (
    ACCEPTED,
    AD,
    AXES,
    INPUT,
    NONE,
    SD,
    STEPS,
    Users,
    meets_deadline,
    tighten,
)

__all__ = ["CLOSED", "FOUND", "FULL", "OPEN", "Log", "empty_log", "explore"]

CLOSED, FOUND, OPEN, FULL = 0, 1, 2, 3
FIRST_STEPS = 12  # subgradient steps in a node's first round
NEXT_STEPS = 6  # after a fixing
ROUNDS = 6  # of tightening and fixing in one node


class Log(NamedTuple):
    """What happened in each node: enough to repeat the proof without the search."""

    rounds: NDArray[np.int64]  # (N,) of tightening and bounding
    multipliers: NDArray[np.float64]  # (N, ROUNDS, 5) by round
    split: NDArray[np.int64]  # (N, 3) mode, threshold and the user at whose value it is split; see ``branch``


def empty_log(nodes: int) -> Log:
    """Return room for the rows of so many nodes."""
    return Log(
        np.empty(nodes, dtype=np.int64),
        np.empty((nodes, ROUNDS, ROWS)),
        np.empty((nodes, 3), dtype=np.int64),
    )


@numba.njit(cache=True)
def explore(
    stack: Node,
    open_nodes: int,
    users: Users,
    question: Question,
    counts: NDArray[np.int64],
    most_nodes: int,
    mode: NDArray[np.int64],
    log: Log,
) -> tuple[int, int, int]:
    """Work on the stack until it is empty, a decision is found, or ``most_nodes`` are done.

    Returns (CLOSED, FOUND with the decision in ``mode`` (K,), OPEN, or FULL for want of room, open nodes,
    nodes done); ``counts`` (2,) adds up nodes and subgradient steps, ``log`` has a row for each node done.
    """
    k = users.values.shape[2]
    rows = Rows(np.empty((2, k, ROWS)), np.empty(ROWS))
    trial = Rows(np.empty((2, k, ROWS)), np.empty(ROWS))
    node = Node(np.empty((2, AXES)), np.empty((2, AXES)), np.empty((k, 3), dtype=np.bool_), np.empty(ROWS))
    done = 0
    while open_nodes > 0:
        if done >= most_nodes:
            return OPEN, open_nodes, done
        if open_nodes + 1 >= len(stack.lo):
            return FULL, open_nodes, done
        open_nodes -= 1
        pop(stack, open_nodes, node)
        counts[0] += 1
        log.split[done] = NO_SPLIT
        bound = _process(users, question, rows, node, counts, log, done)
        done += 1
        if bound < 0.0:
            continue
        if _complete(users, question, rows, node, mode):
            return FOUND, open_nodes, done
        open_nodes = branch(stack, open_nodes, users, question, rows, trial, node, bound, log.split[done - 1])
    return CLOSED, 0, done


@numba.njit(cache=True)
def _process(
    users: Users,
    question: Question,
    rows: Rows,
    node: Node,
    counts: NDArray[np.int64],
    log: Log,
    place: int,
) -> float:
    """Narrow the node in place; return its bound, or −1 when it is closed."""
    wanted, bound, most = question.sizes.sum(), np.inf, FIRST_STEPS
    log.rounds[place] = 0
    for i in range(ROUNDS):
        if not _tighten_both(users, question, node):
            return -1.0
        if not fill_rows(rows, users, question.share, question.room, question.sizes, node.lo):
            return -1.0
        bound, steps = improve(rows, node.allowed, node.multipliers, wanted, most)
        counts[1] += steps
        log.multipliers[place, i] = node.multipliers
        log.rounds[place] = i + 1
        if bound < wanted - MARGIN:
            return -1.0
        if not fix_users(rows, node.allowed, node.multipliers, bound, wanted):
            break
        most = NEXT_STEPS
    return bound


@numba.njit(cache=True)
def _tighten_both(users: Users, question: Question, node: Node) -> bool:
    """Narrow both modes in turn; return whether the wanted batches are still possible."""
    for _ in range(ROUNDS):
        changed = False
        for side in range(2):
            share = question.share if side == AD else 1.0 - question.share
            possible, moved = tighten(
                users, side, share, question.sizes[side], node.lo[side], node.hi[side], node.allowed
            )
            if not possible:
                return False
            changed = changed or moved
        served = 0
        for k in range(len(node.allowed)):
            if node.allowed[k, AD] or node.allowed[k, SD]:
                served += 1
            elif not node.allowed[k, NONE]:
                return False
        if served < question.sizes.sum():
            return False
        if not changed:
            break
    return True


@numba.njit(cache=True)
def _complete(users: Users, question: Question, rows: Rows, node: Node, mode: NDArray[np.int64]) -> bool:
    """Round the relaxed choice to full batches in ``mode``; return whether they are feasible."""
    for k in range(len(mode)):
        mode[k], _ = relaxed_choice(rows, k, node.allowed, node.multipliers)
    used = 0.0
    for side in range(2):
        if not _fill_batch(users.orders[side, STEPS], node.allowed, side, question.sizes[side], mode):
            return False
    for side in range(2):
        share = question.share if side == AD else 1.0 - question.share
        in_time, size = _check_batch(users, side, share, mode)
        used += size
        if not in_time or used > question.room:
            return False
    return True


@numba.njit(cache=True)
def _fill_batch(
    by_steps: NDArray[np.int64], allowed: NDArray[np.bool_], side: int, size: int, mode: NDArray[np.int64]
) -> bool:
    """Drop the users of a mode with most steps, or add those with fewest, until there are ``size``."""
    n = (mode == side).sum()
    for k in by_steps[::-1]:
        if n > size and mode[k] == side and allowed[k, NONE]:
            mode[k] = NONE
            n -= 1
    for k in by_steps:
        if n < size and mode[k] == NONE and allowed[k, side]:
            mode[k] = side
            n += 1
    return bool(n == size)


@numba.njit(cache=True)
def _check_batch(users: Users, side: int, share: float, mode: NDArray[np.int64]) -> tuple[bool, float]:
    """Return whether the batch of a mode is in time, and its bytes."""
    at, n, s1, s2, late = np.full(AXES, -np.inf), 0, 0.0, 0.0, 0
    for k in range(len(mode)):
        if mode[k] == side:
            m = users.values[side, STEPS, k]
            n += 1
            s1 += m
            s2 += m * m
            late += m >= 1.0
            for axis in range(AXES):
                at[axis] = max(at[axis], users.values[side, axis, k])
    if n == 0:
        return True, 0.0
    in_time = meets_deadline(users.costs[side], share, at, n, s1, s2)
    return in_time, batch_bytes(users.costs[side], at[INPUT], at[ACCEPTED], n, s1, late)
