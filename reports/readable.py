"""Rows of a stranger's store that are no records are left out, with the reason, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from bench.jobs.exports.lines import check_record
from bench.jobs.job import Record
from instances.errors import InputError, shown

__all__ = ["readable"]

_TIMES = ("compile_s", "build_s", "solve_s", "check_s", "time_limit_s", "memory_limit_mb", "peak_mb")
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
    pairs = all(isinstance(p, list | tuple) and len(p) == 2 for p in settings or []) if settings else True
    if not isinstance(source, dict | None) or not isinstance(settings, list | tuple | None) or not pairs:
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
