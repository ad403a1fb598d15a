"""Branch and bound over the sides of the anchors, for one slot of S-shaped curves.

The programme (3) of the paper, without the floor of (4):

    maximise    Σ_i A_i(y_i)                                                              (1)
    subject to  Σ_i L_i (y_i − x_i) ≤ C                                                   (2)
                x_i ≤ y_i ≤ 1                                                             (3)

A node keeps each fraction in an interval: [x_i, 1] (open), [max(x_i, τ_i), 1] (the concave side) or a part of
[x_i, τ_i] (the convex side). Its envelopes are filled with the budget; at most one user is left on a straight
part of its envelope, where the curve is below. That user's interval is split. A node's bound is the dual
function at the price that was found, with the curves themselves over the intervals:

    θ (C − Σ_i L_i (l_i − x_i)) + Σ_i max_{l_i ≤ y ≤ h_i} [A_i(y) − θ L_i (y − l_i)]                     (4)

which bounds (1) within the node for any θ ≥ 0. Of users that are equal, those with the lower index are taken
to receive at least as much.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.slot.columns import Slot
from formulations.handover.slot.envelope import Envelopes, envelopes, filled
from formulations.handover.utility import log_peak, reach, value

__all__ = ["CLOSED", "Search", "advance", "begin", "best_sides", "grown"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLOSED = 1e-9  # gap a user, accuracy, at which a search is over
PRUNED = 0.4  # of that gap, within which a node cannot be better
ROUNDING = 1e-15  # of a bound, a user
FITS = 1e-12  # of the budget
MOST_NODES_A_SLOT = 2000
BEST, COVERED = 0, 1  # places in ``Search.found``
MADE, SOLVED = 0, 1  # places in ``Search.nodes``


class Search(NamedTuple):
    """The open nodes of a search, and the best fractions so far."""

    low: Floats  # (nodes, n) fraction
    high: Floats  # (nodes, n) fraction
    bound: Floats  # (nodes,) accuracy, −∞ for a node that is done
    nodes: Ints  # (2,) made, solved
    found: Floats  # (2,) best value, largest bound of what was left out
    best: Floats  # (n,) fractions


@njit(cache=True)
def begin(root: Envelopes, nodes: int) -> Search:
    """Return a search with room for ``nodes`` nodes, the first of them open."""
    n = len(root.cache)
    low, high = np.empty((nodes, n)), np.empty((nodes, n))
    bound = np.full(nodes, -np.inf)
    low[0], high[0], bound[0] = root.start, 1.0, np.inf
    made = np.zeros(2, np.int64)
    made[MADE] = 1
    return Search(low, high, bound, made, np.full(2, -np.inf), root.start.copy())


@njit(cache=True)
def grown(search: Search) -> Search:
    """Return the search with twice the room for nodes."""
    nodes, n = search.low.shape
    low, high = np.empty((2 * nodes, n)), np.empty((2 * nodes, n))
    bound = np.full(2 * nodes, -np.inf)
    low[:nodes], high[:nodes], bound[:nodes] = search.low, search.high, search.bound
    return Search(low, high, bound, search.nodes, search.found, search.best)


@njit(cache=True)
def within(family: int, root: Envelopes, low: Floats, high: Floats) -> Envelopes:
    """Return the envelopes over the intervals of a node, (n,)."""
    touch, steepness = root.touch.copy(), root.steepness.copy()
    for i in range(len(low)):
        curve = (family, root.ceiling[i], root.sharpness[i], root.anchor[i])
        if high[i] < 1.0:
            touch[i] = high[i]
            gain = value(*curve, high[i]) - value(*curve, low[i])
            width = max(high[i] - low[i], 1e-300)
            steepness[i] = math.log(max(gain, 1e-300)) - math.log(width) - math.log(root.cache[i])
        elif low[i] > root.start[i]:
            touch[i] = low[i]
            steepness[i] = log_peak(family, root.ceiling[i], root.sharpness[i]) - math.log(root.cache[i])
    return Envelopes(root.cache, low, root.ceiling, root.sharpness, root.anchor, high, touch, steepness)


@njit(cache=True)
def surplus(family: int, users: Envelopes, i: int, low: float, high: float, price: float) -> float:
    """Return max over [low, high] of A_i(y) − θ L_i (y − low), accuracy."""
    curve = (family, users.ceiling[i], users.sharpness[i], users.anchor[i])
    cost = price * users.cache[i]
    best: float = max(value(*curve, low), value(*curve, high) - cost * (high - low))
    if cost > 0 and high > users.anchor[i]:
        d = log_peak(family, users.ceiling[i], users.sharpness[i]) - math.log(cost)
        y = users.anchor[i] + reach(family, d) / users.sharpness[i]
        if d > 0 and low < y < high:
            best = max(best, value(*curve, y) - cost * (y - low))
    return best


@njit(cache=True)
def dual_value(family: int, users: Envelopes, price: float, left: float) -> float:
    """Return (4) for the node's intervals, rounded up; its lower ends leave ``left`` bits."""
    total = price * left
    for i in range(len(users.cache)):
        total += surplus(family, users, i, users.start[i], users.top[i], price)
    rounding: float = ROUNDING * (len(users.cache) + 4) * abs(total)
    return total + rounding


@njit(cache=True)
def offer(family: int, search: Search, users: Envelopes, y: Floats) -> None:
    """Keep fractions that fit if they are worth more than the best."""
    total = 0.0
    for i in range(len(y)):
        total += value(family, users.ceiling[i], users.sharpness[i], users.anchor[i], y[i])
    if total > search.found[BEST]:
        search.found[BEST] = total
        search.best[:] = y


@njit(cache=True)
def offer_rounded(
    family: int, search: Search, root: Envelopes, y: Floats, split: int, capacity: float
) -> None:
    """Offer the fractions with the user on a straight part left where it was, the others filled."""
    low, high = root.start.copy(), np.ones(len(y))
    for i in range(len(y)):
        if i != split and y[i] >= root.anchor[i]:
            low[i] = max(low[i], root.anchor[i])
        else:
            high[i] = low[i]
    users = within(family, root, low, high)
    left = capacity - np.sum(root.cache * (low - root.start))
    if left >= 0:
        rounded, _ = filled(family, users, np.arange(len(y)), left)
        offer(family, search, users, rounded)


@njit(cache=True)
def straight(users: Envelopes, y: Floats) -> int:
    """Return the user that lies inside a straight part of its envelope, −1 if there is none."""
    for i in range(len(y)):
        if users.touch[i] > users.start[i] and users.start[i] < y[i] < users.touch[i]:
            return i
    return -1


@njit(cache=True)
def fix_sides(family: int, search: Search, users: Envelopes, price: float, dual: float, node: int) -> None:
    """Leave out sides of open users that cost more at this price than the node has to offer.

    The bound of a side is the node's dual value with that user's surplus taken on that side alone.
    """
    low, high = search.low[node], search.high[node]
    worst = search.found[BEST] + PRUNED * CLOSED * len(low)
    for i in range(len(low)):
        anchor = users.anchor[i]
        if low[i] >= anchor or high[i] < 1.0:
            continue
        up = surplus(family, users, i, anchor, 1.0, price) - price * users.cache[i] * (anchor - low[i])
        down = surplus(family, users, i, low[i], anchor, price)
        if dual - max(0.0, down - up) <= worst:
            search.found[COVERED] = max(search.found[COVERED], dual - max(0.0, down - up))
            high[i] = anchor
        elif dual - max(0.0, up - down) <= worst:
            search.found[COVERED] = max(search.found[COVERED], dual - max(0.0, up - down))
            low[i] = anchor


@njit(cache=True)
def equal_users(users: Envelopes, root: Envelopes, i: int, j: int) -> bool:
    """Return whether two users have the same cache, curve and received fraction."""
    same = users.cache[i] == users.cache[j] and root.start[i] == root.start[j]
    same = same and users.ceiling[i] == users.ceiling[j] and users.sharpness[i] == users.sharpness[j]
    return bool(same and users.anchor[i] == users.anchor[j])


@njit(cache=True)
def branch(search: Search, users: Envelopes, root: Envelopes, node: int, split: int, y: float) -> None:
    """Split the interval of a user: at its anchor, or inside the convex side near the fraction ``y``."""
    low, high = search.low[node], search.high[node]
    at_anchor = high[split] >= 1.0
    width = high[split] - low[split]
    at = root.anchor[split]
    if not at_anchor:
        at = min(max(y, low[split] + 0.1 * width), high[split] - 0.1 * width)
    for upper in (True, False):
        new = search.nodes[MADE]
        search.nodes[MADE] += 1
        search.low[new], search.high[new], search.bound[new] = low, high, search.bound[node]
        for i in range(len(low)):
            if i == split or (at_anchor and equal_users(users, root, i, split) and (i < split) == upper):
                if upper:
                    search.low[new, i] = max(search.low[new, i], at)
                else:
                    search.high[new, i] = min(search.high[new, i], at)
                if search.low[new, i] > search.high[new, i]:
                    search.bound[new] = -np.inf


@njit(cache=True)
def solve_node(family: int, search: Search, root: Envelopes, capacity: float, node: int) -> None:
    """Bound a node, offer its fractions, and split it unless it cannot be better."""
    users = within(family, root, search.low[node], search.high[node])
    left = capacity - np.sum(root.cache * (users.start - root.start))
    if left < -FITS * capacity:
        search.bound[node] = -np.inf
        return
    y, price = filled(family, users, np.arange(len(users.cache)), max(0.0, left))
    dual = dual_value(family, users, price, max(0.0, left))
    bound = min(search.bound[node], dual)
    split = straight(users, y)
    if left >= 0:
        offer(family, search, users, y)
    if split >= 0:
        offer_rounded(family, search, root, y, split, capacity)
    search.bound[node] = bound
    if bound <= search.found[BEST] + PRUNED * CLOSED * len(y) or split < 0:
        search.found[COVERED] = max(search.found[COVERED], bound)
    else:
        fix_sides(family, search, users, price, dual, node)
        if straight(within(family, root, search.low[node], search.high[node]), y) != split:
            search.bound[search.nodes[MADE]] = bound  # its side is decided: solve this node again
            search.low[search.nodes[MADE]] = search.low[node]
            search.high[search.nodes[MADE]] = search.high[node]
            search.nodes[MADE] += 1
        else:
            branch(search, users, root, node, split, y[split])
    search.bound[node] = -np.inf


@njit(cache=True)
def advance(family: int, search: Search, root: Envelopes, capacity: float, nodes: int) -> bool:
    """Solve up to ``nodes`` nodes, the highest bound first; return whether the search is over."""
    for _ in range(nodes):
        made = search.nodes[MADE]
        node = int(np.argmax(search.bound[:made]))
        if search.bound[node] <= search.found[BEST] + PRUNED * CLOSED * len(root.cache):
            search.found[COVERED] = max(search.found[COVERED], search.bound[node])
            return True
        if made + 2 > len(search.bound):
            return False
        search.nodes[SOLVED] += 1
        solve_node(family, search, root, capacity, node)
    return False


@njit(cache=True)
def best_sides(slot: Slot) -> Floats:
    """Return the bits, (N,), of the best fractions found in ``MOST_NODES_A_SLOT`` nodes, as a slot policy."""
    root = envelopes(slot.family, slot.cache, slot.received, slot.ceiling, slot.sharpness, slot.anchor)
    search = begin(root, 2 * MOST_NODES_A_SLOT + 2)
    advance(slot.family, search, root, slot.capacity, MOST_NODES_A_SLOT)
    return slot.cache * (search.best - slot.received)
