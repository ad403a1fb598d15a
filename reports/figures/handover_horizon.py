"""Beyond ImpactHO: what the receding horizon closes of the gap to the bound, and where the gap comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.jobs.job import Record
from bench.judging.horizon_gaps import (
    BOUND,
    LOSSES,
    VERSIONS,
    closed_by,
    gap_points,
    gaps_by_load,
    rows_by_load,
)
from reports.style import BLUE, ORANGE, discard, mark, new_figure, new_panels, plot_intervals, save_figure

__all__ = ["TITLES", "draw"]

SIZE_INCHES = (3.35, 2.7)  # one column of 85 mm
LOAD = "Handover rate $\\rho$ (users/s)"
GAP = "Gap to the bound (points)"
AXES = (  # setting, its default, unit, label
    ("window_s", 0.5, 1.0, "Transfer window $T_{\\max}$ (s)"),
    ("bandwidth_bps", 20e9, 1e9, "Backhaul bandwidth $B$ (Gbps)"),
)
TITLES = {
    "handover-horizon": "Receding horizon: gap to the clairvoyant bound against the load",
    "handover-closed": "Receding horizon at ρ = 8: what is closed of the gap, by window and by bandwidth",
    "handover-decomposition": "Where water-filling's gap comes from",
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the figures from the stored records; return the files, none without records."""
    own = [r for r in records if r.experiment == "handover-horizon"]
    return [*_draw_gaps(own, folder), *_draw_closed(own, folder), *_draw_losses(own, folder)]


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


def _draw_closed(records: Sequence[Record], folder: Path) -> list[Path]:
    figure, panels = new_panels(len(AXES))
    drawn = False
    for axes, (setting, default, unit, label) in zip(panels, AXES, strict=True):
        for version in VERSIONS[1:]:
            closed = closed_by(records, version, setting, default)
            if closed:
                points = {at / unit: (c.share.value, c.share.low, c.share.high) for at, c in closed.items()}
                rows = {at / unit: c.rows for at, c in closed.items()}
                plot_intervals(axes, "handover", version.style, points, rows=rows, label=version.label)
                drawn = True
        axes.set(xlabel=label, ylabel="Gap closed (%)", ylim=(0.0, 100.0))
    if not drawn:
        return discard(figure)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    return save_figure(figure, folder, "handover-closed")


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
