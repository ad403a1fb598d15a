"""What a method claims: status, decision, objective and bound. The checker's verdict is kept apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from instances.decisions import Decision

__all__ = ["BoundKind", "Limits", "Result", "Status", "Stopped"]


class Status(StrEnum):
    """What a run ended with; the last three are added by the harness, never claimed by a method."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    BOUND_ONLY = "bound_only"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"
    INCONSISTENT = "inconsistent"
    ERROR = "error"
    SKIPPED = "skipped"


class Stopped(StrEnum):
    """Why a run ended."""

    DONE = "done"
    TIME = "time"
    MEMORY = "memory"
    NODES = "nodes"
    GAP = "gap"
    CRASH = "crash"
    LIE = "lie"
    UNSUPPORTED = "unsupported"
    MISSING_DATA = "missing_data"


class BoundKind(StrEnum):
    """What proves an upper bound."""

    ENUMERATION = "enumeration"
    TREE = "tree"
    LAGRANGIAN = "lagrangian"
    LP = "lp"
    MILP_DUAL = "milp-dual"
    PRICES = "prices"
    SECANT = "secant"
    TANGENT = "tangent"
    TRIVIAL = "trivial"


@dataclass(frozen=True)
class Limits:
    """When a method must stop; ``nodes`` and ``steps`` are the deterministic ones."""

    time_s: float | None = None
    memory_mb: float | None = None
    nodes: int | None = None
    steps: int | None = None


@dataclass(frozen=True)
class Result:
    """A method's answer. All problems are maximised, ``bound`` is an upper bound on the optimum."""

    status: Status
    stopped: Stopped = Stopped.DONE
    decision: Decision | None = None
    objective: float | None = None
    bound: float | None = None
    bound_kind: BoundKind | None = None
    counters: dict[str, int] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)  # seconds, by name
    incumbents: list[tuple[float, float]] = field(default_factory=list)  # (seconds, objective)
    certificate: dict[str, Any] = field(default_factory=dict)  # what proves the bound; intervals of a fit
    message: str = ""
