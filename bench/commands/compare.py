"""``certigap compare``: two stores side by side, paired by instance and method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench.commands.common import FAILED, note
from instances.errors import InputError, shown

if TYPE_CHECKING:
    from bench.jobs.exports.selection import RunId
    from bench.jobs.job import Record
    from bench.judging.comparisons import PairedRatio, StoreComparison, WorseRow

__all__ = ["compare_stores"]

MOST_LISTED = 20  # rows on one side only


def compare_stores(
    store_a: Path = typer.Argument(..., help="The store before."),
    store_b: Path = typer.Argument(..., help="The store after."),
) -> int:
    """Compare two stores run by run; exit status 1 when a value, bound or status got worse."""
    from bench.judging.comparisons import compare_records

    before, after = _rows(store_a), _rows(store_b)
    comparisons = compare_records(before, after)
    if not comparisons:
        runs = "experiment, instance, method, parameters, seed and repetition"
        raise InputError(f"{store_a}, {store_b}: found no run in both, expected one of the same {runs}")
    _print_table([_HEADER, *(_line(c) for c in comparisons)])
    worse = [row for c in comparisons for row in c.worse]
    for row in worse:
        typer.echo(f"worse: {_run_text(row.before)}  {row.reason}  {_how_to_see(row, store_a, store_b)}")
    _tell_the_rest(before, after, store_a, store_b)
    note(f"{sum(c.n for c in comparisons)} pairs, {len(worse)} worse; times are {store_b} / {store_a}")
    return FAILED if worse else 0


_HEADER = (
    "experiment",
    "method",
    "pairs",
    "value +/=/-",
    "bound +/=/-",
    "status +/=/-",
    "time ratio [95 %]",
    "timed",
)


def _rows(path: Path) -> list[Record]:
    from bench.jobs.store import Store

    with Store(path, read_only=True) as store:
        return list(store.records())


def _line(comparison: StoreComparison) -> tuple[str, ...]:
    options = "" if comparison.parameters == "{}" else f" {comparison.parameters}"
    times = comparison.times
    return (
        shown(comparison.experiment),
        shown(comparison.method + options),
        str(comparison.n),
        *("/".join(map(str, c)) for c in (comparison.values, comparison.bounds, comparison.statuses)),
        _ratio_text(times),
        f"{times.n_ok}/{times.n_expected}",
    )


def _ratio_text(ratio: PairedRatio) -> str:
    if not ratio.n:
        return "-"
    text = f"{ratio.value:.3g}"
    return text if ratio.n == 1 else f"{text} [{ratio.low:.3g}, {ratio.high:.3g}]"


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _run_text(record: Record) -> str:
    from bench.jobs.exports.selection import method_label

    repetition = f"  repetition {record.repetition}" if record.repetition else ""
    names = (record.experiment, record.instance, method_label(record))
    return "  ".join(map(shown, names)) + repetition


def _how_to_see(row: WorseRow, store_a: Path, store_b: Path) -> str:
    shows = ((row.before, store_a), (row.after, store_b))
    return "(" + "; ".join(f"certigap show {shown(r.key[:12])} --store {path}" for r, path in shows) + ")"


def _tell_the_rest(before: Sequence[Record], after: Sequence[Record], store_a: Path, store_b: Path) -> None:
    """List the runs of one side only, and say what weakens the comparison."""
    from bench.jobs.exports.selection import newest, run_of

    old, new = ({run_of(r): r for r in newest(rows)} for rows in (before, after))
    _list_alone(old, new, store_a)
    _list_alone(new, old, store_b)
    for rows, runs, path in ((before, old, store_a), (after, new, store_b)):
        if len(rows) > len(runs):
            note(f"{len(rows) - len(runs)} older rows of the same runs in {path} are not compared")
    pairs = [(row, new[run]) for run, row in old.items() if run in new]
    limits = sum((a.time_limit_s, a.memory_limit_mb) != (b.time_limit_s, b.memory_limit_mb) for a, b in pairs)
    if limits:
        note(f"{limits} pairs ran under different limits")
    if any(a.host != b.host for a, b in pairs):
        note("the stores come from different machines: the time ratios compare these, too")


def _list_alone(runs: dict[RunId, Record], others: dict[RunId, Record], path: Path) -> None:
    alone = [record for run, record in runs.items() if run not in others]
    if not alone:
        return
    typer.echo(f"only in {path}: {len(alone)}")
    for record in alone[:MOST_LISTED]:
        typer.echo(f"  {_run_text(record)}  {shown(record.status)}")
    if len(alone) > MOST_LISTED:
        typer.echo(f"  and {len(alone) - MOST_LISTED} more")
