"""Mooncake's traces of language-model requests: one JSON object a line, times in milliseconds."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from instances.errors import InputError, integer, shown
from instances.importers.requests import MAX_TOKENS, RequestTrace
from instances.importers.text import read
from instances.origin import Origin
from instances.strict_json import parse

__all__ = ["read_mooncake"]

REQUIRED = ("timestamp", "input_length", "output_length")
OPTIONAL = ("hash_ids",)
MAX_MILLISECONDS = 10**12


def read_mooncake(path: str | PathLike[str]) -> RequestTrace:
    """Read lines with the keys timestamp (ms), input_length and output_length; hash_ids may be there.

    Times are relative to the first line's; equal ones keep the file's order. A fractional timestamp is
    refused, since other producers mean seconds by it. Lines with no prompt or no output are dropped and
    counted.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``; also for lines that go back in time.
    """
    file = read(path)
    kept: list[tuple[int, int, int]] = []
    rows = 0
    first = before = 0
    for line, text in enumerate(file.lines, start=1):
        if not text.strip():
            continue
        try:
            now, prompt, output = _request(text)
        except InputError as error:
            raise error.within(file.place(line)) from None
        if rows and now < before:
            raise file.error(line, "timestamp", now, f"at least {before}, the one before")
        first = first if rows else now
        before = now
        rows += 1
        if prompt and output:
            kept.append((now - first, prompt, output))
    if not kept:
        raise file.error(None, "lines", "none with prompt and output", "at least one")
    milliseconds, prompts, outputs = np.array(kept, dtype=np.int64).T
    origin = Origin(source=f"mooncake {file.file_name}", sha256=file.sha256)
    return RequestTrace(milliseconds / 1000, prompts, outputs, origin, dropped=rows - len(kept))


def _request(text: str) -> tuple[int, int, int]:
    """Return timestamp, prompt and output of one line."""
    value = parse(text, one_line=True)
    if not isinstance(value, dict):
        raise InputError(f"line: found {shown(value)}, expected a JSON object")
    for key in value:
        if key not in REQUIRED + OPTIONAL:
            raise InputError(f"{shown(key)}: found an unknown key, expected {', '.join(REQUIRED + OPTIONAL)}")
    for key in REQUIRED:
        if key not in value:
            raise InputError(f"{key}: found no such key, expected it")
    if not isinstance(value.get("hash_ids", []), list):
        raise InputError(f"hash_ids: found {shown(value['hash_ids'])}, expected a list")
    return (
        _whole("timestamp", value, MAX_MILLISECONDS),
        _whole("input_length", value, MAX_TOKENS),
        _whole("output_length", value, MAX_TOKENS),
    )


def _whole(key: str, request: dict[str, Any], high: int) -> int:
    return integer(key, request[key], low=0, high=high)
