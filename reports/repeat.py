"""Repeat one cell: which rows stand behind it, and the one command that runs them again."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.jobs.job import Record
from bench.jobs.store import DEFAULT_STORE
from reports.cells import Table, figures, keys_of
from reports.page import Drawing, Page

__all__ = ["RowIndex", "command", "keys_by_cell"]

KEY_LENGTH = 12  # characters that name a row
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")


class RowIndex:
    """The rows that a page's cells point at, by their place in the list of records."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.places = {r.key: i for i, r in enumerate(records)}
        self.records = records

    def ranges(self, keys: Iterable[str]) -> str:
        """Return the rows as text, such as ``3-7,12``."""
        places = sorted({self.places[key] for key in keys if key in self.places})
        parts: list[list[int]] = []
        for place in places:
            if parts and place == parts[-1][1] + 1:
                parts[-1][1] = place
            else:
                parts.append([place, place])
        return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)

    def described(self, store: Path | None) -> dict[str, Any]:
        """Return what the page shows of each row; of a key that is no plain word there is no command."""
        words: dict[str, int] = {}
        rows = [
            [
                r.key[:KEY_LENGTH] if _PLAIN.fullmatch(r.key) else "",
                *(
                    words.setdefault(text, len(words))
                    for text in (r.experiment, r.instance, r.method, r.status)
                ),
                figures(r.checked_objective, 9),
                figures(r.solve_s),
            ]
            for r in self.records
        ]
        plain = [word if _PLAIN.fullmatch(word) else "files" for word in words]
        return {"words": list(words), "plain": plain, "rows": rows, "store": _store_option(store)}


def command(records: Sequence[Record], store: Path | None = None) -> str:
    """Return the command that runs these rows again, empty where one of their keys is no plain word."""
    if not records or not all(_PLAIN.fullmatch(r.key) for r in records):
        return ""
    names = dict.fromkeys(r.experiment if _PLAIN.fullmatch(r.experiment) else "files" for r in records)
    keys = ",".join(r.key[:KEY_LENGTH] for r in records)
    return f"certigap run {' '.join(names)} --only {keys}{_store_option(store)}"


def keys_by_cell(page: Page) -> dict[str, Any]:
    """Return the keys behind every cell (``row:column``, counted from 1) and figure point of a page."""
    found: dict[str, Any] = {"tables": {}, "figures": {}}
    for block in (block for section in page.sections for block in section.blocks):
        if isinstance(block, Table):
            cells = {
                f"{i}:{column}": list(keys_of(text))
                for i, row in enumerate(block.rows, 1)
                for column, text in zip(block.columns, row, strict=True)
                if keys_of(text)
            }
            found["tables"][block.name] = cells
        elif isinstance(block, Drawing):
            found["figures"][block.name] = [
                {"curve": p.label, "x": p.x, "y": p.y, "keys": list(p.keys)} for p in block.points
            ]
    return found


def _store_option(store: Path | None) -> str:
    return "" if store is None or store == DEFAULT_STORE else f" --store {shlex.quote(str(store))}"
