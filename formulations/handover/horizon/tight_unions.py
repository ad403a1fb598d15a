"""The most violated union of slots: where users get more than the slots that all their windows lie in carry.

The excess of a union of slots is what the users with windows inside it get minus what it carries. The best
union consists of disjoint intervals [a, b), found by dynamic programming over b. Amounts of windows that end
at b are added to all a up to the window's first slot; an a that is not above an earlier one can never become
better than it, so only differences between the a that are still ascending are kept.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["most_violated_union"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@njit(cache=True)
def find(link: Ints, a: int) -> int:
    """Return the first candidate at or after ``a``, halving the path on the way."""
    while link[a] != a:
        link[a] = link[link[a]]
        a = link[a]
    return a


@njit(cache=True)
def raise_prefix(
    x: float, first: int, b: int, link: Ints, before: Ints, ahead: Floats, last: int
) -> tuple[float, int]:
    """Add ``x`` to the candidates up to ``first``; return by how much the last one rose, and the last."""
    j = find(link, first + 1)
    while j < b and x > 0:
        if ahead[j] > x:
            ahead[j] -= x
            return 0.0, last
        x -= ahead[j]
        link[j] = j + 1
        after = find(link, j + 1)
        if after < b:
            before[after] = before[j]
        else:
            last = before[j]
        j = after
    return x, last


@njit(cache=True)
def most_violated_union(
    amount: Floats, first: Ints, end: Ints, carried: Floats
) -> tuple[float, NDArray[np.bool_]]:
    """Return the largest excess over unions of slots and the union.

    Parameters
    ----------
    amount
        Bits by user, (n,), in the order of their windows' ends.
    first, end
        First slot of each window and the slot after its last, (n,) each, ``end`` not falling.
    carried
        Bits that each slot carries, (m,).

    Returns
    -------
    The excess, bits, and the union, (m,); O((n + m) α).
    """
    m = len(carried)
    best, choice = np.zeros(m + 1), np.full(m + 1, -1)
    link, before, ahead = np.arange(m + 2), np.zeros(m + 1, dtype=np.int64), np.zeros(m + 1)
    top, last, i = 0.0, 0, 0
    for b in range(1, m + 1):
        top -= carried[b - 1]
        while i < len(end) and end[i] == b:
            rise, last = raise_prefix(amount[i], first[i], b, link, before, ahead, last)
            top += rise
            i += 1
        best[b] = best[b - 1]
        if top > best[b]:
            best[b], choice[b] = top, last
        if best[b] > top:
            ahead[b], before[b] = best[b] - top, last
            last, top = b, best[b]
        else:
            link[b] = b + 1
    return best[m], chosen_slots(choice)


@njit(cache=True)
def chosen_slots(choice: Ints) -> NDArray[np.bool_]:
    """Return the union, (m,), from the interval begin chosen at each end, −1 for none."""
    union = np.zeros(len(choice) - 1, dtype=np.bool_)
    b = len(choice) - 1
    while b > 0:
        if choice[b] < 0:
            b -= 1
        else:
            union[choice[b] : b] = True
            b = choice[b]
    return union
