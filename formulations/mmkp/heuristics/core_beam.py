"""Lagrangian core search: prices say what an item loses; beams, lists and trees look among small losses."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.core.beam import beam
from formulations.mmkp.core.branch import FOUND, NO_LOG, advance, new_tree
from formulations.mmkp.core.fixing import root_of, surviving_groups
from formulations.mmkp.core.repair import repaired
from formulations.mmkp.core.subproblem import core_of, fits_integers
from formulations.mmkp.core.two_lists import TwoLists
from formulations.mmkp.heuristics.greedy import first_point
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.errors import InputError, integer
from instances.mmkp import MmkpInstance

__all__ = ["Search", "solve_core_beam"]

Ints = NDArray[np.int64]
SIZES = (40, 60)  # groups in a core
ROUNDS = 30  # where no limit says when to stop
FORCED = 2  # groups always in the core, for each resource
DRAW = 3.0  # how much the draw prefers groups with a close second item
NEIGHBOURHOODS = 4  # of the best choice, each round
NEIGHBOURHOOD_NODES = 20_000
SMALLEST, FIRST = 5, 10  # groups in a neighbourhood
FAVOUR = 0.75  # chance of the kind of round that found the last improvement


def solve_core_beam(
    instance: MmkpInstance, *, limits: Limits, seed: int = 0, width: int = 1000, rounds: int | None = None
) -> Result:
    """Search for good choices in cores of the problem, without any solver.

    1. Near-optimal prices λ of the Lagrangian dual give a bound, each item's loss against the best of its
       group, and a rounded choice of the items without loss. Exchanges make it feasible.
    2. A round is of the kind that found the last improvement three times in four, else of the other:

       - It parts the groups in random halves and joins lists of small losses (``core.two_lists``).
       - It draws a core: the groups whose second item loses least, and others, the likelier the less
         their second loses. The rest stays at the rounded choice, or at the best one known. A beam search
         (``core.beam``) looks for a better choice of the core among the items that reduced costs leave.
         Then a few neighbourhoods of the best choice, some groups of it, are searched by branch and bound
         (``core.branch``); they grow while that completes.
    3. Rounds end with the time, with ``limits.steps`` or ``rounds`` (30 if nothing is said), or when the
       bound shows that nothing better exists.

    Guarantee: none for the value; the bound holds. A beam costs O(groups · width · items · prices · m), a
    pair of lists at most a fixed number of steps.

    Raises
    ------
    InputError
        When ``width`` or ``rounds`` is no positive integer, or totals do not fit 64-bit integers.
    """
    begin = time.perf_counter()
    width = integer("width", width, low=1, high=10**6)
    problem = in_integers(instance)
    if instance.n_groups == 0:
        return Result(Status.FEASIBLE, Stopped.DONE, Choice(np.array([])), 0.0)
    if not fits_integers(problem):
        raise InputError("values, weights: found totals above 2**60 units, expected smaller ones")
    built = time.perf_counter()
    until = math.inf if limits.time_s is None else begin + limits.time_s
    search = Search(problem, np.random.Generator(np.random.PCG64(seed)), begin, until)
    stopped = search.run(limits.steps, width, _rounds(limits, rounds))
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    return search.result(stopped, phases)


def _rounds(limits: Limits, rounds: int | None) -> int | None:
    if rounds is not None:
        return integer("rounds", rounds, low=1, high=10**9)
    return ROUNDS if limits.time_s is None and limits.steps is None else None


@dataclass(eq=False)
class Search:
    """The best choice known, and the rounds that look for better ones."""

    problem: IntegerMmkp
    rng: np.random.Generator
    begin: float  # of time.perf_counter, s
    until: float  # likewise
    value: int = -1  # of the best choice; nothing is known below 0
    best: Ints | None = None  # (n,) items
    rounds: int = 0
    size: int = FIRST  # groups in the next neighbourhood
    listing: bool = True  # whether lists found the last improvement
    incumbents: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        problem = self.problem
        _, self.root = root_of(problem, self.until)
        self.lists = TwoLists(problem, self.root)
        order = np.lexsort((self.root.loss, problem.group))
        sizes = np.diff(problem.group_start)
        self.open = np.flatnonzero(sizes > 1)
        self.second = self.root.loss[order[problem.group_start[:-1][self.open] + 1]].astype(np.float64)
        self.mean = np.add.reduceat(self.root.loss.astype(np.float64), problem.group_start[:-1]) / sizes
        self.keep(repaired(problem, self.root, self.lists.best, self.until))
        if self.best is None:
            self.keep(first_point(problem, self.until))

    def run(self, steps: int | None, width: int, rounds: int | None) -> Stopped:
        """Run rounds until a limit; say which one it was."""
        while True:
            if self.root.whole <= self.value or not len(self.open):
                return Stopped.DONE
            if self.late():
                return Stopped.TIME
            if steps is not None and self.rounds >= steps:
                return Stopped.NODES
            if rounds is not None and self.rounds >= rounds:
                return Stopped.DONE
            if not self.round(width):
                return Stopped.DONE

    def late(self) -> bool:
        """Tell whether the time is over."""
        return time.perf_counter() >= self.until

    def round(self, width: int) -> bool:
        """Run a round of either kind; return False if no item is left that a better choice could take."""
        self.rounds += 1
        items = surviving_groups(self.problem, self.root, self.value)
        if any(len(group) == 0 for group in items):
            return False
        before = self.value
        listing = self.best is not None and (self.rng.random() < FAVOUR) == self.listing
        if listing:
            self.keep(self.lists.search(self.value, self.rng, self.until))
        else:
            self.search_core(items, width)
            for _ in range(NEIGHBOURHOODS):
                if not self.late():
                    self.look_around()
        if self.value > before:
            self.listing = listing
        return True

    def search_core(self, items: list[Ints], width: int) -> None:
        """Search one core among the items left of each group."""
        base = self.lists.best if self.best is None or self.rounds % 4 else self.best
        groups = self._drawn()
        rest = np.ones(self.problem.n_groups, dtype=bool)
        rest[groups] = False
        fixed = base[rest]
        left = self.problem.capacities - self.problem.weights[fixed].sum(axis=0)
        if np.any(left < 0):
            return
        core = core_of(self.problem, [items[g] for g in groups], left, self.root.fraction)
        known = self.value - int(self.problem.values[fixed].sum())
        found = beam(core, self.root.prices, known, width, self.rng, self.until)
        if found is not None:
            chosen = base.copy()
            chosen[groups] = np.concatenate([items[g] for g in groups])[found]
            self.keep(chosen)

    def look_around(self) -> None:
        """Search a neighbourhood of the best choice, by branch and bound within a limit of nodes."""
        items = surviving_groups(self.problem, self.root, self.value)
        if self.best is None or any(len(group) == 0 for group in items):
            return
        size = min(self.size, len(self.open))
        groups = self.rng.choice(self.open, size, replace=False, p=self._chances() / self._chances().sum())
        groups = groups[np.argsort(-self.mean[groups], kind="stable")]
        rest = np.ones(self.problem.n_groups, dtype=bool)
        rest[groups] = False
        fixed = self.best[rest]
        left = self.problem.capacities - self.problem.weights[fixed].sum(axis=0)
        core = core_of(self.problem, [items[g] for g in groups], left, self.root.fraction)
        tree = new_tree(core, self.root.prices, self.value - int(self.problem.values[fixed].sum()))
        if advance(core, tree, NEIGHBOURHOOD_NODES, NO_LOG):
            self.size = size + 1
        elif self.size > SMALLEST and self.rng.random() < 1 / 3:
            self.size -= 1
        if tree.counts[FOUND]:
            chosen = self.best.copy()
            chosen[groups] = np.concatenate([items[g] for g in groups])[tree.best]
            self.keep(chosen)

    def _chances(self) -> NDArray[np.float64]:
        """Return how likely each open group is drawn: the more, the less its second item loses."""
        chances: NDArray[np.float64] = np.exp(-self.second * (DRAW / max(self.second.mean(), 1.0))) + 1e-9
        return chances

    def _drawn(self) -> Ints:
        """Return the groups of a core in the order in which they are decided."""
        size = min(int(self.rng.choice(SIZES)), len(self.open))
        if self.best is None:
            size = len(self.open)
        place = np.argsort(self.second, kind="stable")
        must = place[: min(size, FORCED * self.problem.weights.shape[1])]
        chance = self._chances()
        chance[must] = 0.0
        others: Ints = np.zeros(0, dtype=np.int64)
        if size > len(must):
            others = self.rng.choice(len(place), size - len(must), replace=False, p=chance / chance.sum())
        groups = self.open[np.concatenate((must, others))]
        key = self.rng.random(len(groups))
        if self.rounds % 4 == 2:
            key = -self.mean[groups] * np.exp(0.3 * self.rng.standard_normal(len(groups)))
        return groups[np.argsort(key)]

    def keep(self, chosen: Ints | None) -> None:
        """Keep a choice if it fits, in integers, and is worth more than the best known."""
        if chosen is None or np.any(self.problem.weights[chosen].sum(axis=0) > self.problem.capacities):
            return
        value = int(self.problem.values[chosen].sum())
        if value > self.value:
            self.value, self.best = value, chosen
            self.incumbents.append((time.perf_counter() - self.begin, self.problem.value(value)))

    def result(self, stopped: Stopped, phases: dict[str, float]) -> Result:
        """Return the claim."""
        found = self.best is not None
        bound = max(self.root.whole, self.value)
        return Result(
            Status.FEASIBLE if found else Status.BOUND_ONLY,
            stopped,
            Choice(self.best - self.problem.group_start[:-1]) if self.best is not None else None,
            self.problem.value(self.value) if found else None,
            max(self.problem.value(bound), 0.0),
            BoundKind.LAGRANGIAN,
            counters={"rounds": self.rounds},
            phases=phases,
            incumbents=self.incumbents,
        )
