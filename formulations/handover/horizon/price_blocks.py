"""The optimum of a busy period when every user's side is given: one price a block of slots.

With users kept on their concave side (floor ≥ τ) or at a fixed fraction, the clairvoyant problem is a
separable concave sum over an interval-capacity polymatroid. A block is water-filled at one price as if its
slots were one; if the users whose windows lie inside some union of its slots get more than those carry, the
most violated union is split off and solved apart (its price is higher), and the rest is solved without it.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.price_search import fill

__all__ = ["block_optimum"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # of a block's capacity


@njit(cache=True)
def most_violated(amount: Floats, first: Ints, end: Ints, carried: Floats) -> tuple[float, NDArray[np.bool_]]:
    """Return the largest excess over unions of slots, bits, and the union, (m,); O(m² + n m).

    The excess of a union is what users with windows inside it get minus what it carries. The best union is
    made of disjoint intervals [a, b), found by dynamic programming over b.
    """
    m = len(carried)
    inside = np.zeros(m + 1)  # bits of users with window inside [a, b), by a
    best, choice = np.zeros(m + 1), np.full(m + 1, -1)
    by_end = np.argsort(end, kind="mergesort")
    k = 0
    for b in range(1, m + 1):
        while k < len(end) and end[by_end[k]] == b:
            i = by_end[k]
            for a in range(first[i] + 1):
                inside[a] += amount[i]
            k += 1
        best[b] = best[b - 1]
        room = 0.0
        for a in range(b - 1, -1, -1):
            room += carried[a]
            excess = best[a] + inside[a] - room
            if excess > best[b]:
                best[b], choice[b] = excess, a
    union = np.zeros(m, dtype=np.bool_)
    b = m
    while b > 0:
        if choice[b] < 0:
            b -= 1
        else:
            union[choice[b] : b] = True
            b = choice[b]
    return best[m], union


def block_optimum(
    family: int,
    curve: tuple[Floats, Floats, Floats, Floats],
    floor: Floats,
    fixed: NDArray[np.bool_],
    windows: tuple[Ints, Ints],
    carried: Floats,
) -> tuple[Floats, Floats]:
    """Maximise Σ A_i(y_i) over the users that are not fixed, y_i in [floor_i, 1], within the windows.

    Parameters
    ----------
    family
        Code of the utility family.
    curve
        L_i (bit), M_i, k_i (per fraction), τ_i (fraction), (n,) each.
    floor
        (n,) fraction: at least τ_i, or the fraction itself where ``fixed``.
    fixed
        (n,) whether the fraction is given.
    windows
        First segment of each window and the segment after its last, (n,) each.
    carried
        Bits that each segment carries, (m,).

    Returns
    -------
    Fractions y, (n,), and the price of each segment, (m,), accuracy per bit. Floors that do not fit are
    returned as they are, at the price of the steepest user.
    """
    y, price = floor.copy(), np.zeros(len(carried))
    first, end = windows
    blocks = [(np.arange(len(floor)), first, end, np.arange(len(carried)))]
    while blocks:
        users, start, stop, segments = blocks.pop()
        room = carried[segments]
        free = users[~fixed[users]]
        budget = float(room.sum() - (curve[0][users] * floor[users]).sum())
        cache, ceiling, sharpness, anchor = (column[free] for column in curve)
        y[free], level, _, _ = fill(family, cache, floor[free], ceiling, sharpness, anchor, budget)
        excess, union = most_violated(curve[0][users] * y[users], start, stop, room)
        position = np.concatenate(([0], np.cumsum(union)))
        within = position[stop] - position[start] == stop - start
        price[segments] = level
        if excess <= ROUNDING * room.sum() or union.all() or not within.any():
            continue
        blocks.append((users[within], position[start[within]], position[stop[within]], segments[union]))
        others = np.arange(len(position)) - position
        rest = ~within
        blocks.append((users[rest], others[start[rest]], others[stop[rest]], segments[~union]))
    return y, price
