"""``certigap export`` and ``import store``: records in other tools' formats, and back from JSON Lines."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bench.commands.common import note
from bench.jobs.store import DEFAULT_STORE
from instances.errors import InputError, shown

if TYPE_CHECKING:
    from bench.jobs.job import Record

__all__ = ["EXPORT_FORMATS", "export_store", "import_records"]

# Format: module below bench.jobs.exports, function; it returns a text, bytes, or texts by file name.
EXPORT_FORMATS = {
    "jsonl": ("lines", "records_as_lines"),
    "csv": ("tables", "records_as_csv"),
    "parquet": ("tables", "records_as_parquet"),
    "pytest-benchmark": ("timings", "records_as_pytest_benchmark"),
    "github-action-benchmark": ("timings", "records_as_action_benchmark"),
    "perprof": ("solutions", "records_as_perprof"),
    "solu": ("solutions", "records_as_solu"),
}


def export_store(
    export_format: str = typer.Argument(..., metavar="FORMAT", help=", ".join(EXPORT_FORMATS) + "."),
    store_path: Path = typer.Option(DEFAULT_STORE, "--store", help="The store."),
    output: Path = typer.Option(..., "-o", "--output", help="The file; for perprof, a folder."),
) -> None:
    """Write a store's rows in another tool's format."""
    from importlib import import_module

    from bench.jobs.store import Store
    from instances.files import write_whole

    if export_format not in EXPORT_FORMATS:
        raise InputError(f"FORMAT: found {shown(export_format)}, expected one of {', '.join(EXPORT_FORMATS)}")
    with Store(store_path, read_only=True) as store:
        records = list(store.records())
    module, function = EXPORT_FORMATS[export_format]
    content = getattr(import_module(f"bench.jobs.exports.{module}"), function)(records)
    if isinstance(content, bytes):
        _write_whole_bytes(output, content)
    elif isinstance(content, str):
        write_whole(output, content)
    else:
        _make_folder(output)
        for name, text in content.items():
            write_whole(output / name, text)
    note(f"{len(records)} rows as {export_format} in {output}")


def import_records(files: list[Path], store_path: Path) -> int:
    """Merge the records of JSON Lines files into a store; of rows with one key, the one started last stays.

    Nothing is written when a line is bad.
    """
    from bench.jobs.exports.lines import read_records
    from bench.jobs.exports.selection import started
    from bench.jobs.store import Store

    read = [record for path in files for record in read_records(path)]
    latest: dict[str, Record] = {}
    for record in read:
        if record.key not in latest or started(latest[record.key]) < started(record):
            latest[record.key] = record
    added = replaced = 0
    with Store(store_path) as store:
        known = store.keys()
        for record in latest.values():
            stored = list(store.records("key = ?", (record.key,))) if record.key in known else []
            if stored and started(stored[0]) >= started(record):
                continue
            store.add(record)
            added, replaced = added + (not stored), replaced + bool(stored)
    kept = len(read) - added - replaced
    note(f"{len(read)} rows read: {added} added, {replaced} replaced, {kept} stored already, in {store_path}")
    return 0


def _write_whole_bytes(target: Path, content: bytes) -> None:
    """Write a binary file completely or not at all."""
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".certigap-", delete=False) as file:
            temporary = file.name
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"{target}: found {error.strerror or error}, expected a place to write") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: found {error.strerror}, expected a folder to write to") from None
