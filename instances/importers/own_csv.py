"""Users' own tables: one row a user, columns found by their names."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import integer, number
from instances.importers.table import Row, read_rows
from instances.importers.text import read

__all__ = ["read_balance_csv", "read_handover_csv"]

BALANCE: dict[str, dict[str, Any]] = {
    "input_tokens": {"low": 1, "high": 10**7, "whole": True},
    "output_tokens": {"low": 1, "high": 10**7, "whole": True},
    "deadline_s": {"low": 0, "high": 10**9},
    "acceptance": {"low": 0, "high": 1},
    "upload_s": {"low": 0, "high": 10**9},
    "download_s": {"low": 0, "high": 10**9},
}
HANDOVER: dict[str, dict[str, Any]] = {
    "arrival_s": {"low": 0, "high": 10**9},
    "context_tokens": {"low": 1, "high": 10**9, "whole": True},
}


def read_balance_csv(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read input_tokens and output_tokens, and of deadline_s, acceptance, upload_s, download_s what is there.

    Returns
    -------
    dict
        Column name to (K,) array, int64 for tokens and float64 (s, or a probability) for the others.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    return _read(path, BALANCE, required=("input_tokens", "output_tokens"))


def read_handover_csv(path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read arrival_s (s, float64) and context_tokens (int64), (N,) each, in the file's order.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    return _read(path, HANDOVER, required=tuple(HANDOVER))


def _read(
    path: str | PathLike[str], limits: dict[str, dict[str, Any]], required: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    optional = tuple(column for column in limits if column not in required)
    rows = read_rows(read(path), required, optional)
    present = [column for column in limits if column in rows[0]]
    return {column: _column(rows, column, **limits[column]) for column in present}


def _column(rows: list[Row], column: str, low: int, high: int, whole: bool = False) -> NDArray[Any]:
    def check(field: str, value: float) -> float:
        return (integer if whole else number)(field, value, low=low, high=high)

    values = [row.number(column, check) for row in rows]
    return np.array(values, dtype=np.int64 if whole else np.float64)
