"""The forms of the clairvoyant bound beside each other."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from bench.jobs.job import Record
from bench.judging.bounds import EXPERIMENT, secant_traces, segments_for
from bench.judging.measures import load_of
from bench.judging.selecting import select
from bench.judging.statistics import mean_of
from reports.cells import Table, cell, code, decimals, figures, mean_text

__all__ = ["bounds_table"]

PUBLISHED = {1.0: 99.47, 8.0: 98.23}  # %, as printed


def bounds_table(records: Sequence[Record]) -> Table:
    """Return bound, certified gap and times of each form by load; of the secant form by its segments."""
    groups: dict[tuple[float, str, str], list[Record]] = defaultdict(list)
    for r in select(records, experiment=EXPERIMENT):
        load = load_of(r)
        if load is not None and r.bound is not None and r.size:
            segments = str(json.loads(r.parameters or "{}").get("segments", ""))
            groups[load, r.method, segments].append(r)
    rows = []
    for (load, method, segments), own in sorted(
        groups.items(), key=lambda item: (item[0][0], item[0][1], int(item[0][2] or 0))
    ):
        bounds = mean_of([100.0 * (r.bound or 0.0) / r.size for r in own], (0.0, 100.0))
        gaps = [
            100.0 * max((r.bound or 0.0) - r.checked_objective, 0.0) / r.size
            for r in own
            if r.checked_objective is not None
        ]
        seconds = [
            figures(float(np.median([x for x in column if x is not None] or [np.nan])), 2)
            for column in ([r.build_s for r in own], [r.solve_s for r in own])
        ]
        largest = figures(max(gaps), 2) if gaps else "–"
        texts = (decimals(bounds.value, 4) if bounds.n < 2 else mean_text(bounds, 4), largest, *seconds)
        done = f"{sum(r.stopped != 'time' for r in own)}/{len(own)}"
        rows.append((f"{load:g}", code(method), segments or "–", done, *(cell(t, own) for t in texts)))
    columns = (
        "ρ (users/s)",
        "form",
        "segments",
        "in time",
        "bound (%)",
        "gap (points)",
        "build (s)",
        "solve (s)",
    )
    return Table(
        "Forms of the clairvoyant bound", columns, rows, frozenset((columns[0], *columns[2:])), _note(records)
    )


def _note(records: Sequence[Record]) -> str:
    """Return what the columns are, and at which n the secant bound shows the published shares."""
    traces, found = secant_traces(records), []
    for load, share in PUBLISHED.items():
        n = segments_for([t for t in traces if t.load == load], share)
        if n is not None:
            found.append(f"{share} % at ρ = {load:g} with n = {n:.0f}")
    text = "Bounds are on the mean accuracy; the gap is the largest to a checked schedule of the same run."
    published = f" Certified bound plus uniform correction show water-filling's {', '.join(found)}."
    return text + (published if found else "")
