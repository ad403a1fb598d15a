"""Schedule and bound of a busy period, improved in stages: floors, trees and larger groups.

A chain of ``groups`` bounds a busy period, whatever the floors. The bound is convex in them; what the groups
use of a shared segment beyond its capacity is minus a subgradient, up to the trees' gaps. So each round grows
trees and moves the floors by Polyak's step, whose target is the best schedule's value. The next stage joins
neighbours that still want different amounts. The sides found make schedules, and ``neighbourhoods`` improves
the best a part at a time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.branching import Group, Tree, grow
from formulations.handover.horizon.groups import Chain, chain_of, group_of, joined, shortest_cuts
from formulations.handover.horizon.neighbourhoods import Range, fixed_sides, losses, part_of, parts
from formulations.handover.horizon.segments import Horizon
from formulations.handover.utility import values
from formulations.result import Stopped
from instances.handover import UTILITIES

__all__ = ["Budget", "PeriodSearch", "Proof"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST, MOST_INSIDE = 48, 3  # users of a group at first, and those of them inside their chords
JOINED_NODES = 200  # of the trees of two groups that may be joined
ROUNDS = (1, 16, 4)  # of the first two stages, and of each later one
MOST_WORK = 200_000  # nodes times users and segments of one tree, so that limits of time hold between trees
SHARE = 0.1  # of the gap, that trees may leave while floors still move
LEAST = 1e-3  # of a floor, that a step leaves
EVEN = 1e-9  # of a segment, that counts as no excess
SLOW = 0.25  # of the gap, that a stage must close for another one without joins
PASSES = 6  # over the period, to improve the schedule
PART_NODES = 200


@dataclass
class Budget:
    """What is left of the limits, and what was done."""

    gap: float  # accuracy a user
    deadline: float
    nodes_left: float
    counters: dict[str, int]
    stopped: Stopped = Stopped.GAP

    def spent(self, nodes: int = 1) -> bool:
        """Return whether a limit is reached or fewer nodes are left, and note which."""
        if perf_counter() >= self.deadline:
            self.stopped = Stopped.TIME
        elif self.nodes_left < nodes:
            self.stopped = Stopped.NODES
        return self.stopped is not Stopped.GAP

    def grown(self, family: int, group: Group, known: float, gap: float, nodes: float) -> Tree:
        """Grow a tree from the whole interval [0, 1] of each user, of at most ``nodes`` nodes."""
        n = len(group.linear)
        allowed = 1 if self.spent() else int(max(1, min(nodes, MOST_WORK // (n + len(group.floor)))))
        tree = grow(family, group, np.zeros(n), np.ones(n), known, gap, allowed)
        self.nodes_left -= len(tree.split)
        self.counters["nodes"] += len(tree.split)
        self.counters["blocks"] += tree.filled
        return tree


@dataclass(frozen=True, eq=False)
class Proof:
    """Floors of a chain and its groups' trees with their users' places, −1 for a stand-in."""

    chain: Chain
    floor: Floats  # (m,) accuracy a bit
    trees: list[tuple[Tree, Ints]]


@dataclass
class PeriodSearch:
    """What is known of a busy period."""

    horizon: Horizon
    budget: Budget
    price: Floats  # (m,) the root's, accuracy a bit
    inside: NDArray[np.bool_]  # (n,) which users the root leaves inside their chords
    bound: float
    fraction: Floats  # (n,) the best schedule's
    value: float
    proof: Proof | None = None  # of the bound, None for the root's prices
    chain: Chain | None = None  # of the next stage
    stage: int = 0
    floor: Floats = field(init=False)  # (m,) of the next stage, if shared
    improved: float = -math.inf  # the value that the neighbourhoods left

    def __post_init__(self) -> None:
        self.floor = self.price.copy()

    def gap(self) -> float:
        """Return the distance from bound to value, accuracy."""
        return self.bound - self.value

    def closed(self) -> bool:
        """Return whether the gap is small enough, with something to spare."""
        return self.gap() <= 0.5 * self.budget.gap * len(self.fraction)

    def offer(self, fraction: Floats) -> None:
        """Keep fractions if they are worth more than the best so far."""
        worth = math.fsum(values(UTILITIES[self.horizon.family], *self.horizon.curves[1:], fraction))
        if worth > self.value:
            self.fraction, self.value = fraction, worth

    def advance(self) -> bool:
        """Run a stage; return whether another one may help."""
        before = self.gap()
        if self.chain is None:
            border = shortest_cuts(self.horizon, self.inside, MOST, MOST_INSIDE)
            self.chain = chain_of(self.horizon, border)
        weight, trees = self._rounds(self.chain, ROUNDS[min(self.stage, len(ROUNDS) - 1)])
        if self.value > self.improved:
            self._improve()
        self.stage += 1
        if self.stage == 1 or not trees:
            return bool(trees)
        nodes = np.array([len(tree.split) for tree, _ in trees])
        border = joined(self.chain, weight, nodes, JOINED_NODES)
        if len(border) < len(self.chain.border):
            self.chain = chain_of(self.horizon, border)
            return True
        return self.gap() < (1.0 - SLOW) * before

    def _rounds(self, chain: Chain, rounds: int) -> tuple[Floats, list[tuple[Tree, Ints]]]:
        """Move the floors of a chain; return what its groups disagree about, (m,) accuracy, and its trees."""
        floor = np.where(chain.shared, self.floor, 0.0)
        weight, best, length, stalled = np.zeros(len(floor)), math.inf, 1.0, 0
        old, trees = floor, list[tuple[Tree, Ints]]()
        if self.proof is not None and self.proof.chain is chain:
            old, trees = self.proof.floor, self.proof.trees
        for _ in range(rounds):
            if self.closed() or self.budget.spent(len(chain.low)):
                break
            bound, excess, trees = self._round(chain, floor, old, trees)
            weight = 0.5 * (weight + np.abs(excess) * floor)
            stalled = 0 if bound < best else stalled + 1
            if bound < best:
                best = bound
                self.floor[chain.shared] = floor[chain.shared]
            if bound < self.bound:
                self.bound, self.proof = bound, Proof(chain, floor, trees)
            size = float(excess @ excess)
            inside = math.fsum(tree.bound - tree.value for tree, _ in trees)
            if size == 0.0 or inside > 0.5 * (bound - self.value):
                break
            if stalled == 3:
                length, stalled = 0.6 * length, 0
            step = length * (bound - self.value) / size
            old, floor = floor, np.maximum(floor + step * excess, LEAST * floor)
        return weight, trees

    def _round(
        self, chain: Chain, floor: Floats, old: Floats, trees: list[tuple[Tree, Ints]]
    ) -> tuple[float, Floats, list[tuple[Tree, Ints]]]:
        """Return the bound at floors, the excess of what is used of shared segments, (m,) bit, and the trees.

        Trees at the old floors are kept where these are the same.
        """
        carried, family, count = self.horizon.windows.carried, self.horizon.family, len(chain.low)
        excess = np.where(floor > 0, -carried, 0.0)
        sides, grown = np.zeros(len(self.fraction)), []
        terms = [float(floor @ carried)]
        spare = 0.25 * self.budget.gap
        if count > 1:
            spare = max(spare, SHARE * self.gap() / len(self.fraction))
        for g in range(count):
            group, place = group_of(self.horizon, chain, g, floor)
            segments, users = chain.segments(g), chain.users(g)
            allowed = spare * (users.stop - users.start)
            known = trees[g][0] if trees and np.array_equal(floor[segments], old[segments]) else None
            if known is None or known.bound - known.value > allowed:
                nodes = self.budget.nodes_left / (count - g)
                known = self.budget.grown(family, group, -math.inf, allowed, nodes)
            grown.append((known, place))
            own = place >= 0
            sides[place[own]] = known.fraction[own]
            paid = group.windows.carried[group.windows.first[~own]]
            excess[segments.start + group.windows.first[~own]] += paid * (1.0 - known.fraction[~own])
            terms += [known.bound, -float(group.floor @ group.windows.carried)]
        excess[np.abs(excess) <= EVEN * carried] = 0.0
        self.offer(fixed_sides(self.horizon, sides))
        return math.fsum(terms), excess, grown

    def _improve(self) -> None:
        """Improve the schedule by solving parts of it anew, shifted from pass to pass."""
        for turn in range(PASSES):
            before = self.value
            lost = losses(self.horizon, self.fraction, self.price)
            least = 0.1 * self.budget.gap * len(self.fraction)
            for span in parts(self.horizon, turn, *lost, least):
                if self.closed() or self.budget.spent():
                    return
                self._solve_part(span)
            if turn > 0 and self.value <= before:
                break
        self.improved = self.value

    def _solve_part(self, span: Range) -> None:
        """Solve a part anew and keep what is better."""
        group, place = part_of(self.horizon, self.fraction, span)
        old = self.fraction[place]
        worth = math.fsum(values(UTILITIES[self.horizon.family], *group.curves[1:], old))
        gap = 0.25 * self.budget.gap * len(place)
        tree = self.budget.grown(
            self.horizon.family, group, worth, gap, min(PART_NODES, self.budget.nodes_left)
        )
        if tree.value > worth:
            new = self.fraction.copy()
            new[place] = tree.fraction
            self.offer(new)
