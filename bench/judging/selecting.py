"""Records by the values of their fields, found without looking at all the others each time."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from bench.jobs.job import Record

__all__ = ["RecordList", "select"]


class RecordList(list[Record]):
    """A list that remembers which records have which values; it is not changed once it is made."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        super().__init__(records)
        self._groups: dict[tuple[str, ...], dict[Any, RecordList]] = {}

    def having(self, **wanted: Any) -> RecordList:
        """Return the records whose fields have the wanted values, in their order."""
        names = tuple(sorted(wanted))
        if names not in self._groups:
            value, groups = attrgetter(*names), self._groups.setdefault(names, {})
            for record in self:
                groups.setdefault(value(record), RecordList()).append(record)
        values = tuple(wanted[name] for name in names)
        return self._groups[names].get(values if len(names) > 1 else values[0], RecordList())


def select(records: Iterable[Record], **wanted: Any) -> list[Record]:
    """Return the records whose fields have the wanted values."""
    if isinstance(records, RecordList):
        return records.having(**wanted)
    return [r for r in records if all(getattr(r, name) == value for name, value in wanted.items())]
