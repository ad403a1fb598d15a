"""Tables of BALANCE's sweeps: gains over the baselines, gaps to the optimum, exact methods side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.experiments.balance_sweeps import (
    EXACT_FAMILIES,
    EXACT_METHODS,
    EXACT_SIZES,
    GAP_FAMILIES,
    GAP_METHODS,
    SWEEPS,
    Sweep,
)
from bench.jobs.job import Record
from bench.judging.balance_measures import GapPoint, average_gain, gap_points
from bench.judging.claims import published_claims
from bench.judging.measures import Measurement, NotTestableError
from bench.judging.selecting import select
from bench.judging.statistics import Mean
from reports.cells import Cell, Table, cell, code, figures, mean_text

__all__ = ["exact_table", "gains_table", "gap_table"]


def gains_table(records: Sequence[Record]) -> Table:
    """Return the average gains of Algorithm 3 for every family, beside the published ones."""
    published = {c.measure: c.value for c in published_claims()}
    rows = []
    for sweep in SWEEPS.values():
        own = select(records, experiment=sweep.experiment)
        for family in sweep.families if own else ():
            for baseline in sweep.baselines:
                measured = _gain(own, sweep, family, baseline)
                value = published.get(("average_gain", sweep.experiment, family, baseline))
                if measured is not None:
                    rows.append(_gain_row(sweep, family, baseline, measured, value))
    columns = (
        "experiment", "family", "baseline", "published (%)", "measured (%) [95 %]",
        "residual (points)", "n", "detail",
    )  # fmt: skip
    note = (
        "Mean over the sweep's values of (mean served with Algorithm 3 / mean served by the baseline − 1); "
        "intervals by a bootstrap over seeds, paired. Families whose name ends in -q are short of memory."
    )
    return Table("Average gains of Algorithm 3", columns, rows, frozenset(columns[3:7]), note)


def _gain(records: Sequence[Record], sweep: Sweep, family: str, baseline: str) -> Measurement | None:
    try:
        return average_gain(records, sweep.experiment, family, baseline)
    except NotTestableError:
        return None


def _gain_row(
    sweep: Sweep, family: str, baseline: str, measured: Measurement, published: float | None
) -> tuple[str, ...]:
    interval = Mean(measured.value, measured.low, measured.high, measured.n)
    residual = "–" if published is None else f"{measured.value - published:+.1f}"
    n = f"{measured.n}" if measured.n == measured.expected else f"{measured.n}/{measured.expected}"
    return (
        sweep.experiment,
        code(family),
        baseline,
        "–" if published is None else f"{published:g}",
        Cell(mean_text(interval, 1), measured.keys),
        residual,
        n,
        measured.detail,
    )


def gap_table(records: Sequence[Record]) -> Table:
    """Return each heuristic's mean gap to the optimum and its time, by family and number of users."""
    rows = []
    for family in GAP_FAMILIES:
        for method in GAP_METHODS:
            points = gap_points(records, family, method)
            rows += [(family, k, method, p) for k, p in points.items()]
    columns = ("family", "K", "method", "n", "optima proved", "mean gap (%) [95 %]", "median time (s)")
    rows.sort(key=lambda row: (GAP_FAMILIES.index(row[0]), row[1]))
    cells = [(code(family), str(k), method, *_gap_cells(point)) for family, k, method, point in rows]
    numbers = frozenset((columns[1], *columns[3:]))
    return Table("Gap to the optimum by number of users", columns, cells, numbers)


def _gap_cells(point: GapPoint) -> tuple[str, ...]:
    gap = cell(mean_text(point.mean, 2), point.rows)
    return str(point.mean.n), str(point.proved), gap, cell(figures(point.median_s), point.rows)


def exact_table(records: Sequence[Record]) -> Table:
    """Return how far the exact methods came on the same instances: time, proofs, value and bound."""
    own, rows = select(records, experiment="balance-exact"), []
    for family in EXACT_FAMILIES:
        for size in EXACT_SIZES:
            for method in EXACT_METHODS:
                group = select(own, family=family, size=size, method=method)
                if group:
                    rows.append((code(family), str(size), method, *_exact_cells(group)))
    columns = ("family", "K", "method", "n", "proved", "median time (s)", "mean value", "mean bound")
    note = "One process, one thread, at most 60 s a run; a limit counts with its time."
    numbers = frozenset((columns[1], *columns[3:]))
    return Table("Exact methods of BALANCE on the same instances", columns, rows, numbers, note)


def _exact_cells(group: Sequence[Record]) -> tuple[str, ...]:
    def mean(values: list[float | None]) -> str:
        known = [v for v in values if v is not None]
        return cell(figures(float(np.mean(known)), 4), group) if len(known) == len(group) else "–"

    proved = sum(r.status == "optimal" for r in group)
    seconds = [r.solve_s for r in group if r.solve_s is not None and r.status != "skipped"]
    time = cell(figures(float(np.median(seconds))), group) if seconds else "–"
    values, bounds = [r.checked_objective for r in group], [r.bound for r in group]
    return str(len(group)), str(proved), time, mean(values), mean(bounds)
