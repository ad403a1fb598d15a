"""Jobs on a Dask cluster: no retries, no second attempt at a run that took its worker down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import dask
from distributed import Client, LocalCluster, as_completed

from bench.jobs.job import Job, Record
from bench.jobs.worker import Worker
from instances.errors import InputError

__all__ = ["connected", "results", "run_here"]

SETTINGS = {
    "distributed.worker.daemon": False,  # workers have children: the killable processes
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.worker-saturation": 1.0,
}
CONNECT_S = 10
_workers: list[Worker] = []  # this Dask worker's killable process


@contextmanager
def connected(address: str | None, workers: int) -> Iterator[Any]:
    """Yield a client of the cluster at an address, or of a local one on 127.0.0.1 without a dashboard.

    Raises
    ------
    InputError
        When nobody answers at the address.
    """
    with dask.config.set(SETTINGS), ExitStack() as stack:
        if address is None:
            local = {"host": "127.0.0.1", "dashboard_address": None, "threads_per_worker": 1}
            address = stack.enter_context(LocalCluster(n_workers=workers, processes=True, **local))
        try:
            client = stack.enter_context(Client(address, timeout=CONNECT_S))
        except (OSError, ValueError) as error:
            raise InputError(f"--scheduler: found no Dask scheduler at {address} ({error})") from None
        try:
            yield client
        finally:
            with suppress(OSError, TimeoutError):
                client.run(stop_here, on_error="ignore")


def results(client: Any, jobs: Sequence[Job]) -> Iterator[tuple[Job, Record | BaseException]]:
    """Yield each job with its record, or with the error that lost it, as they finish.

    No more jobs are under way than there are threads: one that only waits at a worker is lost with it.
    """
    waiting, futures = list(reversed(jobs)), {}
    finished = as_completed()

    def submit() -> None:
        if waiting:
            job = waiting.pop()
            future = client.submit(run_here, job, retries=0, pure=False)
            futures[future] = job
            finished.add(future)

    client.wait_for_workers(1, timeout=CONNECT_S)
    for _ in range(sum(client.nthreads().values())):
        submit()
    for future in finished:
        error = future.exception()
        submit()
        yield futures.pop(future), future.result() if error is None else error


def run_here(job: Job) -> Record:
    """Run a job in this Dask worker's killable process, which is made at the first call."""
    if not _workers:
        _workers.append(Worker([(job.problem, job.method)]))
    return _workers[0].run(job)


def stop_here() -> None:
    """End this Dask worker's killable process."""
    while _workers:
        _workers.pop().close()
