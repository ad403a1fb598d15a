"""Branch and bound on which side of its curve each user of a group is.

A node restricts every user to an interval of fractions. Its bound is the envelopes' optimum there, proved by
slot prices; its fractions are a schedule as well, worth a little less where a user is inside its chord. The
node with the largest bound is split at the user that loses most: at its anchor if the interval holds it, and
on the convex side where the chord is furthest above the curve.

Users of other groups may use a group's segments as well. Everybody pays a *floor* price f_t there, so what
the group leaves unused is worth f_t a bit: a user with linear utility in each such segment stands for the
others, and prices inside the group stay at f_t or above.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.envelope import Curves, Envelopes, envelope_gap, envelopes
from formulations.handover.horizon.envelope_optimum import Windows, dual_value, envelope_optimum
from formulations.handover.utility import reach, value

__all__ = ["Group", "Tree", "grow"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TIGHT = 1e-12  # envelope gap of a user that is not worth a split
OVERFULL = 1e-7  # excess, of what a union carries, whose infeasibility prices can prove in double


class Group(NamedTuple):
    """Users of a part of the horizon, n, and the stand-ins of users outside it, among them."""

    curves: Curves
    windows: Windows
    floor: Floats  # (m,) f, accuracy a bit
    linear: NDArray[np.bool_]  # (n,) which users are stand-ins


class Tree(NamedTuple):
    """A tree of K nodes; those without children prove the bound."""

    bound: float  # the largest bound of the nodes without children
    value: float  # of the best fractions found
    fraction: Floats  # (n,)
    split: Ints  # (K,) user at which a node was split, −1 without children
    point: Floats  # (K,) fraction at which it was split
    child: Ints  # (K,) node of the part below the point; the other follows it
    price: Floats  # (K, m) accuracy a bit
    filled: int  # blocks filled


@njit(cache=True)
def shapes(family: int, group: Group, lower: Floats, upper: Floats) -> Envelopes:
    """Return the envelopes on [lower, upper], the stand-ins' being their linear utilities."""
    shape = envelopes(family, group.curves, lower, upper)
    for i in range(len(lower)):
        if group.linear[i]:
            shape.knee[i] = upper[i]
            shape.slope[i] = math.log(group.floor[group.windows.first[i]])
    return shape


@njit(cache=True)
def gained(family: int, group: Group, fraction: Floats) -> float:
    """Return what the fractions are worth: Σ A_i(y_i), and f_t a bit for the stand-ins."""
    total, curves = 0.0, group.curves
    for i in range(len(fraction)):
        if group.linear[i]:
            total += group.floor[group.windows.first[i]] * curves.cache[i] * fraction[i]
        else:
            total += value(family, curves.ceiling[i], curves.sharpness[i], curves.anchor[i], fraction[i])
    return total


@njit(cache=True)
def bound_of(family: int, group: Group, lower: Floats, upper: Floats, price: Floats) -> float:
    """Return the dual bound of a node; stand-ins gain nothing at prices of at least the floor."""
    return dual_value(family, group.curves, lower, upper, group.linear, group.windows, price)


@njit(cache=True)
def rounded(family: int, group: Group, shape: Envelopes, fraction: Floats) -> tuple[Floats, float]:
    """Return the best fractions with users below their anchors left at their lower ends, and their value."""
    curves = group.curves
    lower, upper = shape.lower.copy(), shape.upper.copy()
    for i in range(len(fraction)):
        if group.linear[i]:
            continue
        if fraction[i] >= curves.anchor[i] and fraction[i] >= shape.knee[i]:
            lower[i] = max(lower[i], curves.anchor[i])
        else:
            upper[i] = lower[i]
    y = envelope_optimum(family, curves, shapes(family, group, lower, upper), group.windows)[0]
    return y, gained(family, group, y)


@njit(cache=True)
def widest_gap(family: int, group: Group, shape: Envelopes, fraction: Floats) -> tuple[int, float]:
    """Return the user that loses most against its envelope, −1 for none, and where to split it."""
    worst, most = -1, TIGHT
    for i in range(len(fraction)):
        if not group.linear[i]:
            gap = envelope_gap(family, group.curves, shape, i, fraction[i])
            if gap > most:
                worst, most = i, gap
    if worst < 0:
        return -1, 0.0
    low, high, anchor = shape.lower[worst], shape.upper[worst], group.curves.anchor[worst]
    if low < anchor < high:
        return worst, anchor
    margin = 0.01 * (high - low)
    point = anchor - reach(family, shape.steep[worst] - shape.slope[worst]) / group.curves.sharpness[worst]
    return worst, min(high - margin, max(low + margin, point))


@njit(cache=True)
def overfull_prices(
    group: Group, lower: Floats, union: NDArray[np.bool_], wanted: float
) -> tuple[Floats, bool]:
    """Return prices at which an overfull union costs ``wanted`` accuracy more than can be gained."""
    windows, curves = group.windows, group.curves
    room, needed, limit = 0.0, 0.0, wanted
    for e in range(len(union)):
        limit += group.floor[e] * windows.carried[e]
        room += windows.carried[e] * union[e]
    for i in range(len(lower)):
        limit += curves.ceiling[i]
        if union[windows.first[i] : windows.end[i]].all():
            needed += curves.cache[i] * lower[i]
    price = group.floor.copy()
    if needed - room <= OVERFULL * room:
        return price, False
    for e in range(len(union)):
        if union[e]:
            price[e] = max(price[e], limit / (needed - room))
    return price, True


@njit(cache=True)
def examine(
    family: int, group: Group, lower: Floats, upper: Floats, wanted: float
) -> tuple[float, Floats, int, float, Floats, float, int]:
    """Return a node's bound, prices, split user and point, fractions, value and number of filled blocks."""
    shape = shapes(family, group, lower, upper)
    y, price, filled, overfull = envelope_optimum(family, group.curves, shape, group.windows)
    if overfull.any():
        price, proved = overfull_prices(group, lower, overfull, wanted)
        bound = bound_of(family, group, lower, upper, price) if proved else math.inf
        return bound, price, -1, 0.0, y, -math.inf, filled
    price = np.maximum(price, group.floor)
    bound = bound_of(family, group, lower, upper, price)
    split, point = widest_gap(family, group, shape, y)
    worth = gained(family, group, y)
    if split >= 0:
        other, other_worth = rounded(family, group, shape, y)
        if other_worth > worth:
            y, worth = other, other_worth
    return bound, price, split, point, y, worth, filled


@njit(cache=True)
def largest(bound: Floats, count: int) -> int:
    """Return the first of the ``count`` nodes with the largest bound."""
    k = 0
    for other in range(1, count):
        if bound[other] > bound[k]:
            k = other
    return k


@njit(cache=True)
def grow(
    family: int, group: Group, lower: Floats, upper: Floats, known: float, gap: float, nodes: int
) -> Tree:
    """Grow a tree until the best value is within ``gap`` of the bound, or ``nodes`` were examined.

    Parameters
    ----------
    family
        Code of the utility family.
    group
        The users, in the order of their windows' ends.
    lower, upper
        (n,) fractions of the root.
    known
        A value that need not be found again.
    gap
        Accuracy.
    nodes
        At least 1.

    Returns
    -------
    The tree; its value is ``known``, and its fractions the root's, when nothing better was found.
    """
    n, m = len(lower), len(group.windows.carried)
    size = max(nodes, 1)
    lowers, uppers, price = np.empty((size, n)), np.empty((size, n)), np.empty((size, m))
    bound, split, point = np.empty(size), np.full(size, -1), np.zeros(size)
    child, waiting = np.full(size, -1), np.full(size, -1)
    lowers[0], uppers[0] = lower, upper
    root = examine(family, group, lower, upper, 1.0)
    bound[0], price[0], waiting[0], point[0], fraction, worth, filled = root
    value_found = max(known, worth)
    count = 1
    while count + 2 <= size:
        k = largest(bound, count)
        if bound[k] <= value_found + gap or waiting[k] < 0:
            break
        i = waiting[k]
        for side in range(2):
            c = count + side
            lowers[c], uppers[c] = lowers[k], uppers[k]
            if side == 0:
                uppers[c, i] = point[k]
            else:
                lowers[c, i] = point[k]
            found = examine(family, group, lowers[c], uppers[c], bound[k] - value_found + 1.0)
            bound[c], price[c], waiting[c], point[c] = found[0], found[1], found[2], found[3]
            filled += found[6]
            if bound[c] >= bound[k]:
                bound[c], price[c] = bound[k], price[k]
            if found[5] > value_found:
                fraction, value_found = found[4], found[5]
        split[k], child[k], bound[k] = i, count, -math.inf
        count += 2
    top = bound[largest(bound, count)]
    return Tree(
        top, value_found, fraction, split[:count], point[:count], child[:count], price[:count], filled
    )
