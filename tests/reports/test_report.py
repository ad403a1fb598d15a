"""The report: every method has a look, strangers' stores give a page, and the same store the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.jobs.job import Record
from bench.registry import METHODS
from instances.errors import InputError
from reports.report import newest, write_report
from reports.style import METHOD_STYLES
from tests.bench.sample_records import record


def fig6_records() -> list[Record]:
    """Return rows of Fig. 6 with known times: 2^K and 3^K microseconds against a power law."""
    rows = []
    for size in range(10, 17):
        for method, seconds in (
            ("hybrid", 1e-4 * size),
            ("exhaustive", 1e-6 * 2**size),
            ("exhaustive-naive", 1e-6 * 3**size),
        ):
            for seed in range(2):
                value = size // 2 - (method == "hybrid" and seed == 1)
                status = "feasible" if method == "hybrid" else "optimal"
                place = {"experiment": "balance-fig6", "family": "calibrated-fig4", "size": size}
                times = {"solve_s": seconds, "started_utc": f"20{size}-01-01T00:00:00+00:00"}
                rows.append(record(method, f"k{size}s{seed}", value, status=status, **place, **times))
    return rows


def test_every_method_has_a_style() -> None:
    """Each registered method has a colour, marker and dash of its own within its problem."""
    for problem in ("balance", "slot", "handover", "mmkp"):
        names = [m.name for m in METHODS.values() if m.problem == problem and m.name in METHOD_STYLES]
        assert names == [m.name for m in METHODS.values() if m.problem == problem]
        assert len({METHOD_STYLES[name] for name in names}) == len(names)


def test_fig6_report_holds_both_panels_and_the_growth(tmp_path: Path) -> None:
    """Rows of Fig. 6 give both pictures as SVG and PNG, the speed-up with both times, and fitted bases."""
    write_report(fig6_records(), tmp_path)
    for name in ("fig6a.svg", "fig6a.png", "fig6b.svg", "fig6b.png"):
        assert (tmp_path / "figures" / name).stat().st_size > 5000
    page = (tmp_path / "report.md").read_text()
    assert "| exhaustive-naive | 10 … 16 | base per user | 3 | 3 | [3, 3] |" in page
    assert "| exhaustive | 10 … 16 | base per user | 2 | 2 | [2, 2] |" in page
    claim = next(line for line in page.splitlines() if "(3^K loop) at K = 16" in line)
    assert "| 21800 × | 26904 | 2 | contradicted |" in claim
    assert "43 s against 1.6 ms" in claim
    assert "Theorem 1" not in page


def test_same_store_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two reports of one store are identical, pictures included."""
    for folder in ("a", "b"):
        write_report(fig6_records(), tmp_path / folder)
    files = [p.relative_to(tmp_path / "a") for p in (tmp_path / "a").rglob("*") if p.is_file()]
    assert len(files) == 7
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_empty_store_says_so(tmp_path: Path) -> None:
    """A store without rows gives a page that says so."""
    assert write_report([], tmp_path) == []
    assert (tmp_path / "report.md").read_text().startswith("# Nothing to report")


def test_failures_only_give_a_page_with_reasons(tmp_path: Path) -> None:
    """A store of failures gives no picture, and every reason."""
    row = record(
        "hybrid", "i", None, status="error", message="ZeroDivisionError: nothing", experiment="balance-fig6"
    )
    write_report([row], tmp_path)
    page = (tmp_path / "report.md").read_text()
    assert "| balance-fig6 | 0/1 | 1 error | 1 × ZeroDivisionError: nothing |" in page
    assert list((tmp_path / "figures").iterdir()) == []


def test_strange_names_do_not_break_the_tables(tmp_path: Path) -> None:
    """Bars and line breaks in a stranger's row stay inside their cell."""
    row = record("hybrid", "a|b", 1, message="x\n| y |", status="unknown", experiment="balance-fig6")
    write_report([row], tmp_path)
    table = [
        line
        for line in (tmp_path / "report.md").read_text().splitlines()
        if line.startswith("| balance-fig6")
    ]
    assert table == ["| balance-fig6 | 0/1 | 1 unknown | 1 × x \\| y \\| |"]


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


def test_anonymous_report_names_no_host(tmp_path: Path) -> None:
    """``anonymous`` leaves out host and commit."""
    row = record("hybrid", "i", 1, host="secret-host", git_commit="abcdef123456")
    write_report([row], tmp_path, anonymous=True)
    for path in tmp_path.rglob("*.*"):
        assert b"secret-host" not in path.read_bytes()
        assert b"abcdef123456" not in path.read_bytes()


def test_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """A report below a file gives one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder to write to"):
        write_report([], tmp_path / "file" / "report")
