"""Names of a user's own methods as a report shows them: without the folders that they were run from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from bench.jobs.job import Record

__all__ = ["without_folders"]


def without_folders(records: Sequence[Record]) -> list[Record]:
    """Return the rows with own methods named ``file.py:function``, longer where two would be called alike."""
    names = _short(r.method for r in records)
    return [r if names[r.method] == r.method else replace(r, method=names[r.method]) for r in records]


def _short(methods: Iterable[str]) -> dict[str, str]:
    parts = {name: re.split(r"[\\/]", name) if ".py:" in name else [name] for name in methods}
    names = {}
    for name, own in parts.items():
        others = [other for key, other in parts.items() if key != name]
        lengths = (n for n in range(1, len(own)) if all(other[-n:] != own[-n:] for other in others))
        n = next(lengths, len(own))
        names[name] = name if n == len(own) else "/".join(own[-n:])
    return names
