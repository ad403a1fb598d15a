"""The store: one SQLite file, one table, a row a run, committed one by one."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bench.jobs.job import Record
from instances.errors import InputError
from instances.strict_json import parse

__all__ = ["DEFAULT_STORE", "SCHEMA_VERSION", "Store", "jsonable"]

DEFAULT_STORE = Path("results/records.sqlite")
SCHEMA_VERSION = 1
WAIT_S = 30.0  # for another process
_COLUMNS = tuple(Record.columns())
_TYPES = {"float": "REAL", "int": "INTEGER", "bool": "INTEGER"}


def _schema() -> str:
    columns = []
    for name, field in Record.__dataclass_fields__.items():
        kind = str(field.type).removesuffix(" | None")
        columns.append(f"{name} {_TYPES.get(kind, 'TEXT')}" + (" PRIMARY KEY" if name == "key" else ""))
    return f"CREATE TABLE IF NOT EXISTS records ({', '.join(columns)})"


class Store:
    """Records in a file; a context manager that leaves one plain file behind.

    Raises
    ------
    InputError
        When the file cannot be opened, is no store, or cannot be written.
    """

    def __init__(self, path: str | Path = DEFAULT_STORE, *, read_only: bool = False) -> None:
        self.path, self.read_only = Path(path), read_only
        if read_only and not self.path.is_file():
            raise InputError(f"{self.path}: found no store, expected one (certigap run makes it)")
        with self._one_line():
            if not read_only:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._connect("ro" if read_only else "rwc")
            try:
                self._open()
            except sqlite3.OperationalError as error:
                if not read_only or not error.sqlite_errorname.startswith("SQLITE_READONLY"):
                    raise
                self._roll_back()
                self._open()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _connect(self, mode: str) -> sqlite3.Connection:
        uri = f"{self.path.absolute().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, timeout=WAIT_S)
        connection.row_factory = sqlite3.Row
        return connection

    def _roll_back(self) -> None:
        """Undo what a killed process left half done, which a read-only connection may not."""
        with closing(self._connect("rw")) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()

    def _open(self) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            text = f"schema: found version {version}, expected at most {SCHEMA_VERSION}; use a newer certigap"
            raise InputError(f"{self.path}: {text}")
        if self.read_only:
            self._connection.execute("SELECT key FROM records LIMIT 1")
            return
        self._write_ahead()
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(_schema())
        self._connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        self._connection.commit()

    def _write_ahead(self) -> None:
        """Switch to the write-ahead log; beside another writer SQLite does not wait by itself here."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                    raise
            time.sleep(0.01)

    def close(self) -> None:
        """Fold the journal into the file and close it."""
        if not self.read_only:
            try:
                self._connection.rollback()  # of a row whose writing was interrupted
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._connection.execute("PRAGMA journal_mode=DELETE")
            except sqlite3.Error:
                pass  # another process still has it open: the last one to close folds it
        self._connection.close()

    def add(self, record: Record) -> None:
        """Insert or replace one row and commit it."""
        values = [_to_column(getattr(record, name)) for name in _COLUMNS]
        marks = ", ".join("?" * len(values))
        with self._one_line():
            self._connection.execute(f"INSERT OR REPLACE INTO records VALUES ({marks})", values)
            self._connection.commit()

    def keys(self) -> dict[str, str]:
        """Return the stored keys and their statuses."""
        with self._one_line():
            return {
                row["key"]: row["status"]
                for row in self._connection.execute("SELECT key, status FROM records")
            }

    def records(self, where: str = "1", parameters: Iterable[Any] = ()) -> Iterator[Record]:
        """Yield the rows that match an SQL condition, in the order of their insertion."""
        with self._one_line():
            query = f"SELECT * FROM records WHERE {where} ORDER BY rowid"
            for row in self._connection.execute(query, tuple(parameters)):
                yield _from_row(row)

    @contextmanager
    def _one_line(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"{self.path}: found {reason}, expected a usable store") from None


def _to_column(value: Any) -> Any:
    if isinstance(value, dict):
        return json.dumps(jsonable(value), allow_nan=False)
    return str(value) if isinstance(value, str) else jsonable(value)


def _from_row(row: sqlite3.Row) -> Record:
    values = {name: row[name] for name in _COLUMNS}
    values["extra"] = parse(values["extra"]) if values["extra"] else {}
    values["feasible"] = None if values["feasible"] is None else bool(values["feasible"])
    return Record(**values)


def jsonable(value: Any) -> Any:
    """Return ``value`` made fit for JSON: numpy numbers as numbers, NaN and infinities as null, else text."""
    if isinstance(value, dict):
        return {str(key): jsonable(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(v) for v in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item() if getattr(value, "ndim", 0) == 0 else value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else repr(value)
