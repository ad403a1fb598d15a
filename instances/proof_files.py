"""Proof files: JSON Lines, streamed and compressed, with every rational as two bounded decimal strings.

The first line says what is proved about which instance, the last one how many lines stand between them. A
reader never holds more than one line, and refuses a line beyond its limit before it is decompressed whole.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from instances.decisions import Decision
from instances.errors import InputError, shown
from instances.files import document_of, from_document
from instances.strict_json import parse

__all__ = ["Header", "ProofError", "as_rational", "decision_of", "from_rational", "read_proof", "write_proof"]

FORMAT, VERSION = "certigap/proof", 1
MAX_LINE = 2**24  # bytes
MAX_DIGITS = 1000  # of a numerator or denominator
_KEYS = {"format", "version", "problem", "instance_sha256", "method", "bound", "decision"}
_INTEGER = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")


class ProofError(Exception):
    """A step of a proof that does not hold."""


@dataclass(frozen=True)
class Header:
    """What a proof claims: no decision of the instance is worth more than ``bound``."""

    problem: str
    instance_sha256: str
    method: str
    bound: Fraction
    decision: Decision | None  # one whose value is checked beside the bound


def as_rational(value: Fraction) -> list[str]:
    """Return a rational as a proof file holds it."""
    return [str(value.numerator), str(value.denominator)]


def from_rational(pair: Any) -> Fraction:
    """Return the rational that a proof file holds.

    Raises
    ------
    InputError
        For anything but two strings of at most 1000 digits, the second one positive.
    """
    if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair)):
        raise InputError(f"found {shown(pair)}, expected [numerator, denominator] as strings")
    if not all(_INTEGER.fullmatch(part) for part in pair) or int(pair[1]) <= 0:
        expected = f"integers of at most {MAX_DIGITS} digits, the denominator positive"
        raise InputError(f"found {shown(pair)}, expected {expected}")
    return Fraction(int(pair[0]), int(pair[1]))


def decision_of(document: Any) -> Decision | None:
    """Return the decision of a document, None for null.

    Raises
    ------
    InputError
        For anything else.
    """
    if document is None:
        return None
    decision = from_document(document)
    if not isinstance(decision, Decision):
        raise InputError("decision: found an instance, expected a decision")
    return decision


def write_proof(path: Path, header: Header, records: Iterable[dict[str, Any]]) -> int:
    """Write a proof as one whole file, and return its bytes; nothing is left behind when it fails."""
    fields = {
        "format": FORMAT,
        "version": VERSION,
        "problem": header.problem,
        "instance_sha256": header.instance_sha256,
        "method": header.method,
        "bound": as_rational(header.bound),
        "decision": None if header.decision is None else document_of(header.decision),
    }
    name = ""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".certigap-")
        with os.fdopen(handle, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as stream:
            stream.write(_line(fields))
            count = 0
            for record in records:
                stream.write(_line(record))
                count += 1
            stream.write(_line({"end": count}))
        size = os.path.getsize(name)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        raise InputError(f"{path}: found {error.strerror or error}, expected a place to write") from None
    finally:
        with suppress(OSError):
            os.unlink(name)
    return size


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_proof(path: Path) -> tuple[Header, Iterator[dict[str, Any]]]:
    """Return a proof's header, and its records one by one; plain and gzip files are told apart by content.

    Raises
    ------
    InputError
        With file, line and what was expected; for the records while they are read.
    """
    lines = _lines(path)
    first = next(lines, None)
    if first is None:
        raise InputError(f"{path}: found an empty file, expected {FORMAT}")
    try:
        header = _header(first[1])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    return header, _records(path, lines)


def _header(fields: dict[str, Any]) -> Header:
    if (found := fields.get("format")) != FORMAT:
        raise InputError(f"format: found {shown(found)}, expected {FORMAT}")
    if (found := fields.get("version")) != VERSION or isinstance(found, bool):
        raise InputError(f"version: found {shown(found)}, expected {VERSION}")
    if set(fields) != _KEYS:
        different = sorted(set(fields) ^ _KEYS)[0]
        word = "unknown" if different in fields else "missing"
        raise InputError(f"{different}: {word}, expected {', '.join(sorted(_KEYS))}")
    for key in ("problem", "instance_sha256", "method"):
        if not isinstance(fields[key], str) or len(fields[key]) > 1000:
            raise InputError(f"{key}: found {shown(fields[key])}, expected text")
    try:
        bound = from_rational(fields["bound"])
    except InputError as error:
        raise InputError(f"bound: {error}") from None
    decision = decision_of(fields["decision"])
    return Header(fields["problem"], fields["instance_sha256"], fields["method"], bound, decision)


def _records(path: Path, lines: Iterator[tuple[int, dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    count = 0
    for number, record in lines:
        if "end" in record:
            if record != {"end": count} or next(lines, None) is not None:
                raise InputError(
                    f"{path}: line {number}: found {shown(record)}, expected the end of {count} lines"
                )
            return
        count += 1
        yield record
    raise InputError(f"{path}: found the file's end after {count} lines, expected its last line")


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, object) for each line."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: BinaryIO = gzip.GzipFile(fileobj=raw) if compressed else raw  # type: ignore[assignment]
            number = 0
            while line := stream.readline(MAX_LINE + 1):
                number += 1
                yield number, _object(path, number, line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}: found damaged compression ({error}), expected a whole file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE:
        raise InputError(f"{path}: line {number}: found more than {MAX_LINE} bytes, expected fewer")
    try:
        value = parse(line.decode("utf-8"), one_line=True)
    except UnicodeDecodeError:
        raise InputError(f"{path}: line {number}: found bytes that are not UTF-8, expected text") from None
    except InputError as error:
        raise InputError(f"{path}: line {number}: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: line {number}: found {shown(value)}, expected an object")
    return value
