"""Tables as CSV that a spreadsheet shows and never computes."""

from __future__ import annotations

import csv
import io

from instances.importers.text import decimal
from reports.cells import Table

__all__ = ["sheet"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # also full width


def sheet(table: Table) -> str:
    """Return the table as CSV; a text that begins like a formula has an apostrophe before it."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(table.columns)
    writer.writerows([quoted(cell) for cell in row] for row in table.rows)
    return file.getvalue()


def quoted(text: str) -> str:
    """Return a cell without its code marks, and with an apostrophe where it could be taken for a formula."""
    plain = text.replace("`", "")
    starts = plain.lstrip(" ").startswith(_FORMULA)
    return "'" + plain if starts and decimal(plain) is None else plain
