"""Published values of MMKP instances, and what they claim to be: optimal, best known, reported, bounds."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from os import PathLike
from pathlib import PurePosixPath

from instances.importers.text import TextFile, decimal, read

__all__ = ["PublishedValue", "Standing", "read_published_values"]


class Standing(StrEnum):
    """What a published number claims to be."""

    OPTIMAL = "optimal"  # proved
    BEST_KNOWN = "best known"  # the largest value that was found, not proved
    REPORTED = "reported"  # a value somebody found; larger ones may be known
    BOUND = "bound"  # no value: the optimum is at most this


@dataclass(frozen=True)
class PublishedValue:
    """A number that was published for an instance."""

    instance: str  # as the file names it; problems of a file of several as ``name-N``
    value: float
    standing: Standing
    source: str = ""


_BEST_KNOWN = ("instance", "best_known", "proven_optimal", "upper_bound_highs", "source")
_HIREMATH_HILL = ("file", "problem", "exact_value_reported", "verified_optimal_highs", "source")


def read_published_values(path: str | PathLike[str]) -> list[PublishedValue]:
    """Read a table of published values; which of the known layouts it has is told by its first line.

    - with a header that has the columns instance, best_known, proven_optimal, upper_bound_highs, source: the
      value is *optimal* or *best known*, and the upper bound a *bound* of its own;
    - with file, problem, exact_value_reported, verified_optimal_highs, source: *optimal* where it was
      verified, else *reported*;
    - without a header ``file,value`` (a byte order mark is dropped): *reported*;
    - ``name negated-number flag`` parted by blanks: *optimal* with the flag 1, a *bound* with 0.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    file = read(path)
    rows = [(i, line) for i, line in enumerate(file.lines, start=1) if line.strip()]
    if "," not in rows[0][1]:
        return [_flagged(file, line, text.split()) for line, text in rows]
    table = list(csv.reader(io.StringIO(file.text)))
    header = [cell.strip() for cell in table[0]]
    for columns, convert in ((_BEST_KNOWN, _best_known), (_HIREMATH_HILL, _hiremath_hill)):
        if set(columns) <= set(header):
            return _with_header(file, table, columns, convert)
    return [_pair(file, line, row) for line, row in enumerate(table, start=1) if any(row)]


Row = dict[str, str]
Convert = Callable[[TextFile, int, Row], list[PublishedValue]]


def _with_header(
    file: TextFile, table: list[list[str]], columns: tuple[str, ...], convert: Convert
) -> list[PublishedValue]:
    header = [cell.strip() for cell in table[0]]
    values: list[PublishedValue] = []
    for line, cells in enumerate(table[1:], start=2):
        if not any(cells):
            continue
        if len(cells) != len(header):
            raise file.error(line, "row", f"{len(cells)} cells", f"{len(header)} as in the header")
        row = dict(zip(header, (cell.strip() for cell in cells), strict=True))
        values += convert(file, line, {key: row[key] for key in columns})
    return values


def _best_known(file: TextFile, line: int, row: Row) -> list[PublishedValue]:
    standing = Standing.OPTIMAL if _yes(file, line, row, "proven_optimal") else Standing.BEST_KNOWN
    value = _number(file, line, "best_known", row["best_known"])
    found = [PublishedValue(row["instance"], value, standing, row["source"])]
    if row["upper_bound_highs"]:
        bound = _number(file, line, "upper_bound_highs", row["upper_bound_highs"])
        found.append(PublishedValue(row["instance"], bound, Standing.BOUND))
    return found


def _hiremath_hill(file: TextFile, line: int, row: Row) -> list[PublishedValue]:
    name = f"{row['file'].removesuffix('.txt')}-{row['problem']}"
    value = _number(file, line, "exact_value_reported", row["exact_value_reported"])
    standing = Standing.OPTIMAL if row["verified_optimal_highs"] == "yes" else Standing.REPORTED
    return [PublishedValue(name, value, standing, row["source"])]


def _pair(file: TextFile, line: int, row: list[str]) -> PublishedValue:
    if len(row) != 2:
        raise file.error(line, "row", f"{len(row)} cells", "two, file and value")
    name = PurePosixPath(row[0].strip()).name.removesuffix(".txt")
    return PublishedValue(name, _number(file, line, "value", row[1]), Standing.REPORTED)


def _flagged(file: TextFile, line: int, cells: list[str]) -> PublishedValue:
    """Read a row for a minimiser: the value is negated, and the flag says whether it is proved."""
    if len(cells) != 3 or cells[2] not in ("0", "1"):
        raise file.error(line, "row", " ".join(cells), "a name, a negated value and the flag 0 or 1")
    value = decimal(cells[1])
    if value is None or value > 0:
        raise file.error(line, "value", cells[1], "a negated number")
    return PublishedValue(cells[0], -value, Standing.OPTIMAL if cells[2] == "1" else Standing.BOUND)


def _yes(file: TextFile, line: int, row: Row, field: str) -> bool:
    if row[field] not in ("yes", "no"):
        raise file.error(line, field, row[field], "yes or no")
    return row[field] == "yes"


def _number(file: TextFile, line: int, field: str, text: str) -> float:
    value = decimal(text)
    if value is None or value < 0:
        raise file.error(line, field, text, "a number of at least 0")
    return value
