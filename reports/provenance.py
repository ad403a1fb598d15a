"""Where the numbers come from: machine, versions, public data with their licences, and whom to cite."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import resources
from typing import Any

from bench.jobs.environment import cpu_name, git_commit, vector_level, versions
from bench.jobs.job import Record
from instances.catalogue import PublicFile, read_catalogue
from reports.cells import Table, cell, code

__all__ = ["citations", "data_table", "environment_of", "environment_table"]


def environment_of(records: Sequence[Record], anonymous: bool = False) -> dict[str, Any]:
    """Return the machine and versions that drew the report, and those that the rows say of their runs."""
    started = sorted(r.started_utc for r in records if r.started_utc)
    runs: dict[str, Any] = {
        "rows": len(records),
        "executors": _counted(f"{r.executor or 'not stated'}, {r.workers} at a time" for r in records),
        "method_versions": _counted(r.method_version for r in records),
        "first_started_utc": started[0] if started else None,
        "last_started_utc": started[-1] if started else None,
    }
    found: dict[str, Any] = {
        "processor": cpu_name(),
        "vector_level": vector_level(),
        "versions": versions(),
        "runs": runs,
    }
    if not anonymous:
        found["commit"] = git_commit()
        runs["hosts"] = _counted(r.host for r in records)
        runs["commits"] = _counted(r.git_commit for r in records)
    return found


def environment_table(environment: dict[str, Any]) -> Table:
    """Return the environment as a table of what and which."""
    runs = environment["runs"]
    rows = [
        ("processor", environment["processor"]),
        ("vector units", environment["vector_level"]),
        *((f"version of {name}", text) for name, text in environment["versions"].items()),
        ("commit of this report", environment.get("commit", "")),
        ("rows' commits", _listed(runs.get("commits", {}))),
        ("rows' hosts", _listed(runs.get("hosts", {}))),
        ("rows' executors", _listed(runs["executors"])),
        ("digests of the code that ran", _listed(runs["method_versions"])),
        ("first run started", runs["first_started_utc"] or ""),
        ("last run started", runs["last_started_utc"] or ""),
    ]
    return Table("Environment", ("what", "which"), [row for row in rows if row[1]])


def data_table(records: Sequence[Record]) -> Table:
    """Return the public files that rows were made from, with their licences."""
    users: dict[str, list[Record]] = defaultdict(list)
    for r in records:
        for name in _public_files(r):
            users[name].append(r)
    catalogue = read_catalogue()
    rows = []
    for name, own in sorted(users.items()):
        entry = catalogue.files.get(name)
        place = catalogue.elsewhere.get(name, "not in the catalogue") if entry is None else _place(entry)
        licence = "–" if entry is None else entry.licence
        rows.append((code(name), place, licence, cell(str(len(own)), own)))
    note = "Everything else is generated from seeds, or in files of the user's."
    return Table("Public data", ("file", "from", "licence", "runs"), rows, frozenset({"runs"}), note)


def citations(anonymous: bool = False) -> list[str]:
    """Return a line for this project, not in an anonymous report, and one for each paper."""
    text = resources.files("reports").joinpath("citations.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    own, version = document["certigap"], versions().get("certigap", "")
    lines = [] if anonymous else [f"{own['authors']}: {own['title']}, version {version}."]
    return lines + [f"{p['authors']}: {p['title']}. {p['url']}" for p in document["paper"]]


def _public_files(record: Record) -> list[str]:
    source = record.extra.get("source")
    files = source.get("files") if isinstance(source, dict) else None
    return [name for name in files if isinstance(name, str)] if isinstance(files, list) else []


def _place(entry: PublicFile) -> str:
    return f"{entry.repository} at {code(entry.commit[:12])}"


def _counted(texts: Any) -> dict[str, int]:
    return {text: n for text, n in sorted(Counter(texts).items()) if text}


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{text} ({n} rows)" for text, n in counts.items())
