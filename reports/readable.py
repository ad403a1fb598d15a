"""Rows of a stranger's store that are no records are left out, with the reason, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.jobs.exports.lines import check_record
from bench.jobs.job import Record
from bench.jobs.sources import source_from_dict
from instances.errors import InputError, shown
from instances.handover import HandoverTrace

__all__ = ["readable"]

_TIMES = ("compile_s", "build_s", "solve_s", "check_s", "time_limit_s", "memory_limit_mb", "peak_mb")
_MEASURED: dict[str, dict[str, tuple[str, ...]]] = {  # by experiment: the numbers that its measures read
    "balance-fig1": {"checked": ("seconds_ad", "seconds_sd", "memory_bytes")},
    "handover-fallback": {"checked": ("starved",)},
    "handover-fig5b": {"checked": ("starved",)},
}
LARGEST = 1e100  # of an objective or a bound; sums and ratios of such numbers are still numbers


def readable(records: Sequence[Record]) -> tuple[list[Record], list[str]]:
    """Return the rows that can be drawn, and for each of the others the reason why it cannot."""
    kept, reasons = [], []
    for number, record in enumerate(records, 1):
        try:
            check_record(record)
            _check_numbers(record)
            _check_extra(record)
            kept.append(record)
        except InputError as error:
            reasons.append(f"row {number}: {error}")
    return kept, reasons


def _check_numbers(record: Record) -> None:
    for name in _TIMES:
        value = getattr(record, name)
        if value is not None and not 0.0 <= value <= LARGEST:
            raise InputError(f"{name}: found {shown(value)}, expected at least 0")
    for name in ("objective", "checked_objective", "bound"):
        value = getattr(record, name)
        if value is not None and not 0.0 <= value <= LARGEST:
            raise InputError(f"{name}: found {shown(value)}, expected 0 to {LARGEST:g}")
    if record.size < 0:
        raise InputError(f"size: found {record.size}, expected at least 0")


def _check_extra(record: Record) -> None:
    """Refuse what the measures read from ``extra`` where it is not what a run writes there."""
    source = record.extra.get("source")
    settings = source.get("settings") if isinstance(source, dict) else None
    listed = isinstance(settings, list | tuple | None)
    pairs = listed and all(isinstance(p, list | tuple) and len(p) == 2 for p in settings or [])
    if not isinstance(source, dict | None) or not pairs:
        raise InputError(f"extra.source: found {shown(source)}, expected where the instance comes from")
    planned = record.extra.get("planned")
    if not isinstance(planned, dict | None):
        raise InputError(f"extra.planned: found {shown(planned)}, expected the size of the grid")
    numbers = [(f"planned.{key}", value) for key, value in (planned or {}).items()]
    numbers += [("verified_bound", record.extra.get("verified_bound"))]
    numbers += [(key, value) for key, value in settings or [] if key == "rate_per_s"]
    for name, value in numbers:
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (plain and 0.0 <= value <= LARGEST):
            raise InputError(f"extra.{name}: found {shown(value)}, expected a number of at least 0")
    if record.feasible and record.status in ("optimal", "feasible"):
        _check_measured(record)


def _check_measured(record: Record) -> None:
    """Refuse a solved row without the numbers that the measures of its experiment read."""
    for name, keys in _MEASURED.get(record.experiment, {}).items():
        found = record.extra.get(name)
        for key in keys:
            value = found.get(key) if isinstance(found, dict) else None
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= LARGEST:
                raise InputError(f"extra.{name}.{key}: found {shown(value)}, expected a number of at least 0")
    if record.experiment == "handover-latency":
        _check_latency(record.extra)


def _check_latency(extra: dict[str, Any]) -> None:
    """Refuse a row whose arrivals cannot be generated again, or without latencies by context length."""
    source, checked = extra.get("source"), extra.get("checked")
    if not isinstance(source, dict) or source.get("kind") != "Generated":  # no file of the reader's is opened
        raise InputError(f"extra.source: found {shown(source)}, expected generated arrivals")
    try:
        arrivals = isinstance(source_from_dict(source).make(), HandoverTrace)
    except (TypeError, ValueError):
        arrivals = False
    if not arrivals:
        raise InputError(f"extra.source: found {shown(source)}, expected generated arrivals")
    by_length = checked.get("latency") if isinstance(checked, dict) else None
    rows: list[Any] = list(by_length.values()) if isinstance(by_length, dict) else [None]
    for row in rows:
        four = list(row) if isinstance(row, list | tuple) and len(row) == 4 else [None]
        if not all(isinstance(x, int | float) and 0 <= x <= LARGEST for x in four):
            raise InputError(
                f"extra.checked.latency: found {shown(by_length)}, expected four numbers a length"
            )
