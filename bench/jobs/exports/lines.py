"""Records as JSON Lines: one a line, nothing lost, read back strictly."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bench.jobs.job import Record
from formulations.result import BoundKind, Status, Stopped
from instances.errors import InputError, shown
from instances.strict_json import parse

__all__ = ["MAX_LINE_BYTES", "check_record", "read_records", "records_as_lines"]

MAX_LINE_BYTES = 64 * 2**20
_WORDS: dict[str, tuple[str, ...]] = {
    "status": tuple(Status),
    "stopped": tuple(Stopped),
    "bound_kind": tuple(BoundKind),
}
_KINDS = {
    "str": "a text",
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "dict": "an object",
}
_COLUMNS = {  # the kind of each
    name: str(field.type).removesuffix(" | None").partition("[")[0]
    for name, field in Record.__dataclass_fields__.items()
}
_OPTIONAL = {n for n, field in Record.__dataclass_fields__.items() if str(field.type).endswith("| None")}
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = 2**63
_LARGEST = sys.float_info.max


def records_as_lines(records: Sequence[Record]) -> str:
    """Return the records as JSON Lines, keys in the order of the columns."""
    encode = json.JSONEncoder(allow_nan=False).encode
    return "".join(encode(vars(r)) + "\n" for r in records)


def read_records(path: Path) -> list[Record]:
    """Read records from a JSON Lines file.

    Raises
    ------
    InputError
        With one line, ``file:line: field: what was found, what was expected``.
    """
    records = []
    for number, line in _lines(path):
        try:
            records.append(_record(_parsed(line)))
        except InputError as error:
            raise error.within(f"{path}:{number}") from None
    return records


def check_record(record: Record) -> None:
    """Refuse a row of a stranger's store that is no record.

    Raises
    ------
    InputError
        With the column, what was found and what was expected.
    """
    _record(vars(record))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_LINE_BYTES + 1):
                number += 1
                if len(line) > MAX_LINE_BYTES:
                    most = f"{MAX_LINE_BYTES:,}".replace(",", " ")
                    raise InputError(f"{path}:{number}: line: found more than {most} bytes, expected fewer")
                yield number, line
    except OSError as error:
        reason = {FileNotFoundError: "no such file", IsADirectoryError: "a folder"}.get(
            type(error), error.strerror or str(error)
        )
        raise InputError(f"{path}: found {reason}, expected a JSON Lines file") from None


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"line: found the byte 0x{line[error.start]:02x}, expected UTF-8 text") from None
    if not text.strip():
        raise InputError("line: found an empty one, expected a record")
    value = parse(text, one_line=True)
    if not isinstance(value, dict):
        raise InputError(f"line: found {shown(value)}, expected an object")
    return value


def _record(values: dict[str, Any]) -> Record:
    for name in values:
        if name not in _COLUMNS:
            raise InputError(f"{shown(name)}: unknown key, expected none of that name")
    for name in _COLUMNS:
        if name not in values:
            raise InputError(f"{name}: missing")
    return Record(**{name: _checked(name, kind, values[name]) for name, kind in _COLUMNS.items()})


def _checked(name: str, kind: str, value: Any) -> Any:
    if value is None and name in _OPTIONAL:
        return None
    if not _fits(kind, value):
        raise InputError(f"{name}: found {shown(value)}, expected {_KINDS[kind]}")
    if name in _WORDS and value not in _WORDS[name]:
        raise InputError(f"{name}: found {shown(value)}, expected one of {', '.join(_WORDS[name])}")
    if name == "started_utc" and value:
        _check_moment(value)
    if name == "key" and not value:
        raise InputError("key: found nothing, expected the row's key")
    return float(value) if kind == "float" else value


def _fits(kind: str, value: Any) -> bool:
    if kind == "bool":
        return isinstance(value, bool)
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool) and -_INT64 <= value < _INT64
    if kind == "float":
        return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST
    if kind == "str":
        return isinstance(value, str) and (value.isascii() or not _SURROGATE.search(value))
    return isinstance(value, dict)


def _check_moment(value: str) -> None:
    try:
        aware = datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        aware = False
    if not aware:
        raise InputError(
            f"started_utc: found {shown(value)}, expected a moment like 2030-01-31T12:00:00+00:00"
        )
