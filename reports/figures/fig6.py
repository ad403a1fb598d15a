"""BALANCE, Fig. 6: running time and normalised throughput of Algorithm 3 against exhaustive search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.jobs.job import Record
from bench.judging.measures import FIG6_FAMILY, LARGEST_FIG6, fastest_seconds
from bench.judging.statistics import Mean, mean_of
from bench.registry import METHODS
from reports.style import discard, new_figure, save_figure, style_of

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
        sizes = [k for k in by_size if k <= LARGEST_FIG6]
        if not sizes:
            continue
        drawn = True
        style = style_of(method)
        columns = [list(by_size[k].values()) for k in sizes]
        middle = np.array([np.median(column) for column in columns])
        spread = np.array([[m - min(c), max(c) - m] for c, m in zip(columns, middle, strict=True)])
        axes.errorbar(
            sizes, middle, spread.T, color=style.colour, marker=style.marker, linestyle=style.dash,
            capsize=2, label=METHODS["balance", method].label,
        )  # fmt: skip
    if not drawn:
        return discard(figure)
    axes.set(yscale="log", xlabel="Number of users $K$", ylabel="Running time (s)")
    axes.set_xticks(range(10, LARGEST_FIG6 + 1))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, "fig6a")


def throughput_by_size(records: Sequence[Record], method: str, family: str) -> dict[int, Mean]:
    """Return users served / K by size, the mean over instances with its interval."""
    values: dict[int, dict[str, float]] = defaultdict(dict)
    for r in records:
        wanted = (r.experiment, r.method, r.family) == ("balance-fig6", method, family)
        if wanted and r.checked_objective is not None and r.feasible and r.size <= LARGEST_FIG6:
            values[r.size][r.instance_sha256] = r.checked_objective / r.size
    return {size: mean_of(list(column.values()), (0.0, 1.0)) for size, column in sorted(values.items())}


def _draw_throughput(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    drawn = False
    for shift, method in ((-0.08, "exhaustive"), (0.08, "hybrid")):
        means = throughput_by_size(records, method, FIG6_FAMILY)
        if not means:
            continue
        drawn = True
        style = style_of(method)
        middle = np.array([m.value for m in means.values()])
        spread = np.array([[m.value - m.low, m.high - m.value] for m in means.values()])
        axes.errorbar(
            np.array(list(means)) + shift, middle, spread.T, color=style.colour, marker=style.marker,
            linestyle=style.dash, capsize=2, label=METHODS["balance", method].label,
        )  # fmt: skip
    if not drawn:
        return discard(figure)
    axes.set(ylim=(0, 1), xlabel="Number of users $K$", ylabel="Users served / $K$")
    axes.set_xticks(range(10, LARGEST_FIG6 + 1))
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, "fig6b")
