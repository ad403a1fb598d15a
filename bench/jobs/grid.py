"""Grids of runs: their keys, and which of them a store lacks."""

from __future__ import annotations

import json
from collections.abc import Sequence

from bench.jobs.job import Job, Record
from bench.jobs.run import blank_record
from bench.jobs.sources import source_from_dict
from bench.jobs.store import Store
from formulations.result import Limits

__all__ = ["job_of", "keyed_runs", "missing_runs"]

REPEATED = ("error", "skipped")  # statuses of rows that are run again


def keyed_runs(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    """Return the jobs with their rows' keys, each run once."""
    keyed: dict[str, Job] = {}
    for job in jobs:
        keyed.setdefault(blank_record(job).key, job)
    return list(keyed.items())


def job_of(record: Record) -> Job:
    """Return the job that made a row, to run it again."""
    return Job(
        record.experiment,
        record.problem,
        source_from_dict(record.extra["source"]),
        record.method,
        tuple(json.loads(record.parameters).items()),
        Limits(time_s=record.time_limit_s, memory_mb=record.memory_limit_mb),
        record.extra["method_seed"],
        record.repetition,
        record.extra["timing"],
    )


def missing_runs(keyed: Sequence[tuple[str, Job]], store: Store) -> list[tuple[str, Job]]:
    """Return the runs that a store does not hold, or holds as error or skipped."""
    known = store.keys()
    return [(key, job) for key, job in keyed if known.get(key, "error") in REPEATED]
