"""A killable process that runs one job after the other, warm between them.

Only the middle of a run's three steps has a clock: start-up, compilation, rebuilding the instance and
checking the decision are not charged. Local executors and Dask workers use the same class, so limits and
statuses have one implementation.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import TimeoutError
from contextlib import suppress
from typing import Any

from pebble import CONSTS, ProcessExpired, ProcessPool

from bench.jobs.job import Job, Record
from bench.jobs.run import Run, failed_record, warm_up
from formulations.result import Status, Stopped

__all__ = ["KILL_AFTER_S", "StoppedError", "Worker"]

KILL_AFTER_S = 0.5  # beyond the time limit, which the method itself should keep
CONSTS.term_timeout = 0.2  # s between SIGTERM and SIGKILL


class StoppedError(Exception):
    """The worker was stopped in the middle of a run."""


class Worker:
    """One process; it is replaced when a run kills it, and the run becomes a row."""

    def __init__(self, methods: Sequence[tuple[str, str]]) -> None:
        self._methods, self._stopped = methods, False
        self._pool = self._new_pool()

    def _new_pool(self) -> ProcessPool:
        context = multiprocessing.get_context("spawn" if sys.platform == "win32" else "forkserver")
        if sys.platform != "win32":
            context.set_forkserver_preload(["bench.jobs.run"])
        return ProcessPool(1, context=context, initializer=_prepare_process, initargs=(self._methods,))

    def run(self, job: Job) -> Record:
        """Return the job's record; a limit, a crash or a lost process becomes its status.

        Raises
        ------
        StoppedError
            When ``stop`` was called meanwhile.
        """
        limit = job.limits.time_s
        try:
            self._call(_prepare, job)
            self._call(_solve, timeout=None if limit is None else limit + KILL_AFTER_S)
            return self._call(_finish)  # type: ignore[no-any-return]
        except TimeoutError:
            text = f"killed {KILL_AFTER_S} s after the time limit of {limit} s"
            return failed_record(job, Status.UNKNOWN, Stopped.TIME, text)
        except ProcessExpired as error:
            return failed_record(job, Status.ERROR, Stopped.CRASH, _last_words(error.exitcode))
        except BaseException as error:  # a method may raise KeyboardInterrupt; Ctrl-C never arrives here
            if self._stopped:
                raise StoppedError from None
            self._pool.stop()
            self._pool = self._new_pool()
            text = f"the worker was lost: {type(error).__name__}: {error}"
            return failed_record(job, Status.ERROR, Stopped.CRASH, text.splitlines()[0])

    def close(self) -> None:
        """End the process after the last run, and wait for it."""
        self._pool.close()
        self._pool.join()

    def stop(self) -> None:
        """End the process at once."""
        self._stopped = True
        self._pool.stop()
        self._pool.join()

    def _call(self, function: Any, *arguments: Any, timeout: float | None = None) -> Any:
        return self._pool.schedule(function, args=arguments, timeout=timeout).result()


def _last_words(code: int) -> str:
    if code >= 0:
        return f"the worker ended with exit code {code}"
    hint = ", as the system does when memory runs out" if -code == signal.SIGKILL else ""
    return f"the worker was ended by {signal.Signals(-code).name}{hint}"


def _prepare_process(methods: Sequence[tuple[str, str]]) -> None:
    """Leave Ctrl-C to the parent, silence native code, and warm up the run's methods.

    A user's own method is warmed up in its first run: if it takes the process down, that is one row.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for problem, method in methods:
        if ":" not in method:
            with suppress(Exception):  # the run itself will say what is wrong
                warm_up(problem, method)


_current: list[Run] = []  # the run that this process is in


def _prepare(job: Job) -> None:
    _current[:] = [Run(job)]
    _current[0].prepare()


def _solve() -> None:
    _current[0].solve()


def _finish() -> Record:
    return _current.pop().finish()
