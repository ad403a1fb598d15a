"""Grids of runs: their keys, and which of them a store lacks."""

from __future__ import annotations

from collections.abc import Sequence

from bench.jobs.job import Job
from bench.jobs.run import blank_record
from bench.jobs.store import Store

__all__ = ["keyed_runs", "missing_runs"]

REPEATED = ("error", "skipped")  # statuses of rows that are run again


def keyed_runs(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    """Return the jobs with their rows' keys, each run once."""
    keyed: dict[str, Job] = {}
    for job in jobs:
        keyed.setdefault(blank_record(job).key, job)
    return list(keyed.items())


def missing_runs(keyed: Sequence[tuple[str, Job]], store: Store) -> list[tuple[str, Job]]:
    """Return the runs that a store does not hold, or holds as error or skipped."""
    known = store.keys()
    return [(key, job) for key, job in keyed if known.get(key, "error") in REPEATED]
