"""Accuracy against the kept fraction of the cache: users' own points, and tables of compression methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, number, shown
from instances.importers.table import Row, read_rows
from instances.importers.text import read

__all__ = ["RetentionCurve", "read_retention"]

NAMES = ("model", "context_tokens", "method", "query_aware", "curve")
WHOLE = "no_press"  # the method whose rows hold the whole cache's accuracy


@dataclass(frozen=True, eq=False)
class RetentionCurve:
    """Measured points of one curve, by rising fraction."""

    name: str
    kept: NDArray[np.float64]  # (n,) fraction of the cache
    accuracy: NDArray[np.float64]  # (n,) as written, a fraction or per cent


def read_retention(path: str | PathLike[str], where: Mapping[str, str] | None = None) -> list[RetentionCurve]:
    """Read curves of at least three different fractions.

    Parameters
    ----------
    path
        CSV with ``kept_fraction`` and ``accuracy``, or ``kept_fraction_achieved`` and ``ruler_score``. Rows
        with the same model, context_tokens, method, query_aware and curve, where these columns are there, are
        one curve; the accuracy of the method ``no_press`` is every curve's point at fraction 1.
    where
        Values that these columns must have.

    Raises
    ------
    InputError
        With file, line and column; also when no row is left.
    """
    file = read(path)
    header = file.lines[0] if file.lines else ""
    columns = ("kept_fraction", "accuracy")
    if "kept_fraction_achieved" in header:
        columns = ("kept_fraction_achieved", "ruler_score")
    rows = read_rows(file, columns, NAMES)
    chosen = [row for row in rows if _matches(row, where or {})]
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = {}
    whole: dict[tuple[str, ...], float] = {}
    for row in chosen:
        point = (row.number(columns[0], _fraction), row.number(columns[1], _accuracy))
        name = tuple(row.cells.get(key, "") for key in NAMES)
        if row.cells.get("method") == WHOLE:
            whole.setdefault(name[:2], point[1])
        else:
            groups.setdefault(name, []).append(point)
    curves = [_curve(name, points, whole.get(name[:2])) for name, points in groups.items()]
    curves = [curve for curve in curves if len(np.unique(curve.kept)) >= 3]
    if not curves:
        raise file.error(None, "rows", "no curve of three different fractions", "at least one")
    return curves


def _matches(row: Row, where: Mapping[str, str]) -> bool:
    for key, value in where.items():
        if key not in NAMES:
            raise InputError(f"--where {key}: found {shown(key)}, expected one of {', '.join(NAMES)}")
        if key == "method" and row.cells.get(key) == WHOLE:
            continue
        if row.cells.get(key, "") != value:
            return False
    return True


def _curve(name: tuple[str, ...], points: list[tuple[float, float]], whole: float | None) -> RetentionCurve:
    if whole is not None and all(kept < 1.0 for kept, _ in points):
        points = [*points, (1.0, whole)]
    kept, accuracy = (np.array(column) for column in zip(*sorted(points), strict=True))
    aware = {"True": "query-aware", "False": "query-agnostic"}
    parts = [aware.get(part, part) for part in name if part]
    return RetentionCurve(" ".join(parts) or "points", kept, accuracy)


def _fraction(field: str, value: float) -> float:
    return number(field, value, low=0, high=1)


def _accuracy(field: str, value: float) -> float:
    return number(field, value, low=0, high=1e6)
