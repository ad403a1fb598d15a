"""The report's folder: strangers' stores give a page, and the same store the same bytes."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.jobs.exports.lines import read_records
from bench.judging import claims
from bench.registry import METHODS
from instances.errors import InputError
from reports import provenance, report
from reports.page import Drawing
from reports.report import FIGURES, newest, write_report
from reports.style import METHOD_STYLES, style_of
from tests.bench.sample_records import record
from tests.reports.sample_stores import fig6_records, hostile_records, small_store

GOLDEN_CLAIMS = (
    "theorem-1", "theorem-1-own", "proposition-4", "fig6a-mean", "fig6a-16", "fig6a-linear",
    "fig6a-exponential", "fig6a-exponential-naive", "fig6b",
)  # fmt: skip
LATENCY_SOURCE = {"kind": "Generated", "family": "importance-no-deadline", "seed": 0}
GOLDEN = Path(__file__).parents[1] / "data" / "reports" / "report.md"


@pytest.fixture(scope="module")
def fig6_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of Fig. 6."""
    folder = tmp_path_factory.mktemp("fig6")
    write_report(fig6_records(), folder)
    return folder


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawing, which takes most of a report's time."""
    monkeypatch.setattr(report, "DRAWERS", ())


def test_every_method_has_a_style() -> None:
    """Each registered method has a colour, marker and dash of its own within its problem."""
    for problem in ("balance", "slot", "handover", "mmkp"):
        names = [m.name for m in METHODS.values() if m.problem == problem and m.name in METHOD_STYLES]
        assert names == [m.name for m in METHODS.values() if m.problem == problem]
        assert len({METHOD_STYLES[name] for name in names}) == len(names)


def test_own_methods_have_a_grey_style_that_stays() -> None:
    """A user's methods are told apart in grey, by name only."""
    styles = [style_of(f"own.py:method_{i}") for i in range(8)]
    assert len(set(styles)) > 4
    assert styles == [style_of(f"own.py:method_{i}") for i in range(8)]
    assert not set(styles) & set(METHOD_STYLES.values())


def test_fig6_report_holds_both_panels_and_the_growth(fig6_folder: Path) -> None:
    """Rows of Fig. 6 give both pictures in three formats, the speed-up with both times, and fitted bases."""
    for name in ("fig6a", "fig6b", "growth", "cost-balance"):
        for suffix in ("svg", "pdf", "png"):
            assert (fig6_folder / "figures" / f"{name}.{suffix}").stat().st_size > 5000
    page = (fig6_folder / "report.md").read_text(encoding="utf-8")
    assert "| exhaustive-naive | calibrated-fig4 | 10 … 16 | base per user | 3 | 3 | [3, 3] |" in page
    assert "| exhaustive | calibrated-fig4 | 10 … 16 | base per user | 2 | 2 | [2, 2] |" in page
    claim = next(line for line in page.splitlines() if "(3^K loop) at K = 16" in line)
    assert "| 21800 × | 26904 | 2 | contradicted |" in claim
    assert "43 s against 1.6 ms" in claim
    assert "Theorem 1" not in page


def test_same_store_gives_the_same_bytes(tmp_path: Path, fig6_folder: Path) -> None:
    """Two reports of one store are identical, pictures in all formats included."""
    write_report(fig6_records(), tmp_path)
    files = [p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()]
    assert sorted(files) == sorted(p.relative_to(fig6_folder) for p in fig6_folder.rglob("*") if p.is_file())
    assert {p.suffix for p in files} == {
        ".html", ".md", ".jsonl", ".json", ".csv", ".tex", ".svg", ".pdf", ".png",
    }  # fmt: skip
    for name in files:
        assert (tmp_path / name).read_bytes() == (fig6_folder / name).read_bytes(), name


def test_pictures_need_no_fonts(fig6_folder: Path) -> None:
    """An SVG holds its letters as outlines, a PDF embeds its fonts."""
    svg = (fig6_folder / "figures" / "fig6a.svg").read_text(encoding="utf-8")
    assert "<text" not in svg
    pdf = (fig6_folder / "figures" / "fig6a.pdf").read_bytes()
    assert b"/FontFile2" in pdf
    assert b"/CreationDate" not in pdf


def test_every_figure_point_carries_its_rows(fig6_folder: Path) -> None:
    """Each point of each figure names rows of the store, and lies within the picture."""
    keys = {r.key for r in fig6_records()}
    for path in sorted((fig6_folder / "figures").glob("*.json")):
        points = json.loads(path.read_text(encoding="utf-8"))["points"]
        assert points, path
        for point in points:
            assert set(point["keys"]) <= keys
            assert point["keys"]
            assert 0 <= point["left"] <= 1
            assert 0 <= point["top"] <= 1


def test_every_measured_cell_carries_its_rows(fig6_folder: Path) -> None:
    """Each number of the tables of measurements names rows of the store."""
    named = json.loads((fig6_folder / "tables" / "keys.json").read_text(encoding="utf-8"))
    keys = {r.key for r in fig6_records()}
    for name, columns in (
        ("fig-6-running-time-and-throughput", ("n", "3^K loop (s)", "3^K / Algorithm 3")),
        ("published-claims", ("measured [95 %]",)),
        ("gap-and-time-by-method", ("mean gap (%) [95 %]", "median time (ms)")),
    ):
        with (fig6_folder / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            count = len(list(csv.DictReader(file)))
        for row in range(1, count + 1):
            for column in columns:
                cell = named["tables"][name][f"{row}:{column}"]
                assert cell, (name, row, column)
                assert set(cell) <= keys


def test_text_of_a_small_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Markdown of a small fixed store is the stored one, word for word."""
    monkeypatch.setattr(provenance, "cpu_name", lambda: "a processor")
    monkeypatch.setattr(provenance, "vector_level", lambda: "a vector level")
    monkeypatch.setattr(provenance, "git_commit", lambda: "0123456789ab")
    monkeypatch.setattr(provenance, "versions", lambda: {"python": "3", "certigap": "0"})
    drawn = [Drawing("fig6a", FIGURES["fig6a"], b"", 3.5, 2.5)]
    monkeypatch.setattr(report, "_drawings", lambda records, folder: drawn)
    known = [claim for claim in claims.published_claims() if claim.id in GOLDEN_CLAIMS]
    monkeypatch.setattr(claims, "published_claims", lambda: known)
    write_report(small_store(), tmp_path)
    assert (tmp_path / "report.md").read_text(encoding="utf-8") == GOLDEN.read_text(encoding="utf-8")


def test_records_can_be_read_back(fig6_folder: Path) -> None:
    """The report's records.jsonl is what the import of stores reads."""
    assert read_records(fig6_folder / "records.jsonl") == fig6_records()


def test_environment_names_versions_and_vector_units(fig6_folder: Path) -> None:
    """environment.json names the processor, its vector level, versions, and the rows' hosts."""
    found = json.loads((fig6_folder / "environment.json").read_text(encoding="utf-8"))
    assert found["processor"]
    assert found["vector_level"]
    assert {"python", "numpy", "numba", "scipy"} <= set(found["versions"])
    assert found["runs"]["rows"] == len(fig6_records())


def test_empty_store_says_so(tmp_path: Path) -> None:
    """A store without rows gives a page that says so, without a picture."""
    assert write_report([], tmp_path) == []
    for name in ("report.md", "index.html"):
        assert "there is nothing to report" in (tmp_path / name).read_text(encoding="utf-8")
    assert list((tmp_path / "figures").iterdir()) == []


def test_failures_only_give_a_page_with_reasons(tmp_path: Path) -> None:
    """A store of failures gives no picture, and every reason."""
    row = record(
        "hybrid", "i", None, status="error", message="ZeroDivisionError: nothing", experiment="balance-fig6"
    )
    write_report([row], tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| balance-fig6 | `hybrid` | error | done | 1 | ZeroDivisionError: nothing | `i` |" in page
    assert "| balance-fig6 | 1 | 1 | 0/1 | – | 0 | 1 error |" in page
    assert "1 did not end well, with the reasons below" in page
    assert list((tmp_path / "figures").iterdir()) == []


@pytest.mark.usefixtures("without_pictures")
def test_one_method_gives_its_times_without_a_gap(tmp_path: Path) -> None:
    """A store of one heuristic has no bound: its gap is empty, never zero."""
    write_report([r for r in fig6_records() if r.method == "hybrid"], tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| balance-fig6 | `hybrid` | heuristic | 14/14 | 14/14 | – | – | – | – | 1.3 |" in page
    assert "exhaustive-naive ran not here" in page


@pytest.mark.usefixtures("without_pictures")
def test_missing_cells_are_counted(tmp_path: Path) -> None:
    """Where a method did not run on all instances, the table says on how many."""
    used = [
        r for r in fig6_records() if r.method == "hybrid" or (r.method == "exhaustive-naive" and r.size < 13)
    ]
    write_report(used, tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "| balance-fig6 | `exhaustive-naive` | exact | 6/6 | 6/14 |" in page


@pytest.fixture(scope="module")
def hostile_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a stranger's store."""
    folder = tmp_path_factory.mktemp("hostile")
    write_report(hostile_records(), folder)
    return folder


def test_strange_names_do_not_break_the_tables(hostile_folder: Path) -> None:
    """Bars, backslashes, line breaks, HTML and links in a stranger's rows stay text inside their cell."""
    page = (hostile_folder / "report.md").read_text(encoding="utf-8")
    assert not re.search(r"<(script|img|svg)", page)
    assert "](javascript" not in page
    table = page.partition("### Runs that did not end well")[2].partition("\n## ")[0].strip().splitlines()
    widths = {len(re.split(r"(?<!\\)\|", line)) for line in table if line.startswith("|")}
    assert widths == {9}


def test_spreadsheets_compute_nothing(hostile_folder: Path) -> None:
    """No cell of a table of a stranger's store begins like a formula, unless it is a number."""
    for path in (hostile_folder / "tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for cell in (cell for row in csv.reader(file) for cell in row):
                formula = cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r"))
                assert not formula or re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", cell), cell


@pytest.mark.usefixtures("without_pictures")
def test_rows_that_are_no_records_are_left_out_and_listed(tmp_path: Path) -> None:
    """Wrong types, NaN and unknown statuses of a stranger's store are named, and the rest is drawn."""
    good = [r for r in fig6_records() if r.method == "hybrid"]
    bad = [
        replace(good[0], size="ten"),  # type: ignore[arg-type]
        replace(good[1], status="perfect"),
        replace(good[2], solve_s=float("nan")),
        replace(good[3], solve_s=-1.0),
        replace(good[4], extra={"source": "somewhere"}),
    ]
    write_report([*bad, *good], tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "5 rows of the store cannot be read and are left out." in page
    for reason in ("size: found", "status: found perfect", "solve_s: found", "extra.source: found somewhere"):
        assert reason in page
    assert len(read_records(tmp_path / "records.jsonl")) == len(good)


@pytest.mark.usefixtures("without_pictures")
@pytest.mark.parametrize(
    ("experiment", "extra"),
    [
        ("handover-latency", {}),
        ("handover-latency", {"source": {"kind": "FromFile", "path": "/etc/passwd"}}),
        ("handover-latency", {"source": {"kind": "Generated", "family": "nope"}}),
        ("handover-latency", {"source": LATENCY_SOURCE, "checked": {"latency": {"4096": "x"}}}),
        ("handover-latency", {"source": LATENCY_SOURCE | {"evil": 1}, "checked": {"latency": {}}}),
        ("handover-fig5b", {"source": {"settings": [["rate_per_s", 12.0]]}, "checked": {}}),
        ("handover-fig5b", {"source": {"settings": 5}}),
        ("balance-fig1", {"source": {"settings": [["output_max", 100]]}}),
    ],
)
def test_solved_rows_without_what_is_measured_are_left_out(
    tmp_path: Path, experiment: str, extra: dict[str, Any]
) -> None:
    """A stranger's row that lacks what a measure reads is named; it stops no report and opens no file."""
    row = record("water-filling", "i", 1, experiment=experiment, extra=extra)
    row.problem = "handover"
    write_report([row, *(r for r in fig6_records() if r.method == "hybrid")], tmp_path)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "1 row of the store cannot be read and is left out." in page


def test_figures_of_a_former_report_go(tmp_path: Path) -> None:
    """A second report into a folder removes what the first named and is no longer true, and nothing else."""
    write_report([r for r in fig6_records() if r.method == "hybrid"], tmp_path)
    assert (tmp_path / "figures" / "fig6a.pdf").is_file()
    (tmp_path / "figures" / "mine.svg").write_text("")
    write_report([], tmp_path)
    assert [p.name for p in (tmp_path / "figures").iterdir()] == ["mine.svg"]


def test_newest_code_counts() -> None:
    """Of two rows of one run the later one is used, and the other counted."""
    old, new = (
        record("hybrid", "i", 1, started_utc="2001-01-01T00:00:00+00:00"),
        record("hybrid", "i", 2, started_utc="2002-01-01T00:00:00+00:00"),
    )
    other = record("hybrid", "j", 2, started_utc="2001-01-01T00:00:00+00:00")
    used, ignored = newest([new, old, other])
    assert ([r.checked_objective for r in used], ignored) == ([2, 2], 1)
    limited = record("hybrid", "i", 3, started_utc="2003-01-01T00:00:00+00:00", time_limit_s=9.0)
    assert newest([new, limited])[0] == [limited]
    skipped = record("hybrid", "i", None, status="skipped", started_utc="2004-01-01T00:00:00+00:00")
    assert newest([new, skipped])[0] == newest([skipped, new])[0] == [new]


def test_anonymous_report_names_nobody(tmp_path: Path) -> None:
    """``anonymous`` leaves out hosts, commits, folders and the store's place, wherever they stand."""
    message = "OSError: /home/alice/project/x.json on secret-host at abcdef123456: C:\\Users\\alice\\y"
    row = record("/home/alice/own.py:mine", "i", 1, host="secret-host", git_commit="abcdef123456+")
    other = record("hybrid", "j", None, status="error", message=message, host="secret-host")
    row.key, other.key = "1" * 64, "2" * 64
    other.extra["source"] = {"kind": "FromFile", "path": "/home/alice/project/x.json"}
    write_report([row, other], tmp_path, anonymous=True, store=Path("/home/alice/records.sqlite"))
    for path in (path for path in tmp_path.rglob("*") if path.is_file()):
        content = path.read_bytes()
        for word in (b"secret-host", b"abcdef123456", b"alice"):
            assert word not in content, (path, word)
    page = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "`own.py:mine`" in page
    assert "OSError: x.json on … at …" in page
    assert "The certigap developers" not in page


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A report below a file gives one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder to write to"):
        write_report([], tmp_path / "file" / "report")


def test_every_title_names_its_place() -> None:
    """No two figures share a title."""
    assert len(set(FIGURES.values())) == len(FIGURES)
