"""Rows without what tells who ran them: hosts, commits, folders and user names."""

from __future__ import annotations

import getpass
import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path, PureWindowsPath
from typing import Any

from bench.jobs.job import Record

__all__ = ["anonymised"]

_KEPT = ("key", "instance_sha256", "method_version", "started_utc")
_PATH = re.compile(
    r"(?<![\w.)\]\\/])(?<!https:)(?:[A-Za-z]:|~\w*|\.\.?)?[\\/]+(?:[^\s\"'`:\\/]+[\\/]+)*(?=[^\s\"'`:\\/])"
)
_HOME = re.compile(r"(?:home|Users)[\\/]+([^\\/]+)[\\/]")
_NOBODY = ("root", "user", "runner", "home", "localhost")  # words that tell nothing


def anonymised(records: Sequence[Record]) -> list[Record]:
    """Return the rows without host and commit; of paths only the last part stays, names become ``…``."""
    folders = {folder for r in records for folder in _folders(r)} | {f"{Path.home()}/", f"{Path.cwd()}/"}
    hidden = [(_any_of(folders), ""), (_PATH, ""), (_any_of(_names(records), word=True), "…")]
    return [_anonymised(r, hidden) for r in records]


def _anonymised(record: Record, hidden: Sequence[tuple[re.Pattern[str], str]]) -> Record:
    texts = {
        f.name: _without(getattr(record, f.name), hidden)
        for f in fields(record)
        if f.name not in _KEPT and isinstance(getattr(record, f.name), str | dict)
    }
    return replace(record, **(texts | {"host": "", "git_commit": ""}))


def _names(records: Sequence[Record]) -> set[str]:
    """Return what must not be told: hosts, commits, and the user of this machine."""
    found = {text for r in records for text in (r.host, r.git_commit.rstrip("+"))}
    found |= {socket.gethostname(), Path.home().name}
    found |= {name for r in records for folder in _folders(r) for name in _HOME.findall(folder)}
    with suppress(KeyError, OSError):  # a user without a name
        found.add(getpass.getuser())
    return {name for name in found if len(name) > 2 and name not in _NOBODY}


def _folders(record: Record) -> Iterator[str]:
    """Yield the folders of the record's own files, with the separator at their end."""
    source = record.extra.get("source")
    paths = [source.get("path") if isinstance(source, dict) else None, record.method.rpartition(":")[0]]
    for path in paths:
        name = PureWindowsPath(path).name if isinstance(path, str) else ""
        if isinstance(path, str) and len(path) > len(name) + 1:
            yield path[: len(path) - len(name)]


def _any_of(texts: set[str], word: bool = False) -> re.Pattern[str]:
    """Return a pattern of these texts, the longest first; of words only whole ones."""
    escaped = [re.escape(text) for text in sorted(texts, key=len, reverse=True) if text]
    edges = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if word else ("", "")
    return re.compile(f"{edges[0]}(?:{'|'.join(escaped)}){edges[1]}" if escaped else r"(?!)")


def _without(value: Any, hidden: Sequence[tuple[re.Pattern[str], str]]) -> Any:
    if isinstance(value, str):
        for pattern, instead in hidden:
            value = pattern.sub(instead, value)
        return value
    if isinstance(value, dict):
        return {key: _without(v, hidden) for key, v in value.items()}
    return [_without(v, hidden) for v in value] if isinstance(value, list) else value
