"""The best slot of S-shaped curves, with a certified gap: branch and bound over the anchors' sides."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np

from formulations.handover.slot.claim import claimed, no_more_options
from formulations.handover.slot.columns import columns
from formulations.handover.slot.envelope import envelopes
from formulations.handover.slot.sides import CLOSED, COVERED, MADE, SOLVED, advance, begin, grown
from formulations.handover.utility import covering
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.handover import SlotInstance

__all__ = ["solve_slot_exact"]

FIRST_NODES = 64
AT_ONCE = 32  # nodes between looks at the clock


def solve_slot_exact(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Maximise Σ A_i(y_i) over one slot without the anchors' floor; see ``slot.sides``.

    Parameters
    ----------
    instance
        One slot, feasible in the sense of Lemma 1 or not.
    limits
        ``time_s`` and ``nodes`` hold between nodes.
    seed
        Part of the method contract; nothing is drawn.

    Returns
    -------
    The best fractions found with an upper bound; ``optimal`` means a gap of at most 10⁻⁹ a user.

    Raises
    ------
    InputError
        For an unknown option.
    """
    no_more_options("slot-exact", options)
    if len(instance.users) == 0:
        empty = claimed(instance, instance.users.received)
        return Result(
            Status.OPTIMAL, decision=empty.decision, objective=0.0, bound=0.0, bound_kind=BoundKind.TREE
        )
    family, *curves, capacity = columns(instance)
    root = envelopes(family, *curves)
    deadline = math.inf if limits.time_s is None else perf_counter() + limits.time_s
    most = math.inf if limits.nodes is None else limits.nodes
    search, over, stopped = begin(root, FIRST_NODES), False, Stopped.DONE
    while not over:
        spent = int(search.nodes[SOLVED])
        if spent >= most or perf_counter() >= deadline:
            stopped = Stopped.NODES if spent >= most else Stopped.TIME
            break
        if search.nodes[MADE] + 2 > len(search.bound):
            search = grown(search)
        over = advance(family, search, root, capacity, int(min(AT_ONCE, most - spent)))
    return _claim(instance, search, stopped)


def _claim(instance: SlotInstance, search: Any, stopped: Stopped) -> Result:
    """Return the best fractions, with the largest bound of the nodes that are open or were left out."""
    made = int(search.nodes[MADE])
    result = claimed(instance, np.asarray(search.best))
    objective = result.objective or 0.0
    bound = covering(max(float(search.found[COVERED]), float(np.max(search.bound[:made]))), objective)
    optimal = bound - objective <= CLOSED * len(instance.users)
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if optimal else stopped,
        result.decision,
        objective,
        bound if math.isfinite(bound) else None,
        BoundKind.TREE if math.isfinite(bound) else None,
        {"nodes": int(search.nodes[SOLVED])},
    )
