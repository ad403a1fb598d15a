"""A user's text file, read safely: bounded, decoded, and refused in one line when it is something else."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path

from instances.errors import NAME_LENGTH, InputError, shown

__all__ = ["MAX_BYTES", "TextFile", "decimal", "read", "safe_name"]

MAX_BYTES = 64 * 2**20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_BINARY = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_MAX_NUMBER_LENGTH = 400


@dataclass(frozen=True)
class TextFile:
    """A decoded file: line ends are LF, a byte order mark is gone."""

    path: str  # as the user gave it
    text: str
    sha256: str  # of the file's bytes as stored

    @property
    def lines(self) -> list[str]:
        """Lines without their ends; a last line without its newline counts."""
        lines = self.text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    @property
    def file_name(self) -> str:
        """Last part of the path, for an instance's origin."""
        return shown(Path(self.path).name)

    def place(self, line: int) -> str:
        """Return ``file:line`` for a line counted from 1."""
        return f"{self.path}:{line}"

    def error(self, line: int | None, field: str, found: object, expected: str) -> InputError:
        """Return the error ``file:line: field: found …, expected …``; ``line`` is counted from 1."""
        place = self.path if line is None else self.place(line)
        return InputError(f"{place}: {field}: found {shown(found)}, expected {expected}")


def read(path: str | os.PathLike[str]) -> TextFile:
    """Read a UTF-8 text file, plain or gzip (told apart by content), of at most 64 MB after expansion.

    Raises
    ------
    InputError
        For a missing, unreadable, empty, binary or oversized file, a folder, and a Git LFS pointer.
    """
    place = "".join(c if c.isprintable() else "?" for c in os.fspath(path))
    stored = _bytes(path, place)
    content = _expanded(stored, place) if stored.startswith(_GZIP) else stored
    content = content.removeprefix(_BOM)
    if content.startswith(_LFS_POINTER):
        raise InputError(f"{place}: found a Git LFS pointer, expected the file itself (run git lfs pull)")
    text = _decoded(content, place).replace("\r\n", "\n")
    if not text.strip():
        raise InputError(f"{place}: found an empty file, expected text")
    return TextFile(place, text, hashlib.sha256(stored).hexdigest())


def decimal(token: str) -> float | None:
    """Return a plain decimal number, or None for separators of thousands, NaN, infinity and overflow."""
    token = token.strip(" \t")
    if len(token) > _MAX_NUMBER_LENGTH or not _DECIMAL.fullmatch(token):
        return None
    value = float(token)
    return value if abs(value) != float("inf") else None


def safe_name(path: str | os.PathLike[str], fallback: str) -> str:
    """Return a file's stem (also without .gz) as a safe instance name; ``fallback`` if nothing remains."""
    file_name = Path(path).name
    stem = Path(file_name.removesuffix(".gz")).stem
    cleaned = re.sub(r"[^A-Za-z0-9._+-]+", "-", stem).strip("-").lstrip(".")[:NAME_LENGTH]
    return cleaned or fallback


def _bytes(path: str | os.PathLike[str], place: str) -> bytes:
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            raise InputError(f"{place}: found a pipe, expected a file")
        with open(path, "rb") as file:
            stored = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise InputError(f"{place}: found a folder, expected a file") from None
    except FileNotFoundError:
        raise InputError(f"{place}: found no such file, expected a file") from None
    except (OSError, ValueError) as error:
        if os.path.isdir(path):
            raise InputError(f"{place}: found a folder, expected a file") from None
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{place}: found {shown(str(reason))}, expected a readable file") from None
    return _bounded(stored, place)


def _expanded(stored: bytes, place: str) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(stored)) as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{place}: found damaged gzip data, expected a whole .gz file") from None
    return _bounded(content, place)


def _bounded(content: bytes, place: str) -> bytes:
    if len(content) > MAX_BYTES:
        raise InputError(f"{place}: found more than {MAX_BYTES >> 20} MB, expected at most that")
    return content


def _decoded(content: bytes, place: str) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = f"the byte 0x{content[error.start]:02x}"
        raise InputError(f"{place}:{line}: found {found}, expected UTF-8 text") from None
    binary = _BINARY.search(text)
    if binary:
        line = text.count("\n", 0, binary.start()) + 1
        found = f"the control character 0x{ord(binary.group()):02x}"
        raise InputError(f"{place}:{line}: found {found}, expected text, not a binary file")
    return text
