"""Better schedules: exact fractions for given sides, and parts of the horizon solved anew.

A part is a range of segments. The users whose windows lie inside it are decided again by branch and bound,
with what the others' transmissions leave of its segments; so every answer can replace the old one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Group
from formulations.handover.horizon.envelope import Curves, envelopes, surpluses_on
from formulations.handover.horizon.envelope_optimum import Windows, envelope_optimum, window_prices
from formulations.handover.horizon.segments import Horizon
from formulations.handover.utility import values
from instances.handover import UTILITIES

__all__ = ["Range", "fixed_sides", "losses", "part_of", "parts"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LENGTH = 24  # segments of a part
SHIFT = 9  # segments by which the parts move from pass to pass


@dataclass(frozen=True)
class Range:
    """The segments low … high − 1."""

    low: int
    high: int


def fixed_sides(horizon: Horizon, fraction: Floats) -> Floats:
    """Return the best fractions with users at or above their anchors kept there, (n,).

    The others keep what they have. Where the anchors kept do not fit together, the users of an overfull union
    with most to send are left out.
    """
    curves, (first, end, _) = horizon.curves, horizon.windows
    above = fraction >= curves.anchor
    lower = np.where(above, curves.anchor, fraction)
    upper = np.where(above, 1.0, fraction)
    while True:
        shape = envelopes(horizon.family, curves, lower, upper)
        y, _, _, overfull = envelope_optimum(horizon.family, curves, shape, horizon.windows)
        if not overfull.any():
            return np.asarray(y)
        position = np.concatenate(([0], np.cumsum(overfull)))
        within = position[end] - position[first] == end - first
        out = np.argmax(np.where(within, curves.cache * lower, -1.0))
        lower[out] = upper[out] = 0.0


def losses(horizon: Horizon, fraction: Floats, price: Floats) -> tuple[Floats, Floats]:
    """Return what users, (n,), and segments, (m,), lose against the dual bound of ``price``, accuracy.

    Their sum is the gap: surplus that a user's fraction forgoes, and bits that are not sold at their price.
    """
    curves, windows, n = horizon.curves, horizon.windows, len(fraction)
    lowest = window_prices(windows, price)
    best = surpluses_on(horizon.family, curves, np.zeros(n), np.ones(n), curves.cache * lowest)
    gained = values(UTILITIES[horizon.family], *curves[1:], fraction)
    by_user = best - gained + curves.cache * fraction * lowest
    sold = segment_use(curves.cache * fraction, windows, lowest)
    return by_user, price * windows.carried - sold


def parts(horizon: Horizon, turn: int, by_user: Floats, by_segment: Floats, least: float) -> list[Range]:
    """Return the parts of pass ``turn`` that lose at least ``least``."""
    m, (first, end, _) = len(by_segment), horizon.windows
    found = []
    for low in range(-(turn * SHIFT % LENGTH), m, LENGTH):
        span = Range(max(low, 0), min(low + LENGTH, m))
        inside = (first >= span.low) & (end <= span.high)
        lost = by_user[inside].sum() + by_segment[span.low : span.high].sum()
        if inside.any() and lost > least:
            found.append(span)
    return found


def part_of(horizon: Horizon, fraction: Floats, span: Range) -> tuple[Group, Ints]:
    """Return the users inside a part with the capacity that the others leave them, and their places."""
    curves, (first, end, carried) = horizon.curves, horizon.windows
    inside = (first >= span.low) & (end <= span.high)
    used = segment_use(curves.cache * fraction, horizon.windows, (~inside).astype(np.float64))
    place = np.flatnonzero(inside)
    room = np.maximum(carried[span.low : span.high] - used[span.low : span.high], 0.0)
    windows = Windows(first[place] - span.low, end[place] - span.low, room)
    kept = Curves(*(column[place] for column in curves))
    return Group(kept, windows, np.zeros(len(room)), np.zeros(len(place), dtype=np.bool_)), place


@njit(cache=True)
def segment_use(amount: Floats, windows: Windows, weight: Floats) -> Floats:
    """Return the bits sent in each segment, each user's times its weight, (m,), earliest deadline first."""
    m = len(windows.carried)
    link, room, used = np.arange(m + 1), windows.carried.copy(), np.zeros(m)
    for i in range(len(amount)):
        left, e = amount[i], windows.first[i]
        while left > 0:
            while link[e] != e:
                link[e] = link[link[e]]
                e = link[e]
            if e >= windows.end[i]:
                break
            sent = min(left, room[e])
            used[e] += weight[i] * sent
            left -= sent
            room[e] -= sent
            if room[e] <= 0:
                link[e] = e + 1
    return used
