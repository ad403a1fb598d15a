"""The best values known of public MMKP instances: published ones, and own decisions that are worth more.

``best_known.json`` holds an entry an instance. An own decision is kept whole, so that its value can be
checked again on the public file; a published value is a number with its source.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["BestKnown", "best_known"]


@dataclass(frozen=True)
class BestKnown:
    """What is known of an instance."""

    instance: str  # the family of the experiment's runs on it
    sha256: str  # content hash
    published: float
    source: str  # of the published value
    value: float | None = None  # of the own decision, above the published value
    item: tuple[int, ...] = ()  # the own decision: the item of each group, counted from 0

    @property
    def best(self) -> tuple[float, str]:
        """The better value and its source."""
        return (self.published, self.source) if self.value is None else (self.value, "own decision")


@cache
def best_known() -> dict[str, BestKnown]:
    """Return the entries by content hash."""
    entries = json.loads(Path(__file__).with_name("best_known.json").read_text(encoding="utf-8"))
    found = (BestKnown(**entry | {"item": tuple(entry.get("item", ()))}) for entry in entries)
    return {entry.sha256: entry for entry in found}
