"""Grids of runs: their keys, and which of them a store lacks."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from bench.jobs.job import Job, Record, parameters_of
from bench.jobs.run import blank_record
from bench.jobs.sources import source_from_dict
from bench.jobs.store import Store
from bench.registry import is_own
from formulations.result import Limits

__all__ = ["job_of", "keyed_runs", "missing_runs"]

REPEATED = ("error", "skipped")  # statuses of rows that are run again


def keyed_runs(jobs: Sequence[Job]) -> list[tuple[str, Job]]:
    """Return the jobs with their rows' keys, each run once, and each with the size of its grid.

    A row says on how many instances and seeds its method is to run (``instances``), and how many runs its
    experiment has (``runs``): what an interrupted run left out is then still expected. Each own method is
    counted by itself: its runs come on top of the experiment's.
    """
    keyed: dict[str, Job] = {}
    for job in jobs:
        keyed.setdefault(blank_record(job).key, job)
    runs = Counter(map(_grid_of, keyed.values()))
    places = Counter(name for name, _, _ in {(_method_of(j), j.source, j.seed) for j in keyed.values()})
    return [
        (key, replace(job, planned={"instances": places[_method_of(job)], "runs": runs[_grid_of(job)]}))
        for key, job in keyed.items()
    ]


def _grid_of(job: Job) -> tuple[str, str]:
    return job.experiment, job.method if is_own(job.method) else ""


def _method_of(job: Job) -> tuple[str, ...]:
    return job.experiment, job.problem, job.method, parameters_of(job.options)


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
        planned=record.extra.get("planned"),
    )


def missing_runs(keyed: Sequence[tuple[str, Job]], store: Store) -> list[tuple[str, Job]]:
    """Return the runs that a store does not hold, or holds as error or skipped."""
    known = store.keys()
    return [(key, job) for key, job in keyed if known.get(key, "error") in REPEATED]
