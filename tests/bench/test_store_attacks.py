"""The store under attack: kills, rivals, full disks and forbidden places lose nothing that was committed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from bench.jobs.job import Job
from bench.jobs.run import run_job
from bench.jobs.sources import Generated
from bench.jobs.store import Store
from instances.errors import InputError
from instances.files import save
from instances.generate import generate
from reports.report import write_report
from tests.bench.sample_records import record

ROOT = Path(__file__).parents[2]
HONEST = "tests.bench.sample_methods:honest"
posix = pytest.mark.skipif(os.name == "nt", reason="signals and limits of POSIX")

# Adds the rows of a prefix that are missing, and prints each key once it is committed.
# "nobody" becomes a user whom permissions stop, as they don't stop root.
WRITER = """
import os, sys
from bench.jobs.store import Store
from instances.errors import InputError
from tests.bench.sample_records import record

path, prefix, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
if prefix == "nobody" and os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    store = Store(path)
    known = store.keys()
    for i in range(count):
        row = record("hybrid", f"{prefix}{i}", 1.0)
        if row.key not in known:
            store.add(row)
            print(row.key, flush=True)
            if "reopen" in sys.argv:
                store.close()
                store = Store(path)
    store.close()
except InputError as error:
    print(error, file=sys.stderr)
    sys.exit(2)
"""


def writer(path: Path, prefix: str, count: int, *words: str, **options: object) -> subprocess.Popen[str]:
    """Start a process that adds ``count`` rows."""
    command = [sys.executable, "-c", WRITER, str(path), prefix, str(count), *words]
    return subprocess.Popen(command, cwd=ROOT, text=True, stderr=subprocess.PIPE, **options)


def keys_in(path: Path) -> set[str]:
    """Return the keys of a sound store, read by SQLite alone."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {key for (key,) in connection.execute("SELECT key FROM records")}


def printed(path: Path) -> list[str]:
    """Return the keys that a process printed."""
    return [line for line in path.read_text().splitlines() if line != "ready"]


@posix
def test_kill_at_any_moment_loses_the_row_in_hand_only(tmp_path: Path, counted: Callable[[int], int]) -> None:
    """After each of N kills every printed row is there, at most one more, and a resume repeats none."""
    store, rng, told = tmp_path / "s.sqlite", random.Random(7), []
    with Store(store):
        pass
    for i in range(counted(50)):
        output = tmp_path / f"{i}.txt"
        words = ["reopen"] * (i % 2)  # every other process folds its journal after each row
        with output.open("w") as stream, writer(store, "k", 10**9, *words, stdout=stream) as process:
            while not output.read_text() and process.poll() is None:
                time.sleep(0.002)
            time.sleep(rng.uniform(0.0, 0.05))
            process.kill()
        before = len(told)
        told += printed(output)
        with Store(store, read_only=True) as opened:
            there = set(opened.keys())
        with Store(store) as opened:
            assert set(opened.keys()) == there
        assert there == keys_in(store)
        assert len(there - set(told)) <= 1, f"kill {i}: {len(told) - before} rows were printed"
        assert set(told) <= there
        told += sorted(there - set(told))
    assert len(told) == len(set(told)), "a row was written twice"
    count = len(told) + 25
    output = tmp_path / "last.txt"
    with output.open("w") as stream, writer(store, "k", count, stdout=stream) as process:
        assert process.wait(60) == 0
    assert len(printed(output)) == 25
    assert keys_in(store) == {record("hybrid", f"k{i}", 1.0).key for i in range(count)}


def test_store_of_a_killed_process_can_be_read(tmp_path: Path) -> None:
    """A store whose writer died with a half-written page is rolled back, also by who only wants to read."""
    path, left = tmp_path / "s.sqlite", tmp_path / "left.sqlite"
    with Store(path) as store:
        for i in range(20):
            store.add(record("hybrid", f"k{i}", 1.0, message="x" * 20_000))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size=2")
        connection.execute("UPDATE records SET message = 'half written'")
        shutil.copy(path, left)
        shutil.copy(f"{path}-journal", f"{left}-journal")
    with Store(left, read_only=True) as store:
        assert {row.message for row in store.records()} == {"x" * 20_000}


def test_opening_waits_for_a_writer(tmp_path: Path) -> None:
    """A store that another connection is writing to, without a write-ahead log, opens when it has written."""
    path = tmp_path / "s.sqlite"
    with Store(path):
        pass
    with closing(sqlite3.connect(path, check_same_thread=False, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        written = threading.Timer(0.2, lambda: connection.execute("COMMIT"))
        written.start()
        with Store(path) as store:
            assert store.keys() == {}
        written.join()


@pytest.mark.parametrize("prefixes", [("a", "b"), ("same", "same")], ids=["disjoint", "overlapping"])
def test_two_writers_lose_nothing(prefixes: tuple[str, str], tmp_path: Path) -> None:
    """Two processes that write at once both end well, and every row of both is there once."""
    store, count = tmp_path / "s.sqlite", 300
    crew = [writer(store, prefix, count, stdout=subprocess.DEVNULL) for prefix in prefixes]
    ends = [process.communicate(timeout=60)[1] for process in crew]
    assert [process.returncode for process in crew] == [0, 0], ends
    assert keys_in(store) == {record("hybrid", f"{p}{i}", 1.0).key for p in prefixes for i in range(count)}
    assert [p.name for p in tmp_path.iterdir()] == ["s.sqlite"]


def test_many_openings_at_once_lose_nothing(tmp_path: Path) -> None:
    """Who opens, writes a row and closes while others do the same never finds the store locked."""
    store = tmp_path / "s.sqlite"

    def visit(prefix: int) -> None:
        for i in range(10):
            with Store(store) as opened:
                opened.add(record("hybrid", f"{prefix}-{i}", 1.0))

    with ThreadPoolExecutor(6) as crew:
        list(crew.map(visit, range(6)))
    assert len(keys_in(store)) == 60


def limited(largest: int) -> Callable[[], None]:
    """Return what lets a child write files of ``largest`` bytes only, with an error instead of a signal."""

    def limit() -> None:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    return limit


@posix
def test_full_disk_ends_with_one_line_and_a_sound_store(tmp_path: Path) -> None:
    """When no file may grow, the writer ends with one line, and what it printed is in the store."""
    store, output = tmp_path / "s.sqlite", tmp_path / "out.txt"
    with output.open("w") as stream:
        process = writer(store, "k", 10_000, stdout=stream, preexec_fn=limited(200_000))
        errors = process.communicate(timeout=60)[1]
    assert process.returncode == 2, errors
    (line,) = errors.splitlines()
    assert line.startswith(f"{store}: found ")
    assert line.endswith("expected a usable store")
    with Store(store) as opened:
        there = set(opened.keys())
    told = printed(output)
    assert told
    assert set(told) <= there == keys_in(store)
    assert len(there) <= len(told) + 1


@posix
def test_run_on_a_full_disk_is_one_line(tmp_path: Path) -> None:
    """``certigap run`` on a full disk ends with one line and status 2, and its rows are kept."""
    store, folder = tmp_path / "s.sqlite", tmp_path / "given"
    folder.mkdir()
    for seed in range(20):
        save(generate("physical-fig4", users=4, seed=seed), folder / f"{seed}.json")
    command = [sys.executable, "-m", "bench", "run", str(folder), "--method", HONEST, "--executor", "serial"]
    done = subprocess.run(
        [*command, "--store", str(store)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        preexec_fn=limited(60_000),
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert f"{store}: found " in done.stderr.splitlines()[-1]
    assert 1 <= len(keys_in(store)) < 20


def test_row_that_does_not_fit_leaves_the_store_usable(tmp_path: Path) -> None:
    """A row that fails for want of space is refused in one line, blocks nobody else, and may come later."""
    store = Store(tmp_path / "s.sqlite")
    store.add(record("hybrid", "small", 1.0))
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count={pages + 1}")
    large = record("hybrid", "large", 1.0)
    large.message = "x" * 100_000
    with pytest.raises(InputError, match="found database or disk is full, expected a usable store"):
        store.add(large)
    with closing(sqlite3.connect(store.path, timeout=0)) as other:
        other.execute("BEGIN IMMEDIATE")
    store._connection.execute("PRAGMA max_page_count=1000000")
    store.add(large)
    store.close()
    assert keys_in(store.path) == {large.key, record("hybrid", "small", 1.0).key}


@pytest.mark.parametrize("place", ["folder", "below-a-file", "/proc/certigap/s.sqlite"])
def test_place_that_cannot_be_written_is_one_line(place: str, tmp_path: Path) -> None:
    """A folder in the store's place, a file in its folder's, and a system folder give one line each."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    path = tmp_path / ("file/s.sqlite" if place == "below-a-file" else place)
    if place.startswith("/proc") and not sys.platform.startswith("linux"):
        pytest.skip("Linux's /proc")
    with pytest.raises(InputError, match="expected a usable store") as caught:
        Store(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user of the system may enter."""
    folder = Path(tempfile.mkdtemp(prefix="certigap-"))
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


@posix
@pytest.mark.parametrize("forbidden", ["file", "folder"])
def test_read_only_store_is_one_line(forbidden: str, open_folder: Path) -> None:
    """A store file or folder without write permission gives one line, and the store stays as it was."""
    path = open_folder / "s.sqlite"
    with Store(path) as store:
        store.add(record("hybrid", "first", 1.0))
    path.chmod(0o444)
    if forbidden == "folder":
        path.chmod(0o666)
        open_folder.chmod(0o555)
    before = path.read_bytes()
    process = writer(path, "nobody", 3, stdout=subprocess.DEVNULL)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 2, errors
    (line,) = errors.splitlines()
    assert line.startswith(f"{path}: found ")
    assert path.read_bytes() == before


def test_changed_code_gives_a_new_row_and_the_report_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same run of other code is a row of its own; the report uses the newest, and counts the other."""
    job = Job("test", "balance", Generated("physical-fig4", 4, 0), HONEST)
    with Store(tmp_path / "s.sqlite") as store:
        for version in ("old", "new"):
            monkeypatch.setattr("bench.jobs.job.method_version", lambda version=version: version)
            store.add(run_job(job))
            store.add(run_job(job))
        rows = list(store.records())
    assert [row.method_version.partition("+")[0] for row in rows] == ["old", "new"]
    assert rows[0].key != rows[1].key
    write_report(rows, tmp_path / "report")
    (line,) = (tmp_path / "report" / "records.jsonl").read_text().splitlines()
    assert json.loads(line)["key"] == rows[1].key
    assert "1 older row of the same runs left out" in (tmp_path / "report" / "report.md").read_text()
