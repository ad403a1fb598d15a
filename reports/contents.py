"""What the page says of a store, in its order: the answer, claims, distances, figures, tables, provenance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from bench.jobs.exports import selection
from bench.jobs.job import Record
from bench.judging.claims import Judged
from bench.judging.gaps import MethodGaps, gaps_by_method
from reports import overview, provenance, tables
from reports.cells import Table
from reports.page import Drawing, Page, Section

__all__ = ["Rows", "filled", "page_of"]

VERDICTS = ("reproduced", "close", "holds", "contradicted", "not testable")
QUESTION = "How far from optimal are these heuristics, and what does it cost to know?"
CHECKED = "Every decision was checked by code that shares nothing with the methods."
NOTHING = "The store holds no runs, so there is nothing to report; `certigap run bench` makes some."
REPEAT = (
    "Every underlined cell and every point of a figure carries the rows behind it: a click lists them with "
    "the one command that runs them again, and `tables/keys.json` holds the same. `certigap show KEY` prints "
    "everything stored of a row. Where only this folder is at hand, `certigap import store records.jsonl` "
    "makes a store of it."
)


@dataclass(frozen=True)
class Rows:
    """The rows that a report is made from, and what was left out of the store."""

    used: Sequence[Record]
    older: int = 0  # rows of the same runs
    refused: Sequence[str] = ()  # why rows are no records


def page_of(
    rows: Rows,
    judged: Sequence[Judged],
    drawn: Sequence[Drawing],
    made: Sequence[Table],
    environment: dict[str, Any],
    anonymous: bool = False,
) -> Page:
    """Return the page without empty parts; ``made`` are the tables of the papers' experiments."""
    groups = gaps_by_method(rows.used)
    checks = [overview.runs_table(rows.used), overview.failed_table(rows.used), _refused_table(rows.refused)]
    sections = [
        Section("Published claims", filled([tables.claims_table(judged, rows.used)])),
        Section("Distance and cost", filled([overview.answer_table(groups), overview.methods_table(groups)])),
        Section("Figures", drawn),
        Section("Tables", made),
        Section("Worst instances", filled([overview.worst_table(groups)])),
        Section("What ran and what did not", filled(checks)),
        Section("Environment", [provenance.environment_table(environment)]),
        Section("Public data", filled([provenance.data_table(rows.used)])),
        Section("Repeat one cell", [REPEAT] if rows.used else []),
        Section("How to cite", provenance.citations(anonymous)),
    ]
    return Page(QUESTION, _answer(rows, judged, groups), [s for s in sections if s.blocks])


def filled(made: Iterable[Table]) -> list[Table]:
    """Return the tables that have rows."""
    return [table for table in made if table.rows]


def _answer(rows: Rows, judged: Sequence[Judged], groups: Sequence[MethodGaps]) -> list[str]:
    """Return the first lines: verdicts, distances with their cost, and what they rest on."""
    lines = (
        [_verdicts(judged), *overview.answers(groups), _ran(rows.used, rows.older)]
        if rows.used
        else [NOTHING]
    )
    if rows.refused:
        are = "is" if len(rows.refused) == 1 else "are"
        lines.append(f"{_count(len(rows.refused), 'row')} of the store cannot be read and {are} left out.")
    return lines


def _verdicts(judged: Sequence[Judged]) -> str:
    if not judged:
        return "No published claim is tested by these runs."
    counts = Counter(j.verdict for j in judged)
    listed = [
        f"{n} {'hold' if verdict == 'holds' and n > 1 else verdict}"
        for verdict in VERDICTS
        if (n := counts[verdict])
    ]
    return f"{_count(len(judged), 'published claim')}: {', '.join(listed)}."


def _ran(records: Sequence[Record], older: int) -> str:
    methods = {(r.problem, r.method) for r in records}
    instances = {selection.instance_of(r) for r in records}
    skipped = sum(r.status == "skipped" for r in records)
    failed = sum(r.status in overview.FAILED for r in records) - skipped
    parts = [f"{failed} did not end well"] * (failed > 0) + [
        f"{skipped} {'was' if skipped == 1 else 'were'} skipped"
    ] * (skipped > 0)
    ended = f"{' and '.join(parts)}, with the reasons below" if parts else "all of them ended well"
    left_out = f"; {_count(older, 'older row')} of the same runs left out" if older else ""
    return (
        f"{_count(len(records), 'run')} of {_count(len(methods), 'method')} on "
        f"{_count(len(instances), 'instance')}: {ended}{left_out}. {CHECKED}"
    )


def _refused_table(reasons: Sequence[str]) -> Table:
    rows = [(reason,) for reason in reasons[:100]]
    note = f"The first 100 of {len(reasons)}." if len(reasons) > len(rows) else ""
    return Table("Rows that cannot be read", ("reason",), rows, note=note)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
