"""Gaps of every checked value to the least bound that any method has on the same instance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.jobs.exports.selection import method_label, without_repetitions
from bench.jobs.job import Record
from bench.judging.statistics import Mean, mean_of

__all__ = ["Gap", "MethodGaps", "Reference", "gaps_by_method", "gaps_of", "mean_gap", "references"]

SAME = 1e-9  # relative: a gap below it is none
HELD = ("optimal", "feasible", "bound_only")  # statuses whose claim passed the checker
Place = tuple[str, str]  # (problem, content hash of the instance)


@dataclass(frozen=True)
class Reference:
    """The least upper bound on an instance."""

    bound: float
    proved: bool  # a checked value reaches it: it is the optimum
    record: Record  # whose bound it is


@dataclass(frozen=True)
class Gap:
    """(bound − checked value) / max(bound, 10⁻³⁰⁰) of one run, at least 0."""

    value: float
    record: Record
    reference: Reference


@dataclass(frozen=True)
class MethodGaps:
    """All runs of a method in an experiment, without repetitions."""

    experiment: str
    problem: str
    method: str  # with its parameters where it has some
    runs: tuple[Record, ...]  # all repetitions
    places: int  # instances and seeds that it ran on
    ok: int  # of them, those that ended with a checked value or bound
    gaps: tuple[Gap, ...]


def references(records: Iterable[Record]) -> dict[Place, Reference]:
    """Return the least bound of each instance, and whether a checked value proves it to be the optimum."""
    rows = [r for r in records if r.status in HELD and r.instance_sha256]
    least: dict[Place, Record] = {}
    best: dict[Place, float] = {}
    for r in rows:
        place = r.problem, r.instance_sha256
        bound = _bound(r)
        if bound is not None and (place not in least or bound < (_bound(least[place]) or 0.0)):
            least[place] = r
        if r.feasible and r.checked_objective is not None:
            best[place] = max(best.get(place, -math.inf), r.checked_objective)
    found = {}
    for place, r in least.items():
        bound = _bound(r) or 0.0
        reached = best.get(place, -math.inf) >= bound - SAME * max(abs(bound), 1.0)
        found[place] = Reference(bound, reached, r)
    return found


def gaps_by_method(records: Sequence[Record]) -> list[MethodGaps]:
    """Return each method's gaps by experiment, in the order of the records.

    A bound found in one experiment counts for the same instance in all of them.
    """
    known = references(records)
    groups: dict[tuple[str, str, str], list[Sequence[Record]]] = defaultdict(list)
    for run, rows in without_repetitions(records).items():
        groups[run.experiment, run.problem, method_label(run)].append(rows)
    found = []
    for names, group in groups.items():
        firsts = [rows[0] for rows in group]
        ok = sum(all(r.status in (*HELD, "infeasible") for r in rows) for rows in group)
        every = tuple(r for rows in group for r in rows)
        found.append(MethodGaps(*names, every, len(group), ok, tuple(gaps_of(firsts, known))))
    return found


def gaps_of(records: Iterable[Record], known: dict[Place, Reference]) -> list[Gap]:
    """Return the gaps of the runs that have a checked value and a bound on their instance."""
    found = []
    for r in records:
        reference = known.get((r.problem, r.instance_sha256))
        held = r.status in ("optimal", "feasible") and r.feasible
        if held and reference is not None and r.checked_objective is not None:
            short = reference.bound - r.checked_objective
            small = short <= SAME * max(abs(reference.bound), 1.0)
            value = 0.0 if small else short / max(reference.bound, 1e-300)
            found.append(Gap(value, r, reference))
    return found


def mean_gap(gaps: Iterable[Gap]) -> Mean | None:
    """Return the mean over instances, seeds of an instance averaged first; None without any."""
    members: dict[str, list[float]] = defaultdict(list)
    for gap in gaps:
        members[gap.record.instance_sha256].append(gap.value)
    means = [sum(values) / len(values) for values in members.values()]
    return mean_of(means, (0.0, 1.0)) if means else None


def _bound(record: Record) -> float | None:
    """Return the run's bound; a proved optimum is one."""
    if record.bound is None and record.status == "optimal":
        return record.checked_objective
    return record.bound
