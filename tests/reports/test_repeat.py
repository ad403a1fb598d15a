"""Repeat one cell: the command that the page shows runs exactly the rows behind the cell."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.jobs.store import Store
from reports.cells import Table, cell
from reports.page import Page, Section
from reports.repeat import RowIndex, command, keys_by_cell
from tests.bench.sample_records import record


def run(arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    line = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=170)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of eight short runs."""
    folder = tmp_path_factory.mktemp("store")
    line = ["run", "balance-guarantee", "--executor", "serial", "--limit", "8", "--store", "s.sqlite"]
    done = run(line, folder)
    assert done.returncode == 0, done.stderr
    return folder / "s.sqlite"


def test_shown_command_runs_the_rows_again(store: Path) -> None:
    """The command of a cell with three rows runs these three again, and no other."""
    with Store(store, read_only=True) as opened:
        before = {r.key: r for r in opened.records()}
    chosen = list(before.values())[2:5]
    program, *arguments = shlex.split(command(chosen, Path(store.name)))
    assert program == "certigap"
    done = run([*arguments, "--executor", "serial"], store.parent)
    assert done.returncode == 0, done.stderr
    with Store(store, read_only=True) as opened:
        after = {r.key: r for r in opened.records()}
    assert after.keys() == before.keys()
    again = {key for key in after if after[key].started_utc != before[key].started_utc}
    assert again == {r.key for r in chosen}
    assert all(after[key].checked_objective == before[key].checked_objective for key in after)


@pytest.mark.parametrize(
    ("only", "text"),
    [
        ("zzz,{0}", "found 0 rows for zzz, expected one"),
        ("{0},", None),
        (",", "expected the beginning of a row's key"),
    ],
)
def test_only_takes_beginnings_of_keys(store: Path, only: str, text: str | None) -> None:
    """Each part of --only names one row; what names none is refused by its text."""
    with Store(store, read_only=True) as opened:
        first = next(iter(opened.keys()))
    line = ["run", "balance-guarantee", "--only", only.format(first), "--dry-run", "--store", store.name]
    done = run(line, store.parent)
    if text is None:
        assert done.stdout.split()[0] == first[:12]
        assert len(done.stdout.splitlines()) == 1
    else:
        assert done.returncode == 2
        assert text in done.stderr


def test_rows_are_named_in_short() -> None:
    """The rows behind a cell are written as ranges of their places."""
    rows = [record("hybrid", f"i{i}", 1) for i in range(9)]
    index = RowIndex(rows)
    assert index.ranges(rows[i].key for i in (5, 0, 1, 2, 7, 8)) == "0-2,5,7-8"
    assert index.ranges(["unknown"]) == ""


def test_strange_keys_and_experiments_give_no_injection() -> None:
    """A key that is no plain word gives no command; such an experiment is left out of it."""
    row = record("hybrid", "i", 1, experiment="$(reboot)")
    row.key = "abcdef0123456789"
    assert command([row]) == "certigap run files --only abcdef012345"
    row.key = "; reboot"
    assert command([row]) == ""
    row.key = "--rerun"
    assert command([row]) == ""
    described = RowIndex([row]).described(None)
    assert described["rows"][0][0] == ""
    assert "$(reboot)" not in described["plain"]


def test_keys_are_listed_by_cell() -> None:
    """keys.json names table, row and column of each cell that has rows behind it."""
    row = record("hybrid", "i", 1)
    table = Table("A title: ½", ("x", "y"), [("plain", cell("1", [row])), ("plain", "2")])
    page = Page("?", [], [Section("s", [table, "text"])])
    assert json.loads(json.dumps(keys_by_cell(page))) == {
        "tables": {"a-title-half": {"1:y": [row.key]}},
        "figures": {},
    }
