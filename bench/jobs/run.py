"""Run one job: rebuild the instance, warm up, solve, re-evaluate, and put claim and verdict side by side."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from bench.jobs.environment import git_commit
from bench.jobs.isolate import memory_limit
from bench.jobs.job import Job, Record, parameters_of, version_of
from bench.jobs.sources import MissingDataError, build, source_as_dict
from bench.registry import PROBLEMS, check_options, find, resolve
from formulations.evaluation import Evaluation
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.errors import InputError
from instances.files import Instance, document_of
from instances.generate import generate

__all__ = ["blank_record", "failed_record", "quiet_stdout", "run_job", "warm_up"]

TOLERANCE = 1e-9  # a user, between a claim and its re-evaluation of a continuous objective
_TINY: dict[str, tuple[str, int]] = {
    "balance": ("unit-random", 3),
    "slot": ("slot-importance", 3),
    "handover": ("importance", 3),
    "mmkp": ("mmkp-uncorrelated", 2),
}


def run_job(job: Job) -> Record:
    """Return the record of one run; whatever goes wrong in the run becomes its status, never an exception."""
    record = blank_record(job)
    try:
        instance, _ = build(job.source)
    except MissingDataError as error:
        record.status, record.stopped, record.message = Status.SKIPPED, Stopped.MISSING_DATA, str(error)
        return record
    try:
        record.compile_s = warm_up(job.problem, job.method)
        solve, evaluate = _functions(job)
        begun = time.perf_counter_ns()
        with quiet_stdout(), memory_limit(job.limits.memory_mb):
            result: Result = solve(instance, limits=job.limits, seed=job.seed, **dict(job.options))
        record.solve_s = (time.perf_counter_ns() - begun) * 1e-9
        begun = time.perf_counter_ns()
        evaluation = None if result.decision is None else evaluate(instance, result.decision)
        record.check_s = (time.perf_counter_ns() - begun) * 1e-9
    except MemoryError:
        record.status, record.stopped = Status.UNKNOWN, Stopped.MEMORY
        record.message = f"more than the limit of {job.limits.memory_mb} MB"
        return record
    except InputError as error:
        record.status, record.stopped, record.message = Status.SKIPPED, Stopped.UNSUPPORTED, str(error)
        return record
    except Exception as error:
        record.status, record.stopped = Status.ERROR, Stopped.CRASH
        record.message = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return record
    _enter_claim(record, result)
    _enter_verdict(record, result, evaluation, _size(instance))
    _enter_verified_bound(record, instance, result)
    return record


@cache
def warm_up(problem: str, method: str) -> float:
    """Import a method and run it once on a tiny instance; return the seconds, which are never charged."""
    begun = time.perf_counter_ns()
    solve = resolve(find(problem, method).function)
    resolve(PROBLEMS[problem].evaluator)
    family, size = _TINY[problem]
    settings = {"horizon_s": 1.0} if problem == "handover" else {}
    with quiet_stdout():
        solve(generate(family, users=size, seed=1, settings=settings), limits=Limits(), seed=0)
    return (time.perf_counter_ns() - begun) * 1e-9


def blank_record(job: Job) -> Record:
    """Return the job's record before it ran."""
    try:
        instance, digest = build(job.source)
        name, size = instance.name, _size(instance)
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
        extra={"source": source_as_dict(job.source), "timing": job.timing, "method_seed": job.seed},
    )


def failed_record(job: Job, status: Status, stopped: Stopped, message: str) -> Record:
    """Return the record of a run that did not come back."""
    record = blank_record(job)
    record.status, record.stopped, record.message = status, stopped, message
    return record


def _functions(job: Job) -> tuple[Callable[..., Result], Callable[..., Evaluation]]:
    method = find(job.problem, job.method)
    check_options(method, dict(job.options))
    return resolve(method.function), resolve(PROBLEMS[job.problem].evaluator)


def _size(instance: Instance) -> int:
    return instance.n_groups if hasattr(instance, "n_groups") else instance.n_users


def _enter_claim(record: Record, result: Result) -> None:
    record.status, record.stopped = result.status, result.stopped
    record.objective, record.bound = result.objective, result.bound
    record.bound_kind = result.bound_kind
    record.build_s = result.phases.get("build")
    record.message = result.message
    record.extra |= {
        "counters": result.counters,
        "phases": result.phases,
        "incumbents": [list(pair) for pair in result.incumbents],
        "decision": None if result.decision is None else document_of(result.decision),
        "certificate": result.certificate,
    }


def _enter_verdict(record: Record, result: Result, evaluation: Evaluation | None, size: int) -> None:
    """Compare the claim with the re-evaluation; a claim that does not hold makes the run inconsistent."""
    lies = []
    if evaluation is not None:
        record.checked_objective, record.feasible = evaluation.objective, evaluation.feasible
        record.violation = evaluation.violation if math.isfinite(evaluation.violation) else None
        record.extra["checked"] = evaluation.details
        lies += [] if evaluation.feasible else [f"the decision is infeasible: {evaluation.message}"]
    lies += list(_contradictions(result, evaluation, TOLERANCE * max(size, 1)))
    if record.bound is not None and record.checked_objective is not None:
        record.gap = (record.bound - record.checked_objective) / max(record.bound, 1e-300)
    if lies:
        record.status, record.stopped, record.message = Status.INCONSISTENT, Stopped.LIE, "; ".join(lies)
    for key in ("objective", "bound", "gap"):
        value = getattr(record, key)
        if value is not None and not math.isfinite(value):
            setattr(record, key, None)


def _enter_verified_bound(record: Record, instance: Instance, result: Result) -> None:
    """Check the certificate of a bound, if there is one, by code that shares nothing with the method."""
    verifier = PROBLEMS[record.problem].verifier
    if verifier is None or "prices" not in result.certificate:
        return
    verified = resolve(verifier)(instance, result.certificate["prices"])
    record.extra["verified_bound"] = verified
    if result.bound_kind == BoundKind.PRICES and result.bound is not None:
        tolerance = TOLERANCE * max(_size(instance), 1)
        if result.bound < verified - tolerance:
            record.status, record.stopped = Status.INCONSISTENT, Stopped.LIE
            record.message = f"bound {result.bound!r} is below the {verified!r} that its prices prove"


def _contradictions(result: Result, evaluation: Evaluation | None, tolerance: float) -> Iterator[str]:
    decided = result.status in (Status.OPTIMAL, Status.FEASIBLE)
    if decided != (result.decision is not None):
        yield f"status {result.status} with{'out' if result.decision is None else ''} a decision"
    if decided and (result.objective is None or not math.isfinite(result.objective)):
        yield f"objective {result.objective} is no finite number"
    elif decided and evaluation is not None and not _close(result.objective, evaluation.objective, tolerance):
        yield f"claimed {result.objective!r}, re-evaluated {evaluation.objective!r}"
    if result.bound is not None and not result.bound > -math.inf:
        yield f"bound {result.bound} is no bound"
    if result.bound is None or evaluation is None:
        if result.status is Status.OPTIMAL and result.bound is None:
            yield "status optimal without a bound"
        return
    if result.bound < evaluation.objective - tolerance:
        yield f"bound {result.bound!r} is below the decision's {evaluation.objective!r}"
    if result.status is Status.OPTIMAL and result.bound > evaluation.objective + tolerance:
        yield f"status optimal, but the bound {result.bound!r} leaves a gap to {evaluation.objective!r}"


def _close(claimed: float | None, checked: float, tolerance: float) -> bool:
    return claimed is not None and abs(claimed - checked) <= tolerance


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
