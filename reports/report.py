"""One folder with everything a store says: the page, Markdown, figures, tables, records and environment."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.jobs.exports import selection
from bench.jobs.exports.lines import records_as_lines
from bench.jobs.job import Record
from bench.judging.claims import Judged, judge_all
from bench.judging.gaps import MethodGaps, gaps_by_method
from instances.errors import InputError
from instances.files import write_whole
from reports import overview, provenance, tables
from reports.anonymous import anonymised
from reports.cells import Table
from reports.figures import clairvoyant, distance_and_cost, fig6, growth
from reports.html import html_page
from reports.latex import latex
from reports.markdown import markdown_page
from reports.page import Drawing, Page, Point, Section
from reports.repeat import keys_by_cell
from reports.sheets import sheet

__all__ = ["FIGURES", "newest", "write_report"]

VERDICTS = ("reproduced", "close", "holds", "contradicted", "not testable")
CHECKED = "Every decision was checked by code that shares nothing with the methods."
QUESTION = "How far from optimal are these heuristics, and what does it cost to know?"
FIGURES = {
    "fig6a": "BALANCE, Fig. 6(a): running time of Algorithm 3 against exhaustive search",
    "fig6b": "BALANCE, Fig. 6(b): normalised throughput",
    "growth": "BALANCE, Fig. 6(a): fitted growth of the running times with its 95 % intervals",
    "clairvoyant": "ImpactHO, Section VI-E: share of the clairvoyant bound against the load",
    **distance_and_cost.TITLES,
}  # in the order of the page
REPEAT = (
    "Every underlined cell and every point of a figure carries the rows behind it: a click lists them with "
    "the one command that runs them again, and `tables/keys.json` holds the same. `certigap show KEY` prints "
    "everything stored of a row. Where only this folder is at hand, `certigap import store records.jsonl` "
    "makes a store of it."
)


def write_report(
    records: Sequence[Record], folder: Path, *, anonymous: bool = False, store: Path | None = None
) -> list[Table]:
    """Write the report of the records and return its leading tables: the checks, then the claims.

    Of the rows of one run, the latest is used. ``anonymous`` leaves out hosts, commits, folders and names of
    users. ``store`` is named in the commands that repeat a cell.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    used, ignored = newest(records)
    if anonymous:
        used, store = anonymised(used), None if store is None else Path(store.name)
    judged = judge_all(used)
    environment = provenance.environment_of(used, anonymous)
    try:
        drawn = _drawings(used, folder / "figures")
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        page = _page(used, judged, drawn, ignored, environment, anonymous)
        _write_tables(page, folder / "tables")
        write_whole(folder / "index.html", html_page(page, used, store))
        write_whole(folder / "report.md", markdown_page(page))
        write_whole(folder / "records.jsonl", records_as_lines(used))
        write_whole(folder / "environment.json", json.dumps(environment, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{folder}: found {error.strerror}, expected a folder to write to") from None
    leading = ("The ½-approximation", "Water-filling against", "Fig. 6: growth", "Own instances")
    made = _tables(used)
    checks = [table for table in made if table.title.startswith(leading)]
    return [*checks, *_filled([tables.claims_table(judged, used)])]


def newest(records: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the latest row of each run, whatever its code and limits, and how many others there are.

    A row that was skipped gives way to one of the same source and method that was not.
    """
    ran = {_place(r) for r in records if r.status != "skipped"}
    used = selection.newest(r for r in records if r.status != "skipped" or _place(r) not in ran)
    return used, len(records) - len(used)


def _place(record: Record) -> tuple[str, ...]:
    source = json.dumps(record.extra.get("source"), sort_keys=True)
    return record.experiment, source, record.method, record.parameters


def _draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw every figure for which there are records."""
    return [
        *fig6.draw(records, folder),
        *growth.draw(records, folder),
        *clairvoyant.draw(records, folder),
        *distance_and_cost.draw(records, folder),
    ]


def _tables(records: Sequence[Record]) -> list[Table]:
    """Return the tables of the papers' experiments and of others' instances."""
    return _filled(
        [
            tables.guarantee_table(records),
            tables.fig6_table(records),
            tables.growth_table(records),
            tables.clairvoyant_table(records),
            tables.real_table(records),
            tables.mmkp_table(records),
            tables.files_table(records),
        ]
    )


def _drawings(records: Sequence[Record], folder: Path) -> list[Drawing]:
    """Draw the figures anew and return them in the page's order."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.stem for path in _draw(records, folder)}
    return [_drawing(folder, name) for name in [*FIGURES, *sorted(names - set(FIGURES))] if name in names]


def _drawing(folder: Path, name: str) -> Drawing:
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    points = tuple(Point(**(p | {"keys": tuple(p["keys"])})) for p in content["points"])
    svg = (folder / f"{name}.svg").read_bytes()
    return Drawing(name, FIGURES.get(name, name), svg, content["width_in"], content["height_in"], points)


def _page(
    records: Sequence[Record],
    judged: Sequence[Judged],
    drawn: Sequence[Drawing],
    ignored: int,
    environment: dict[str, Any],
    anonymous: bool,
) -> Page:
    if not records:
        nothing = "The store holds no runs, so there is nothing to report; `certigap run bench` makes some."
        return Page(
            QUESTION, [nothing], [Section("Environment", [provenance.environment_table(environment)])]
        )
    groups = gaps_by_method(records)
    sections = [
        Section("Published claims", _filled([tables.claims_table(judged, records)])),
        Section(
            "Distance and cost", _filled([overview.answer_table(groups), overview.methods_table(groups)])
        ),
        Section("Figures", drawn),
        Section("Tables", _tables(records)),
        Section("Worst instances found", _filled([overview.worst_table(groups)])),
        Section(
            "What ran and what did not",
            _filled([overview.runs_table(records), overview.failed_table(records)]),
        ),
        Section("Environment", [provenance.environment_table(environment)]),
        Section("Data and licences", _filled([provenance.data_table(records)])),
        Section("Repeat one cell", [REPEAT]),
        Section("How to cite", provenance.citations(anonymous)),
    ]
    return Page(QUESTION, _answer(records, judged, groups, ignored), [s for s in sections if s.blocks])


def _answer(
    records: Sequence[Record], judged: Sequence[Judged], groups: Sequence[MethodGaps], ignored: int
) -> list[str]:
    """Return the first lines: the verdicts, and what they rest on."""
    counts = Counter(j.verdict for j in judged)
    listed = [f"{n} {_agreeing(verdict, n)}" for verdict in VERDICTS if (n := counts[verdict])]
    none = "No published claim is tested by these runs."
    failed = sum(r.status in overview.FAILED for r in records)
    numbers = (
        _count(len(records), "run"),
        _count(len({(r.problem, r.method) for r in records}), "method"),
        _count(len({selection.instance_of(r) for r in records}), "instance"),
    )
    ended = "all of them ended well" if not failed else f"{failed} did not end well and are listed below"
    older = f"; {_count(ignored, 'older row')} of the same runs left out" if ignored else ""
    return [
        f"{_count(len(judged), 'published claim')}: {', '.join(listed)}." if judged else none,
        *overview.answers(groups),
        "{} of {} on {}: ".format(*numbers) + ended + older + ". " + CHECKED,
    ]


def _agreeing(verdict: str, n: int) -> str:
    return "hold" if verdict == "holds" and n > 1 else verdict


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _write_tables(page: Page, folder: Path) -> None:
    for block in (block for section in page.sections for block in section.blocks):
        if isinstance(block, Table):
            write_whole(folder / f"{block.name}.csv", sheet(block))
            write_whole(folder / f"{block.name}.tex", latex(block))
    write_whole(folder / "keys.json", json.dumps(keys_by_cell(page), indent=1) + "\n")


def _filled(made: Iterable[Table]) -> list[Table]:
    return [table for table in made if table.rows]
