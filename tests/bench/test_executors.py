"""Executors: limits, crashes and lost workers become rows; records do not depend on where they ran."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.jobs.executors import run_all
from bench.jobs.job import Job, Record
from bench.jobs.sources import Generated
from formulations.result import Limits
from instances.errors import InputError

SAMPLES = "tests.bench.sample_methods:"
ROOT = Path(__file__).parents[2]
posix = pytest.mark.skipif(os.name == "nt", reason="signals")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's limits")


def job(method: str, users: int = 6, seed: int = 0, **limits: float) -> Job:
    """Return a job of a registered method, or of a sample method where the name begins with a colon."""
    name = SAMPLES + method[1:] if method[0] == ":" else method
    return Job("test", "balance", Generated("physical-fig4", users, seed), name, limits=Limits(**limits))


def run(jobs: list[Job], executor: str = "processes", workers: int = 1, **options: str) -> list[Record]:
    """Run the jobs and return their records in the order of the jobs."""
    records = list(run_all(jobs, executor, workers, **options))
    place = {j.key(r.instance_sha256): i for i, j in enumerate(jobs) for r in records}
    return sorted(records, key=lambda r: place[r.key])


def test_failures_become_rows_and_the_others_go_on() -> None:
    """A Python exit, a crash in native code and an exception each become a row; runs after them are done."""
    records = run([job("hybrid"), job(":dies"), job(":crashes_natively"), job(":raises"), job("hybrid-own")])
    assert [(r.status, r.stopped) for r in records] == [
        ("feasible", "done"),
        ("error", "crash"),
        ("error", "crash"),
        ("error", "crash"),
        ("feasible", "done"),
    ]
    assert records[1].message == "the worker ended with exit code 7"
    assert records[2].message == "the worker was ended by SIGSEGV"
    assert records[3].message == "ZeroDivisionError: nothing to divide by"
    assert [r.objective for r in records[1:4]] == [None] * 3


def test_time_limit_ends_a_run_in_python_and_in_native_code() -> None:
    """A run that ignores its limit is killed, also inside compiled code, and says so."""
    records = run([job(":sleeps", time_s=0.3), job(":spins", time_s=0.3), job("hybrid", time_s=0.3)])
    assert [(r.status, r.stopped) for r in records] == [("unknown", "time")] * 2 + [("feasible", "done")]
    assert records[1].message == "killed 0.5 s after the time limit of 0.3 s"


def test_compilation_is_not_charged() -> None:
    """A method that compiles for two seconds ends normally under a limit of one."""
    (record,) = run([job(":compiles_slowly", time_s=1.0)])
    assert (record.status, record.stopped) == ("feasible", "done")
    assert record.compile_s is not None
    assert record.compile_s > 1.9
    assert record.solve_s is not None
    assert record.solve_s < 1.0


@linux
def test_memory_limit_ends_a_run() -> None:
    """A run that allocates more than its limit becomes a row with the reason."""
    records = run([job(":eats_memory", memory_mb=500), job("hybrid", memory_mb=500)])
    assert (records[0].status, records[0].stopped) == ("unknown", "memory")
    assert records[0].message == "more than the limit of 500 MB"
    assert records[1].status == "feasible"


@linux
def test_peak_memory_is_that_of_the_run_alone() -> None:
    """A small run after a large one in the same worker shows its own peak."""
    large, small = run([job(":takes_memory", users=7), job(":takes_memory", users=5)])
    assert large.peak_mb is not None
    assert small.peak_mb is not None
    assert large.peak_mb - small.peak_mb > 300


@posix
def test_killed_worker_becomes_one_row(tmp_path: Path) -> None:
    """A worker killed from outside in the middle of a run costs that run only."""
    marker = tmp_path / "pid"
    hanging = replace(job(":hangs"), options=(("marker", str(marker)),))
    killer = threading.Thread(target=kill_when_marked, args=(marker,))
    killer.start()
    records = run([hanging, *(job("hybrid", seed=s) for s in range(3))])
    killer.join()
    assert [r.status for r in records] == ["error", "feasible", "feasible", "feasible"]
    assert records[0].message.startswith("the worker was ended by SIGKILL")


def kill_when_marked(marker: Path) -> None:
    """Kill the process whose number appears in a file."""
    while not (marker.is_file() and marker.read_text()):
        time.sleep(0.05)
    os.kill(int(marker.read_text()), signal.SIGKILL)


GRID = [job(method, users) for users in (4, 6) for method in ("hybrid", "exhaustive", "milp", ":dies")]


@pytest.mark.parametrize(
    ("executor", "workers"),
    [("processes", 2), pytest.param("processes", 4, marks=pytest.mark.full), ("dask", 2)],
)
def test_records_do_not_depend_on_the_executor(executor: str, workers: int) -> None:
    """The same jobs give the same rows in one process, in several, and on a Dask cluster, times apart."""
    assert content(run_all(GRID, executor, workers)) == content(run_all(GRID, "processes", 1))


def test_serial_gives_the_same_records() -> None:
    """The calling process gives the same rows as a killable one."""
    jobs = [j for j in GRID if ":" not in j.method]
    assert content(run_all(jobs, "serial")) == content(run_all(jobs, "processes", 1))


def content(records: Iterable[Record]) -> list[tuple[object, ...]]:
    """Return what must not depend on the executor."""
    keep = ("key", "status", "stopped", "objective", "checked_objective", "bound", "gap", "message")
    extra = ("counters", "decision")
    rows = [(*(getattr(r, k) for k in keep), *(r.extra.get(k) for k in extra)) for r in records]
    return sorted(rows, key=lambda row: row[0])


@pytest.fixture
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Yield the address of a real scheduler and its two workers, each in a process of its own."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    settings = {
        "DASK_DISTRIBUTED__WORKER__DAEMON": "False",
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "0",
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
        "PYTHONPATH": str(ROOT),
    }
    options = {"env": os.environ | settings, "stderr": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    begin = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*begin, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], **options
    )
    begin = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    workers = [subprocess.Popen([*begin, "--no-nanny"], **options) for _ in range(2)]
    yield address, workers
    for process in (*workers, scheduler):
        process.kill()
        process.wait()


@posix
@pytest.mark.full
def test_lost_dask_worker_becomes_at_most_one_row(
    cluster: tuple[str, list[subprocess.Popen[bytes]]],
) -> None:
    """With a real scheduler and two workers, killing one costs the run it was in, and the rest is done."""
    address, workers = cluster
    jobs = [job(":naps", users=6, seed=s) for s in range(6)]
    threading.Timer(4.0, workers[0].kill).start()
    records = list(run_all(jobs, "dask", 2, address))
    statuses = [r.status for r in records]
    assert len(records) == len(jobs)
    assert statuses.count("error") <= 1
    assert statuses.count("feasible") >= len(jobs) - 1
    assert all("the Dask worker was lost" in r.message for r in records if r.status == "error")


def test_unreachable_scheduler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler that does not answer is an input error with its address."""
    monkeypatch.setattr("bench.jobs.dask_cluster.CONNECT_S", 1)
    with pytest.raises(InputError, match=r"--scheduler: found no Dask scheduler at tcp://127\.0\.0\.1:9"):
        list(run_all([job("hybrid")], "dask", 1, "tcp://127.0.0.1:9"))


@posix
def test_ctrl_c_keeps_what_is_stored(tmp_path: Path) -> None:
    """Ctrl-C ends a run with status 130, keeps its rows, and says how to go on."""
    store = tmp_path / "s.sqlite"
    command = [
        sys.executable,
        "-m",
        "bench",
        "run",
        "balance-guarantee",
        "--seeds",
        "2",
        "--store",
        str(store),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    while rows(store) < 10 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped; what ran is stored" in errors
    assert "Traceback" not in errors
    assert rows(store) >= 10
    assert sorted(p.name for p in tmp_path.iterdir()) == ["s.sqlite"]


def rows(store: Path) -> int:
    """Return how many rows are committed."""
    try:
        with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
    except sqlite3.Error:
        return 0
