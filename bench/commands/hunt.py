"""``certigap hunt``: the worst instance that a search finds for a method, against its guarantee."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import typer

from bench.commands.common import FAILED
from instances.errors import InputError

__all__ = ["hunt_worst_case"]


def hunt_worst_case(
    problem: str = typer.Argument(..., help="balance."),
    method: str = typer.Argument(..., help="A method of `certigap methods`, or file.py:function."),
    evaluations: int = typer.Option(2000, "--evaluations", help="Instances to judge.", min=1),
    seed: int = typer.Option(0, "--seed", help="Of the search.", min=0),
    families: list[str] = typer.Option([], "--family", help="Begin only here, such as unit-random."),
    output: Path = typer.Option(Path("results/hunt"), "-o", "--output", help="Folder for the witness."),
) -> int:
    """Search for the smallest ratio of a method to the proved optimum; shrink the witness and save it."""
    from bench.jobs.run import quiet_stdout
    from bench.judging.hunt import STARTS, hunt
    from instances.files import save

    _expect_writable(output)
    with _progress(evaluations) as progress, quiet_stdout():
        witness = hunt(
            problem,
            method,
            evaluations=evaluations,
            seed=seed,
            families=tuple(families) or STARTS,
            progress=progress,
        )
    file = output / f"{witness.instance.name}.json"
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{output}: found {error.strerror}, expected a folder to write to") from None
    save(witness.instance, file)
    for line in _lines(witness, file):
        typer.echo(line)
    return 0 if witness.confirmed and not witness.fault else FAILED


def _expect_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written before the search, not after it."""
    nearest = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK):
        raise InputError(f"{folder}: found no way to write there, expected a folder to write to")


def _lines(witness: Any, file: Path) -> Iterator[str]:
    served = f"{witness.method} serves {witness.value} of {witness.optimum}"
    yield f"ratio      {witness.ratio} = {float(witness.ratio):.4g}: {served}"
    if witness.fault:
        yield f"FAULT      {witness.fault}"
    yield f"users      {witness.instance.n_users}"
    yield f"guarantee  {witness.guarantee}: {_standing(witness)}"
    if witness.confirmed:
        yield "optimum    proved: exhaustive and exhaustive-naive agree, the checker accepts both decisions"
    else:
        yield "optimum    NOT CONFIRMED: exhaustive and exhaustive-naive, or the checker, disagree"
    yield (
        f"search     found at evaluation {witness.found_at} of {witness.evaluations}, "
        f"shrunk with {witness.shrinking} more"
    )
    yield f"file       {file}"
    for label, method in (("repeat", witness.method), ("", "exhaustive")):
        yield f"{label:10} certigap solve {quote(str(file))} --method {quote(method)}"


def _standing(witness: Any) -> str:
    if witness.ratio == 1:
        return "kept, nothing worse than the optimum was found"
    return {
        "below": "BROKEN. This instance is a counterexample to the guarantee",
        "equal": "reached exactly, the guarantee is tight",
        "above": "kept by everything that was tried",
        "not comparable": "no factor of the optimum to compare with",
    }[witness.verdict]


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar with an estimate on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("hunting", total=total)
        yield lambda done: bar.update(task, completed=min(done, total))
