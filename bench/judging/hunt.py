"""Search for a method's worst case: the smallest ratio of its checked value to the proved optimum.

Seeded and deterministic: climbs from random networks and disturbed witnesses, with equal ratios accepted so
that plateaus are crossed, and begins anew when a climb is stuck. What is found is shrunk and proved again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bench.judging.hunting.changes import MOST_USERS, changed, disturbed, planted
from bench.judging.hunting.simpler import shrunk
from bench.judging.hunting.trial import PROBLEM, Judge, Trial, confirmed
from bench.registry import find
from instances.balance import BalanceInstance
from instances.errors import InputError, integer, shown
from instances.files import content_hash
from instances.generate import generate
from instances.origin import Origin
from instances.witnesses import WITNESSES

__all__ = ["STARTS", "Witness", "hunt", "promised"]

RANDOM = "unit-random"
STARTS = (RANDOM, *WITNESSES)
PATIENCE = 50  # evaluations without a smaller ratio, then a new climb begins
DISTURBANCE = 0.3  # of a witness that a climb begins from
WALK = 0.5  # probability of an equal step that brings the method's decision no nearer to a limit


@dataclass(frozen=True, eq=False)
class Witness:
    """The worst case that was found."""

    instance: BalanceInstance
    method: str
    value: int  # of the method, re-checked
    optimum: int
    ratio: Fraction
    fault: str  # where the method failed, or the checker refuses its decision
    guarantee: str  # the registry's text
    promised: Fraction | None  # the smallest ratio that the guarantee allows, None if it promises none
    confirmed: bool  # both exact methods reach the optimum, and the checker agrees
    evaluations: int  # of the search
    found_at: int  # evaluation, before shrinking
    shrinking: int  # evaluations after the search

    @property
    def verdict(self) -> str:
        """Return how the ratio stands to the guarantee."""
        if self.promised is None:
            return "not comparable"
        if self.ratio == self.promised:
            return "equal"
        return "below" if self.ratio < self.promised else "above"


def hunt(
    problem: str,
    method: str,
    *,
    evaluations: int,
    seed: int,
    start: BalanceInstance | None = None,
    families: Sequence[str] = STARTS,
    enough: Fraction = Fraction(0),
    progress: Callable[[int], None] | None = None,
) -> Witness:
    """Return the worst case of a method that a number of evaluations finds; the same seed finds the same.

    Parameters
    ----------
    problem, method : str
        ``balance``, and one of its methods or a user's own.
    evaluations : int
        Instances that the search judges, shrinking apart.
    seed : int
        Of the search's random generator.
    start : BalanceInstance, optional
        Every climb begins here, the first one exactly and later ones disturbed.
    families : sequence of str
        Where climbs begin otherwise: random unit networks, and witnesses disturbed by up to 30 %.
    enough : Fraction
        The search ends as soon as it finds this ratio, or one below.
    progress : callable, optional
        Told the evaluations that were done.

    Raises
    ------
    InputError
        For another problem, an unknown method or family, and a start with too many users.
    """
    if problem != PROBLEM:
        raise InputError(
            f"PROBLEM: found {shown(problem)}, expected balance, the one with a search for worst cases"
        )
    for family in families:
        if family not in STARTS:
            raise InputError(f"family: found {shown(family)}, expected some of {', '.join(STARTS)}")
    if start is not None and not 1 <= start.n_users <= MOST_USERS:
        raise InputError(f"users: found {start.n_users}, expected 1 to {MOST_USERS} to begin with")
    total = integer("evaluations", evaluations, low=1, high=10**9)
    rng = np.random.Generator(np.random.PCG64(integer("seed", seed, low=0, high=2**53)))
    judge = Judge(method)
    search = _Search(judge, rng, total, enough, progress or (lambda done: None))
    worst = search.run(_begin(start, families, rng))
    searched = judge.count
    small = shrunk(worst, judge)
    origin = f"certigap hunt {problem} {method} --evaluations {searched} --seed {seed}"
    if start is not None:
        origin += f", from {start.name}"
    elif tuple(families) != STARTS:
        origin += "".join(f" --family {family}" for family in families)
    return _witness(
        small, method, Origin(origin, seed=seed), (searched, search.found_at, judge.count - searched)
    )


def promised(role: str, guarantee: str) -> Fraction | None:
    """Return the ratio to the optimum that a guarantee's text promises, None where it promises none.

    ``≥ 1/2 of the best AD set`` compares with something else.
    """
    if role == "exact":
        return Fraction(1)
    match = re.fullmatch(r"≥ (\d+)/([1-9]\d*)(?: of the optimum)?", guarantee.strip())
    return Fraction(int(match[1]), int(match[2])) if match else None


def _begin(
    start: BalanceInstance | None, families: Sequence[str], rng: np.random.Generator
) -> Callable[[int], BalanceInstance]:
    """Return the function from a climb's number to where it begins."""
    published = [family for family in families if family != RANDOM]

    def begin(climb: int) -> BalanceInstance:
        if start is not None:
            return start if climb == 0 else disturbed(start, rng, DISTURBANCE * rng.random())
        if RANDOM in families and (climb % 3 < 2 or not published):
            users, draw = int(rng.integers(3, 7)), int(rng.integers(2**40))
            instance = _balance(generate(RANDOM, users=users, seed=draw))
            return planted(instance, rng) if rng.random() < 0.5 else instance
        family = published[int(rng.integers(len(published)))]
        return disturbed(_balance(generate(family)), rng, DISTURBANCE * rng.random())

    return begin


def _balance(instance: object) -> BalanceInstance:
    assert isinstance(instance, BalanceInstance)
    return instance


class _Search:
    """Climbs until the evaluations are used up, and keeps the worst trial."""

    def __init__(
        self,
        judge: Judge,
        rng: np.random.Generator,
        total: int,
        enough: Fraction,
        progress: Callable[[int], None],
    ) -> None:
        self.judge, self.rng, self.progress = judge, rng, progress
        self.total, self.enough = total, enough
        self.worst: Trial | None = None
        self.found_at = 0

    def run(self, begin: Callable[[int], BalanceInstance]) -> Trial:
        climb = 0
        while self.worst is None or not self._ended():
            self._climb(begin(climb))
            climb += 1
        return self.worst

    def _climb(self, instance: BalanceInstance) -> None:
        current, stuck = self._trial(instance), 0
        while stuck < PATIENCE and not self._ended():
            new = self._trial(changed(current, self.rng))
            stuck = 0 if new.ratio < current.ratio else stuck + 1
            if new.ratio < current.ratio or (new.ratio == current.ratio and self._walks(current, new)):
                current = new

    def _ended(self) -> bool:
        found = self.worst is not None and self.worst.ratio <= self.enough
        return found or self.judge.count >= self.total

    def _walks(self, current: Trial, new: Trial) -> bool:
        return new.margin <= current.margin or bool(self.rng.random() < WALK)

    def _trial(self, instance: BalanceInstance) -> Trial:
        trial = self.judge.judge(instance)
        if self.worst is None or trial.ratio < self.worst.ratio:
            self.worst, self.found_at = trial, self.judge.count
        self.progress(self.judge.count)
        return trial


def _witness(trial: Trial, method: str, origin: Origin, counts: tuple[int, int, int]) -> Witness:
    """Return the named witness; ``counts`` are evaluations of the search, until it was found, and after."""
    entry, (searched, found_at, shrinking) = find(PROBLEM, method), counts
    told = f"{origin.source}: serves {trial.value} of {trial.optimum} {trial.fault}".strip()
    instance = replace(trial.instance, name="worst", origin=replace(origin, source=told[:1000]))
    label = re.sub(r"[^A-Za-z0-9_+-]", "_", method.rpartition(":")[2])[:60]
    instance = replace(instance, name=f"worst-{label}-s{origin.seed}-{content_hash(instance)[:8]}")
    return Witness(
        instance=instance,
        method=method,
        value=trial.value,
        optimum=trial.optimum,
        ratio=trial.ratio,
        fault=trial.fault,
        guarantee=entry.guarantee,
        promised=promised(entry.role, entry.guarantee),
        confirmed=confirmed(instance, trial.optimum),
        evaluations=searched,
        found_at=found_at,
        shrinking=shrinking,
    )
