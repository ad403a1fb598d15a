"""Busy periods of a horizon: users whose windows overlap, directly or through others.

They are decided apart from the rest.

Within a busy period, slots that the same windows cover are interchangeable and form one *segment*.
"""

from __future__ import annotations

from dataclasses import dataclass

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from instances.handover import HandoverTrace

__all__ = ["BusyPeriod", "busy_periods"]

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BusyPeriod:
    """One connected component of overlapping windows."""

    user: Ints  # (n,) indices in the horizon, increasing
    first: Ints  # (n,) first segment of each user's window
    end: Ints  # (n,) segment after the window's last
    start: Ints  # (m,) first slot of each segment
    slots: Ints  # (m,) number of slots in each segment


def busy_periods(instance: HandoverTrace) -> list[BusyPeriod]:
    """Return the busy periods in the order of time; every user is in exactly one."""
    first, end = instance.windows()
    overlaps = nx.Graph()
    overlaps.add_nodes_from(range(len(first)))
    longest = -1  # the user whose window ends last so far
    for i in np.argsort(first, kind="stable").tolist():
        if longest >= 0 and first[i] < end[longest]:
            overlaps.add_edge(longest, i)
        if longest < 0 or end[i] > end[longest]:
            longest = i
    members = [np.array(sorted(part), dtype=np.int64) for part in nx.connected_components(overlaps)]
    members.sort(key=lambda part: int(first[part].min()))
    return [_period(part, first[part], end[part]) for part in members]


def _period(user: Ints, first: Ints, end: Ints) -> BusyPeriod:
    edges = np.unique(np.concatenate((first, end)))
    return BusyPeriod(
        user, np.searchsorted(edges, first), np.searchsorted(edges, end), edges[:-1], np.diff(edges)
    )
