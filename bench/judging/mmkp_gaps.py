"""Gaps of MMKP runs to the least bound of their instance, by class, and at shorter times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bench.jobs.job import Record
from bench.judging.profiles import Trajectory, cost_to_reach

__all__ = ["PUBLIC", "MmkpRun", "class_of", "gap_at", "runs_of", "seconds_to"]

PUBLIC = ("Khan I01–I06", "Khan I07–I13", "INST01–20", "INST21–30", "mmkp_d", "Hiremath & Hill")  # classes
LARGE_FROM = 7  # Khan's instances up to I06 were proved long ago


@dataclass(frozen=True)
class MmkpRun:
    """One run, and the least certified bound on its instance."""

    record: Record
    bound: float

    @property
    def gap(self) -> float | None:
        """(bound − value) / bound as a fraction, None without a value."""
        return _gap(self.bound, self.record.checked_objective)


def class_of(record: Record) -> str:
    """Return the class of a record's instance, from its family and size."""
    family = record.family
    if family[:1] == "I" and family[1:].isdigit():
        return "Khan I01–I06" if int(family[1:]) < LARGE_FROM else "Khan I07–I13"
    sets = {"b_": "INST01–20", "c_": "INST21–30", "d_": "mmkp_d"}
    if family[:2] in sets:
        return sets[family[:2]]
    if family.startswith("TestSet"):
        return "Hiremath & Hill, ≤ 25 groups" if record.size <= 25 else "Hiremath & Hill, ≥ 30 groups"
    return f"{family.removeprefix('mmkp-')}, {record.size} groups"


def runs_of(records: Sequence[Record]) -> dict[str, dict[str, list[MmkpRun]]]:
    """Return the experiment's runs by class and method, in the order in which they appear.

    Bounds of runs that ended in error or inconsistent are not used; an instance without a bound is left out.
    """
    own = [r for r in records if r.experiment == "mmkp" and r.status != "skipped"]
    bounds: dict[str, float] = {}
    for r in own:
        if r.bound is not None and r.status not in ("error", "inconsistent"):
            bounds[r.instance_sha256] = min(bounds.get(r.instance_sha256, r.bound), r.bound)
    table: dict[str, dict[str, list[MmkpRun]]] = defaultdict(lambda: defaultdict(list))
    for r in own:
        if r.instance_sha256 in bounds:
            table[class_of(r)][r.method].append(MmkpRun(r, bounds[r.instance_sha256]))
    return {name: dict(methods) for name, methods in table.items()}


def gap_at(run: MmkpRun, seconds: float) -> float | None:
    """Return the gap of the best value that the run had after so many seconds, None if it had none.

    Without incumbents, the value counts from the run's end on.
    """
    values = [value for time, value in _trajectory(run) if time <= seconds]
    return _gap(run.bound, max(values)) if values else None


def seconds_to(run: MmkpRun, gap: float) -> float | None:
    """Return when a run first had a value within a gap, None if it never had or its claim did not hold.

    Without incumbents, the value counts from the run's end on.
    """
    held = run.record.feasible and run.record.status in ("optimal", "feasible")
    return cost_to_reach(_trajectory(run), run.bound, tolerance=gap) if held else None


def _trajectory(run: MmkpRun) -> Trajectory:
    """Return (seconds, value) of a run's incumbents, without any those of its end."""
    record = run.record
    if record.checked_objective is None:
        return record.extra.get("incumbents") or []
    return record.extra.get("incumbents") or [(record.solve_s or 0.0, record.checked_objective)]


def _gap(bound: float, value: float | None) -> float | None:
    if value is None:
        return None
    return max(bound - value, 0.0) / bound if bound > 0 else 0.0
