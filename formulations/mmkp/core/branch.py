"""Depth-first branch and bound over the groups of a core, with a pool of prices at each depth.

At depth d the items of groups 0 … d−1 are chosen. Prices λ of the pool bound what the others can add to the
chosen value (see ``subproblem``); as functions of what is left these bounds are tangents of the LP's value,
so a pool learnt at some nodes bounds the others of that depth at m multiplications each. A node that
no price of the pool cuts off brings, now and then, a price of its own by ``prices.minimise``. All comparisons
are in integers, so a completed search proves its result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.mmkp.core.prices import LARGEST, bound_constant, minimise, whole_prices
from formulations.mmkp.core.subproblem import Core

__all__ = ["ENTERED", "NO_LOG", "PRICES", "WAY", "Log", "Tree", "advance", "new_log", "new_tree"]

Ints = NDArray[np.int64]
NODES, NEWTONS, DEPTH, VALUE, FOUND = range(5)  # places in Tree.counts
LEARN_EVERY = 32  # nodes of a depth that are not cut off, for each new price
NEWTON_STEPS = 25
POOL = 256
POOL_NUMBERS = 2**22  # prices · resources · depths at most
ENTERED = -1  # in place of a price: none cuts the node off
WAY, PRICES = range(2)  # places in Log.rows


class Tree(NamedTuple):
    """The state of a search, which can be interrupted and resumed."""

    prices: Ints  # (n+1, pool, m)
    constants: Ints  # (n+1, pool)
    order: Ints  # (n+1, pool) prices by how often they cut off lately
    used: Ints  # (n+1,) prices in each pool
    passed: Ints  # (n+1,) nodes that no price cut off
    left: Ints  # (n+1, m) capacities left at each depth
    value: Ints  # (n+1,) value of the items chosen
    item: Ints  # (n+1,) the next item to try, of the core
    best: Ints  # (n,) the best choice found, items of the core
    counts: Ints  # (5,) nodes, prices learnt, depth, the value to beat, whether best is set


class Log(NamedTuple):
    """What became of the nodes in which something is left to choose, in the order in which they were met.

    Whoever reads it sets ``rows`` back to 0; then there is room for the nodes of one more call.
    """

    way: Ints  # (N,) place of the prices that cut the node off, or ENTERED; N = 0 for no log
    prices: Ints  # (P, 1+m) row of ``way`` that uses them first, prices
    written: Ints  # (n+1, pool, m) the prices that were written last, −1 before
    rows: Ints  # (2,) rows written of both


NO_LOG = Log(*(np.zeros(shape, dtype=np.int64) for shape in (0, (0, 0), (0, 0, 0), 2)))


def new_tree(core: Core, prices: Ints, value: int) -> Tree:
    """Return a search for a choice of more than ``value``, with first prices for every depth."""
    n, m = len(core.start) - 1, len(core.capacities)
    pool = int(np.clip(POOL_NUMBERS // max((n + 1) * m, 1), 8, POOL))
    tree = Tree(
        np.zeros((n + 1, pool, m), dtype=np.int64),
        np.zeros((n + 1, pool), dtype=np.int64),
        np.zeros((n + 1, pool), dtype=np.int64),
        np.ones(n + 1, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros((n + 1, m), dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros(n + 1, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.array([0, 0, 0, value, 0], dtype=np.int64),
    )
    tree.prices[:, 0] = prices
    for depth in range(n):
        tree.constants[depth, 0] = bound_constant(core, depth, prices)
    tree.left[0] = core.capacities
    if np.any(core.capacities < core.least[0]):
        tree.counts[DEPTH] = -1
    return tree


def new_log(tree: Tree, nodes: int) -> Log:
    """Return a log for a search that has not begun, with room for ``nodes`` nodes at a time."""
    depths, pool, m = tree.prices.shape
    prices = depths * (pool + 1) + nodes // LEARN_EVERY
    return Log(
        np.zeros(nodes, dtype=np.int64),
        np.zeros((prices, 1 + m), dtype=np.int64),
        np.full((depths, pool, m), -1, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )


@njit(cache=True)
def advance(core: Core, tree: Tree, nodes: int, log: Log) -> bool:
    """Visit up to ``nodes`` more nodes; return whether the search is complete.

    ``tree.counts`` then holds the best value, and whether ``tree.best`` holds a choice of that value. The
    search is complete when no choice of more value exists. ``log`` has room for so many nodes, or is NO_LOG.
    """
    counts, n = tree.counts, len(core.start) - 1
    until = counts[NODES] + nodes
    depth = int(counts[DEPTH])
    while depth >= 0:
        if counts[NODES] >= until:
            break
        j = tree.item[depth]
        if j == core.start[depth + 1]:
            depth -= 1
            continue
        tree.item[depth] = j + 1
        counts[NODES] += 1
        if not _take(core, tree, depth, j):
            continue
        if depth + 1 == n:
            if tree.value[n] > counts[VALUE]:
                counts[VALUE], counts[FOUND] = tree.value[n], 1
                for group in range(n):
                    tree.best[group] = tree.item[group] - 1
        else:
            place = _cut_off(core, tree, depth + 1)
            if len(log.way) > 0:
                _write(log, tree, depth + 1, place)
            if place == ENTERED:
                depth += 1
                tree.item[depth] = core.start[depth]
    counts[DEPTH] = depth
    return depth < 0


@njit(cache=True)
def _write(log: Log, tree: Tree, depth: int, place: int) -> None:
    """Write what became of a node at ``depth``, and the prices at their first use."""
    way, row = log.rows[WAY], log.rows[PRICES]
    if place != ENTERED and not np.array_equal(log.written[depth, place], tree.prices[depth, place]):
        log.written[depth, place] = tree.prices[depth, place]
        log.prices[row, 0] = way
        log.prices[row, 1:] = tree.prices[depth, place]
        log.rows[PRICES] = row + 1
    log.way[way] = place
    log.rows[WAY] = way + 1


@njit(cache=True)
def _take(core: Core, tree: Tree, depth: int, j: int) -> bool:
    """Enter the child that takes item j; return whether the smallest items of the other groups still fit."""
    weights, before, after = core.weights[j], tree.left[depth], tree.left[depth + 1]
    least = core.least[depth + 1]
    for k in range(len(weights)):
        after[k] = before[k] - weights[k]
        if after[k] < least[k]:
            return False
    tree.value[depth + 1] = tree.value[depth] + core.values[j]
    return True


@njit(cache=True)
def _cut_off(core: Core, tree: Tree, depth: int) -> int:
    """Return the place of prices that prove the node at ``depth`` to lead to no better value; learn some."""
    need = (int(tree.counts[VALUE]) + 1 - int(tree.value[depth])) * core.fraction
    place, lowest = 0, LARGEST
    prices, constants, order, left = (
        tree.prices[depth], tree.constants[depth], tree.order[depth], tree.left[depth]
    )  # fmt: skip
    for rank in range(tree.used[depth]):
        entry = int(order[rank])
        bound = _bound(prices[entry], constants[entry], left)
        if bound < need:
            _promote(order, rank)
            return entry
        if bound < lowest:
            place, lowest = entry, bound
    tree.passed[depth] += 1
    if len(core.start) - 1 - depth < 3 or tree.passed[depth] % LEARN_EVERY != 1:
        return ENTERED
    return _learn(core, tree, depth, place, lowest, need)


@njit(cache=True)
def _bound(prices: Ints, constant: int, left: Ints) -> int:
    bound = constant
    for k in range(len(left)):
        bound += int(prices[k]) * int(left[k])
    return bound


@njit(cache=True)
def _promote(order: Ints, rank: int) -> None:
    """Exchange a price with the one half as far from the front."""
    other = rank // 2
    order[rank], order[other] = order[other], order[rank]


@njit(cache=True)
def _learn(core: Core, tree: Tree, depth: int, place: int, lowest: int, need: int) -> int:
    """Add prices that bound this node well, in place of the pool's last if it is full."""
    m = tree.left.shape[1]
    prices, best = np.empty(m), np.zeros(m)
    unit = core.value_scale * core.fraction
    for k in range(m):
        prices[k] = max(tree.prices[depth, place, k] * core.row_scale[k] / unit, 1e-4)
    temperature = max((lowest - need) / unit / 32.0, 1e-5)
    target = (need - 1) / unit - 1e-9
    minimise(core, depth, tree.left[depth], prices, best, target, temperature, 0.6, NEWTON_STEPS)
    tree.counts[NEWTONS] += 1
    pool = tree.order.shape[1]
    if tree.used[depth] < pool:
        rank = tree.used[depth]
        tree.order[depth, rank] = rank
        tree.used[depth] += 1
    else:
        rank = pool - 1
    entry = tree.order[depth, rank]
    whole_prices(core, best, tree.prices[depth, entry])
    tree.constants[depth, entry] = bound_constant(core, depth, tree.prices[depth, entry])
    _promote(tree.order[depth], rank)
    bound = _bound(tree.prices[depth, entry], tree.constants[depth, entry], tree.left[depth])
    return int(entry) if bound < need else ENTERED
