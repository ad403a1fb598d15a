"""From a choice that exceeds capacities to a feasible one, by exchanges at the least loss."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.core.fixing import Root
from formulations.mmkp.integers import IntegerMmkp

__all__ = ["repaired"]

Ints = NDArray[np.int64]


def repaired(problem: IntegerMmkp, root: Root, chosen: Ints, until: float) -> Ints | None:
    """Return the choice, items (n,), after exchanges that lower the excess; None if stuck or out of time.

    Each exchange lowers the summed relative excess most for what it loses. ``until`` is a time of
    ``time.perf_counter``.
    """
    chosen = chosen.copy()
    scale = np.maximum(problem.capacities, 1).astype(np.float64)
    used = problem.weights[chosen].sum(axis=0)
    smallest = 1e-3 * max(float(root.loss.max()), 1.0)
    for _ in range(5 * problem.n_groups):
        excess = float((np.maximum(used - problem.capacities, 0) / scale).sum())
        if excess == 0:
            return chosen
        if time.perf_counter() >= until:
            return None
        now = chosen[problem.group]
        after = np.maximum(used + problem.weights - problem.weights[now] - problem.capacities, 0) / scale
        lowered = excess - after.sum(axis=1)
        score = lowered / (np.maximum(root.loss - root.loss[now], 0) + smallest)
        j = int(np.argmax(score))
        if not lowered[j] > 1e-12:
            return None
        used = used + problem.weights[j] - problem.weights[now[j]]
        chosen[problem.group[j]] = j
    return None
