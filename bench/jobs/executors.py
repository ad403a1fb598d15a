"""Where jobs run: in this process, in killable processes of this machine, or on a Dask cluster."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bench.jobs.job import Job, Record
from bench.jobs.run import failed_record, run_job, with_executor
from bench.jobs.worker import StoppedError, Worker
from formulations.result import Status, Stopped
from instances.errors import InputError

__all__ = ["EXECUTORS", "run_all"]


def run_all(
    jobs: Sequence[Job], executor: str = "processes", workers: int = 1, scheduler: str | None = None
) -> Iterator[Record]:
    """Run the jobs and yield their records as they finish, in any order.

    ``serial`` runs in this process, without hard limits; ``processes`` in ``workers`` warm processes that a
    limit can kill; ``dask`` on the cluster at ``scheduler``, or on a local one of ``workers`` processes. A
    scheduler's address is trusted with the execution of code.

    Raises
    ------
    InputError
        For an executor that does not exist, isn't installed or cannot be reached.
    """
    if executor not in EXECUTORS:
        raise InputError(f"executor: found {executor!r}, expected one of {', '.join(EXECUTORS)}")
    for record in EXECUTORS[executor](jobs, workers, scheduler):
        yield with_executor(record, executor, workers)


def _serial(jobs: Sequence[Job], workers: int, scheduler: str | None) -> Iterator[Record]:
    for job in jobs:
        yield run_job(job)


def _processes(jobs: Sequence[Job], workers: int, scheduler: str | None) -> Iterator[Record]:
    """Each worker has a thread that hands it one job after the other."""
    methods = sorted({(job.problem, job.method) for job in jobs})
    waiting: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    done: queue.SimpleQueue[Record] = queue.SimpleQueue()
    for job in jobs:
        waiting.put(job)
    crew = [Worker(methods) for _ in range(min(workers, len(jobs)))]
    threads = [threading.Thread(target=_work_off, args=(w, waiting, done), daemon=True) for w in crew]
    try:
        for thread in threads:
            waiting.put(None)
            thread.start()
        for _ in jobs:
            yield done.get()
    except BaseException:
        for worker in crew:
            worker.stop()
        raise
    for worker in crew:
        worker.close()


def _work_off(
    worker: Worker, waiting: queue.SimpleQueue[Job | None], done: queue.SimpleQueue[Record]
) -> None:
    while (job := waiting.get()) is not None:
        try:
            done.put(worker.run(job))
        except StoppedError:
            return


def _dask(jobs: Sequence[Job], workers: int, scheduler: str | None) -> Iterator[Record]:
    """Each Dask worker keeps a killable process of its own; a lost Dask worker's run becomes one row."""
    try:
        from bench.jobs import dask_cluster
    except ImportError:
        raise InputError("executor: dask is not installed, pip install certigap[dask]") from None
    with dask_cluster.connected(scheduler, workers) as client:
        for job, outcome in dask_cluster.results(client, jobs):
            if isinstance(outcome, Record):
                yield outcome
            else:
                yield failed_record(job, Status.ERROR, Stopped.CRASH, f"the Dask worker was lost: {outcome}")


EXECUTORS: dict[str, Callable[[Sequence[Job], int, Any], Iterator[Record]]] = {
    "processes": _processes,
    "serial": _serial,
    "dask": _dask,
}
