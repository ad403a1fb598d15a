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

from formulations.handover.horizon.envelope import Curves, Envelopes, surpluses_on
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
def borders(windows: Windows) -> Ints:
    """Return the borders of the busy periods, 0 … m: no window crosses them."""
    m = len(windows.carried)
    crossing = np.zeros(m + 2, dtype=np.int64)
    for i in range(len(windows.first)):
        crossing[windows.first[i] + 1] += 1
        crossing[windows.end[i]] -= 1
    open_windows = np.cumsum(crossing)[: m + 1]
    return np.flatnonzero(open_windows == 0)


@njit(cache=True)
def first_blocks(windows: Windows, blocks: Ints, guess: Floats) -> int:
    """Write the busy periods as (first user, end, first segment, end); return how many there are."""
    edges = borders(windows)
    users = np.searchsorted(windows.end, edges, side="right")
    count = 0
    for b in range(len(edges) - 1):
        blocks[count] = (users[b], users[b + 1], edges[b], edges[b + 1])
        guess[count] = math.nan
        count += 1
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
def inside_union(
    members: Ints, start: Ints, stop: Ints, union: NDArray[np.bool_]
) -> NDArray[np.bool_]:
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
        start[blocks[b, 0] : blocks[b, 1]] -= blocks[b, 2]
        stop[blocks[b, 0] : blocks[b, 1]] -= blocks[b, 2]
    overfull = np.zeros(m, dtype=np.bool_)
    while count > 0:
        count -= 1
        ulow, uhigh, low, high = blocks[count]
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
            overfull[segments[low:high]] = True
            return fraction, price, filled, overfull
        if excess <= ROUNDING * room or union.all():
            price[segments[low:high]] = math.exp(x)
            continue
        within = inside_union(members, start, stop, union)
        umiddle, middle = split(users, within, ulow), split(segments, union, low)
        blocks[count] = (ulow, umiddle, low, middle)
        blocks[count + 1] = (umiddle, uhigh, middle, high)
        guess[count : count + 2] = x
        count += 2
    return fraction, price, filled, overfull


@njit(cache=True)
def window_prices(windows: Windows, price: Floats) -> Floats:
    """Return the lowest price in each window, (n,)."""
    lowest = np.empty(len(windows.first))
    for i in range(len(lowest)):
        lowest[i] = price[windows.first[i] : windows.end[i]].min()
    return lowest


@njit(cache=True)
def dual_value(
    family: int, curves: Curves, lower: Floats, upper: Floats, windows: Windows, price: Floats
) -> float:
    """Return Σ_t p_t C_t + Σ_i max over lower ≤ y ≤ upper of A_i(y) − L_i y q_i: an upper bound."""
    cost = curves.cache * window_prices(windows, price)
    return (price * windows.carried).sum() + surpluses_on(family, curves, lower, upper, cost).sum()
