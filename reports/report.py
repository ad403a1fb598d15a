"""One folder with everything a store says: the page, Markdown, figures, tables, records and environment."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from bench.jobs.exports import selection
from bench.jobs.exports.lines import records_as_lines
from bench.jobs.job import Record
from bench.judging.claims import judge_all
from bench.judging.selecting import RecordList
from instances.errors import InputError
from instances.files import write_whole
from reports import balance_tables, provenance, tables
from reports.anonymous import anonymised
from reports.bounds_table import bounds_table
from reports.cells import Table
from reports.contents import Rows, filled, page_of
from reports.figures import (
    balance_gap,
    balance_sweeps,
    clairvoyant,
    distance_and_cost,
    fig1,
    fig6,
    growth,
    handover_horizon,
    handover_sweeps,
    mmkp,
    mmkp_profiles,
    secant,
    utility_fit,
)
from reports.handover_tables import handover_tables
from reports.html import html_page
from reports.latex import latex
from reports.markdown import markdown_page
from reports.own_methods import without_folders
from reports.page import Drawing, Page, Point
from reports.readable import readable
from reports.repeat import keys_by_cell
from reports.sheets import sheet

__all__ = ["FIGURES", "newest", "write_report"]

FIGURES = {
    **fig1.TITLES,
    **balance_sweeps.TITLES,
    "fig6a": "BALANCE, Fig. 6(a): running time of Algorithm 3 against exhaustive search",
    "fig6b": "BALANCE, Fig. 6(b): normalised throughput",
    "growth": "Fitted growth of the running times with its 95 % intervals",
    **utility_fit.TITLES,
    **handover_sweeps.TITLES,
    "clairvoyant": "ImpactHO, Section VI-E: share of the clairvoyant bound against the load",
    **secant.TITLES,
    **handover_horizon.TITLES,
    "mmkp": "MMKP: mean gap to the least bound against time",
    **mmkp_profiles.TITLES,
    **balance_gap.TITLES,
    **distance_and_cost.TITLES,
}  # in the order of the page
DRAWERS = (
    fig1.draw,
    balance_sweeps.draw,
    fig6.draw,
    growth.draw,
    utility_fit.draw,
    handover_sweeps.draw,
    clairvoyant.draw,
    handover_horizon.draw,
    secant.draw,
    mmkp.draw,
    mmkp_profiles.draw,
    balance_gap.draw,
    distance_and_cost.draw,
)
PHYSICAL = "physical-fig4"
CHECKS = ("The ½-approximation", "Water-filling against", "Growth of running times", "Own instances")


def write_report(
    records: Sequence[Record], folder: Path, *, anonymous: bool = False, store: Path | None = None
) -> list[Table]:
    """Write the report of the records and return its leading tables: the checks, then the claims.

    Of the rows of one run, the latest is used; rows that are no records are left out and listed. Own methods
    are named without their folders, but in ``records.jsonl``.
    ``anonymous`` leaves out hosts, commits, folders and names of users. ``store`` is named in the commands
    that repeat a cell.

    Raises
    ------
    InputError
        When the folder cannot be written.
    """
    kept, refused = readable(records)
    used, older = newest(kept)
    if anonymous:
        used, store = anonymised(used), None if store is None else Path(store.name)
    shown = RecordList(without_folders(used))
    judged, made = judge_all(shown), _tables(shown)
    environment = provenance.environment_of(shown, anonymous)
    try:
        _remove_former(folder)
        drawn = _drawings(shown, folder / "figures")
        page = page_of(Rows(shown, older, refused), judged, drawn, made, environment, anonymous)
        _write_tables(page, folder / "tables")
        write_whole(folder / "index.html", html_page(page, shown, store))
        write_whole(folder / "report.md", markdown_page(page))
        write_whole(folder / "records.jsonl", records_as_lines(used))
        write_whole(folder / "environment.json", json.dumps(environment, indent=1) + "\n")
    except OSError as error:
        raise InputError(f"{folder}: found {error.strerror}, expected a folder to write to") from None
    checks = [table for table in made if table.title.startswith(CHECKS)]
    return filled([*checks, tables.claims_table(judged, shown)])


def newest(records: Sequence[Record]) -> tuple[list[Record], int]:
    """Return the latest row of each run, whatever its code and limits, and how many others there are.

    A row that was skipped gives way to one of the same source and method that was not.
    """
    skipped = {_place(r) for r in records if r.status == "skipped"}
    ran = {_place(r) for r in records if r.status != "skipped"} if skipped else set()
    used = selection.newest(r for r in records if r.status != "skipped" or _place(r) not in ran)
    return used, len(records) - len(used)


def _place(record: Record) -> tuple[str, ...]:
    source = json.dumps(record.extra.get("source"), sort_keys=True)
    return record.experiment, source, record.method, record.parameters


def _tables(records: Sequence[Record]) -> list[Table]:
    """Return the tables of the papers' experiments and of others' instances, those with rows."""
    return filled(
        [
            tables.guarantee_table(records),
            tables.fig6_table(records),
            tables.fig6_table(records, PHYSICAL),
            tables.growth_table(records),
            balance_tables.gains_table(records),
            balance_tables.gap_table(records),
            balance_tables.exact_table(records),
            tables.clairvoyant_table(records),
            bounds_table(records),
            *handover_tables(records),
            tables.real_table(records),
            tables.mmkp_class_table(records),
            tables.mmkp_table(records),
            tables.files_table(records),
        ]
    )


def _drawings(records: Sequence[Record], folder: Path) -> list[Drawing]:
    """Draw the figures anew and return them in the page's order."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {path.stem for draw in DRAWERS for path in draw(records, folder)}
    return [_drawing(folder, name) for name in [*FIGURES, *sorted(names - set(FIGURES))] if name in names]


def _drawing(folder: Path, name: str) -> Drawing:
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    points = tuple(Point(**(p | {"keys": tuple(p["keys"])})) for p in content["points"])
    svg = (folder / f"{name}.svg").read_bytes()
    return Drawing(name, FIGURES.get(name, name), svg, content["width_in"], content["height_in"], points)


def _write_tables(page: Page, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for block in (block for section in page.sections for block in section.blocks):
        if isinstance(block, Table):
            write_whole(folder / f"{block.name}.csv", sheet(block))
            write_whole(folder / f"{block.name}.tex", latex(block))
    write_whole(folder / "keys.json", json.dumps(keys_by_cell(page), indent=1) + "\n")


def _remove_former(folder: Path) -> None:
    """Remove the figures and tables that a former report in this folder names, and nothing else."""
    try:
        former = json.loads((folder / "tables" / "keys.json").read_text(encoding="utf-8"))
        names = [(kind, name) for kind in ("figures", "tables") for name in former[kind]]
    except (OSError, ValueError, KeyError, TypeError):  # none, or not ours
        return
    suffixes = {"figures": ("svg", "pdf", "png", "json"), "tables": ("csv", "tex")}
    for kind, name in names:
        if isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name):
            for suffix in suffixes[kind]:
                (folder / kind / f"{name}.{suffix}").unlink(missing_ok=True)
