"""Groups: parts of the horizon around users that the envelopes leave inside their chords.

A group holds the users whose windows lie inside a range of segments. Those that reach into the range from
outside pay q_i, the lowest price of their windows, so a floor of max q_i in each segment that they share
leaves their surplus as it is, whatever the prices above it. A tree over the group then lowers the bound of
the whole horizon by as much as its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Group
from formulations.handover.horizon.envelope import Curves
from formulations.handover.horizon.envelope_optimum import Windows
from formulations.handover.horizon.segments import Horizon, busy_borders

__all__ = ["Range", "group_of", "ranges_around"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SMALL = 48  # users of a busy period that are taken together
MARGIN = 8  # segments on either side of a window
LONGEST = 32  # segments of a range


@dataclass(frozen=True)
class Range:
    """The segments low … high − 1."""

    low: int
    high: int


def ranges_around(horizon: Horizon, chosen: NDArray[np.bool_]) -> list[Range]:
    """Return disjoint ranges that hold the windows of the chosen users, as far as they are not too long."""
    edges = busy_borders(horizon)
    first, end = horizon.windows.first, horizon.windows.end
    ranges: list[Range] = []
    for i in np.flatnonzero(chosen)[np.argsort(first[chosen], kind="stable")]:
        period = int(np.searchsorted(edges, first[i], side="right"))
        low, high = int(edges[period - 1]), int(edges[period])
        if np.count_nonzero((first >= low) & (end <= high)) > SMALL:
            low, high = max(low, int(first[i]) - MARGIN), min(high, int(end[i]) + MARGIN)
        if ranges and low < ranges[-1].high:
            high = max(high, ranges[-1].high)
            low = ranges.pop().low if high - ranges[-1].low <= LONGEST else ranges[-1].high
        if low < high:
            ranges.append(Range(low, high))
    return ranges


def group_of(horizon: Horizon, span: Range, lowest: Floats) -> tuple[Group, Ints]:
    """Return the group of a range and its users' places in the horizon, −1 for a stand-in, (n,).

    ``lowest`` holds the lowest price in each window, (n,) accuracy a bit.
    """
    first, end, carried = horizon.windows
    inside = np.flatnonzero((first >= span.low) & (end <= span.high))
    floor = np.zeros(span.high - span.low)
    across = (first < span.high) & (end > span.low) & ~((first >= span.low) & (end <= span.high))
    for i in np.flatnonzero(across):
        shared = slice(max(first[i] - span.low, 0), min(end[i], span.high) - span.low)
        floor[shared] = np.maximum(floor[shared], lowest[i])
    segment = np.flatnonzero(floor > 0)
    room = carried[span.low : span.high]
    place = np.concatenate((inside, np.full(len(segment), -1)))
    stops = np.concatenate((end[inside] - span.low, segment + 1))
    order = np.argsort(stops, kind="stable")
    starts = np.concatenate((first[inside] - span.low, segment))
    ones = np.ones(len(segment))
    curves = Curves(
        np.concatenate((horizon.curves.cache[inside], room[segment]))[order],
        *(np.concatenate((column[inside], ones))[order] for column in horizon.curves[1:]),
    )
    windows = Windows(starts[order], stops[order], room.copy())
    return Group(curves, windows, floor, (place < 0)[order]), place[order]
