"""Records as flat tables: CSV, safe to open in a spreadsheet, and Parquet."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Sequence
from typing import Any

from bench.jobs.job import Record
from instances.errors import InputError
from instances.importers.text import decimal

__all__ = ["records_as_csv", "records_as_parquet"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def records_as_csv(records: Sequence[Record]) -> str:
    """Return a header and a line a record; ``extra`` is JSON text, what is not known is empty.

    A text that a spreadsheet could take for a formula begins with an apostrophe.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")  # RFC 4180; only so is a lone CR in a cell quoted
    writer.writerow(Record.columns())
    writer.writerows([_cell(value) for value in _row(r).values()] for r in records)
    return file.getvalue()


def records_as_parquet(records: Sequence[Record]) -> bytes:
    """Return the records as one Parquet file; ``extra`` is JSON text.

    Raises
    ------
    InputError
        When pyarrow is not installed.
    """
    try:
        arrow, parquet = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError("parquet: pyarrow is not installed, pip install certigap[export]") from None
    kinds = {"int": arrow.int64(), "float": arrow.float64(), "bool": arrow.bool_()}
    fields = Record.__dataclass_fields__.items()
    schema = [(name, kinds.get(str(f.type).removesuffix(" | None"), arrow.string())) for name, f in fields]
    table = arrow.Table.from_pylist([_row(r) for r in records], schema=arrow.schema(schema))
    file = io.BytesIO()
    parquet.write_table(table, file)
    return file.getvalue()


def _row(record: Record) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in Record.columns()}
    return row | {"extra": json.dumps(record.extra, allow_nan=False)}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    text = str(value)
    return "'" + text if text.startswith(_FORMULA) and decimal(text) is None else text
