"""Measured running times of a language model: points of work and seconds, or a table of speeds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from os import PathLike

from instances.errors import integer, number
from instances.importers.table import Row, read_rows
from instances.importers.text import TextFile, read

__all__ = ["Speed", "SpeedPoints", "SpeedTable", "read_speeds"]

MAX_TOKENS = 10**7
_TABLE = ("model", "dtype", "phase", "batch", "prompt_tokens", "generated_tokens", "ms_total", "kind")


@dataclass(frozen=True)
class Speed:
    """One measured run of a model: a prefill of the prompt, or the decoding of tokens after it."""

    line: int  # of the file, counted from 1
    phase: str  # prefill or decode
    batch: int  # sequences at a time, all alike
    prompt_tokens: int
    generated_tokens: int
    seconds: float


@dataclass(frozen=True)
class SpeedTable:
    """The runs of one model, and how many rows of it were left out, by reason."""

    runs: tuple[Speed, ...]
    dropped: dict[str, int]


@dataclass(frozen=True)
class SpeedPoints:
    """Work and seconds of each measurement, one entry each."""

    flops: tuple[float, ...]
    passes: tuple[int, ...]  # forward passes that the measurement consists of
    seconds: tuple[float, ...]


def read_speeds(path: str | PathLike[str], *, model: str, dtype: str = "FP16") -> SpeedTable | SpeedPoints:
    """Read a CSV file of ``flops,seconds`` (with an optional column ``passes``), or a table of speeds.

    A table of speeds has the columns model, dtype, phase, batch, prompt_tokens, generated_tokens, ms_total
    and kind; its measured rows of ``model`` in ``dtype`` are used. Averages of other rows, derived bounds and
    rows marked unusable are left out and counted.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    file = read(path)
    if _header_has(file, "flops"):
        return _points(read_rows(file, ("flops", "seconds"), ("passes",)))
    return _table(file, read_rows(file, _TABLE), model, dtype)


def _header_has(file: TextFile, column: str) -> bool:
    header = next(line for line in file.lines if line.strip())
    return column in [cell.strip() for cell in header.split(",")] or "model" not in header


def _points(rows: list[Row]) -> SpeedPoints:
    def passes(row: Row) -> int:
        return (
            int(row.number("passes", lambda f, v: integer(f, v, low=1, high=10**9))) if "passes" in row else 1
        )

    return SpeedPoints(
        tuple(row.number("flops", lambda f, v: number(f, v, low=0)) for row in rows),
        tuple(passes(row) for row in rows),
        tuple(row.number("seconds", lambda f, v: number(f, v, above=0)) for row in rows),
    )


def _table(file: TextFile, rows: list[Row], model: str, dtype: str) -> SpeedTable:
    own = [row for row in rows if row.cells["model"] == model]
    if not own:
        found = ", ".join(dict.fromkeys(row.cells["model"] for row in rows))
        raise file.error(None, "model", found, f"rows of {model!r}")
    reasons = {row.line: _unfit(row, dtype) for row in own}
    runs = tuple(_run(row) for row in own if not reasons[row.line])
    dropped = dict(Counter(reason for reason in reasons.values() if reason))
    if not runs:
        raise file.error(None, "rows", "; ".join(dropped), f"measured rows of {model!r} in {dtype}")
    return SpeedTable(runs, dropped)


def _unfit(row: Row, dtype: str) -> str:
    """Return why a row is not used, empty if it is."""
    cells = row.cells
    if cells["kind"] != "measured":
        return f"kind {cells['kind']}"
    if cells["dtype"] != dtype:
        return f"dtype {cells['dtype']}"
    if cells["phase"] not in ("prefill", "decode"):
        return f"phase {cells['phase']}"
    missing = [c for c in ("prompt_tokens", "generated_tokens", "ms_total") if not cells[c]]
    return f"no {missing[0]}" if missing else ""


def _run(row: Row) -> Speed:
    def tokens(column: str, low: int) -> int:
        return int(row.number(column, lambda f, v: integer(f, v, low=low, high=MAX_TOKENS)))

    decodes = row.cells["phase"] == "decode"
    return Speed(
        row.line,
        row.cells["phase"],
        tokens("batch", 1),
        tokens("prompt_tokens", 0 if decodes else 1),
        tokens("generated_tokens", 1 if decodes else 0),
        row.number("ms_total", lambda f, v: number(f, v, above=0)) / 1000.0,
    )
