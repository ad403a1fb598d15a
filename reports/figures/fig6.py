"""BALANCE, Fig. 6: running time and normalised throughput of Algorithm 3 against exhaustive search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.jobs.job import Record
from bench.judging.measures import FIG6_FAMILY, LARGEST_FIG6, fastest_seconds
from bench.judging.selecting import select
from bench.judging.statistics import Mean, mean_of
from reports.style import discard, new_figure, plot_intervals, save_figure

__all__ = ["draw", "throughput_by_size"]

TIMED = ("exhaustive-naive", "hybrid-literal", "exhaustive", "hybrid")


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw both panels from the stored records; return the files, none without records."""
    return [*_draw_times(records, folder), *_draw_throughput(records, folder)]


def _draw_times(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    drawn = False
    for method in TIMED:
        by_size = fastest_seconds(records, method, FIG6_FAMILY)
        columns = {k: list(by_size[k].values()) for k in by_size if k <= LARGEST_FIG6}
        if columns:
            points = {float(k): (float(np.median(c)), min(c), max(c)) for k, c in columns.items()}
            plot_intervals(axes, "balance", method, points, rows=_rows(records, method))
            drawn = True
    if not drawn:
        return discard(figure)
    axes.set(yscale="log", xlabel="Number of users $K$", ylabel="Running time (s)")
    return _finish(figure, axes, folder, "fig6a")


def throughput_by_size(records: Sequence[Record], method: str, family: str) -> dict[int, Mean]:
    """Return users served / K by size, the mean over instances with its interval."""
    values: dict[int, dict[str, float]] = defaultdict(dict)
    for r in select(records, experiment="balance-fig6", method=method, family=family):
        if r.checked_objective is not None and r.feasible and r.size <= LARGEST_FIG6:
            values[r.size][r.instance_sha256] = r.checked_objective / r.size
    return {size: mean_of(list(column.values()), (0.0, 1.0)) for size, column in sorted(values.items())}


def _rows(records: Sequence[Record], method: str) -> dict[float, list[Record]]:
    """Return the rows behind each size's point."""
    groups: dict[float, list[Record]] = defaultdict(list)
    for r in select(records, experiment="balance-fig6", method=method, family=FIG6_FAMILY):
        groups[float(r.size)].append(r)
    return groups


def _draw_throughput(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    drawn = False
    for shift, method in ((-0.08, "exhaustive"), (0.08, "hybrid")):
        means = throughput_by_size(records, method, FIG6_FAMILY)
        if means:
            points = {float(k): (m.value, m.low, m.high) for k, m in means.items()}
            plot_intervals(axes, "balance", method, points, shift, rows=_rows(records, method))
            drawn = True
    if not drawn:
        return discard(figure)
    axes.set(ylim=(0, 1.02), xlabel="Number of users $K$", ylabel="Users served / $K$")
    return _finish(figure, axes, folder, "fig6b")


def _finish(figure: Figure, axes: Axes, folder: Path, name: str) -> list[Path]:
    axes.set_xticks(range(10, LARGEST_FIG6 + 1))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, name)
