"""How a report names a user's own methods, and how many runs it expects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.experiments import EXPERIMENTS
from bench.jobs.grid import job_of, keyed_runs
from bench.jobs.job import Record
from bench.jobs.run import blank_record
from bench.judging.selecting import RecordList, select
from reports import report
from reports.anonymous import anonymised
from reports.own_methods import without_folders
from reports.report import write_report
from tests.bench.sample_records import record
from tests.reports.sample_stores import fig6_records, small_store


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawing, which takes most of a report's time."""
    monkeypatch.setattr(report, "DRAWERS", ())


def planned_records() -> list[Record]:
    """Return the rows of an experiment, as if all of it had run."""
    rows = []
    for i, (_, job) in enumerate(keyed_runs(EXPERIMENTS["balance-fig1"](1))):
        row = blank_record(job)
        row.status, row.objective, row.checked_objective, row.feasible = "feasible", 1.0, 1.0, True
        row.extra["checked"] = {"seconds_ad": 1.0, "seconds_sd": 0.0, "memory_bytes": 1e10}
        rows.append(replace(row, solve_s=1e-3 * (1 + i % 5)))
    return rows


def test_every_row_knows_its_grid() -> None:
    """A run says on how many instances its method runs and how many runs its experiment has."""
    rows = planned_records()
    for row in rows:
        runs = [r for r in rows if r.method == row.method]
        assert row.extra["planned"] == {"instances": len(runs), "runs": len(rows)}
        assert job_of(row).planned == row.extra["planned"]


@pytest.mark.usefixtures("without_pictures")
def test_interrupted_run_is_seen(tmp_path: Path) -> None:
    """What an interrupted run left out is expected, also where no method ran on it."""
    rows = planned_records()
    half = len(rows) // 4
    write_report(rows[:half], tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    own = sum(r.method == "ad-only" for r in rows[:half])
    assert f"| balance-fig1 | `ad-only` | baseline | {own}/{own} | {own}/{len(rows) // 2} |" in page
    assert f"| {half}/{len(rows)} | {len(rows) - half} | 0 | {half} feasible |" in page


def test_own_methods_lose_their_folders() -> None:
    """An own method is ``file.py:function``; two that would be called alike keep what tells them apart."""
    names = ("/home/a/mine.py:f", "/home/b/mine.py:f", r"C:\Users\c\other.py:g", "hybrid", "a.b.c:f")
    shown = [r.method for r in without_folders([record(name, "i", 1) for name in names])]
    assert shown == ["a/mine.py:f", "b/mine.py:f", "other.py:g", "hybrid", "a.b.c:f"]


@pytest.mark.usefixtures("without_pictures")
def test_report_shows_no_folder_of_an_own_method(tmp_path: Path) -> None:
    """The page and the tables name an own method without its folder; the records keep it for a repetition."""
    rows = [replace(r, key=f"row{i}") for i, r in enumerate(small_store())]
    write_report(rows, tmp_path)
    texts = {p.name: p.read_text(encoding="utf-8") for p in tmp_path.rglob("*") if p.is_file()}
    named = {name for name, text in texts.items() if "/home/someone" in text}
    assert named == {"records.jsonl"}
    assert "`own.py:mine`" in texts["report.md"]


@pytest.mark.parametrize(
    "place",
    [
        "/home/alice/x.py", r"C:\Users\alice\x.py", r"\\server\alice\x.py", "file:///home/alice/x.py",
        "~alice/x.py", "../alice/x.py", "<path=/home/alice/x.py>", "{/home/alice/x.py}", "a;/home/alice/x.py",
    ],
)  # fmt: skip
def test_anonymous_hides_places_in_messages(place: str) -> None:
    """Of whatever looks like a path in a message only the file's name stays."""
    row = record("hybrid", "i", None, status="error", message=f"cannot read {place} at 3 users/s, 1 / 2")
    (hidden,) = anonymised([row])
    assert "alice" not in hidden.message
    assert "x.py" in hidden.message
    assert hidden.message.endswith("at 3 users/s, 1 / 2")


def test_anonymous_hides_whose_home_it_was() -> None:
    """The name of a home folder of an own method's file is hidden in messages too."""
    row = record("/home/alice/own.py:f", "i", None, status="error", message="no right for alice, Alicea")
    assert anonymised([row])[0].message == "no right for …, Alicea"


def test_index_finds_what_a_search_finds() -> None:
    """Selecting through the index gives the same rows in the same order as looking at all of them."""
    rows = fig6_records()
    indexed = RecordList(rows)
    for wanted in ({"method": "hybrid"}, {"size": 12}, {"method": "hybrid", "size": 11}, {"size": 0}):
        assert select(indexed, **wanted) == select(rows, **wanted)
    assert select(select(indexed, size=12), method="hybrid") == select(rows, size=12, method="hybrid")
