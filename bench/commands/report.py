"""``certigap report``: tables and figures of a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import note
from bench.jobs.store import DEFAULT_STORE

__all__ = ["DEFAULT_FOLDER", "report_command"]

DEFAULT_FOLDER = Path("results/report")


def report_command(write: Callable[..., Sequence[Any]]) -> Callable[..., None]:
    """Return the command around ``write(records, folder, anonymous=…)``, which returns the judged claims."""

    def report_store(
        store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="The store."),
        output: Path = typer.Option(DEFAULT_FOLDER, "-o", "--output", help="Folder of the report."),
        anonymous: bool = typer.Option(False, "--anonymous", help="Leave out host and commit."),
    ) -> None:
        """Write the report folder, and print the table of claims."""
        from bench.jobs.store import Store

        with Store(store_path, read_only=True) as store:
            records = list(store.records())
        judged = write(records, output, anonymous=anonymous)
        _print_claims(judged)
        note(f"report in {output} (report.md, figures/, records.jsonl)")

    return report_store


def _print_claims(judged: Sequence[Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Published claims", title_justify="left", show_lines=False)
    for title in ("claim", "published", "measured [95 %]", "n", "verdict", "evidence"):
        table.add_column(title, overflow="fold")
    colours = {"contradicted": "red", "not testable": "yellow"}
    for j in judged:
        m = j.measurement
        count = "" if m is None else (f"{m.n}" if m.n == m.expected else f"{m.n}/{m.expected}")
        evidence = j.reason if m is None else f"{m.evidence}" + (f"; {m.detail}" if m.detail else "")
        claim = f"{j.claim.paper} {j.claim.place}: {j.claim.statement}"
        colour = colours.get(j.verdict, "green")
        table.add_row(claim, j.claim.published, j.measured, count, f"[{colour}]{j.verdict}[/]", evidence)
    console = Console()
    if not console.is_terminal:
        console = Console(width=150)
    console.print(table)
