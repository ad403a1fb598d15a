"""The best schedule that lifts every user to its anchor in its first slot: what (3) costs with foresight.

Between the clairvoyant optimum and a policy that optimises slot by slot lie two losses: each user must have
reached its anchor by the end of its first slot, as the paper's per-slot problem demands, and nothing is known
of the slots to come. This method knows all arrivals and keeps the demand alone:

    maximise    Σ_i A_i(y_i)                                                              (1)
    subject to  z_{i,f_i} ≥ L_i τ_i                    f_i the first slot of user i           (2)
                Σ_i z_{i,t} ≤ C,  z_{i,t} ≥ 0 in i's window only,  y_i = Σ_t z_{i,t} / L_i ≤ 1   (3)

Where the users that arrive in one slot do not fit at their anchors, (2) is dropped for them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.busy_periods import busy_periods
from formulations.handover.horizon.earliest_deadline import earliest_deadline_first
from formulations.handover.horizon.envelope_plan import plan
from formulations.handover.slot.claim import no_more_options
from formulations.handover.slot.envelope import envelopes
from formulations.handover.utility import CODES, values
from formulations.result import Limits, Result, Status
from instances.decisions import Schedule
from instances.handover import HandoverTrace

__all__ = ["solve_lifted"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def solve_lifted(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Maximise (1) under (2) and (3), on concave envelopes where (2) was dropped.

    Parameters
    ----------
    instance
        A horizon.
    limits, seed
        Part of the method contract; the method takes milliseconds a busy period and draws nothing.

    Returns
    -------
    A schedule. No bound: users without (2) are planned on envelopes.

    Raises
    ------
    InputError
        For an unknown option.
    """
    no_more_options("clairvoyant-lifted", options)
    users, (first, end) = instance.users, instance.windows()
    lift = _lifts(instance, first)
    amount = np.zeros(len(users))
    for period in busy_periods(instance):
        amount[period.user] = _planned(instance, period.user, lift[period.user])
    pieces = np.concatenate((lift, amount - lift))
    starts, ends = np.concatenate((first, first)), np.concatenate((first + 1, end))
    piece, slot, bits = earliest_deadline_first(pieces, starts, ends, instance.capacity_bits)
    user, slot, bits = _joined(piece % max(1, len(users)), slot, bits)
    sent = np.bincount(user, weights=bits, minlength=len(users))
    y = np.minimum(1.0, sent / users.cache_bits)
    total = math.fsum(values(instance.utility, users.ceiling, users.sharpness, users.anchor, y))
    return Result(Status.FEASIBLE, decision=Schedule(user, slot, bits), objective=total)


def _joined(user: Ints, slot: Ints, bits: Floats) -> tuple[Ints, Ints, Floats]:
    """Return the transmissions with those of one user in one slot added up."""
    pairs, place = np.unique(np.stack((slot, user)), axis=1, return_inverse=True)
    total = np.bincount(place.reshape(-1), weights=bits, minlength=pairs.shape[1]).astype(np.float64)
    return pairs[1], pairs[0], total


def _lifts(instance: HandoverTrace, first: Ints) -> Floats:
    """Return the bits that each user must have after its first slot, (N,), 0 where a slot's do not fit."""
    lift = instance.users.cache_bits * instance.users.anchor
    needed = np.bincount(first, weights=lift)
    lift[needed[first] > instance.capacity_bits] = 0.0
    return lift


def _planned(instance: HandoverTrace, user: Ints, lift: Floats) -> Floats:
    """Return the bits in all that each ``user`` of a busy period gets in the best plan, (n,)."""
    users, (first, end) = instance.users, instance.windows()
    starts, ends = first[user], end[user]
    edges = np.unique(np.concatenate((starts, starts + 1, ends)))
    carried = instance.capacity_bits * np.diff(edges).astype(np.float64)
    np.subtract.at(carried, np.searchsorted(edges, starts), lift)
    cache, family = users.cache_bits[user], CODES[instance.utility]
    curve = (users.ceiling[user], users.sharpness[user], users.anchor[user])
    start = np.where(lift > 0, users.anchor[user], 0.0)
    curves = envelopes(family, cache, start, *curve)
    y = plan(family, curves, np.searchsorted(edges, starts), np.searchsorted(edges, ends), carried)
    return np.asarray(cache * y)
