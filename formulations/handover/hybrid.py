"""The Hybrid baseline of Section VI-D: tokens prefilled at the target while the cache of the rest is sent.

The link serves users first come, first served, each at the whole rate B. A user prefills the first share f of
its T tokens at the target while the cache of the others waits for the link and is sent; f makes both end at
the same time:

    a f T + b (f T)² = w + (1 − f) L / B,        w the wait for the link,                              (1)

or is 1 where prefilling everything ends before the link is free. T tokens take a T + b T² seconds to prefill.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from instances.handover import HandoverTrace

__all__ = ["PREFILL", "REPREFILL_MS", "Prefill", "hybrid_latencies", "prefill_through"]

Floats = NDArray[np.float64]

REPREFILL_MS = {4096: 300.0, 8192: 676.0, 16384: 1566.0}  # Section VI-D, measured on an NVIDIA RTX PRO 6000
HALVINGS = 60


@dataclass(frozen=True)
class Prefill:
    """Seconds to prefill T tokens: linear T + quadratic T²."""

    linear: float  # s a token
    quadratic: float  # s a squared token

    def seconds(self, tokens: float) -> float:
        """Return the seconds for so many tokens."""
        return self.linear * tokens + self.quadratic * tokens * tokens


def prefill_through(first: tuple[float, float], second: tuple[float, float]) -> Prefill:
    """Return the law through two points (tokens, seconds)."""
    (t, s), (u, v) = first, second
    quadratic = (v / u - s / t) / (u - t)
    return Prefill(s / t - quadratic * t, quadratic)


PREFILL = prefill_through((4096.0, 0.3), (16384.0, 1.566))


def hybrid_latencies(instance: HandoverTrace, prefill: Prefill = PREFILL) -> Floats:
    """Return the seconds from each arrival until the context is whole at the target, (N,).

    Parameters
    ----------
    instance
        A horizon; slots and windows play no part.
    prefill
        The target's prefill law.
    """
    users, free = instance.users, 0.0
    seconds = np.empty(len(users))
    for i in np.argsort(users.arrival_s, kind="stable").tolist():
        arrival, tokens = float(users.arrival_s[i]), float(users.context_tokens[i])
        wait = max(0.0, free - arrival)
        transfer = float(users.cache_bits[i]) / instance.bandwidth_bps
        share = _share(prefill, tokens, wait, transfer)
        seconds[i] = prefill.seconds(share * tokens)
        if share < 1.0:
            free = arrival + wait + (1.0 - share) * transfer
    return seconds


def _share(prefill: Prefill, tokens: float, wait: float, transfer: float) -> float:
    """Return f of (1), by halving."""
    if prefill.seconds(tokens) <= wait:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if prefill.seconds(middle * tokens) < wait + (1.0 - middle) * transfer:
            low = middle
        else:
            high = middle
    return low
