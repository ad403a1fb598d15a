"""``certigap run`` and ``certigap show``: a grid of runs into the store, and one row out of it."""

from __future__ import annotations

import json
import re
import shlex
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import FAILED, note
from bench.jobs.store import DEFAULT_STORE
from instances.errors import InputError, shown

__all__ = ["run_experiments", "show_record"]

LINE_EVERY_S = 10.0  # without a terminal


def run_experiments(
    targets: list[str] = typer.Argument(..., help="Experiments, or folders of instances."),
    methods: list[str] = typer.Option([], "--method", help="Only these; FILE.py:FUNCTION is your own."),
    seeds: int | None = typer.Option(None, "--seeds", help="Seeds a point.", min=1),
    store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="Where the rows go."),
    executor: str = typer.Option("processes", "--executor", help="processes, serial or dask."),
    scheduler: str | None = typer.Option(None, "--scheduler", help="Dask scheduler, tcp://HOST:PORT."),
    workers: int | None = typer.Option(
        None, "--workers", help="Processes; timing experiments take 1.", min=1
    ),
    time_limit: float | None = typer.Option(None, "--time-limit", help="Seconds a run.", min=0.0, max=1e9),
    memory_limit: float | None = typer.Option(
        None, "--memory-limit", help="Megabytes a run.", min=0.0, max=1e9
    ),
    limit: int | None = typer.Option(None, "--limit", help="At most the first N runs.", min=0),
    only: str | None = typer.Option(
        None, "--only", help="The runs whose keys begin so, with commas between."
    ),
    rerun: bool = typer.Option(False, "--rerun", help="Run what is stored already, too."),
    force: bool = typer.Option(False, "--force", help="Allow several workers for timing experiments."),
    dry_run: bool = typer.Option(False, "--dry-run", help="List the runs and stop."),
) -> int:
    """Run experiments, or methods on a folder of instances; what is stored already is not run again."""
    from bench.jobs.executors import EXECUTORS, run_all
    from bench.jobs.grid import job_of, keyed_runs, missing_runs
    from bench.jobs.store import Store
    from bench.jobs.targets import jobs_of

    if executor not in EXECUTORS:
        raise InputError(f"--executor: found {shown(executor)}, expected one of {', '.join(EXECUTORS)}")
    stored = [] if only is None else _stored(store_path, only)
    if stored:
        keyed = keyed_runs([job_of(r) for r in stored])
    else:
        jobs = _limited(jobs_of(targets, methods, seeds), time_limit, memory_limit)
        keyed = _only(keyed_runs(jobs), only)[:limit]
    timing = any(job.timing for _, job in keyed)
    workers = workers or 1
    if timing and workers > 1 and not force:
        raise InputError(
            f"--workers: found {workers}, expected 1 for runs whose times are published (or --force)"
        )
    if dry_run:
        for key, job in keyed:
            typer.echo(f"{key[:12]}  {job.experiment}  {job.source.family}  {job.method}")
        return 0
    with Store(store_path) as store:
        pending = keyed if rerun or only else missing_runs(keyed, store)
        note(f"{len(pending)} runs to do, {len(keyed) - len(pending)} stored already in {store_path}")
        _work_off(run_all([job for _, job in pending], executor, workers, scheduler), len(pending), store)
        rows = {key for key, _ in keyed}
        records = [r for r in store.records() if r.key in rows]
    return _summary(records, store_path)


def _work_off(records: Iterator[Any], total: int, store: Any) -> None:
    """Store the records as they come, with progress; Ctrl-C says how to go on."""
    progress = _Progress(total)
    try:
        for record in records:
            store.add(record)
            progress.advance(record)
    except KeyboardInterrupt:
        again = shlex.join(["certigap", *sys.argv[1:]])
        note(f"stopped; what ran is stored. The same command goes on: {again}")
        raise
    finally:
        progress.close()


def show_record(
    key: str | None = typer.Argument(None, help="Beginning of a row's key."),
    failed: bool = typer.Option(False, "--failed", help="List the rows that ended in error or inconsistent."),
    store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="The store."),
) -> int:
    """Show everything stored of one row and the command that repeats it; without a key, a line a row."""
    from bench.jobs.store import Store

    with Store(store_path, read_only=True) as store:
        if key is None:
            where = "status IN ('error', 'inconsistent')" if failed else "1"
            rows = list(store.records(where))
            for r in rows:
                value = "" if r.checked_objective is None else f"{r.checked_objective:.9g}"
                run = f"{r.experiment}  {r.instance}  {r.method}"
                typer.echo(f"{r.key[:12]}  {r.status:12} {run}  {value}  {r.message}")
            if not rows:
                note(f"no row of {store_path} ended in error or inconsistent" if failed else "no rows")
            return 0
        found = list(store.records("substr(key, 1, ?) = ?", (len(key), key)))
    if len(found) != 1:
        raise InputError(f"{store_path}: key: found {len(found)} rows for {shown(key)}, expected one")
    fields = {name: getattr(found[0], name) for name in found[0].columns()}
    typer.echo(json.dumps(fields, indent=1, allow_nan=False))
    command = [
        "certigap",
        "run",
        found[0].experiment,
        "--only",
        found[0].key[:16],
        "--store",
        str(store_path),
    ]
    typer.echo(f"repeat: {shlex.join(command)}")
    return 0


def _stored(store_path: Path, only: str) -> list[Any]:
    """Return the rows whose keys begin so, nothing if there is none: they tell what to run."""
    from bench.jobs.store import Store

    if not store_path.is_file():
        return []
    with Store(store_path, read_only=True) as store:
        found = _beginning(list(store.keys()), only)
        if not any(found.values()):
            return []
        keys = [_single(beginning, keys) for beginning, keys in found.items()]
        return [r for key in dict.fromkeys(keys) for r in store.records("key = ?", (key,))]


def _beginning(keys: list[str], only: str) -> dict[str, list[str]]:
    """Return for each beginning the keys that have it."""
    ordered = sorted(keys)
    found = {}
    for beginning in dict.fromkeys(part.strip() for part in only.split(",") if part.strip()):
        start = bisect_left(ordered, beginning)
        begins = re.compile(re.escape(beginning)).match
        found[beginning] = list(takewhile(begins, ordered[start:]))
    if not found:
        raise InputError(f"--only: found {shown(only)}, expected the beginning of a row's key")
    return found


def _single(beginning: str, keys: list[str], hint: str = "") -> str:
    if len(keys) != 1:
        raise InputError(f"--only: found {len(keys)} rows for {shown(beginning)}, expected one{hint}")
    return keys[0]


def _limited(jobs: list[Any], time_limit: float | None, memory_limit: float | None) -> list[Any]:
    changes: dict[str, Any] = {
        key: v for key, v in (("time_s", time_limit), ("memory_mb", memory_limit)) if v is not None
    }
    return [replace(job, limits=replace(job.limits, **changes)) for job in jobs] if changes else jobs


def _only(keyed: list[tuple[str, Any]], only: str | None) -> list[tuple[str, Any]]:
    if only is None:
        return keyed
    jobs = dict(keyed)
    found = _beginning(list(jobs), only)
    keys = [_single(part, matches, " (code or seeds changed?)") for part, matches in found.items()]
    return [(key, jobs[key]) for key in dict.fromkeys(keys)]


def _summary(records: list[Any], store_path: Path) -> int:
    from bench.judging.agreement import disagreements

    counts = Counter(str(r.status) for r in records)
    note(", ".join(f"{n} {status}" for status, n in sorted(counts.items())) or "nothing ran")
    reasons = Counter(r.message for r in records if r.status == "skipped")
    for reason, n in sorted(reasons.items()):
        note(f"skipped {n}: {reason}")
    bad = [r for r in records if r.status in ("error", "inconsistent")]
    for r in bad[:10]:
        again = f"certigap show {r.key[:12]} --store {store_path}"
        note(f"{r.status}: {r.instance} {r.method}: {r.message} ({again})")
    apart = disagreements(records)
    for text in apart:
        note(f"exact methods disagree: {text}")
    return FAILED if bad or apart else 0


class _Progress:
    """A bar with an estimate on a terminal, a plain line now and then elsewhere."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self.total, self.done, self.last = total, 0, time.monotonic()
        console = Console(stderr=True)
        self.bar: Progress | None = None
        if console.is_terminal and total:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self.bar = Progress(*columns, console=console)
            self.task = self.bar.add_task("runs", total=total)
            self.bar.start()

    def advance(self, record: Any) -> None:
        self.done += 1
        if self.bar is not None:
            self.bar.update(self.task, advance=1, description=record.method[:24].ljust(24))
        elif time.monotonic() - self.last > LINE_EVERY_S:
            self.last = time.monotonic()
            note(f"{self.done} of {self.total} runs, now {record.experiment}")

    def close(self) -> None:
        if self.bar is not None:
            self.bar.stop()
