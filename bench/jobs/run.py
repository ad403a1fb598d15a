"""Run one job: rebuild the instance, warm up, solve, re-evaluate; failures become rows."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

import numpy as np

from bench.jobs.environment import git_commit
from bench.jobs.job import Job, Record, parameters_of, version_of
from bench.jobs.limits import forget_peak_memory, memory_limit, peak_memory_mb
from bench.jobs.sources import MissingDataError, build, source_as_dict
from bench.jobs.verdict import enter_claim, enter_verdict
from bench.registry import PROBLEMS, check_options, find, resolve
from formulations.result import Limits, Result, Status, Stopped
from instances.errors import InputError
from instances.files import Instance, size_of
from instances.generate import generate
from instances.retention import RetentionCurve

__all__ = ["Run", "blank_record", "failed_record", "quiet_stdout", "run_job", "warm_up"]

_TINY: dict[str, tuple[str, int]] = {
    "balance": ("unit-random", 3),
    "slot": ("slot-importance", 3),
    "handover": ("importance", 3),
    "mmkp": ("mmkp-uncorrelated", 8),
}


class Run:
    """One run in three steps, so that a limit can be put on the middle one alone."""

    def __init__(self, job: Job) -> None:
        self.job, self.over = job, False
        self.record = blank_record(job)
        self.result: Result | None = None

    def prepare(self) -> None:
        """Rebuild the instance, import the method and warm it up: nothing of this is charged."""
        with self._failures_become_status():
            self.instance, _ = build(self.job.source)
            self.record.compile_s = warm_up(self.job.problem, self.job.method)
            check_options(find(self.job.problem, self.job.method), dict(self.job.options))

    def solve(self) -> None:
        """Run the method, under the job's memory limit, and keep what it claims."""
        if self.over:
            return
        job, method = self.job, resolve(find(self.job.problem, self.job.method).function)
        with self._failures_become_status(), quiet_stdout(), memory_limit(job.limits.memory_mb):
            forget_peak_memory()
            begun = time.perf_counter_ns()
            try:
                self.result = method(self.instance, limits=job.limits, seed=job.seed, **dict(job.options))
            finally:
                self.record.solve_s = (time.perf_counter_ns() - begun) * 1e-9
                self.record.peak_mb = peak_memory_mb()

    def finish(self) -> Record:
        """Re-evaluate the decision, and return the row with claim and verdict."""
        if self.result is not None and not self.over:
            enter_claim(self.record, self.result)
            with self._failures_become_status():
                begun = time.perf_counter_ns()
                enter_verdict(self.record, self.instance, self.result)
                if not self.job.keep_decision:
                    self.record.extra["decision"] = None
                self.record.check_s = (time.perf_counter_ns() - begun) * 1e-9
        return self.record

    @contextmanager
    def _failures_become_status(self) -> Iterator[None]:
        try:
            yield
        except MissingDataError as error:
            self._end(Status.SKIPPED, Stopped.MISSING_DATA, str(error))
        except InputError as error:
            place = "set." if str(error).partition(":")[0] in dict(self.job.options) else ""
            self._end(Status.SKIPPED, Stopped.UNSUPPORTED, f"{place}{error}")
        except MemoryError:
            limit = self.job.limits.memory_mb
            self._end(Status.UNKNOWN, Stopped.MEMORY, f"more than the limit of {limit} MB")
        except (Exception, SystemExit) as error:
            text = str(error).splitlines()[0] if str(error) else ""
            self._end(Status.ERROR, Stopped.CRASH, f"{type(error).__name__}: {text}")

    def _end(self, status: Status, stopped: Stopped, message: str) -> None:
        self.over = True
        self.record.status, self.record.stopped, self.record.message = status, stopped, message


def run_job(job: Job) -> Record:
    """Return the record of one run in this process; whatever goes wrong becomes its status."""
    run = Run(job)
    run.prepare()
    run.solve()
    return run.finish()


@cache
def warm_up(problem: str, method: str) -> float:
    """Import a method and run it once on a tiny instance; return the seconds, which are never charged."""
    begun = time.perf_counter_ns()
    solve = resolve(find(problem, method).function)
    resolve(PROBLEMS[problem].evaluator)
    with quiet_stdout(), suppress(Exception, SystemExit):  # what a method cannot do shows in the run itself
        solve(_tiny(problem), limits=Limits(), seed=0)
    return (time.perf_counter_ns() - begun) * 1e-9


def _tiny(problem: str) -> Instance:
    if problem == "utility":  # which no family generates
        return RetentionCurve("tiny", np.array([0.0, 0.1, 0.3, 1.0]), np.array([0.1, 0.3, 0.8, 0.9]))
    family, size = _TINY[problem]
    settings = {"horizon_s": 1.0} if problem == "handover" else {}
    return generate(family, users=size, seed=1, settings=settings)


def blank_record(job: Job) -> Record:
    """Return the job's record before it ran."""
    try:
        instance, digest = build(job.source)
        name, size = instance.name, size_of(instance)
    except MissingDataError:
        name, digest, size = job.source.family, "", 0
    source_seed = job.source.seed
    return Record(
        key=job.key(digest or repr(job.source)),
        experiment=job.experiment,
        problem=job.problem,
        instance=name,
        instance_sha256=digest,
        family=job.source.family,
        size=size,
        seed=source_seed,
        method=job.method,
        method_version=version_of(job.method),
        parameters=parameters_of(job.options),
        repetition=job.repetition,
        time_limit_s=job.limits.time_s,
        memory_limit_mb=job.limits.memory_mb,
        host=socket.gethostname(),
        git_commit=git_commit(),
        started_utc=datetime.now(UTC).isoformat(timespec="milliseconds"),
        extra={
            "source": source_as_dict(job.source),
            "timing": job.timing,
            "method_seed": job.seed,
            "planned": job.planned,
        },
    )


def failed_record(job: Job, status: Status, stopped: Stopped, message: str) -> Record:
    """Return the record of a run that did not come back."""
    record = blank_record(job)
    record.status, record.stopped, record.message = status, stopped, message
    return record


@contextmanager
def quiet_stdout() -> Iterator[None]:
    """Send what native code prints to standard output nowhere: results may be written there."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def with_executor(record: Record, executor: str, workers: int) -> Record:
    """Return the record with the executor that ran it."""
    return replace(record, executor=executor, workers=workers)
