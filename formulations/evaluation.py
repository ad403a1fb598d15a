"""The checker's verdict on a decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Evaluation"]


@dataclass(frozen=True)
class Evaluation:
    """What an independent re-evaluation of a decision found."""

    objective: float  # the exact value, rounded to double
    feasible: bool
    violation: float  # largest violation of a constraint, 0 when there is none
    message: str = ""  # the worst violated constraint, in words
    details: dict[str, Any] = field(default_factory=dict)
