"""Earliest deadline first: slots in which given amounts are sent, each user inside its window.

Amounts are schedulable at all exactly if this order sends them completely, since windows are intervals.
"""

from __future__ import annotations

import heapq

import numpy as np
from numpy.typing import NDArray

__all__ = ["earliest_deadline_first"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def earliest_deadline_first(
    amount: Floats, first: Ints, end: Ints, capacity: float
) -> tuple[Ints, Ints, Floats]:
    """Send ``amount`` in the order of the windows' ends; what does not fit is left out.

    Parameters
    ----------
    amount
        Bits by user, (N,).
    first, end
        First slot of each window and the slot after its last, (N,) each.
    capacity
        C, bit a slot.

    Returns
    -------
    User, slot and bits of each transmission, (E,) each; O((N + E) log N).
    """
    order = np.argsort(first, kind="stable").tolist()
    left = amount.tolist()
    entries: list[tuple[int, int, float]] = []
    waiting: list[tuple[int, int]] = []
    slot, next_user = 0, 0
    while waiting or next_user < len(order):
        if not waiting:
            slot = max(slot, int(first[order[next_user]]))
        while next_user < len(order) and first[order[next_user]] <= slot:
            i = order[next_user]
            heapq.heappush(waiting, (int(end[i]), i))
            next_user += 1
        room = capacity
        while waiting and room > 0:
            deadline, i = waiting[0]
            bits = min(room, left[i]) if deadline > slot else 0.0
            if bits > 0:
                entries.append((i, slot, bits))
                left[i] -= bits
                room -= bits
            if bits <= 0 or left[i] <= 0:
                heapq.heappop(waiting)
        slot += 1
    user, at, bits_sent = zip(*entries, strict=True) if entries else ((), (), ())
    return np.array(user, dtype=np.int64), np.array(at, dtype=np.int64), np.array(bits_sent, dtype=np.float64)
