"""One folder with everything a store says: report.md, figures, records and environment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.jobs.environment import cpu_name, git_commit, versions
from bench.jobs.exports import selection
from bench.jobs.job import Record
from bench.judging.claims import Judged, judge_all
from instances.errors import InputError
from instances.files import write_whole
from reports import tables
from reports.figures import clairvoyant, fig6, mmkp

__all__ = ["write_report"]

FIGURES = {
    "fig6a": "Fig. 6(a): running time of Algorithm 3 against exhaustive search",
    "fig6b": "Fig. 6(b): normalised throughput",
    "clairvoyant": "Share of the clairvoyant bound against the load",
    "mmkp": "MMKP: mean gap to the least bound against time",
}


def write_report(records: Sequence[Record], folder: Path, *, anonymous: bool = False) -> list[tables.Table]:
    """Write the report of the records and return its leading tables: both checks, then the claims.

    Of the rows of one run, the latest is used. ``anonymous`` leaves out host and commit.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    used, ignored = newest(records)
    if anonymous:
        used = [replace(r, host="", git_commit="") for r in used]
    figures = folder / "figures"
    try:
        figures.mkdir(parents=True, exist_ok=True)
        drawn = [*fig6.draw(used, figures), *clairvoyant.draw(used, figures), *mmkp.draw(used, figures)]
    except OSError as error:
        raise InputError(f"{folder}: found {error.strerror}, expected a folder to write to") from None
    judged = judge_all(used)
    write_whole(folder / "report.md", _page(used, judged, {path.stem for path in drawn}, ignored, anonymous))
    lines = [json.dumps(asdict(r), allow_nan=False) for r in used]
    write_whole(folder / "records.jsonl", "".join(line + "\n" for line in lines))
    write_whole(folder / "environment.json", json.dumps(_environment(anonymous), indent=1) + "\n")
    checks = (
        tables.guarantee_table(used),
        tables.clairvoyant_table(used),
        tables.growth_table(used),
        tables.files_table(used),
    )
    return [table for table in (*checks, tables.claims_table(judged)) if table.rows]


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


def _environment(anonymous: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"processor": cpu_name(), "versions": versions()}
    return found if anonymous else found | {"commit": git_commit()}


def _page(
    records: Sequence[Record], judged: Sequence[Judged], drawn: set[str], ignored: int, anonymous: bool
) -> str:
    environment = _environment(anonymous)
    versions_text = ", ".join(f"{name} {version}" for name, version in environment["versions"].items())
    commit = "" if anonymous or not environment["commit"] else f" Commit {environment['commit']}."
    if not records:
        return "# Nothing to report\n\nThe store holds no runs; `certigap run bench` makes some.\n"
    parts = [
        "# How far from optimal are these heuristics, and what does it cost to know?\n",
        f"{len(records)} runs, {ignored} older rows of the same runs left out.\n",
        f"{environment['processor']}.{commit}\n",
        *(tables.markdown(table) for table in _tables(records, judged)),
        *(
            f"### {title}\n\n![{title}](figures/{name}.svg)\n"
            for name, title in FIGURES.items()
            if name in drawn
        ),
        "### Environment\n",
        versions_text + "\n",
        "To repeat a row: `certigap show KEY` prints everything stored and the command that runs it again.\n",
    ]
    return "\n".join(parts)


def _tables(records: Sequence[Record], judged: Sequence[Judged]) -> list[tables.Table]:
    made = [
        tables.claims_table(judged),
        tables.guarantee_table(records),
        tables.clairvoyant_table(records),
        tables.fig6_table(records),
        tables.growth_table(records),
        tables.real_table(records),
        tables.mmkp_class_table(records),
        tables.mmkp_table(records),
        tables.files_table(records),
        tables.status_table(records),
    ]
    return [table for table in made if table.rows]
