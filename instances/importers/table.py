"""A CSV file with a header line: cells by column name, each row with its line number."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from instances.errors import InputError, shown
from instances.importers.text import TextFile, decimal

__all__ = ["Row", "read_rows"]


@dataclass(frozen=True)
class Row:
    """One row of the columns that were asked for."""

    file: TextFile
    line: int  # counted from 1
    cells: dict[str, str]

    def __contains__(self, column: str) -> bool:
        return column in self.cells

    def error(self, column: str, expected: str) -> InputError:
        """Return the error for a cell that is not what was expected."""
        return self.file.error(self.line, column, self.cells[column] or "nothing", expected)

    def number(self, column: str, check: Callable[[str, float], float]) -> float:
        """Return a cell as a number; ``check`` takes the field and the value, and raises if it is unfit."""
        value = decimal(self.cells[column])
        if value is None:
            raise self.error(column, "a number like 1234.5, without separators of thousands")
        try:
            return check(column, value)
        except InputError as error:
            raise self.error(column, str(error).rpartition("expected ")[2]) from None


def read_rows(file: TextFile, required: Sequence[str], optional: Sequence[str] = ()) -> list[Row]:
    """Return the rows of the named columns; other columns are ignored, blank lines skipped.

    Raises
    ------
    InputError
        For a missing or duplicated column, a row of another length than the header, and bad quoting.
    """
    reader = csv.reader((line + "\n" for line in file.lines), strict=True)
    rows: list[Row] = []
    wanted: dict[str, int] | None = None
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if wanted is None:
                wanted, width = _columns(file, reader.line_num, cells, required, optional), len(cells)
                continue
            if len(cells) != width:
                found = f"{len(cells)} cells"
                raise file.error(reader.line_num, "row", found, f"{width} as in the header")
            named = {column: cells[i].strip() for column, i in wanted.items()}
            rows.append(Row(file, reader.line_num, named))
    except csv.Error as error:
        raise file.error(reader.line_num, "row", str(error), "comma-separated cells") from None
    if not rows:
        raise file.error(None, "rows", "none", "a header and at least one row")
    return rows


def _columns(
    file: TextFile, line: int, header: list[str], required: Sequence[str], optional: Sequence[str]
) -> dict[str, int]:
    names = [cell.strip() for cell in header]
    for column in names:
        if names.count(column) > 1:
            raise file.error(line, "header", f"the column {column!r} twice", "every column once")
    for column in required:
        if column not in names:
            expected = f"a column {column!r} (needed are {', '.join(required)})"
            raise file.error(line, "header", shown(", ".join(names)), expected)
    return {column: names.index(column) for column in (*required, *optional) if column in names}
