"""ImpactHO, Section VI-E: how the secant bound's slack shrinks with its segments, and what share it shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from bench.jobs.job import Record
from bench.judging.bounds import (
    SecantTrace,
    excess_by_segments,
    secant_traces,
    segments_for,
    share_by_segments,
)
from bench.judging.statistics import Mean
from reports.style import discard, mark, new_figure, save_figure

__all__ = ["TITLES", "draw"]

TITLES = {
    "secant-slack": "ImpactHO, Section VI-E: slack of the secant bound against its segments",
    "secant-share": "ImpactHO, Section VI-E: water-filling's share of the secant bound against its segments",
}
STYLES = {1.0: ("#0072B2", "o"), 4.0: ("#56B4E9", "s"), 8.0: ("#D55E00", "^"), 12.0: ("#E69F00", "v")}
PUBLISHED = {1.0: 99.47, 8.0: 98.23}  # %, as printed
OTHER = ("#777777", ".")
LEAST_SHOWN = 64  # segments; with fewer the share is far below


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw both figures from the stored records; return the files, none without records."""
    traces = secant_traces(records)
    by_load = {load: [t for t in traces if t.load == load] for load in sorted({t.load for t in traces})}
    return [*_draw_slack(by_load, folder), *_draw_share(by_load, folder)]


def _draw_slack(by_load: Mapping[float, Sequence[SecantTrace]], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    if not by_load:
        return discard(figure)
    for load, traces in by_load.items():
        means = excess_by_segments(traces)
        _plot(axes, load, f"$\\rho$ = {load:g}", means, traces)
    segments = sorted(excess_by_segments([t for traces in by_load.values() for t in traces]))
    pooled = [t for traces in by_load.values() for t in traces]
    constant = sum(100.0 * t.curvature / t.size for t in pooled) / len(pooled)
    axes.plot(segments, [constant / n**2 for n in segments], "k:", label="mean correction, $\\propto 1/n^2$")
    axes.set(xscale="log", yscale="log", xlabel="Segments $n$", ylabel="Slack (points)")
    _ticks(axes, segments)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    return save_figure(figure, folder, "secant-slack")


def _draw_share(by_load: Mapping[float, Sequence[SecantTrace]], folder: Path) -> list[Path]:
    figure, axes = new_figure()
    shown = {load: traces for load, traces in by_load.items() if load in PUBLISHED}
    if not shown:
        return discard(figure)
    for load, traces in shown.items():
        colour, _ = STYLES[load]
        means = share_by_segments(traces)
        _plot(axes, load, f"$\\rho$ = {load:g}", means, traces)
        exact = 100.0 * sum(t.water_filling / t.certified for t in traces) / len(traces)
        axes.axhline(exact, color=colour, linewidth=0.8, linestyle="--")
        n = segments_for(traces, PUBLISHED[load])
        if n is not None:
            label = f"{PUBLISHED[load]} % published: n = {n:.0f}"
            axes.plot([n], [PUBLISHED[load]], "*", color=colour, markersize=9, zorder=5, label=label)
    segments = sorted({n for traces in shown.values() for t in traces for n in t.secant})
    low = min(PUBLISHED.values()) - 1.0
    visible = [n for n in segments if n >= LEAST_SHOWN] or segments
    axes.set(xscale="log", xlabel="Segments $n$", ylabel="Share of the bound (%)", ylim=(low, 100.1))
    axes.set_xlim(0.9 * visible[0], 1.1 * visible[-1])
    axes.set_title("dashed: share of the certified bound", fontsize=6.5, loc="left")
    _ticks(axes, visible)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, "secant-share")


def _plot(
    axes: Axes, load: float, label: str, means: Mapping[int, Mean], traces: Sequence[SecantTrace]
) -> None:
    colour, marker = STYLES.get(load, OTHER)
    values = [mean.value for mean in means.values()]
    below = [max(mean.value - mean.low, 0.0) for mean in means.values()]
    above = [max(mean.high - mean.value, 0.0) for mean in means.values()]
    axes.errorbar(list(means), values, [below, above], color=colour, marker=marker, label=label, capsize=2)
    for n, mean in means.items():
        mark(axes, label, n, mean.value, [r for t in traces for r in t.records])


def _ticks(axes: Axes, segments: Sequence[int]) -> None:
    axes.set_xticks(segments, [str(n) for n in segments])
    axes.minorticks_off()
