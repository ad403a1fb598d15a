"""Which rows are the same run, which of them count, and what they are called outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bench.jobs.job import Record

__all__ = [
    "RunId",
    "ended_well",
    "instance_of",
    "method_label",
    "newest",
    "run_of",
    "started",
    "token",
    "without_repetitions",
]

_UNSAFE = re.compile(r"[^A-Za-z0-9._+/@:=,-]+")


class RunId(NamedTuple):
    """What makes two rows the same run, whatever code, limit or machine."""

    experiment: str
    problem: str
    instance: str  # content hash; where it could not be made, its source
    method: str
    parameters: str
    seed: int  # of the method
    repetition: int


def run_of(record: Record) -> RunId:
    """Return the run that a row stores."""
    seed = record.extra.get("method_seed")
    return RunId(
        record.experiment,
        record.problem,
        instance_of(record),
        record.method,
        record.parameters,
        seed if isinstance(seed, int) else 0,
        record.repetition,
    )


def instance_of(record: Record) -> str:
    """Return the instance's content hash, or its source where the instance could not be made."""
    return record.instance_sha256 or json.dumps(record.extra.get("source"), sort_keys=True)


def method_label(run: RunId | Record) -> str:
    """Return the method's name, with its parameters where it has some: they make it another method."""
    return run.method if run.parameters == "{}" else f"{run.method} {run.parameters}"


def newest(records: Iterable[Record]) -> list[Record]:
    """Return the row of each run that was started last, in the order of the runs' first rows."""
    return list(_latest(records).values())


def without_repetitions(records: Iterable[Record]) -> dict[RunId, list[Record]]:
    """Return the newest rows by run, the repetitions of a run together (its repetition is 0)."""
    groups: dict[RunId, list[Record]] = {}
    for run, record in _latest(records).items():
        groups.setdefault(run._replace(repetition=0) if run.repetition else run, []).append(record)
    return groups


def _latest(records: Iterable[Record]) -> dict[RunId, Record]:
    latest: dict[RunId, Record] = {}
    for record in records:
        run = run_of(record)
        if run not in latest or started(latest[run]) <= started(record):
            latest[run] = record
    return latest


def started(record: Record) -> datetime:
    """Return when the run was started; a row that does not say is older than all others."""
    try:
        moment = datetime.fromisoformat(record.started_utc)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def ended_well(records: Record | Sequence[Record]) -> bool:
    """Return whether the run came to its own end, not to a limit, and its claim held."""
    rows = [records] if isinstance(records, Record) else records
    good = ("optimal", "feasible", "bound_only", "infeasible")
    return all(r.status in good and r.stopped in ("done", "gap") for r in rows)


def token(text: str) -> str:
    """Return a name without white space and other characters that a column format would trip over."""
    return _UNSAFE.sub("-", text) or "-"
