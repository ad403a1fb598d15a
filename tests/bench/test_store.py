"""The store: rows are kept as they were, committed one by one, and strangers' files are refused."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from bench.jobs.job import Job, Record
from bench.jobs.run import run_job
from bench.jobs.sources import Generated
from bench.jobs.store import SCHEMA_VERSION, Store
from instances.errors import InputError


def record(method: str = "hybrid", users: int = 4) -> Record:
    """Return the record of a small run."""
    return run_job(Job("test", "balance", Generated("physical-fig4", users, 0), method))


def test_row_comes_back_as_it_was(tmp_path: Path) -> None:
    """Every field of a row survives, None and the nested extra included."""
    first = record("exhaustive")
    first.extra["certificate"] = {"prices": {"3": 1e-12}}
    with Store(tmp_path / "s.sqlite") as store:
        store.add(first)
    with Store(tmp_path / "s.sqlite", read_only=True) as store:
        (back,) = store.records()
    assert back.feasible is True
    assert {k: getattr(back, k) for k in Record.columns() if k != "extra"} == {
        k: getattr(first, k) for k in Record.columns() if k != "extra"
    }
    assert back.extra["decision"] == first.extra["decision"]
    assert back.extra["certificate"] == {"prices": {"3": 1e-12}}


def test_same_run_is_one_row(tmp_path: Path) -> None:
    """A run with the same key replaces its row; another method has a key of its own."""
    with Store(tmp_path / "s.sqlite") as store:
        store.add(record())
        store.add(record())
        store.add(record("hybrid-own"))
        assert len(list(store.records())) == 2


def test_key_tells_runs_apart() -> None:
    """Seed, repetition, options, limits, experiment and instance each change the key."""
    job = Job("test", "balance", Generated("physical-fig4", 4, 0), "hybrid")
    variants = [
        job,
        replace(job, seed=1),
        replace(job, repetition=1),
        replace(job, options=(("memory", "own"),)),
        replace(job, limits=replace(job.limits, time_s=1.0)),
        replace(job, experiment="other"),
    ]
    assert len({v.key("a") for v in variants} | {job.key("b")}) == len(variants) + 1


def test_closed_store_is_one_plain_file(tmp_path: Path) -> None:
    """After closing, no journal is left beside the file, and a read-only connection can open it."""
    with Store(tmp_path / "s.sqlite") as store:
        store.add(record())
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_not_finite_numbers_are_empty(tmp_path: Path) -> None:
    """NaN and infinities never reach the file."""
    row = record()
    row.bound, row.extra["counters"] = float("inf"), {"x": float("nan")}
    with Store(tmp_path / "s.sqlite") as store:
        store.add(row)
        (back,) = store.records()
    assert back.bound is None
    assert back.extra["counters"] == {"x": None}


def test_foreign_file_is_refused(tmp_path: Path) -> None:
    """A file that is no store gives one line."""
    path = tmp_path / "s.sqlite"
    path.write_text("not a database, but long enough to be looked at" * 30)
    with pytest.raises(InputError, match=r"s.sqlite: found file is not a database, expected a usable store"):
        Store(path)


def test_missing_store_is_refused(tmp_path: Path) -> None:
    """Reading a store that isn't there says how to make one."""
    with pytest.raises(InputError, match="found no store, expected one"):
        Store(tmp_path / "none.sqlite", read_only=True)


def test_newer_schema_is_refused(tmp_path: Path) -> None:
    """A store of a later version is not touched."""
    path = tmp_path / "s.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION + 1}")
    with pytest.raises(InputError, match="schema: found version 2, expected at most 1"):
        Store(path)


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A store below a file gives one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a usable store"):
        Store(tmp_path / "file" / "s.sqlite")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_killed_run_keeps_what_was_done(tmp_path: Path) -> None:
    """A run that is killed leaves a readable store, and the next one does only the rest."""
    path = tmp_path / "s.sqlite"
    command = [
        sys.executable,
        "-m",
        "bench",
        "run",
        "balance-guarantee",
        "--seeds",
        "1",
        "--store",
        str(path),
    ]
    first = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while stored(path) < 20 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = stored(path)
    assert kept >= 20
    again = subprocess.run([*command, "--limit", "60"], capture_output=True, text=True, check=True)
    assert f"{max(60 - kept, 0)} runs to do" in again.stderr


def stored(path: Path) -> int:
    """Return how many rows are committed."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return int(connection.execute("SELECT count(*) FROM records").fetchone()[0])
    except sqlite3.Error:
        return 0
