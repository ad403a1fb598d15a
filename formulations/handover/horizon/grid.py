"""Method ``clairvoyant-grid``: a tiny horizon enumerated on a grid of fractions.

Fractions are schedulable exactly if for each interval of slots the users whose windows lie inside it get no
more than it carries. Less than schedulable fractions are schedulable too, and A rises; so Σ A_i at the upper
corners of all cells whose lower corner is schedulable bounds the optimum from above.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.earliest_deadline import earliest_deadline_first
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import covering, values
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.errors import integer
from instances.handover import HandoverTrace

__all__ = ["solve_grid"]

Floats = NDArray[np.float64]

STEPS = 48
MOST_POINTS = 2_000_000


def solve_grid(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, steps: int = STEPS, **options: Any
) -> Result:
    """Enumerate the fractions j/steps of all users.

    Parameters
    ----------
    instance
        A horizon of so few users that the grid has at most two million points; others are skipped.
    limits
        Part of the method contract; the enumeration ends by itself.
    seed
        Part of the method contract; nothing here is random.
    steps
        Steps of each fraction, at least 1.

    Returns
    -------
    The best schedule of the grid, and the bound by cells.

    Raises
    ------
    InputError
        For an unknown option, or steps that are not an integer of at least 1.
    """
    no_more_options("clairvoyant-grid", options)
    count, n = integer("steps", steps, low=1, high=MOST_POINTS), len(instance.users)
    if n * math.log(count + 1) > math.log(MOST_POINTS):
        text = f"{count + 1}^{n} grid points are more than the {MOST_POINTS} that are enumerated"
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)
    axes = [np.arange(count + 1)] * n
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1) if n else None
    corner = np.zeros((1, 0), dtype=np.int64) if points is None else points
    corner = corner[_schedulable(instance, corner / count)]
    table = _accuracies(instance, count)
    place = np.arange(n)
    worth = table[place, corner].sum(axis=1)
    bound = float(table[place, np.minimum(corner + 1, count)].sum(axis=1).max())
    return _claim(instance, corner[np.argmax(worth)] / count, bound, len(corner))


def _accuracies(instance: HandoverTrace, count: int) -> Floats:
    """Return A_i(j/count), (N, count + 1)."""
    users = instance.users
    columns = (users.ceiling, users.sharpness, users.anchor)
    spread = [np.repeat(column, count + 1) for column in columns]
    grid = np.tile(np.arange(count + 1) / count, len(users))
    accuracy = values(instance.utility, spread[0], spread[1], spread[2], grid)
    return accuracy.reshape(len(users), count + 1)


def _schedulable(instance: HandoverTrace, fraction: Floats) -> NDArray[np.bool_]:
    """Return which rows of fractions, (P, N), fit into every interval between two windows' edges."""
    first, end = instance.windows()
    bits = fraction * instance.users.cache_bits
    fits = np.ones(len(fraction), dtype=np.bool_)
    for a in np.unique(first):
        for b in np.unique(end):
            inside = (first >= a) & (end <= b)
            fits &= bits[:, inside].sum(axis=1) <= max(b - a, 0) * instance.capacity_bits
    return fits


def _claim(instance: HandoverTrace, fraction: Floats, bound: float, points: int) -> Result:
    users, (first, end) = instance.users, instance.windows()
    user, slot, bits = earliest_deadline_first(
        users.cache_bits * fraction, first, end, instance.capacity_bits
    )
    y = np.minimum(1.0, np.bincount(user, weights=bits, minlength=len(users)) / users.cache_bits)
    objective = math.fsum(values(instance.utility, users.ceiling, users.sharpness, users.anchor, y))
    optimal = bound - objective <= 1e-9 * len(users)
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if optimal else Stopped.GAP,
        Schedule(user, slot, bits),
        objective,
        covering(bound, objective),
        BoundKind.ENUMERATION,
        {"points": points},
    )
