"""Azure's traces of language-model requests (AzurePublicDataset, 2023 and later files with its columns)."""

from __future__ import annotations

import re
from datetime import date
from os import PathLike

import numpy as np

from instances.errors import integer
from instances.importers.requests import MAX_TOKENS, RequestTrace
from instances.importers.table import Row, read_rows
from instances.importers.text import read
from instances.origin import Origin

__all__ = ["read_azure"]

COLUMNS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
_TICKS = 10**9  # a second in nanoseconds
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:Z|\+00:00)?"
)


def read_azure(path: str | PathLike[str]) -> RequestTrace:
    """Read a CSV with the columns TIMESTAMP, ContextTokens and GeneratedTokens, found by name.

    Times without a zone are UTC; fractions of up to nine digits are kept exactly until the first row's time
    is subtracted. Rows with no prompt or no output are dropped and counted.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``; also for rows that go back in time.
    """
    file = read(path)
    rows = read_rows(file, COLUMNS)
    arrival, prompt, output = [], [], []
    first = before = _nanoseconds(rows[0])
    for row in rows:
        now = _nanoseconds(row)
        if now < before:
            raise row.error("TIMESTAMP", "rows in order of time")
        before = now
        tokens = [int(row.number(column, _tokens)) for column in COLUMNS[1:]]
        if 0 not in tokens:
            arrival.append((now - first) / _TICKS)
            prompt.append(tokens[0])
            output.append(tokens[1])
    if not arrival:
        raise file.error(None, "rows", "none with prompt and output", "at least one")
    origin = Origin(source=f"azure {file.file_name}", sha256=file.sha256)
    lists = np.array(arrival), np.array(prompt), np.array(output)
    return RequestTrace(*lists, origin, dropped=len(rows) - len(arrival))


def _tokens(field: str, value: float) -> float:
    return integer(field, value, low=0, high=MAX_TOKENS)


def _nanoseconds(row: Row) -> int:
    expected = "a time like 2023-11-16 18:17:03.9799600 in UTC"
    match = _TIME.fullmatch(row.cells["TIMESTAMP"])
    if not match:
        raise row.error("TIMESTAMP", expected)
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    try:
        days = date(year, month, day).toordinal()
    except ValueError:
        raise row.error("TIMESTAMP", expected) from None
    if hour > 23 or minute > 59 or second > 59:
        raise row.error("TIMESTAMP", expected)
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    return seconds * _TICKS + int((match.group(7) or "0").ljust(9, "0"))
