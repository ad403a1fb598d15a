"""Exports: nothing is lost or invented, other tools read them, and JSON Lines come back strictly."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bench.commands.export import EXPORT_FORMATS, export_store, import_records
from bench.jobs.exports import lines
from bench.jobs.exports.lines import records_as_lines
from bench.jobs.exports.solutions import records_as_perprof, records_as_solu
from bench.jobs.exports.tables import records_as_csv
from bench.jobs.exports.timings import records_as_action_benchmark, records_as_pytest_benchmark
from bench.jobs.job import Job, Record
from bench.jobs.run import run_job
from bench.jobs.sources import Generated
from bench.jobs.store import Store
from instances.errors import InputError
from tests.bench.sample_records import record


def key_of(number: int) -> str:
    """Return a key, in the order of the numbers."""
    return f"{number:064x}"


def rows() -> list[Record]:
    """Return rows of two methods on two instances: three repetitions, a proof, a limit and a failure."""
    made = [
        record("hybrid", "i", 4.0, solve_s=s, repetition=k, gap=0.2, git_commit="abc+", host="h")
        for k, s in enumerate((0.3, 0.1, 0.2))
    ]
    made += [
        record("exhaustive", "i", 5.0, status="optimal", bound=5.0, gap=0.0, solve_s=1.0),
        record("hybrid", "j", 3.0, stopped="time", solve_s=2.0, time_limit_s=2.0),
        record("exhaustive", "j", None, status="error", stopped="crash", message="KeyError: 'é'"),
    ]
    for i, row in enumerate(made):
        row.key, row.started_utc = key_of(i), f"2030-01-0{i + 1}T00:00:00.000+00:00"
    return made


FAILURES = [record("m", "i", None, status="error", stopped="crash", message="no")]
CASES: dict[str, Sequence[Record]] = {
    "several": rows(),
    "one-method": rows()[:3],
    "failures": FAILURES,
    "empty": [],
}


def store_of(path: Path, records: Sequence[Record]) -> Path:
    """Return a store that holds the records."""
    with Store(path) as store:
        for row in records:
            store.add(row)
    return path


def text_of(name: str, records: Sequence[Record], tmp_path: Path) -> Path:
    """Return the file that an export wrote."""
    target = tmp_path / f"out.{name}"
    export_store(name, store_of(tmp_path / "s.sqlite", records), target)
    return target


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", EXPORT_FORMATS)
def test_every_format_takes_every_store(name: str, case: str, tmp_path: Path) -> None:
    """Each format is written whole, also of failures only and of an empty store, without NaN."""
    if name == "parquet":
        pytest.importorskip("pyarrow")
    target = text_of(name, CASES[case], tmp_path)
    files = [target] if target.is_file() else list(target.iterdir())
    for path in files:
        assert b"NaN" not in path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([target.name, "s.sqlite"])


def test_round_trip_is_byte_identical(tmp_path: Path) -> None:
    """JSON Lines into a store and out again are the same bytes, a real run's nested extra included."""
    job = Job("test", "balance", Generated("physical-fig4", 4, 0), "exhaustive")
    first = text_of("jsonl", [*rows(), run_job(job)], tmp_path)
    import_records([first], tmp_path / "again.sqlite")
    export_store("jsonl", tmp_path / "again.sqlite", tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == first.read_bytes()
    assert first.read_bytes().count(b"\n") == 7


def test_empty_round_trip(tmp_path: Path) -> None:
    """An empty store is an empty file, and comes back as one."""
    assert text_of("jsonl", [], tmp_path).read_bytes() == b""
    assert import_records([tmp_path / "out.jsonl"], tmp_path / "again.sqlite") == 0


def test_import_keeps_the_row_started_last(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of rows with one key the one started last stays, whichever side it comes from; time zones count."""
    moments = {"older": "2030-01-01T12:00:00+00:00", "stored": "2030-01-01T12:30:00+00:00"}
    moments["newer"] = "2030-01-01T12:00:00-01:00"
    made = {name: record("m", "i", 1.0, started_utc=m, message=name) for name, m in moments.items()}
    path = store_of(tmp_path / "s.sqlite", [made["stored"]])
    for name, expected in (("older", "stored"), ("newer", "newer"), ("older", "newer")):
        (tmp_path / "f.jsonl").write_text(records_as_lines([made[name]]))
        import_records([tmp_path / "f.jsonl"], path)
        with Store(path, read_only=True) as store:
            assert [r.message for r in store.records()] == [expected]
    assert "1 rows read: 0 added, 1 replaced, 0 stored already" in capsys.readouterr().err


def test_several_files_are_merged(tmp_path: Path) -> None:
    """A key in two files is one row, the one started last."""
    a = record("m", "i", 1.0, started_utc="2030-01-01T00:00:00+00:00")
    b = record("m", "i", 2.0, started_utc="2030-01-02T00:00:00+00:00")
    for name, row in (("a", b), ("b", a)):
        (tmp_path / name).write_text(records_as_lines([row]))
    import_records([tmp_path / "a", tmp_path / "b"], tmp_path / "s.sqlite")
    with Store(tmp_path / "s.sqlite", read_only=True) as store:
        assert [r.objective for r in store.records()] == [2.0]


def changed(**values: Any) -> Callable[[dict[str, Any]], None]:
    """Return a change of a line's object."""
    return lambda line: line.update(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(speed=1), "speed: unknown key, expected none of that name"),
        (lambda line: line.pop("gap"), "gap: missing"),
        (changed(size="4"), "size: found 4, expected an integer"),
        (changed(size=4.0), "size: found 4.0, expected an integer"),
        (changed(size=True), "size: found True, expected an integer"),
        (changed(size=2**63), "size: found 9223372036854775808, expected an integer"),
        (changed(size=None), "size: found None, expected an integer"),
        (changed(objective="4"), "objective: found 4, expected a number"),
        (changed(objective=True), "objective: found True, expected a number"),
        (changed(objective=10**309), "objective: found 1000"),
        (changed(feasible=1), "feasible: found 1, expected true or false"),
        (changed(method=None), "method: found None, expected a text"),
        (changed(method="\ud800"), "method: found ?, expected a text"),
        (changed(extra=[]), "extra: found [], expected an object"),
        (changed(status="great"), "status: found great, expected one of optimal, feasible,"),
        (changed(bound_kind="guess"), "bound_kind: found guess, expected one of enumeration,"),
        (changed(stopped=""), "stopped: found , expected one of done,"),
        (changed(started_utc="yesterday"), "started_utc: found yesterday, expected a moment like 2030"),
        (changed(started_utc="2030-01-01T00:00:00"), "started_utc: found 2030-01-01T00:00:00, expected a m"),
        (changed(key=""), "key: found nothing, expected the row's key"),
    ],
)
def test_bad_field_is_one_line_and_nothing_is_written(
    change: Callable[[dict[str, Any]], None], message: str, tmp_path: Path
) -> None:
    """A bad field is refused by file, line and name, and the good lines before it are not stored either."""
    bad = json.loads(records_as_lines(rows()[:1]))
    change(bad)
    text = records_as_lines(rows()[1:3]) + json.dumps(bad) + "\n"
    refused(text.encode(), f":3: {message}", tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"\n", "line: found an empty one, expected a record"),
        (b"[1]\n", "line: found [1], expected an object"),
        (b'{"key": \n', "found malformed JSON"),
        (b"\xff\n", "line: found the byte 0xff, expected UTF-8 text"),
        (b'{"key": "a", "key": "b"}\n', "key: found twice, expected once"),
        (b'{"gap": NaN}\n', "number: found NaN, expected a finite number"),
        (b'{"gap": 1e999}\n', "number: found 1e999, expected a number that fits a double"),
        (b'{"extra": ' + b"[" * 99 + b"\n", "nesting: found more than 50 levels"),
        (b" " * 5000 + b"\n", "line: found more than 4 000 bytes, expected fewer"),
    ],
)
def test_bad_line_is_refused(
    line: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that is no record is refused by file and line."""
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 4000)
    refused(records_as_lines(rows()[:1]).encode() + line, f":2: {message}", tmp_path)


def refused(content: bytes, message: str, tmp_path: Path) -> None:
    """Assert that importing the content fails with the message and leaves no store."""
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        import_records([path], tmp_path / "s.sqlite")
    text = str(caught.value).removeprefix(str(path))
    assert text.startswith(message)
    assert "\n" not in text
    assert not (tmp_path / "s.sqlite").exists()


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    """A file that isn't there and a folder give one line."""
    with pytest.raises(InputError, match="none: found no such file, expected a JSON Lines file"):
        import_records([tmp_path / "none"], tmp_path / "s.sqlite")
    with pytest.raises(InputError, match="found a folder, expected a JSON Lines file"):
        import_records([tmp_path], tmp_path / "s.sqlite")


def table(records: Sequence[Record]) -> list[dict[str, str]]:
    """Return what a CSV reader reads."""
    return list(csv.DictReader(io.StringIO(records_as_csv(records), newline="")))


def test_csv_has_a_flat_row_a_record() -> None:
    """Columns are those of the store, what is not known is empty, extra is JSON text."""
    row = table(rows())[3]
    assert list(row) == Record.columns()
    assert (row["checked_objective"], row["feasible"], row["peak_mb"]) == ("5.0", "true", "")
    assert json.loads(row["extra"])["source"]["name"] == "i"


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1"])
def test_csv_formula_is_quoted(text: str) -> None:
    """A text that a spreadsheet would compute begins with an apostrophe, in any column."""
    (row,) = table([record(text, text, 1.0, message=text)])
    assert (row["method"], row["instance"], row["message"]) == ("'" + text,) * 3


@pytest.mark.parametrize("text", ["-5", "+1.5e3", "plain", "a=b", ""])
def test_csv_numbers_and_plain_texts_stay(text: str) -> None:
    """A number with a sign and a text without a formula's beginning are left as they are."""
    (row,) = table([record("m", "i", -1.0, message=text)])
    assert (row["message"], row["objective"]) == (text, "-1.0")


def test_parquet_comes_back(tmp_path: Path) -> None:
    """Columns keep their types, also where all values are missing."""
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(text_of("parquet", rows(), tmp_path))
    assert read.column_names == Record.columns()
    assert str(read.schema.field("peak_mb").type) == "double"
    assert read.column("solve_s").to_pylist()[:3] == [0.3, 0.1, 0.2]
    assert read.column("feasible").to_pylist()[-2:] == [True, False]


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow, one line says how to get it, and no file is left."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError) as caught:
        text_of("parquet", rows(), tmp_path)
    assert str(caught.value) == "parquet: pyarrow is not installed, pip install certigap[export]"
    assert not (tmp_path / "out.parquet").exists()


def test_pytest_benchmark_reads_its_format(tmp_path: Path) -> None:
    """``pytest-benchmark compare`` prints the runs that came to their end, repetitions as rounds."""
    pytest.importorskip("pytest_benchmark")
    path = text_of("pytest-benchmark", rows(), tmp_path)
    command = [sys.executable, "-m", "pytest_benchmark", "compare", str(path), "--group-by=group"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "benchmark 'balance-guarantee': 2 tests" in done.stdout
    assert "Failed to load" not in done.stdout + done.stderr


def test_pytest_benchmark_statistics() -> None:
    """Figures are those of the repetitions; there is no list of single times; a limit has no time."""
    document = json.loads(records_as_pytest_benchmark(rows()))
    first, second = document["benchmarks"]
    figures = first["stats"]
    assert (figures["min"], figures["median"], figures["max"], figures["rounds"]) == (0.1, 0.2, 0.3, 3)
    assert (figures["stddev"], figures["ops"]) == (pytest.approx(0.1), pytest.approx(5.0))
    assert "data" not in figures
    assert (second["name"], second["extra_info"]["status"]) == ("exhaustive[i]", "optimal")
    assert document["machine_info"]["node"] == "h"


def test_pytest_benchmark_time_of_zero_has_a_rate() -> None:
    """A time below the clock's unit counts as that unit, so the rate stays finite."""
    (entry,) = json.loads(records_as_pytest_benchmark([record("m", "i", 1.0, solve_s=0.0)]))["benchmarks"]
    assert entry["stats"]["ops"] == pytest.approx(1e9)


def test_action_benchmark_has_three_series_a_method() -> None:
    """Seconds, gap and failures, each smaller-is-better, with the counts beside them."""
    entries = {e["name"]: e for e in json.loads(records_as_action_benchmark(rows()))}
    prefix = "balance-guarantee / hybrid / unit-random / n=4"
    assert entries[f"{prefix} / seconds"] == {
        "name": f"{prefix} / seconds",
        "unit": "s",
        "value": 0.1,
        "range": "± 0",
        "extra": "median; n_ok / n_expected: 1 / 2",
    }
    assert entries[f"{prefix} / gap"]["value"] == pytest.approx(0.2)
    assert entries[f"{prefix} / failures"]["value"] == 1


def test_action_benchmark_of_failures_has_no_time() -> None:
    """A method that only failed has its failures, never a time of zero."""
    (entry,) = json.loads(records_as_action_benchmark(FAILURES))
    assert (entry["unit"], entry["value"]) == ("runs", 1)


def test_perprof_has_a_table_a_method() -> None:
    """A YAML header names the method; limits and failures are flagged; every table has the same problems."""
    tables = records_as_perprof(rows())
    assert tables["hybrid.table"] == (
        '---\nalgname: "hybrid"\n---\nbalance-guarantee/i/i c 0.1\nbalance-guarantee/j/j d 2.0\n'
    )
    assert tables["exhaustive.table"].endswith("balance-guarantee/i/i c 1.0\nbalance-guarantee/j/j d 1.0\n")


def test_perprof_names_are_safe() -> None:
    """Blanks and underscores leave problems' names; methods cannot climb out of the folder or meet."""
    made = [record(m, "a_b c", 1.0, solve_s=0.0) for m in ("../x.py:f", "..-x.py-f", "..")]
    tables = records_as_perprof(made)
    assert list(tables) == ["x.py-f.table", "x.py-f-2.table", "method.table"]
    assert "balance-guarantee/a-b-c/a-b-c c 1e-09\n" in tables["x.py-f.table"]


def test_perprof_parameters_are_another_method() -> None:
    """Runs with other parameters are another curve, not a duplicated problem."""
    made = [record("m", "i", 1.0, solve_s=1.0, parameters=p) for p in ("{}", '{"x": 1}')]
    assert len(records_as_perprof(made)) == 2


SOLU = {
    "=opt= i 5": [record("a", "i", 5.0, status="optimal"), record("b", "i", 4.0)],
    "=best= i 4.5": [record("a", "i", 4.5, bound=5.0), record("b", "i", 4.0)],
    "=best= i 4": [record("a", "i", 9.0, feasible=False), record("b", "i", 4.0)],
    "=best= i 6": [record("a", "i", 5.0, status="optimal"), record("b", "i", 6.0)],
    "=best= i 3": [record("a", "i", None, status="infeasible"), record("b", "i", 3.0)],
    "=best= i 2": [record("a", "i", 2.0, status="optimal"), record("b", "i", None, status="infeasible")],
    "=inf= i": [record("a", "i", None, status="infeasible"), record("b", "i", None, status="unknown")],
    "=unkn= i": [record("a", "i", None, status="bound_only", bound=7.0)],
}


@pytest.mark.parametrize("line", SOLU)
def test_solu_says_only_what_is_known(line: str) -> None:
    """Optimal when proved and not contradicted, best when checked, infeasible when said, else unknown."""
    assert records_as_solu(SOLU[line]) == line + "\n"


def test_solu_inconsistent_claims_do_not_count() -> None:
    """A row whose claim did not hold gives no value."""
    assert records_as_solu([record("a", "i", 9.0, status="inconsistent")]) == "=unkn= i\n"


def test_solu_tells_instances_of_one_name_apart() -> None:
    """Two instances of one name carry the beginning of their hash; the others do not."""
    made = [record("a", name, 1.0) for name in ("first", "second", "other")]
    made[0].instance = made[1].instance = "same"
    assert records_as_solu(made) == "=best= same-first 1\n=best= same-second 1\n=best= other 1\n"


def test_unknown_format_is_refused(tmp_path: Path) -> None:
    """A format that doesn't exist is refused with the list of those that do."""
    with pytest.raises(InputError, match="FORMAT: found xml, expected one of jsonl, csv, parquet, pytest-"):
        export_store("xml", tmp_path / "s.sqlite", tmp_path / "o")


@pytest.mark.parametrize("name", ["csv", "parquet", "perprof"])
def test_place_that_cannot_be_written(name: str, tmp_path: Path) -> None:
    """A target below a file gives one line."""
    if name == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "file").write_text("")
    path = store_of(tmp_path / "s.sqlite", rows())
    with pytest.raises(InputError, match=r"expected a (place|folder) to write"):
        export_store(name, path, tmp_path / "file" / "out")


def test_command_line(tmp_path: Path) -> None:
    """As a command it takes the format, a store and a file."""
    app = typer.Typer()
    app.command()(export_store)
    path = store_of(tmp_path / "s.sqlite", rows())
    arguments = ["csv", "--store", str(path), "-o", str(tmp_path / "out.csv")]
    done = CliRunner().invoke(app, arguments, standalone_mode=False)
    assert "6 rows as csv in" in done.output
    assert (tmp_path / "out.csv").read_text().count("\n") == 7


def test_page_names_every_column_and_format() -> None:
    """docs/store.md explains every column and shows every export format."""
    page = (Path(__file__).parents[2] / "docs" / "store.md").read_text(encoding="utf-8")
    assert [c for c in Record.columns() if f"`{c}`" not in page] == []
    assert [f for f in EXPORT_FORMATS if f"`certigap export {f} -o " not in page] == []
