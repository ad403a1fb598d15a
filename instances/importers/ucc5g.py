"""Changes of cell that drivers of the UCC 5G production dataset saw, and arrival processes made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, frozen_array, integer, number, shown
from instances.importers.table import Row, read_rows
from instances.importers.text import read
from instances.origin import Origin

__all__ = ["HandoverEvents", "read_handover_events", "read_trace_spans", "superpose"]

COLUMNS = ("trace_id", "mobility", "t_rel_s", "from_node", "to_node", "node_changed")
UNKNOWN = "-"
MAX_ARRIVALS = 10**7
MAX_COPIES = 10**5
_MAX_SECONDS = 1e9


@dataclass(frozen=True, eq=False)
class HandoverEvents:
    """Changes of cell, trace by trace; times inside a trace do not decrease."""

    trace_id: tuple[str, ...]  # (E,)
    mobility: tuple[str, ...]  # (E,) "driving" or "static"
    time_s: NDArray[np.float64]  # (E,) s since the trace's begin, whole seconds in the dataset
    node_changed: NDArray[np.bool_]  # (E,) whether the base station is known to have changed
    comparable: NDArray[np.bool_]  # (E,) whether both base stations are known
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        time = frozen_array("time_s", self.time_s, low=0, high=_MAX_SECONDS)
        object.__setattr__(self, "time_s", time)
        for key in ("trace_id", "mobility"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        for key in ("node_changed", "comparable"):
            flags = np.array(getattr(self, key), dtype=np.bool_)
            flags.setflags(write=False)
            object.__setattr__(self, key, flags)
        for key in ("trace_id", "mobility", "node_changed", "comparable"):
            if len(getattr(self, key)) != len(time):
                raise InputError(f"{key}: found {len(getattr(self, key))} entries, expected {len(time)}")

    def __len__(self) -> int:
        return len(self.time_s)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)


def read_handover_events(path: str | PathLike[str]) -> HandoverEvents:
    """Read the columns trace_id, mobility, t_rel_s, from_node, to_node and node_changed, found by name.

    A base station ``-`` is unknown: such an event is not comparable and counts as not changed, whatever
    node_changed says; elsewhere node_changed (0 or 1) must agree with the two stations. Seconds may repeat.
    Events are grouped by trace in order of first appearance, and sorted by time inside a trace, equal times
    in the file's order.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    file = read(path)
    rows = read_rows(file, COLUMNS)
    order = {trace: i for i, trace in enumerate(dict.fromkeys(row.cells["trace_id"] for row in rows))}
    timed = [(order[_text(row, "trace_id")], row.number("t_rel_s", _seconds), row) for row in rows]
    timed.sort(key=lambda entry: entry[:2])
    ordered = [row for _, _, row in timed]
    comparable = [UNKNOWN not in (row.cells["from_node"], row.cells["to_node"]) for row in ordered]
    return HandoverEvents(
        trace_id=tuple(row.cells["trace_id"] for row in ordered),
        mobility=tuple(_text(row, "mobility") for row in ordered),
        time_s=np.array([time for _, time, _ in timed]),
        node_changed=np.array([_changed(row) for row in ordered]),
        comparable=np.array(comparable),
        origin=Origin(source=f"ucc5g {file.file_name}", sha256=file.sha256),
    )


def read_trace_spans(path: str | PathLike[str]) -> dict[str, float]:
    """Read each trace's length in seconds from the columns trace_id and span_s, for ``superpose``.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``; also for a trace that is listed twice.
    """
    spans: dict[str, float] = {}
    for row in read_rows(read(path), ("trace_id", "span_s")):
        trace = _text(row, "trace_id")
        if trace in spans:
            raise row.error("trace_id", "every trace once")
        spans[trace] = row.number("span_s", lambda key, value: number(key, value, above=0, high=_MAX_SECONDS))
    return spans


def superpose(
    events: HandoverEvents,
    *,
    rate_per_s: float,
    horizon_s: float,
    seed: int,
    mobility: str | None = "driving",
    node_changed: bool = True,
    spans: Mapping[str, float] | None = None,
) -> NDArray[np.float64]:
    """Return arrival times of handovers, (N,) s, sorted, in [0, horizon_s], rounded to 9 significant digits.

    Each trace is wrapped cyclically over its span and starts at a seeded random point of it. All traces are
    laid over each other, again with fresh starts until their rate reaches ``rate_per_s``, and events are then
    kept with the probability that gives that rate in expectation. Since the dataset knows whole seconds
    only, every arrival is delayed by a uniform fraction of a second. With ``node_changed`` only changes of
    the base station count, not those of its sectors.

    A trace's span comes from ``spans``; without it, it is the last event's time plus the trace's mean gap,
    rounded up.

    Raises
    ------
    InputError
        When no event is left, the rate is out of reach, or a span is missing or too short.
    """
    rate = number("rate_per_s", rate_per_s, above=0, high=1e6)
    horizon = number("horizon_s", horizon_s, above=0, high=_MAX_SECONDS)
    seed = integer("seed", seed, low=0, high=2**53)
    time, trace, span = _selected(events, mobility, node_changed, spans)
    layer_rate = float(np.sum(1 / span[trace]))
    copies = math.ceil(rate / layer_rate)
    longest = MAX_ARRIVALS / max(rate, layer_rate)
    if horizon > longest:
        raise InputError(f"horizon_s: found {horizon:g}, expected at most {longest:g} at this rate")
    if copies > MAX_COPIES:
        expected = f"at most {MAX_COPIES} times the traces' own {layer_rate:.3g}"
        raise InputError(f"rate_per_s: found {rate:g}, expected {expected}")
    generator = np.random.Generator(np.random.PCG64(seed))
    keep = rate / (copies * layer_rate)
    layers = [_layer(time, trace, span, horizon, keep, generator) for _ in range(copies)]
    arrivals = [min(float(f"{t:.9g}"), horizon) for t in np.concatenate(layers).tolist()]
    return np.array(sorted(arrivals), dtype=np.float64)


def _selected(
    events: HandoverEvents, mobility: str | None, node_changed: bool, spans: Mapping[str, float] | None
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """Return the times and trace indices of the events that count, and the spans of all traces."""
    names = list(dict.fromkeys(events.trace_id))
    index = {name: i for i, name in enumerate(names)}
    trace = np.array([index[name] for name in events.trace_id], dtype=np.intp)
    wanted = np.array([mobility in (None, kind) for kind in events.mobility], dtype=bool)
    if node_changed:
        wanted &= events.node_changed
    if not wanted.any():
        raise InputError(f"mobility: found no event for {shown(mobility)}, expected at least one")
    last = np.zeros(len(names))
    np.maximum.at(last, trace, events.time_s)
    count = np.bincount(trace, minlength=len(names))
    span = np.ceil(last * (count + 1) / count) + 1 if spans is None else _given(names, last, spans)
    return events.time_s[wanted], trace[wanted], span


def _given(names: list[str], last: NDArray[np.float64], spans: Mapping[str, float]) -> NDArray[np.float64]:
    for name, end in zip(names, last, strict=True):
        if name not in spans:
            raise InputError(f"spans: found no trace {shown(name)}, expected its span")
        if not spans[name] > end:
            found = f"{spans[name]:g} s for {shown(name)}"
            raise InputError(f"spans: found {found}, expected more than its last event's {end:g} s")
    return np.array([spans[name] for name in names], dtype=np.float64)


def _layer(
    time: NDArray[np.float64],
    trace: NDArray[np.intp],
    span: NDArray[np.float64],
    horizon: float,
    keep: float,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """Lay all traces over each other once, thinned; a cycle before 0 is there for the delay to cross 0."""
    start = generator.random(len(span)) * span
    base = (time - start[trace]) % span[trace]
    cycles = np.ceil(horizon / span[trace]).astype(np.int64) + 1
    event = np.repeat(np.arange(len(time)), cycles)
    cycle = np.arange(len(event)) - np.repeat(np.cumsum(cycles) - cycles, cycles) - 1
    kept = generator.random(len(event)) < keep
    event, cycle = event[kept], cycle[kept]
    arrival = base[event] + cycle * span[trace][event] + generator.random(len(event))
    return arrival[(arrival >= 0) & (arrival <= horizon)]


def _seconds(field: str, value: float) -> float:
    return number(field, value, low=0, high=_MAX_SECONDS)


def _text(row: Row, column: str) -> str:
    if not row.cells[column]:
        raise row.error(column, "a name")
    return row.cells[column]


def _changed(row: Row) -> bool:
    before, after, flag = _text(row, "from_node"), _text(row, "to_node"), row.cells["node_changed"]
    if flag not in ("0", "1"):
        raise row.error("node_changed", "0 or 1")
    if UNKNOWN in (before, after):
        return False
    if (flag == "1") != (before != after):
        raise row.error("node_changed", f"{int(before != after)} for {shown(before)} to {shown(after)}")
    return before != after
