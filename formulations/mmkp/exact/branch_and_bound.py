"""Branch and bound of our own: a beam search for the value, then pools of prices for the proof."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.core.branch import FOUND, NEWTONS, NO_LOG, NODES, VALUE, Tree, advance, new_tree
from formulations.mmkp.core.fixing import Root, surviving_groups
from formulations.mmkp.core.prices import best_prices
from formulations.mmkp.core.subproblem import Core, core_of, fits_integers
from formulations.mmkp.heuristics.core_beam import Search
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.errors import InputError
from instances.mmkp import MmkpInstance

__all__ = ["closing_groups", "solve_exact"]

Ints = NDArray[np.int64]
FIRST_ROUNDS = 24  # of the beam search
FIRST_WIDTH = 300
SHARE = 0.2  # of the time limit at most, for the beam search
SLICE = 200_000  # nodes between two looks at the clock


def solve_exact(instance: MmkpInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Solve the MMKP exactly, in integers throughout.

    1. Prices of the Lagrangian dual bound the optimum; a few rounds of the core beam search give a value.
    2. Items whose reduced cost shows that no better choice takes them are removed.
    3. Depth first over the groups, those with the costliest second item first. A node is cut off by the
       tangent bounds in the pool of its depth (``core.branch``), which are whole numbers, so that nothing is
       cut off by rounding.

    ``optimal`` is claimed when the search is complete, ``infeasible`` when it is and holds no choice.
    ``limits.nodes`` is the deterministic limit. Stopped earlier, the bound is the root's.

    Guarantee: exact. Running time is exponential in the worst case; memory is bounded.

    Raises
    ------
    InputError
        When totals do not fit 64-bit integers.
    """
    begin = time.perf_counter()
    if instance.n_groups == 0:
        return Result(Status.OPTIMAL, Stopped.DONE, Choice(np.array([])), 0.0, 0.0, BoundKind.TRIVIAL)
    problem = in_integers(instance)
    if not fits_integers(problem):
        raise InputError("values, weights: found totals above 2**60 units, expected smaller ones")
    until = math.inf if limits.time_s is None else begin + SHARE * limits.time_s
    search = Search(problem, np.random.Generator(np.random.PCG64(seed)), begin, until)
    search.run(min(FIRST_ROUNDS, instance.n_groups // 4), FIRST_WIDTH, None)
    started = time.perf_counter()
    stopped, counters = _prove(search, limits)
    phases = {"heuristic": started - begin, "solve": time.perf_counter() - started}
    result = replace(search.result(stopped, phases), counters=counters | {"rounds": search.rounds})
    if stopped is not Stopped.DONE:
        return result
    if search.best is None:
        return Result(Status.INFEASIBLE, counters=result.counters, phases=phases)
    kind = BoundKind.LAGRANGIAN if search.root.whole <= search.value else BoundKind.TREE
    return replace(result, status=Status.OPTIMAL, bound=result.objective, bound_kind=kind)


def _prove(search: Search, limits: Limits) -> tuple[Stopped, dict[str, int]]:
    """Search for more than the value known until nothing is left; say whether that was complete."""
    counters = {"nodes": 0, "prices": 0, "items": 0}
    problem, root = search.problem, search.root
    groups = closing_groups(problem, root, search.value)
    if groups is None:
        return Stopped.DONE, counters
    core = core_of(problem, groups, problem.capacities, root.fraction)
    items = np.concatenate(groups)
    tree = new_tree(core, best_prices(core)[0], search.value)
    stopped = _run(search, core, tree, items, limits)
    counters = {"nodes": int(tree.counts[NODES]), "prices": int(tree.counts[NEWTONS]), "items": len(items)}
    return stopped, counters


def closing_groups(problem: IntegerMmkp, root: Root, value: int) -> list[Ints] | None:
    """Return the items that survive, by group in the search's order; None if the root closes already."""
    groups = surviving_groups(problem, root, value)
    if root.whole <= value or any(len(group) == 0 for group in groups):
        return None
    groups.sort(key=lambda group: -float(root.loss[group[1]]) if len(group) > 1 else -math.inf)
    return groups


def _run(search: Search, core: Core, tree: Tree, items: Ints, limits: Limits) -> Stopped:
    """Advance the tree slice by slice, keeping what it finds."""
    while True:
        room = SLICE if limits.nodes is None else min(SLICE, limits.nodes - int(tree.counts[NODES]))
        if room <= 0:
            return Stopped.NODES
        if limits.time_s is not None and time.perf_counter() - search.begin >= limits.time_s:
            return Stopped.TIME
        done = advance(core, tree, room, NO_LOG)
        if tree.counts[FOUND] and tree.counts[VALUE] > search.value:
            chosen = items[tree.best]
            search.keep(chosen[np.argsort(search.problem.group[chosen])])
        if done:
            return Stopped.DONE
