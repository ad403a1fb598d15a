"""``certigap compare``: what counts as worse, what is paired, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bench.commands.compare import MOST_LISTED, compare_stores
from bench.jobs.job import Record
from bench.jobs.store import Store
from instances.errors import InputError
from tests.bench.sample_records import record


def store_of(path: Path, records: Sequence[Record]) -> Path:
    """Return a store that holds the records."""
    with Store(path) as store:
        for i, row in enumerate(records):
            row.key = f"{i:04d}-{row.key}"
            store.add(row)
    return path


def compared(tmp_path: Path, before: Sequence[Record], after: Sequence[Record]) -> int:
    """Return the exit status of comparing two stores with these records."""
    return compare_stores(store_of(tmp_path / "a", before), store_of(tmp_path / "b", after))


def pair(tmp_path: Path, before: dict[str, Any], after: dict[str, Any]) -> int:
    """Return the exit status of comparing one run in two states."""
    rows = []
    for fields in (before, after):
        value = fields.pop("value", 5.0)
        rows.append([record("m", "i", value, **fields)])
    return compared(tmp_path, *rows)


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ({"value": 5.0}, {"value": 4.0}, "value 5 -> 4"),
        ({"value": 5.0}, {"value": 5.0, "feasible": False}, "value 5 -> none"),
        ({"bound": 6.0}, {"bound": 6.5}, "bound 6 -> 6.5"),
        ({"bound": 6.0}, {}, "bound 6 -> none"),
        ({"status": "optimal"}, {"status": "feasible"}, "status optimal -> feasible"),
        ({"status": "optimal"}, {"value": None, "status": "infeasible"}, "status optimal -> infeasible"),
        ({}, {"status": "inconsistent"}, "status feasible -> inconsistent, value 5 -> none"),
        ({"value": None, "status": "unknown"}, {"value": None, "status": "error"}, "status unknown -> error"),
        ({"value": None, "status": "infeasible"}, {"value": None, "status": "unknown"}, "infeasible -> unk"),
    ],
)
def test_worse_row_is_one_line(
    before: dict[str, Any],
    after: dict[str, Any],
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A lost value, a weaker bound or a worse status ends with status 1 and one line that says which run."""
    assert pair(tmp_path, dict(before), dict(after)) == 1
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("worse: ")]
    assert len(lines) == 1
    assert lines[0].startswith("worse: balance-guarantee  i  m  ")
    assert reason in lines[0]
    assert f"certigap show 0000-balance --store {tmp_path / 'b'}" in lines[0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {}),
        ({"value": 4.0}, {"value": 5.0}),
        ({"value": 1e6}, {"value": 1e6 * (1 - 1e-10)}),
        ({"bound": 6.0}, {"bound": 5.5}),
        ({"bound": 6.0}, {"bound": 6.0 + 1e-9}),
        ({}, {"status": "optimal"}),
        ({"value": None, "status": "error"}, {}),
        ({"value": None, "status": "infeasible"}, {}),
        ({"status": "inconsistent", "bound": 1.0}, {"bound": 9.0}),
        ({"solve_s": 1.0}, {"solve_s": 9.0}),
    ],
)
def test_no_worse_row(before: dict[str, Any], after: dict[str, Any], tmp_path: Path) -> None:
    """What is better, equal within 1e-9, or only slower, ends with status 0."""
    assert pair(tmp_path, dict(before), dict(after)) == 0


def test_table_counts_changes_and_gives_time_ratios(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line a method: better, same and worse values, and the time ratio with interval and counts."""
    before = [record("m", f"i{k}", 2.0, solve_s=2.0 + k) for k in range(4)]
    after = [record("m", f"i{k}", v, solve_s=1.0 + k) for k, v in enumerate((1.0, 2.0, 2.0, 3.0))]
    assert compared(tmp_path, before, after) == 1
    out = capsys.readouterr()
    header, line = out.out.splitlines()[:2]
    assert header.split()[:3] == ["experiment", "method", "pairs"]
    assert line.split()[:6] == ["balance-guarantee", "m", "4", "1/2/1", "0/4/0", "0/4/0"]
    assert "0.669 [" in line
    assert line.endswith("4/4")
    assert "4 pairs, 1 worse" in out.err


def test_runs_on_one_side_are_counted_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs of one store only are listed, a long list cut with its count; they are not worse."""
    before = [record("m", "i", 2.0)] + [record("m", f"x{k}", 2.0) for k in range(MOST_LISTED + 3)]
    assert compared(tmp_path, before, [record("m", "i", 2.0), record("n", "i", 1.0)]) == 0
    out = capsys.readouterr().out
    assert f"only in {tmp_path / 'a'}: {MOST_LISTED + 3}\n" in out
    assert "  and 3 more\n" in out
    assert f"only in {tmp_path / 'b'}: 1\n  balance-guarantee  i  n  feasible\n" in out


@pytest.mark.parametrize(
    "fields",
    [
        {"experiment": "other"},
        {"parameters": '{"x": 1}'},
        {"repetition": 1},
        {"extra": {"method_seed": 7}},
        {"instance_sha256": "another"},
    ],
)
def test_what_is_not_the_same_run_is_not_paired(fields: dict[str, Any], tmp_path: Path) -> None:
    """Experiment, parameters, repetition, the method's seed and the content hash each tell runs apart."""
    other = record("m", "i", 1.0)
    for name, value in fields.items():
        setattr(other, name, value)
    with pytest.raises(InputError, match="found no run in both, expected one of the same experiment"):
        compared(tmp_path, [record("m", "i", 2.0)], [other])


def test_renamed_instance_is_the_same(tmp_path: Path) -> None:
    """Instances are paired by what they hold, not by their name."""
    renamed = record("m", "i", 1.0)
    renamed.instance = "new-name"
    assert compared(tmp_path, [record("m", "i", 2.0)], [renamed]) == 1


def test_older_rows_and_other_limits_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The newest code's rows are compared; older ones, other limits and other machines are mentioned."""
    old = record("m", "i", 9.0, started_utc="2030-01-01T00:00:00+00:00", host="x", time_limit_s=1.0)
    new = record("m", "i", 2.0, started_utc="2030-01-02T00:00:00+00:00", host="x", time_limit_s=1.0)
    assert compared(tmp_path, [new, old], [record("m", "i", 2.0, host="y", time_limit_s=2.0)]) == 0
    err = capsys.readouterr().err
    assert f"1 older rows of the same runs in {tmp_path / 'a'} are not compared" in err
    assert "1 pairs ran under different limits" in err
    assert "different machines" in err


def test_failures_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two stores of failures are comparable: nothing got worse, and there is no time ratio."""
    rows = [record("m", "i", None, status="error"), record("m", "j", None, status="unknown", stopped="time")]
    assert compared(tmp_path, rows, [record("m", r.instance, None, status=r.status) for r in rows]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-2:] == ["-", "0/2"]


def test_empty_store_has_no_pair(tmp_path: Path) -> None:
    """An empty store is one line, not a success."""
    with pytest.raises(InputError, match="found no run in both"):
        compared(tmp_path, [], [record("m", "i", 2.0)])


def test_control_characters_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stranger's names are printed without escape sequences."""
    before, after = record("m\x1b[31m", "i", 2.0), record("m\x1b[31m", "i", 1.0)
    assert compared(tmp_path, [before], [after]) == 1
    assert "\x1b" not in capsys.readouterr().out


def test_command_takes_two_stores(tmp_path: Path) -> None:
    """As a command it takes two paths, and a store that isn't there is refused."""
    app = typer.Typer()
    app.command()(compare_stores)
    path = store_of(tmp_path / "a", [record("m", "i", 2.0)])
    assert "1 pairs, 0 worse" in CliRunner().invoke(app, [str(path), str(path)], standalone_mode=False).output
    with pytest.raises(InputError, match="none: found no store, expected one"):
        compare_stores(path, tmp_path / "none")
