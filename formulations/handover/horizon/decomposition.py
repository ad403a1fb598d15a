"""Method ``clairvoyant``: the clairvoyant optimum by decomposition, with slot prices as proof.

    maximise    Σ_i A_i(y_i)                                                                          (1)
    subject to  Σ_{i: window inside S} L_i y_i ≤ C |S|      for each union S of slot intervals      (2)
                0 ≤ y_i ≤ 1                                                                           (3)

Windows are intervals, so (2) says that the fractions are schedulable, and earliest deadline first sends them.

1. ``envelope_optimum`` solves (1)–(3) with the concave envelopes of all A_i, and slot prices prove its value.
2. Where that leaves users inside their chords, ``groups`` cuts out a part of the horizon and ``branching``
   decides on which side of their curves its users are. Groups are solved apart and their bounds add up.
3. The sides found make a schedule: with users kept on their concave sides or at given fractions the problem
   is concave, so step 1 solves it exactly. ``neighbourhoods`` then improves it a part at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Group, Tree, bound_of, grow
from formulations.handover.horizon.envelope import envelope_gaps, envelopes
from formulations.handover.horizon.envelope_optimum import dual_value, envelope_optimum, window_prices
from formulations.handover.horizon.group_proof import group_document
from formulations.handover.horizon.groups import Range, group_of, ranges_around
from formulations.handover.horizon.neighbourhoods import fixed_sides, losses, part_of, parts
from formulations.handover.horizon.segments import Horizon, horizon_of, schedule_of
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import covering, values
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.errors import number
from instances.handover import HandoverTrace

__all__ = ["solve_clairvoyant"]

Floats = NDArray[np.float64]

CLOSED = 1e-9  # gap a user that counts as none
ROUNDS = (32, 256, 2048, 8192)  # nodes that each open group may have
MOST_WORK = 600_000  # nodes times users and segments of one tree, so that limits of time hold between trees
PASSES = 6  # over the horizon, to improve the schedule
PART_NODES = 200


@dataclass
class _Branch:
    """A group with its tree so far."""

    span: Range
    group: Group
    place: NDArray[np.int64]
    before: float  # the group's part of the root's bound
    tree: Tree

    def open(self, gap: float) -> bool:
        """Return whether more nodes can lower the bound."""
        return self.tree.bound - self.tree.value > gap * self.own()

    def own(self) -> int:
        """Return the number of users, stand-ins left out."""
        return int(np.count_nonzero(self.place >= 0))


@dataclass
class _Search:
    """What is known of a horizon."""

    instance: HandoverTrace
    horizon: Horizon
    gap: float  # accuracy a user
    deadline: float
    nodes_left: float
    price: Floats  # (m,) the root's, accuracy a bit
    root: Floats  # (n,) its fractions
    root_bound: float
    fraction: Floats  # (n,) the best schedule's
    value: float
    branches: list[_Branch] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    stopped: Stopped = Stopped.GAP

    def bound(self) -> float:
        """Return the upper bound: the root's, lowered by what each group's tree lowers its own."""
        return math.fsum([self.root_bound, *(min(b.tree.bound - b.before, 0.0) for b in self.branches)])

    def closed(self) -> bool:
        """Return whether the gap is small enough, with something to spare."""
        return self.bound() - self.value <= 0.5 * self.gap * len(self.fraction)

    def offer(self, fraction: Floats) -> None:
        """Keep fractions if they are worth more than the best so far."""
        users, family = self.horizon.curves, self.instance.utility
        worth = math.fsum(values(family, users.ceiling, users.sharpness, users.anchor, fraction))
        if worth > self.value:
            self.fraction, self.value = fraction, worth

    def spent(self) -> bool:
        """Return whether a limit is reached, and note which."""
        if perf_counter() >= self.deadline:
            self.stopped = Stopped.TIME
        elif self.nodes_left <= 0:
            self.stopped = Stopped.NODES
        return self.stopped is not Stopped.GAP

    def grown(self, group: Group, known: float, gap: float, nodes: int) -> Tree:
        """Grow a tree from the whole interval [0, 1] of each user, within the nodes that are left."""
        n = len(group.linear)
        work = n + len(group.floor)
        allowed = int(max(1, min(nodes, self.nodes_left, MOST_WORK // work)))
        tree = grow(self.horizon.family, group, np.zeros(n), np.ones(n), known, gap, allowed)
        self.nodes_left -= len(tree.split)
        self.counters["nodes"] += len(tree.split)
        self.counters["blocks"] += tree.filled
        return tree


def solve_clairvoyant(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, gap: float = CLOSED, **options: Any
) -> Result:
    """Solve the clairvoyant problem by decomposition and branch and bound.

    Parameters
    ----------
    instance
        A horizon.
    limits
        ``time_s`` holds between groups, ``nodes`` counts those of all trees.
    seed
        Part of the method contract; nothing here is random.
    gap
        Accuracy a user at which the search may end.

    Returns
    -------
    A schedule and an upper bound. ``certificate["prices"]`` holds the root's prices, accuracy per bit by
    slot; ``certificate["groups"]``, where there was something to branch on, the groups' trees with prices of
    their own, as ``formulations.handover.verify`` reads them. ``optimal`` means a gap of at most 10⁻⁹ a user.

    Raises
    ------
    InputError
        For an unknown option, or a gap that is not a finite number of at least 0.
    """
    no_more_options("clairvoyant", options)
    target = number("gap", gap, low=0)
    begun = perf_counter()
    horizon = horizon_of(instance)
    built = perf_counter()
    search = _root(instance, horizon, target, limits)
    _branch(search)
    _improve(search)
    return _claim(search, built - begun, perf_counter() - built)


def _root(instance: HandoverTrace, horizon: Horizon, gap: float, limits: Limits) -> _Search:
    """Solve the envelopes and keep the best schedule that follows from them."""
    n, family = len(horizon.user), horizon.family
    deadline = math.inf if limits.time_s is None else perf_counter() + limits.time_s
    nodes = math.inf if limits.nodes is None else float(limits.nodes)
    lower, upper = np.zeros(n), np.ones(n)
    shape = envelopes(family, horizon.curves, lower, upper)
    y, price, filled, _ = envelope_optimum(family, horizon.curves, shape, horizon.windows)
    bound = dual_value(family, horizon.curves, lower, upper, lower > 0, horizon.windows, price)
    counters = {"blocks": int(filled), "nodes": 1, "groups": 0}
    search = _Search(instance, horizon, gap, deadline, nodes - 1, price, y, bound, y, -math.inf)
    search.counters = counters
    search.offer(y)
    if not search.closed():
        search.offer(fixed_sides(horizon, y))
    return search


def _cut_out(search: _Search) -> None:
    """Make the groups around users inside their chords, each with the root of its tree."""
    horizon, n = search.horizon, len(search.fraction)
    shape = envelopes(horizon.family, horizon.curves, np.zeros(n), np.ones(n))
    losing = envelope_gaps(horizon.family, horizon.curves, shape, search.root) > 0.01 * search.gap
    lowest = window_prices(horizon.windows, search.price)
    for span in ranges_around(horizon, losing):
        if search.spent():
            return
        group, place = group_of(horizon, span, lowest)
        ends = (np.zeros(len(place)), np.ones(len(place)))
        before = bound_of(horizon.family, group, *ends, search.price[span.low : span.high].copy())
        tree = search.grown(group, -math.inf, 0.0, 1)
        search.branches.append(_Branch(span, group, place, before, tree))
        search.counters["groups"] += 1


def _branch(search: _Search) -> None:
    """Grow the groups' trees, more nodes in each round for those still open."""
    if search.closed():
        return
    _cut_out(search)
    sides = search.root.copy()
    for nodes in ROUNDS:
        for branch in search.branches:
            if search.closed() or search.spent():
                return
            if branch.open(0.25 * search.gap):
                allowed = 0.25 * search.gap * branch.own()
                tree = search.grown(branch.group, -math.inf, allowed, nodes)
                if tree.bound <= branch.tree.bound:
                    branch.tree = tree
            own = branch.place >= 0
            sides[branch.place[own]] = branch.tree.fraction[own]
        search.offer(fixed_sides(search.horizon, sides))


def _improve(search: _Search) -> None:
    """Improve the schedule by solving parts of it anew, shifted from pass to pass."""
    for turn in range(PASSES):
        before = search.value
        lost = losses(search.horizon, search.fraction, search.price)
        least = 0.1 * search.gap * len(search.fraction)
        for span in parts(search.horizon, turn, *lost, least):
            if search.closed() or search.spent():
                return
            _solve_part(search, span)
        if turn > 0 and search.value <= before:
            return


def _solve_part(search: _Search, span: Range) -> None:
    """Solve a part anew and keep what is better."""
    group, place = part_of(search.horizon, search.fraction, span)
    old, curves = search.fraction[place], group.curves
    worth = math.fsum(values(search.instance.utility, *curves[1:], old))
    tree = search.grown(group, worth, 0.25 * search.gap * len(place), PART_NODES)
    if tree.value > worth:
        new = search.fraction.copy()
        new[place] = tree.fraction
        search.offer(new)


def _claim(search: _Search, build_s: float, solve_s: float) -> Result:
    """Put schedule, bound and proof together."""
    horizon, instance = search.horizon, search.instance
    schedule, y = schedule_of(horizon, search.fraction)
    curves = horizon.curves
    objective = math.fsum(values(instance.utility, curves.ceiling, curves.sharpness, curves.anchor, y))
    bound = covering(search.bound(), objective)
    optimal = bound - objective <= CLOSED * len(y)
    reached = bound - objective <= search.gap * len(y)
    proof: dict[str, Any] = {"prices": _slot_prices(horizon, search.price)}
    if search.branches:
        proof["groups"] = [group_document(horizon, b.span, b.place, b.tree) for b in search.branches]
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if reached else search.stopped,
        schedule,
        objective,
        bound,
        BoundKind.TREE if search.branches else BoundKind.PRICES,
        search.counters,
        {"build": build_s, "solve": solve_s},
        certificate=proof,
    )


def _slot_prices(horizon: Horizon, price: Floats) -> dict[int | str, float]:
    """Return the positive prices by slot, accuracy a bit."""
    paid = price > 0
    slots = horizon.slots[paid]
    slot = np.repeat(horizon.start[paid] - np.cumsum(slots) + slots, slots) + np.arange(slots.sum())
    return dict(zip(slot.tolist(), np.repeat(price[paid], slots).tolist(), strict=True))
