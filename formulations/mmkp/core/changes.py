"""Sets of changes: which items of some groups differ from the best at the root's prices, and what that loses.

Listing the choices within a gap of the bound is the pseudo-gap enumeration of Gao, Lu, Yao and Li (European
Journal of Operational Research 260(1), 2017). Here only those are kept that use about what is wanted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["Changes", "Listed", "limit_of", "listed", "moments"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
DEEPEST = 24  # changes in a set
BINS = 512  # in which losses are counted


class Changes(NamedTuple):
    """The items of some groups that are not the best, by growing loss."""

    group: Ints  # (changes,) counted from 0
    loss: Ints  # (changes,) in fractions
    weights: Ints  # (changes, m) beyond those of the group's best
    item: Ints  # (changes,) of the problem


class Listed(NamedTuple):
    """Sets of changes, at most one a group."""

    weights: Ints  # (sets, m)
    loss: Ints  # (sets,)
    taken: NDArray[np.int32]  # (sets, DEEPEST) changes, then −1


def limit_of(changes: Changes, most: int, sets: int) -> int:
    """Return the loss up to ``most`` within which there are about so many sets."""
    order = np.argsort(changes.group, kind="stable")
    return int(_limit(changes.group[order], changes.loss[order], most, float(sets)))


@njit(cache=True)
def _limit(group: Ints, loss: Ints, most: int, sets: float) -> int:
    """Count sets by loss in bins; the changes stand by group."""
    step = most // BINS + 1
    counts, before = np.zeros(BINS + 1), np.zeros(BINS + 1)
    counts[0] = 1.0
    for j in range(len(group)):
        if j == 0 or group[j] != group[j - 1]:
            before[:] = counts
        bins = int((loss[j] + step // 2) // step)
        for i in range(bins, BINS + 1):
            counts[i] += before[i - bins]
    total = 0.0
    for i in range(BINS + 1):
        total += counts[i]
        if total > sets:
            return min(max(i - 1, 0) * step, most)
    return most


def moments(changes: Changes, loss: int) -> tuple[Floats, Floats]:
    """Return mean and variance of the weights, (m,) each, of random sets that lose so much on average.

    An item is taken with the probability ∝ exp(−loss / θ) of Boltzmann's distribution, apart in each group.
    """
    m = changes.weights.shape[1]
    if not len(changes.loss):
        return np.zeros(m), np.zeros(m)
    lost, weights = changes.loss.astype(np.float64), changes.weights.astype(np.float64)
    low, high = 1e-3 * (loss + 1.0), loss + 1.0
    for _ in range(20):
        middle = np.sqrt(low * high)
        low, high = (low, middle) if _chances(changes.group, lost, middle) @ lost > loss else (middle, high)
    chance = _chances(changes.group, lost, high)[:, None]
    mean = np.zeros((int(changes.group.max()) + 1, m))
    np.add.at(mean, changes.group, chance * weights)
    variance: Floats = (chance * weights**2).sum(axis=0) - (mean**2).sum(axis=0)
    return mean.sum(axis=0), np.maximum(variance, 0.0)


def _chances(group: Ints, loss: Floats, theta: float) -> Floats:
    weight = np.exp(-loss / theta)
    chances: Floats = weight / (1.0 + np.bincount(group, weight))[group]
    return chances


@njit(cache=True)
def listed(
    changes: Changes, limit: int, centre: Floats, scale: Floats, radius: float, visits: int, most: int
) -> Listed:
    """Return the sets that lose at most ``limit`` and use about ``centre``: depth first, ``most`` of them.

    The squared distance, of differences times ``scale`` (m,), is at most ``radius``. At most ``visits``
    sets are looked at.
    """
    m = changes.weights.shape[1]
    weights, loss = np.empty((most, m), dtype=np.int64), np.empty(most, dtype=np.int64)
    taken = np.full((most, DEEPEST), -1, dtype=np.int32)
    used, lost = np.zeros((DEEPEST + 1, m), dtype=np.int64), np.zeros(DEEPEST + 1, dtype=np.int64)
    following, chosen = np.zeros(DEEPEST + 1, dtype=np.int64), np.zeros(DEEPEST + 1, dtype=np.int32)
    busy = np.zeros(len(changes.loss) + 1, dtype=np.bool_)  # groups
    count, depth, entered = 0, 0, True
    while depth >= 0:
        if entered:
            if _is_near(used[depth], centre, scale, radius):
                weights[count], loss[count] = used[depth], lost[depth]
                taken[count, :depth] = chosen[:depth]
                count += 1
            visits -= 1
            if visits <= 0 or count == most:
                break
        j, entered = following[depth], False
        if j == len(changes.loss) or lost[depth] + changes.loss[j] > limit or depth == DEEPEST:
            depth -= 1
            if depth >= 0:
                busy[changes.group[chosen[depth]]] = False
            continue
        following[depth] = j + 1
        if busy[changes.group[j]]:
            continue
        busy[changes.group[j]] = True
        for k in range(m):
            used[depth + 1, k] = used[depth, k] + changes.weights[j, k]
        lost[depth + 1] = lost[depth] + changes.loss[j]
        chosen[depth] = j
        depth += 1
        following[depth], entered = j + 1, True
    return Listed(weights[:count], loss[:count], taken[:count])


@njit(cache=True)
def _is_near(used: Ints, centre: Floats, scale: Floats, radius: float) -> bool:
    away = 0.0
    for k in range(len(used)):
        away += ((used[k] - centre[k]) * scale[k]) ** 2
        if away > radius:
            return False
    return True
