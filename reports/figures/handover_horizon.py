"""Beyond ImpactHO: what the receding horizon closes of the gap to the bound, and where the gap comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.jobs.job import Record
from bench.judging.horizon_gaps import BOUND, LOSSES, VERSIONS, gap_points, gaps_by_load, rows_by_load
from reports.style import BLUE, ORANGE, discard, mark, new_figure, plot_intervals, save_figure

__all__ = ["TITLES", "draw"]

SIZE_INCHES = (3.35, 2.7)  # one column of 85 mm
LOAD = "Handover rate $\\rho$ (users/s)"
GAP = "Gap to the bound (points)"
TITLES = {
    "handover-horizon": "Receding horizon: gap to the clairvoyant bound against the load",
    "handover-decomposition": "Where water-filling's gap comes from",
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw both figures from the stored records; return the files, none without records."""
    own = [r for r in records if r.experiment == "handover-horizon"]
    return [*_draw_gaps(own, folder), *_draw_losses(own, folder)]


def _draw_gaps(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    figure.set_size_inches(*SIZE_INCHES)
    drawn = False
    for i, version in enumerate(VERSIONS):
        means = gap_points(records, version)
        if means:
            points = {at: (m.value, m.low, m.high) for at, m in means.items()}
            rows, shift = rows_by_load(records, BOUND, version), 0.06 * (i - 1.5)
            plot_intervals(axes, "handover", version.style, points, shift, rows, version.label)
            drawn = True
    if not drawn:
        return discard(figure)
    axes.set(xlabel=LOAD, ylabel=GAP, ylim=(0.0, None))
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=6.5)
    return save_figure(figure, folder, "handover-horizon")


def _draw_losses(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    figure.set_size_inches(*SIZE_INCHES)
    losses = {name: gaps_by_load(records, *pair) for name, pair in LOSSES.items()}
    if not all(losses.values()):
        return discard(figure)
    loads = sorted(set.intersection(*(set(means) for means in losses.values())))
    below = [0.0] * len(loads)
    for (name, means), colour, hatch in zip(losses.items(), (BLUE, ORANGE), ("", "//"), strict=True):
        heights = [means[load].value for load in loads]
        axes.bar(loads, heights, 0.6, below, color=colour, hatch=hatch, edgecolor="white", label=name)
        below = [a + b for a, b in zip(below, heights, strict=True)]
        rows = rows_by_load(records, *LOSSES[name])
        for load, top in zip(loads, below, strict=True):
            mark(axes, name, load, top, rows[load])
    axes.set(xlabel=LOAD, ylabel=GAP)
    figure.legend(loc="outside upper center", ncols=1, frameon=False, fontsize=6.5)
    return save_figure(figure, folder, "handover-decomposition")
