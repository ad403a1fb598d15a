"""Beam search over the groups of a core: breadth first, keeping the partial choices with the best LP bounds.

A partial choice is worth its value and the least of the bounds that a few prices give for the rest (see
``subproblem``). Of partial choices that leave the same capacities only the best is kept. What cannot beat a
known value is dropped, by integers, so an empty beam of unlimited width would be a proof.
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.mmkp.core.prices import LARGEST, SMALLEST, bound_constant, minimise, whole_prices
from formulations.mmkp.core.subproblem import Core

__all__ = ["beam"]

Ints = NDArray[np.int64]
NEWTON_STEPS = 12
TEMPERATURE = 1e-3  # where they begin, of the largest value
POOL = 12  # prices at a depth
LAST_POOL = 64  # in the last groups, where what is left differs most
LAST_GROUPS = 20


def beam(
    core: Core, prices: Ints, value: int, width: int, rng: np.random.Generator, until: float
) -> Ints | None:
    """Return a choice of more than ``value``, items of the core (n,), or None if the beam holds none.

    Parameters
    ----------
    core
        The groups, in the order in which they are decided.
    prices : (m,)
        Prices that bound the core, in fractions.
    value
        What is known already.
    width
        Partial choices that are kept at each depth.
    rng
        Chooses the partial choices that bring new prices.
    until
        When the beam is given up, of ``time.perf_counter``.
    """
    n, m = len(core.start) - 1, len(core.capacities)
    if np.any(core.capacities < core.least[0]):
        return None
    left, values = core.capacities[None, :], np.zeros(1, dtype=np.int64)
    pool, mixing = prices[None, :], rng.integers(1, 2**40, m)
    history: list[tuple[Ints, Ints]] = []
    for depth in range(n):
        if time.perf_counter() >= until:
            return None
        size = POOL if n - depth > LAST_GROUPS else LAST_POOL
        pool = _renewed(core, depth, left, pool, prices, size, rng)
        constants = _constants(core, depth + 1, pool)
        most = len(left) * int(core.start[depth + 1] - core.start[depth])
        found = np.empty((3, most), dtype=np.int64)
        count = _expand(core, depth, left, values, pool, constants, value, found)
        parent, item, bound = found[:, :count]
        if count == 0:
            return None
        left, values = left[parent] - core.weights[item], values[parent] + core.values[item]
        kept = _kept(left @ mixing, values, bound, width)
        left, values = left[kept], values[kept]
        history.append((parent[kept], item[kept]))
    return _traced(history, int(np.argmax(values)))


def _renewed(
    core: Core, depth: int, left: Ints, pool: Ints, first: Ints, size: int, rng: np.random.Generator
) -> Ints:
    """Return up to ``size`` prices for the groups after ``depth``: the first, new ones, then older ones."""
    if depth + 2 > len(core.start) - 1:
        return pool
    sample = rng.choice(len(left), min(size // 3 if depth else 1, len(left)), replace=False)
    after = left[sample] - core.weights[core.start[depth]]
    begin = pool[rng.integers(len(pool), size=len(sample))]
    made = _learn(core, depth + 1, after, begin)
    return np.concatenate((first[None, :], made, pool[1:]))[:size]


@njit(cache=True)
def _learn(core: Core, depth: int, left: Ints, begin: Ints) -> Ints:
    """Return prices that bound the groups from ``depth`` on well within each row of ``left``."""
    made = np.empty_like(left)
    prices, best = np.empty(left.shape[1]), np.empty(left.shape[1])
    unit = core.value_scale * core.fraction
    for row in range(len(left)):
        for k in range(len(prices)):
            prices[k] = max(begin[row, k] * core.row_scale[k] / unit, SMALLEST)
        best[:] = prices
        minimise(core, depth, left[row], prices, best, -np.inf, TEMPERATURE, 0.6, NEWTON_STEPS)
        whole_prices(core, best, made[row])
    return made


@njit(cache=True)
def _constants(core: Core, depth: int, pool: Ints) -> Ints:
    constants = np.empty(len(pool), dtype=np.int64)
    for entry in range(len(pool)):
        constants[entry] = bound_constant(core, depth, pool[entry])
    return constants


@njit(cache=True)
def _expand(
    core: Core, depth: int, left: Ints, values: Ints, pool: Ints, constants: Ints, value: int, found: Ints
) -> int:
    """Write the children that may beat ``value`` as parent, item and bound; return how many there are."""
    count, hot = 0, 0
    after = np.empty(left.shape[1], dtype=np.int64)
    for parent in range(len(left)):
        for j in range(core.start[depth], core.start[depth + 1]):
            fits = True
            for k in range(len(after)):
                after[k] = left[parent, k] - core.weights[j, k]
                if after[k] < core.least[depth + 1, k]:
                    fits = False
                    break
            if not fits:
                continue
            base = values[parent] + core.values[j]
            need = (value + 1 - base) * core.fraction
            lowest, hot = _lowest(pool, constants, after, need, hot)
            if lowest >= need:
                found[0, count], found[1, count] = parent, j
                found[2, count] = base * core.fraction + lowest
                count += 1
    return count


@njit(cache=True)
def _lowest(pool: Ints, constants: Ints, left: Ints, need: int, hot: int) -> tuple[int, int]:
    """Return the least bound, or one below ``need``, and its place; ``hot`` is tried first."""
    lowest, place = LARGEST, hot
    for turn in range(-1, len(pool)):
        entry = hot if turn < 0 else turn
        bound = int(constants[entry])
        for k in range(len(left)):
            bound += int(pool[entry, k]) * int(left[k])
        if bound < lowest:
            lowest, place = bound, entry
            if bound < need:
                break
    return lowest, place


def _kept(key: Ints, values: Ints, bound: Ints, width: int) -> Ints:
    """Return the children that stay: the best of each key, and of these the ``width`` of highest bound."""
    order = np.lexsort((-values, key))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = key[order[1:]] != key[order[:-1]]
    order = order[fresh]
    if len(order) > width:
        order = order[np.argpartition(-bound[order], width)[:width]]
    return order


def _traced(history: list[tuple[Ints, Ints]], last: int) -> Ints:
    chosen = np.empty(len(history), dtype=np.int64)
    for depth in range(len(history) - 1, -1, -1):
        parents, items = history[depth]
        chosen[depth] = items[last]
        last = int(parents[last])
    return chosen
