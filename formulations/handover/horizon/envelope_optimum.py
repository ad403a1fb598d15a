"""The optimum of the envelopes within the windows: one price a slot.

With concave envelopes in place of the utilities the clairvoyant problem is a separable concave sum over an
interval-capacity polymatroid. A block, at first a busy period, is filled at one price as if its slots were
one. If the users whose windows lie inside some union of its slots get more than those carry, the most
violated union is split off and solved apart at a price at least as high, and the others without its slots at
a price at most as high, until every block is schedulable. The prices are dual optimal, so they prove it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope import Curves, Envelopes, surplus
from formulations.handover.horizon.price_levels import fill_block
from formulations.handover.horizon.tight_unions import most_violated_union

__all__ = ["Windows", "dual_value", "envelope_optimum"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # of what a block carries


class Windows(NamedTuple):
    """Where n users may be sent to; m segments are runs of slots that the same windows cover."""

    first: Ints  # (n,) first segment of each window
    end: Ints  # (n,) segment after its last, not falling
    carried: Floats  # (m,) bits that each segment carries


@njit(cache=True)
def push(blocks: Ints, guess: Floats, count: int, block: tuple[int, int, int, int], x: float) -> int:
    """Put a block, (first user, end, first segment, end), on the stack; return how many there are."""
    blocks[count, 0], blocks[count, 1], blocks[count, 2], blocks[count, 3] = block
    guess[count] = x
    return count + 1


@njit(cache=True)
def first_blocks(windows: Windows, blocks: Ints, guess: Floats) -> int:
    """Put the busy periods on the stack; return how many there are."""
    m, n = len(windows.carried), len(windows.first)
    crossing = np.zeros(m + 2, dtype=np.int64)
    for i in range(n):
        crossing[windows.first[i] + 1] += 1
        crossing[windows.end[i]] -= 1
    count, across, low, user = 0, 0, 0, 0
    for e in range(1, m + 1):
        across += crossing[e]
        if across == 0:  # no window reaches over the border before segment e
            begin = user
            while user < n and windows.end[user] <= e:
                user += 1
            count = push(blocks, guess, count, (begin, user, low, e), math.nan)
            low = e
    return count


@njit(cache=True)
def split(values: Ints, apart: NDArray[np.bool_], low: int) -> int:
    """Move the entries marked ``apart`` of values[low : low + n] to the front, keeping both orders."""
    part = values[low : low + len(apart)].copy()
    count = 0
    for k in range(len(apart)):
        if apart[k]:
            values[low + count] = part[k]
            count += 1
    place = low + count
    for k in range(len(apart)):
        if not apart[k]:
            values[place] = part[k]
            place += 1
    return low + count


@njit(cache=True)
def inside_union(members: Ints, start: Ints, stop: Ints, union: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which windows lie in the union, and number every window by the slots of its own side."""
    position = np.zeros(len(union) + 1, dtype=np.int64)
    for e in range(len(union)):
        position[e + 1] = position[e] + union[e]
    within = np.empty(len(members), dtype=np.bool_)
    for k, i in enumerate(members):
        a, b = start[i], stop[i]
        within[k] = position[b] - position[a] == b - a
        start[i] = position[a] if within[k] else a - position[a]
        stop[i] = position[b] if within[k] else b - position[b]
    return within


@njit(cache=True)
def block_excess(
    curves: Curves, members: Ints, fraction: Floats, start: Ints, stop: Ints, carried: Floats
) -> tuple[float, NDArray[np.bool_]]:
    """Return the most violated union of a block and its excess, bits."""
    n = len(members)
    amount, first, end = np.empty(n), np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for k, i in enumerate(members):
        amount[k] = curves.cache[i] * fraction[i]
        first[k], end[k] = start[i], stop[i]
    return most_violated_union(amount, first, end, carried)


@njit(cache=True)
def envelope_optimum(
    family: int, curves: Curves, shape: Envelopes, windows: Windows
) -> tuple[Floats, Floats, int, NDArray[np.bool_]]:
    """Maximise the envelopes' sum over schedulable fractions.

    Parameters
    ----------
    family
        Code of the utility family.
    curves, shape
        Of n users, in the order of their windows' ends.
    windows
        Of the same users.

    Returns
    -------
    Fractions y, (n,); prices a bit by segment, (m,); the number of blocks filled; and a union of segments
    that the lower ends alone overfill, (m,), all false if they are schedulable (otherwise y and the prices
    mean nothing).
    """
    n, m = len(windows.first), len(windows.carried)
    fraction, price = shape.lower.copy(), np.zeros(m)
    users, segments = np.arange(n), np.arange(m)
    start, stop = windows.first.copy(), windows.end.copy()
    blocks, guess = np.empty((n + m + 2, 4), dtype=np.int64), np.empty(n + m + 2)
    count, filled = first_blocks(windows, blocks, guess), 0
    for b in range(count):
        for i in range(blocks[b, 0], blocks[b, 1]):
            start[i] -= blocks[b, 2]
            stop[i] -= blocks[b, 2]
    overfull = np.zeros(m, dtype=np.bool_)
    while count > 0:
        count -= 1
        ulow, uhigh, low, high = blocks[count, 0], blocks[count, 1], blocks[count, 2], blocks[count, 3]
        if ulow == uhigh:
            continue
        members, carried = users[ulow:uhigh], windows.carried[segments[low:high]]
        room, budget = carried.sum(), carried.sum()
        for i in members:
            budget -= curves.cache[i] * shape.lower[i]
        filled += 1
        x = fill_block(family, curves, shape, members, budget, guess[count], fraction)
        excess, union = block_excess(curves, members, fraction, start, stop, carried)
        if budget < -ROUNDING * room:
            for e in segments[low:high]:
                overfull[e] = True
            return fraction, price, filled, overfull
        if excess <= ROUNDING * room or union.all():
            for e in segments[low:high]:
                price[e] = math.exp(x)
            continue
        within = inside_union(members, start, stop, union)
        umiddle, middle = split(users, within, ulow), split(segments, union, low)
        count = push(blocks, guess, count, (ulow, umiddle, low, middle), x)
        count = push(blocks, guess, count, (umiddle, uhigh, middle, high), x)
    return fraction, price, filled, overfull


@njit(cache=True)
def window_prices(windows: Windows, price: Floats) -> Floats:
    """Return the lowest price in each window, (n,)."""
    lowest = np.empty(len(windows.first))
    for i in range(len(lowest)):
        lowest[i] = price[windows.first[i]]
        for e in range(windows.first[i] + 1, windows.end[i]):
            lowest[i] = min(lowest[i], price[e])
    return lowest


@njit(cache=True)
def dual_value(
    family: int,
    curves: Curves,
    lower: Floats,
    upper: Floats,
    left_out: NDArray[np.bool_],
    windows: Windows,
    price: Floats,
) -> float:
    """Return Σ_t p_t C_t + Σ_i max over lower ≤ y ≤ upper of A_i(y) − L_i y q_i, some users left out."""
    total, lowest = 0.0, window_prices(windows, price)
    for e in range(len(price)):
        total += price[e] * windows.carried[e]
    for i in range(len(lower)):
        if not left_out[i]:
            curve = (curves.ceiling[i], curves.sharpness[i], curves.anchor[i])
            total += surplus(family, *curve, lower[i], upper[i], curves.cache[i] * lowest[i])
    return total
