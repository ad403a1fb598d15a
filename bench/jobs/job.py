"""A run to be done (Job) and a run that was done (Record, one flat row)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import Any

from bench.jobs.sources import Source
from bench.registry import source_digest
from formulations.kernel_cache import method_version
from formulations.result import Limits

__all__ = ["Job", "Record", "parameters_of", "version_of"]


@dataclass(frozen=True)
class Job:
    """One method on one instance; it carries where the instance comes from, not its arrays."""

    experiment: str
    problem: str
    source: Source
    method: str
    options: tuple[tuple[str, Any], ...] = ()
    limits: Limits = field(default_factory=Limits)
    seed: int = 0  # of the method
    repetition: int = 0
    timing: bool = False  # its time is published
    keep_decision: bool = True  # in the record; grids of thousands of runs keep only what was checked
    planned: dict[str, int] | None = field(default=None, compare=False)  # how large its grid is

    def key(self, instance_sha256: str) -> str:
        """Return the row's primary key: the same run of the same code has the same key."""
        parts = [
            self.experiment,
            instance_sha256,
            self.problem,
            self.method,
            version_of(self.method),
            parameters_of(self.options),
            json.dumps(vars(self.limits), sort_keys=True),
            self.seed,
            self.repetition,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def version_of(method: str) -> str:
    """Return the digest of the code that a method runs, with the own file of a user's method."""
    own = source_digest(method)
    return f"{method_version()}+{own}" if own else method_version()


def parameters_of(options: tuple[tuple[str, Any], ...]) -> str:
    """Return a method's options as canonical JSON."""
    return json.dumps(dict(options), sort_keys=True)


@dataclass
class Record:
    """One stored row: what the method claimed and what the checker found, side by side."""

    key: str
    experiment: str
    problem: str
    instance: str
    instance_sha256: str
    family: str
    size: int
    seed: int  # of the instance
    method: str
    method_version: str
    parameters: str
    repetition: int = 0
    time_limit_s: float | None = None
    memory_limit_mb: float | None = None
    status: str = "unknown"
    stopped: str = "done"
    objective: float | None = None
    checked_objective: float | None = None
    feasible: bool | None = None
    violation: float | None = None
    bound: float | None = None
    bound_kind: str | None = None
    gap: float | None = None
    compile_s: float | None = None
    build_s: float | None = None
    solve_s: float | None = None
    check_s: float | None = None
    peak_mb: float | None = None
    executor: str = ""
    workers: int = 1
    host: str = ""
    git_commit: str = ""
    started_utc: str = ""
    message: str = ""
    extra: dict[str, Any] = field(default_factory=dict)  # source, counters, incumbents, decision, certificate

    @classmethod
    def columns(cls) -> list[str]:
        """Return the names of the columns in order."""
        return [f.name for f in fields(cls)]
