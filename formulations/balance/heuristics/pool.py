"""The candidates of one mode, sorted once along every axis that the searches need."""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["Pool", "axes_of", "kept"]


class Pool(NamedTuple):
    """Candidates in order of (steps, index)."""

    steps: NDArray[np.int64]
    inputs: NDArray[np.float64]
    accepted: NDArray[np.float64]
    uploads: NDArray[np.float64]
    by_input: NDArray[np.int64]  # positions in increasing order of inputs
    by_accepted: NDArray[np.int64]
    by_upload: NDArray[np.int64]
    by_budget: NDArray[np.int64]  # positions in decreasing order of T'_k
    budgets: NDArray[np.float64]  # T'_k in that order, s


@numba.njit(cache=True)
def kept(pool: Pool, keep: NDArray[np.bool_]) -> Pool:
    """Return the pool of the candidates marked in ``keep``, one entry a position."""
    rank, count = np.full(len(keep), -1, dtype=np.int64), 0
    for i in range(len(keep)):
        if keep[i]:
            rank[i] = count
            count += 1
    steps, budgets = np.empty(count, dtype=np.int64), np.empty(count)
    inputs, accepted, uploads = np.empty(count), np.empty(count), np.empty(count)
    place = 0
    for k in range(len(keep)):
        if keep[k]:
            i = rank[k]
            steps[i], inputs[i] = pool.steps[k], pool.inputs[k]
            accepted[i], uploads[i] = pool.accepted[k], pool.uploads[k]
        if keep[pool.by_budget[k]]:
            budgets[place] = pool.budgets[k]
            place += 1
    by_input, by_accepted = (
        _renumbered(pool.by_input, rank, len(steps)),
        _renumbered(pool.by_accepted, rank, len(steps)),
    )
    by_upload, by_budget = (
        _renumbered(pool.by_upload, rank, len(steps)),
        _renumbered(pool.by_budget, rank, len(steps)),
    )
    return Pool(steps, inputs, accepted, uploads, by_input, by_accepted, by_upload, by_budget, budgets)


@numba.njit(cache=True)
def _renumbered(places: NDArray[np.int64], rank: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    renumbered, k = np.empty(count, dtype=np.int64), 0
    for i in places:
        if rank[i] >= 0:
            renumbered[k] = rank[i]
            k += 1
    return renumbered


@numba.njit(cache=True)
def _distinct(values: NDArray[np.float64], places: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distinct values, increasing; ``places`` sorts them."""
    distinct, count = np.empty(len(values)), 0
    for i in places:
        if count == 0 or values[i] > distinct[count - 1]:
            distinct[count] = values[i]
            count += 1
    return distinct[:count]


@numba.njit(cache=True)
def axes_of(pool: Pool) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the distinct inputs, accepted lengths and uploads, increasing."""
    return (
        _distinct(pool.inputs, pool.by_input),
        _distinct(pool.accepted, pool.by_accepted),
        _distinct(pool.uploads, pool.by_upload),
    )
