"""Where jobs run: in this process, or in killable processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, TimeoutError, wait
from typing import Any

from pebble import CONSTS, ProcessExpired, ProcessPool

from bench.jobs.job import Job, Record
from bench.jobs.run import failed_record, run_job, warm_up, with_executor
from formulations.result import Status, Stopped
from instances.errors import InputError

__all__ = ["EXECUTORS", "run_all"]

KILL_AFTER_S = 0.5  # beyond the time limit, which the method itself should keep
CONSTS.term_timeout = 0.2  # between SIGTERM and SIGKILL


def run_all(jobs: Sequence[Job], executor: str = "processes", workers: int = 1) -> Iterator[Record]:
    """Run the jobs and yield their records as they finish.

    ``serial`` runs in this process, without hard limits; ``processes`` in ``workers`` warm processes that a
    time limit kills.
    """
    if executor not in EXECUTORS:
        raise InputError(f"executor: found {executor!r}, expected one of {', '.join(EXECUTORS)}")
    for record in EXECUTORS[executor](jobs, workers):
        yield with_executor(record, executor, workers)


def _serial(jobs: Sequence[Job], workers: int) -> Iterator[Record]:
    for job in jobs:
        yield run_job(job)


def _processes(jobs: Sequence[Job], workers: int) -> Iterator[Record]:
    start = "forkserver" if sys.platform != "win32" else "spawn"
    context = multiprocessing.get_context(start)
    if start == "forkserver":
        context.set_forkserver_preload(["bench.jobs.run"])
    methods = sorted({(job.problem, job.method) for job in jobs})
    pool = ProcessPool(workers, context=context, initializer=_prepare_worker, initargs=(methods,))
    waiting = list(reversed(jobs))
    running: dict[Any, Job] = {}
    try:
        while waiting or running:
            while waiting and len(running) < 2 * workers:
                job = waiting.pop()
                limit = job.limits.time_s
                timeout = None if limit is None else limit + KILL_AFTER_S
                running[pool.schedule(run_job, args=(job,), timeout=timeout)] = job
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield _collected(future, running.pop(future))
        pool.close()  # type: ignore[no-untyped-call]
    finally:
        pool.stop()  # type: ignore[no-untyped-call]
        pool.join()


def _collected(future: Any, job: Job) -> Record:
    try:
        return future.result()  # type: ignore[no-any-return]
    except TimeoutError:
        text = f"killed {KILL_AFTER_S} s after the time limit of {job.limits.time_s} s"
        return failed_record(job, Status.UNKNOWN, Stopped.TIME, text)
    except ProcessExpired as error:
        return failed_record(
            job, Status.ERROR, Stopped.CRASH, f"the worker died with exit code {error.exitcode}"
        )


def _prepare_worker(methods: Sequence[tuple[str, str]]) -> None:
    """Silence native code's standard output, and warm up the run's methods outside every clock."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for problem, method in methods:
        try:
            warm_up(problem, method)
        except Exception:  # the run itself will say what is wrong
            continue


EXECUTORS: dict[str, Callable[[Sequence[Job], int], Iterator[Record]]] = {
    "processes": _processes,
    "serial": _serial,
}
