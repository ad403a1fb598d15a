"""What a schedule means for its users: who is starved, and how long they wait for 99 % of their accuracy.

Belongs to the evaluator and shares nothing with the methods. Doubles suffice: nothing is refused by these
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

from instances.decisions import Schedule
from instances.handover import HandoverTrace

__all__ = ["WANTED", "latencies", "outcomes", "wanted_fractions"]

Floats = NDArray[np.float64]

WANTED = 0.99  # of A_i(1)
STARVED = 1.0 - 1e-9  # of the anchor
HALVINGS = 60


def outcomes(instance: HandoverTrace, schedule: Schedule) -> dict[str, Any]:
    """Return how many users are starved, and their latencies by context length.

    Returns
    -------
    ``starved``: users whose received fraction stays below τ (1 − 10⁻⁹). ``latency``: by context tokens (as
    text) the number of users, of those who reach 99 % of A_i(1), the sum of their latencies (s) and of the
    squares.
    """
    users = instance.users
    sent = np.bincount(schedule.user, weights=schedule.bits, minlength=len(users)) / users.cache_bits
    seconds = latencies(instance, schedule)
    by_context = {}
    for tokens in np.unique(users.context_tokens).tolist():
        own = seconds[users.context_tokens == tokens]
        reached = own[np.isfinite(own)]
        by_context[str(tokens)] = [
            len(own), len(reached), float(reached.sum()), float((reached**2).sum())
        ]  # fmt: skip
    return {"starved": int(np.sum(sent < users.anchor * STARVED)), "latency": by_context}


def latencies(instance: HandoverTrace, schedule: Schedule) -> Floats:
    """Return the seconds from each arrival to the end of the slot in which 99 % of A_i(1) is there, (N,).

    Infinite for a user that never has it.
    """
    users = instance.users
    wanted = wanted_fractions(instance) * users.cache_bits * (1.0 - 1e-12)
    order = np.lexsort((schedule.slot, schedule.user))
    user, slot, bits = schedule.user[order], schedule.slot[order], schedule.bits[order]
    total = np.cumsum(bits)
    starts = np.searchsorted(user, np.arange(len(users)))
    before = np.concatenate(([0.0], total))[starts]
    seconds = np.full(len(users), np.inf)
    reached = total - before[user] >= wanted[user]
    ends = (slot[reached] + 1) * instance.slot_s - users.arrival_s[user[reached]]
    np.minimum.at(seconds, user[reached], ends)
    return seconds


def wanted_fractions(instance: HandoverTrace) -> Floats:
    """Return the fractions at which A_i is 99 % of A_i(1), (N,), by halving."""
    users = instance.users
    full = _accuracies(instance, np.ones(len(users)))
    low, high = np.zeros(len(users)), np.ones(len(users))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = _accuracies(instance, middle) >= WANTED * full
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high


def _accuracies(instance: HandoverTrace, y: Floats) -> Floats:
    """Return A_i(y_i), (N,): (6), (13) and the two further families."""
    users = instance.users
    u = users.sharpness * (y - users.anchor)
    if instance.utility == "algebraic":
        part = 0.5 * (1.0 + u / np.sqrt(1.0 + u * u))
    elif instance.utility == "logistic":
        part = 0.5 * (1.0 + np.tanh(0.5 * u))
    elif instance.utility == "erf":
        part = 0.5 * (1.0 + erf(u))
    else:
        part = 0.5 + np.arctan(u) / np.pi
    return np.asarray(users.ceiling * part)
