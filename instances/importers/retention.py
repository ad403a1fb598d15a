"""Accuracy against the kept fraction of the cache: users' own points, and tables of compression methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike

from instances.errors import InputError, number, shown
from instances.importers.table import Row, read_rows
from instances.importers.text import TextFile, read, safe_name
from instances.origin import Origin
from instances.retention import MIN_FRACTIONS, RetentionCurve

__all__ = ["read_retention"]

NAMES = ("model", "context_tokens", "method", "query_aware", "curve")
WHOLE = "no_press"  # the method whose rows hold the whole cache's accuracy
AWARE = {"True": "query-aware", "False": "query-agnostic"}


@dataclass(frozen=True)
class _Layout:
    """What a table calls its columns."""

    fraction: str
    accuracy: str
    method: str = "method"
    removed: bool = False  # whether the fraction is the part that was left out


LAYOUTS = (
    _Layout("kept_fraction_achieved", "ruler_score"),
    _Layout("achieved_ratio", "score_macro13", "press_name", removed=True),  # the KVpress leaderboard
    _Layout("kept_fraction", "accuracy"),
)


def read_retention(path: str | PathLike[str], where: Mapping[str, str] | None = None) -> list[RetentionCurve]:
    """Read curves of at least three different fractions, their points by rising fraction.

    Parameters
    ----------
    path
        CSV with ``kept_fraction`` and ``accuracy``, or with the columns of another of ``LAYOUTS``. Rows with
        the same model, context_tokens, method, query_aware and curve, where these columns are there, are one
        curve; the accuracy of the method ``no_press`` is every curve's point at fraction 1.
    where
        Values that these columns must have.

    Raises
    ------
    InputError
        With file, line and column; also when no row is left.
    """
    file = read(path)
    header = file.lines[0].split(",") if file.lines else []
    layout = next((chosen for chosen in LAYOUTS if chosen.fraction in header), LAYOUTS[-1])
    optional = [layout.method if name == "method" else name for name in NAMES]
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    whole: dict[tuple[str, ...], float] = {}
    for row in read_rows(file, (layout.fraction, layout.accuracy), optional):
        name = tuple(row.cells.get(column, "") for column in optional)
        if not _matches(name, where or {}):
            continue
        point = _point(row, layout)
        if name[NAMES.index("method")] == WHOLE:
            whole.setdefault(name[:2], point[1])
        else:
            groups.setdefault(name, []).append(point)
    with_ends = {name: _with_whole(points, whole.get(name[:2])) for name, points in groups.items()}
    curves = [
        _curve(file, name, points)
        for name, points in with_ends.items()
        if len({fraction for fraction, _ in points}) >= MIN_FRACTIONS
    ]
    if not curves:
        raise file.error(None, "rows", "no curve of three different fractions", "at least one")
    return curves


def _matches(name: Sequence[str], where: Mapping[str, str]) -> bool:
    cells = dict(zip(NAMES, name, strict=True))
    for key, value in where.items():
        if key not in NAMES:
            raise InputError(f"--where {key}: found {shown(key)}, expected one of {', '.join(NAMES)}")
        if cells[key] != value and not (key == "method" and cells[key] == WHOLE):
            return False
    return True


def _point(row: Row, layout: _Layout) -> tuple[float, float]:
    """Return the kept fraction and the accuracy of a row."""
    fraction = row.number(layout.fraction, lambda field, value: number(field, value, low=0, high=1))
    kept = round(1.0 - fraction, 12) if layout.removed else fraction
    return kept, row.number(layout.accuracy, lambda field, value: number(field, value, low=0, high=1e6))


def _with_whole(points: list[tuple[float, float]], whole: float | None) -> list[tuple[float, float]]:
    if whole is not None and all(kept < 1.0 for kept, _ in points):
        points = [*points, (1.0, whole)]
    return sorted(points)


def _curve(file: TextFile, name: Sequence[str], points: Sequence[tuple[float, float]]) -> RetentionCurve:
    text = " ".join(AWARE.get(part, part.rpartition("/")[2]) for part in name if part)
    kept, accuracy = ([point[i] for point in points] for i in (0, 1))
    origin = Origin(f"retention {safe_name(file.path, 'points')}", file.sha256)
    try:
        return RetentionCurve(safe_name(f"{text}.csv", "points"), kept, accuracy, origin)  # type: ignore[arg-type]
    except InputError as error:
        raise error.within(file.path) from None
