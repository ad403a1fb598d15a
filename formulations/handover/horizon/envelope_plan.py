"""A plan for users with windows on the concave envelopes of their accuracy curves.

With Â_i the least concave function above A_i from the received fraction x_i on (``slot.envelope``), the plan
maximises what the slots carry:

    maximise    Σ_i Â_i(y_i)                                                              (1)
    subject to  Σ_t z_{i,t} = L_i (y_i − x_i),   Σ_i z_{i,t} ≤ C_t,   z_{i,t} ≥ 0 in i's window only      (2)
                x_i ≤ y_i ≤ 1                                                             (3)

A block of segments is filled at one price as if it were one slot; the union of segments that its users
overload most becomes a block of its own, and the rest is filled again.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.handover.horizon.price_blocks import most_violated
from formulations.handover.slot.envelope import Envelopes, filled

__all__ = ["plan"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROUNDING = 1e-12  # of a block's capacity


@njit(cache=True)
def plan(family: int, users: Envelopes, first: Ints, end: Ints, carried: Floats) -> Floats:
    """Return the fractions y, (n,), that maximise (1)–(3).

    Parameters
    ----------
    family
        Code of the utility family.
    users
        The envelopes, (n,).
    first, end
        First segment of each window and the segment after its last, (n,) each.
    carried
        Bits that each segment carries, (m,).
    """
    y = users.start.copy()
    user_block, segment_block = np.zeros(len(y), np.int64), np.zeros(len(carried), np.int64)
    block, blocks = 0, 1
    while block < blocks:
        member, segments = np.flatnonzero(user_block == block), np.flatnonzero(segment_block == block)
        room = carried[segments]
        y[member], _ = filled(family, users, member, np.sum(room))
        a, b = np.searchsorted(segments, first[member]), np.searchsorted(segments, end[member])
        amount = users.cache[member] * (y[member] - users.start[member])
        excess, union = most_violated(amount, a, b, room)
        position = np.zeros(len(union) + 1, np.int64)
        position[1:] = np.cumsum(union)
        within = position[b] - position[a] == b - a
        if excess > ROUNDING * np.sum(room) and np.any(within) and not np.all(union):
            user_block[member[within]] = blocks
            segment_block[segments[union]] = blocks
            blocks += 1
        else:
            block += 1
    return y
