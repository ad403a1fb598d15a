"""Groups: the users of a busy period in consecutive parts, and the segments that neighbours share.

Users are taken in the order of their windows' ends, and a group has the segments between the first and the
last of its windows. Where several groups have a segment, all of them pay a *floor* price f_t for what they
use of it, and none may use more than its capacity, so prices inside a group are at least f_t. With what the
segments are worth at their floors, the bounds of the groups add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Group
from formulations.handover.horizon.envelope import Curves
from formulations.handover.horizon.envelope_optimum import Windows
from formulations.handover.horizon.segments import Horizon

__all__ = ["Chain", "chain_of", "group_of", "joined", "shortest_cuts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Chain:
    """A busy period in G groups; group g has the users border[g] … border[g + 1] − 1."""

    border: Ints  # (G + 1,)
    low: Ints  # (G,) first segment of each group
    high: Ints  # (G,) segment after its last
    shared: NDArray[np.bool_]  # (m,) which segments several groups have

    def users(self, g: int) -> slice:
        """Return the users of a group."""
        return slice(int(self.border[g]), int(self.border[g + 1]))

    def segments(self, g: int) -> slice:
        """Return the segments of a group."""
        return slice(int(self.low[g]), int(self.high[g]))


def chain_of(horizon: Horizon, border: Ints) -> Chain:
    """Return the groups between the borders."""
    first, end, carried = horizon.windows
    low, high = np.minimum.reduceat(first, border[:-1]), end[border[1:] - 1]
    begun, over = (np.bincount(edge, minlength=len(carried) + 1)[:-1] for edge in (low, high))
    return Chain(border, low, high, np.cumsum(begun - over) > 1)


def shortest_cuts(horizon: Horizon, inside: NDArray[np.bool_], most: int, most_inside: int) -> Ints:
    """Return the borders, (G + 1,), at which the fewest segments are shared and users ``inside`` touch them.

    A group has at most ``most`` users, and at most ``most_inside`` of those that are ``inside`` their chords.
    """
    first, end, carried = horizon.windows
    reached = np.maximum.accumulate(np.concatenate(([0], end)))
    begun = np.minimum.accumulate(np.concatenate((first, [len(carried)]))[::-1])[::-1]
    before = np.concatenate(([0], np.cumsum(inside)))
    furthest = np.searchsorted(before, before - most_inside)
    furthest = np.maximum(furthest, np.arange(len(before)) - most)
    touching = np.searchsorted(np.sort(first[inside]), reached) - np.searchsorted(end[inside], begun, "right")
    cost = np.where(reached > begun, reached - begun + touching, 0)
    return np.asarray(cheapest_borders(cost, furthest))


@njit(cache=True)
def cheapest_borders(cost: Ints, furthest: Ints) -> Ints:
    """Return borders 0 = b_0 < b_1 < … = n of least cost with b_{j-1} ≥ furthest[b_j], if it is below b_j."""
    n = len(cost) - 1
    best, before = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64)
    for k in range(1, n + 1):
        before[k] = max(0, min(furthest[k], k - 1))
        for j in range(before[k] + 1, k):
            if best[j] < best[before[k]]:
                before[k] = j
        best[k] = best[before[k]] + cost[k]
    borders = [n]
    while borders[-1] > 0:
        borders.append(before[borders[-1]])
    return np.array(borders[::-1])


def joined(chain: Chain, weight: Floats, nodes: Ints, most_nodes: int) -> Ints:
    """Return the borders that are left when neighbours are joined in pairs, those of most weight first.

    ``weight`` is by segment, (m,); a pair counts what it shares, and is joined if that is positive and its
    trees have at most ``most_nodes`` ``nodes``, (G,), together.
    """
    total = np.concatenate(([0.0], np.cumsum(weight)))
    low = np.maximum(chain.low[:-1], chain.low[1:])
    shares = total[np.maximum(chain.high[:-1], low)] - total[low]
    free = np.ones(len(nodes), dtype=np.bool_)
    kept = np.ones(len(chain.border), dtype=np.bool_)
    for g in np.argsort(-shares, kind="stable"):
        if shares[g] > 0 and free[g] and free[g + 1] and nodes[g] + nodes[g + 1] <= most_nodes:
            free[g] = free[g + 1] = kept[g + 1] = False
    return chain.border[kept]


def group_of(horizon: Horizon, chain: Chain, g: int, floor: Floats) -> tuple[Group, Ints]:
    """Return a group and its users' places in the horizon, −1 for a stand-in, (n,).

    ``floor`` holds the prices of shared segments and 0 elsewhere, (m,) accuracy a bit.
    """
    users, segments = chain.users(g), chain.segments(g)
    first, end, carried = horizon.windows
    own, room = floor[segments].copy(), carried[segments].copy()
    segment = np.flatnonzero(own > 0)
    place = np.concatenate((np.arange(users.start, users.stop), np.full(len(segment), -1)))
    stops = np.concatenate((end[users] - segments.start, segment + 1))
    order = np.argsort(stops, kind="stable")
    starts = np.concatenate((first[users] - segments.start, segment))
    ones = np.ones(len(segment))
    curves = Curves(
        np.concatenate((horizon.curves.cache[users], room[segment]))[order],
        *(np.concatenate((column[users], ones))[order] for column in horizon.curves[1:]),
    )
    return Group(curves, Windows(starts[order], stops[order], room), own, (place < 0)[order]), place[order]
