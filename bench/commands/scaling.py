"""``certigap scaling``: growth and operation counts against the committed baseline."""

from __future__ import annotations

import json
import tempfile
import time
from importlib import resources
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import FAILED, note
from instances.errors import InputError

__all__ = ["check_scaling"]

OVERHEAD_RUNS = 200


def check_scaling(
    baseline: Path | None = typer.Option(None, "--baseline", help="Baseline file instead of the project's."),
    renew: bool = typer.Option(False, "--renew", help="Write the counts found into the baseline."),
) -> int:
    """Fit growth and compare operation counts; exit status 1 when something got worse."""
    from bench.judging.ladders import LADDERS
    from bench.judging.scaling import gate
    from instances.files import write_whole

    path = baseline or Path(str(resources.files("bench.judging") / "scaling_baseline.json"))
    known = {} if renew else _read(path)
    steps = []
    for step in gate(LADDERS, known):
        steps.append(step)
        _print(step)
    _print_overhead()
    if renew:
        counts = {step.ladder.name: step.counts for step in steps}
        write_whole(path, json.dumps(counts, indent=1, sort_keys=True) + "\n")
        note(f"baseline renewed: {path}")
    worse = [f"{step.ladder.name}: {reason}" for step in steps for reason in step.worse]
    for line in worse:
        typer.echo(f"worse  {line}")
    typer.echo("the gate is closed" if worse else "the gate is open")
    return FAILED if worse else 0


def _read(path: Path) -> dict[str, Any]:
    from instances.importers import text
    from instances.strict_json import parse

    source = text.read(path)
    try:
        found = parse(source.text)
    except InputError as error:
        raise error.within(path) from None
    if not _is_baseline(found):
        expected = "counts by ladder, size and name (certigap scaling --renew makes them)"
        raise InputError(f"{path}: found something else, expected {expected}")
    return found  # type: ignore[no-any-return]


def _is_baseline(found: Any) -> bool:
    """Return whether it is {ladder: {size: {counter: integer}}}."""
    levels = [found]
    for _ in range(3):
        if not all(isinstance(level, dict) for level in levels):
            return False
        levels = [value for level in levels for value in level.values()]
    return all(isinstance(count, int) and not isinstance(count, bool) for count in levels)


def _print(step: Any) -> None:
    sizes = f"{step.ladder.sizes[0]} … {step.ladder.sizes[-1]}"
    fit = f"size^{step.fit.growth:.2f} [{step.fit.low:.2f}, {step.fit.high:.2f}]"
    times = f"{min(step.seconds.values()) * 1e3:.3g} … {max(step.seconds.values()) * 1e3:.3g} ms"
    word = "WORSE" if step.worse else "ok"
    typer.echo(
        f"{word:5}  {step.ladder.name:16} {sizes:16} {fit:26} declared {step.ladder.declared:.2f}  {times}"
    )
    for line in step.notes:
        typer.echo(f"better {step.ladder.name}: {line}")


def _print_overhead() -> None:
    """Print what a run of one user costs beside its solve, in this process and in a warm worker."""
    from bench.jobs.executors import run_all
    from bench.jobs.job import Job
    from bench.jobs.sources import Generated
    from bench.jobs.store import Store

    source = Generated("calibrated-fig4", 1, 0)
    jobs = [Job("overhead", "balance", source, "ad-only", repetition=i) for i in range(OVERHEAD_RUNS)]
    for executor, wanted in (("serial", 1.0), ("processes", 10.0)):
        with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "s.sqlite") as store:
            begun, solving = 0.0, 0.0
            for i, record in enumerate(run_all(jobs, executor)):
                store.add(record)
                solving += record.solve_s or 0.0
                if i == 0:
                    begun, solving = time.perf_counter(), 0.0  # the first run warms the worker up
            each = (time.perf_counter() - begun - solving) / (OVERHEAD_RUNS - 1) * 1e3
        typer.echo(f"       around a run, {executor}: {each:.2f} ms (wanted: at most {wanted:g})")
