"""``certigap report``: tables and figures of a store."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import note
from bench.jobs.store import DEFAULT_STORE

__all__ = ["DEFAULT_FOLDER", "report_command"]

DEFAULT_FOLDER = Path("results/report")
WIDTH = 160  # characters, without a terminal


def report_command(write: Callable[..., Sequence[Any]]) -> Callable[..., None]:
    """Return the command around ``write(records, folder, anonymous=…, store=…)`` → tables to print."""

    def report_store(
        store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="The store."),
        output: Path = typer.Option(DEFAULT_FOLDER, "-o", "--output", help="Folder of the report."),
        anonymous: bool = typer.Option(
            False, "--anonymous", help="Leave out hosts, commits, folders and user names."
        ),
    ) -> None:
        """Write the report folder, and print the table of claims."""
        from bench.jobs.store import Store

        gc.disable()  # no row is garbage, and looking for some takes as long as reading
        with Store(store_path, read_only=True) as store:
            records = list(store.records())
        gc.freeze()
        gc.enable()
        for table in write(records, output, anonymous=anonymous, store=store_path):
            _print(table)
        note(
            f"report in {output} (index.html, report.md, figures/, tables/, records.jsonl, environment.json)"
        )

    return report_store


COLOURS = {"contradicted": "red", "not testable": "yellow", "no": "red"}


def _print(table: Any) -> None:
    """Print a table of texts; what a stranger's record says is never taken for markup."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(title=table.title, title_justify="left", title_style="bold")
    for name in table.columns:
        drawn.add_column(name, overflow="fold", justify="right" if name in table.right else "left")
    for row in table.rows:
        drawn.add_row(*(Text(cell.replace("`", ""), style=COLOURS.get(cell, "")) for cell in row))
    console = Console() if Console().is_terminal else Console(width=WIDTH)
    console.print(drawn)
