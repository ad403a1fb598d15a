"""Tables of texts whose cells know the rows that they were computed from, and how numbers read in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from bench.jobs.job import Record
from bench.judging.statistics import Mean

__all__ = [
    "Cell",
    "Table",
    "cell",
    "code",
    "decimals",
    "figures",
    "keys_of",
    "mean_text",
    "percent",
    "spans",
]

MAX_TEXT = 500  # characters of a stranger's text in a cell


class Cell(str):
    """A cell's text with the keys of the rows behind it."""

    keys: tuple[str, ...]

    def __new__(cls, text: str, keys: Iterable[str] = ()) -> Cell:
        """Return the text with its keys."""
        made = super().__new__(cls, text)
        made.keys = tuple(dict.fromkeys(keys))
        return made


@dataclass(frozen=True)
class Table:
    """A titled table of texts; columns named in ``right`` hold numbers. Between backticks stands code."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: frozenset[str] = field(default_factory=frozenset)
    note: str = ""

    @property
    def name(self) -> str:
        """The title as a file name."""
        plain = self.title.replace("½", "half").lower()
        return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "table"


def cell(text: str, records: Iterable[Record]) -> Cell:
    """Return a cell computed from these records."""
    return Cell(text, (r.key for r in records))


def keys_of(text: str) -> tuple[str, ...]:
    """Return the keys behind a cell, none behind a plain text."""
    return text.keys if isinstance(text, Cell) else ()


def code(text: str) -> str:
    """Return a name as code; whatever it holds, it stays on one line and within its backticks."""
    cleaned = " ".join(text.replace("`", "'").split())
    return f"`{cleaned[:MAX_TEXT]}`" if cleaned else ""


def spans(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a cell's text, each with whether it is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without its partner is text
        parts[-2:] = ["`".join(parts[-2:])]
    for i, part in enumerate(parts):
        if part:
            yield i % 2 == 1, part


def figures(value: float | None, digits: int = 3) -> str:
    """Return significant digits, without an exponent from 10⁻⁴ up to 10⁹."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        return f"{float(text):.0f}"
    return text


def decimals(value: float, digits: int, whole: float = 1.0) -> str:
    """Return a fixed number of decimals, more where it would read as zero or the whole and is neither."""
    if value == 0.0:
        return "0"
    text = f"{value:.{digits}f}"
    for end in (0.0, whole):
        if value != end and float(text) == end:
            needed = max(math.ceil(-math.log10(abs(value - end))), digits)
            return f"{value:.{needed}f}" if needed <= 9 else f"{value:.2g}"
    return text


def percent(fraction: float | None, digits: int = 3) -> str:
    """Return a fraction in percent with significant digits."""
    return "–" if fraction is None else figures(100.0 * fraction, digits)


def mean_text(mean: Mean, digits: int, scale: float = 1.0, whole: float | None = None) -> str:
    """Return the mean with its interval; one value, or the same value throughout, has none.

    ``whole`` is what a share of everything reads as, by default ``scale``.
    """
    total = scale if whole is None else whole
    text, low, high = (decimals(scale * x, digits, total) for x in (mean.value, mean.low, mean.high))
    return text if mean.n < 2 or mean.low == mean.high else f"{text} [{low}, {high}]"
