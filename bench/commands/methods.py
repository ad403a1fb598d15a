"""``certigap methods``: what can be run."""

from __future__ import annotations

import typer

from bench.registry import METHODS, PROBLEMS, Method
from instances.errors import InputError, shown

__all__ = ["list_methods", "markdown_of"]


def list_methods(
    problem: str | None = typer.Option(None, "--problem", help="Only the methods of one problem."),
    markdown: bool = typer.Option(False, "--markdown", help="Print a Markdown table."),
) -> None:
    """List what can be run, its role and guarantee."""
    if problem is not None and problem not in PROBLEMS:
        raise InputError(f"--problem: found {shown(problem)}, expected one of {', '.join(PROBLEMS)}")
    chosen = [method for method in METHODS.values() if problem in (None, method.problem)]
    if markdown:
        typer.echo(markdown_of(chosen))
        return
    rows = [("problem", "method", "role", "guarantee", "what it is")]
    rows += [(m.problem, m.name, m.role, m.guarantee, m.label) for m in chosen]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def markdown_of(methods: list[Method]) -> str:
    """Return the methods as a Markdown table."""
    lines = ["| problem | method | role | guarantee | what it is |", "|---|---|---|---|---|"]
    lines += [f"| {m.problem} | `{m.name}` | {m.role} | {m.guarantee} | {m.label} |" for m in methods]
    return "\n".join(lines)
