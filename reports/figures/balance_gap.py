"""BALANCE at K = 30 … 200: gap of each heuristic to the optimum against K, and against its running time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes

from bench.experiments.balance_sweeps import GAP_FAMILIES, GAP_METHODS, GAP_SIZES, OPTIMUM
from bench.jobs.job import Record
from bench.judging.balance_measures import GapPoint, gap_points
from reports.style import discard, label_of, mark, new_figure, plot_intervals, save_figure, style_of

__all__ = ["TITLES", "draw"]

SIZE_INCHES = (3.35, 3.0)  # one column of 85 mm
SMALLEST_MARKER = 2.5  # points, at the smallest K
TITLES = {
    f"gap-{against}-{family.replace('.', '_')}": f"BALANCE: mean gap against {what}, family {family}"
    for family in GAP_FAMILIES
    for against, what in (("users", "the number of users"), ("time", "running time"))
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw both figures for each family; return the files, none without records."""
    paths: list[Path] = []
    for family in GAP_FAMILIES:
        curves = {method: gap_points(records, family, method) for method in GAP_METHODS}
        curves = {method: points for method, points in curves.items() if points}
        name = family.replace(".", "_")
        paths += _draw_users(curves, folder, f"gap-users-{name}")
        paths += _draw_time(curves, folder, f"gap-time-{name}")
    return paths


def _draw_users(curves: Mapping[str, Mapping[int, GapPoint]], folder: Path, name: str) -> list[Path]:
    figure, axes = new_figure(SIZE_INCHES)
    if not curves:
        return discard(figure)
    heuristics = {method: points for method, points in curves.items() if method != OPTIMUM}
    for i, (method, points) in enumerate(heuristics.items()):
        means = {float(k): (p.mean.value, p.mean.low, p.mean.high) for k, p in points.items()}
        rows = {float(k): p.rows for k, p in points.items()}
        plot_intervals(axes, "balance", method, means, 1.2 * (i - (len(heuristics) - 1) / 2), rows)
    _note_proofs(axes, curves)
    axes.set(xlabel="Number of users $K$", ylabel="Mean gap to the bound (%)", ylim=(0.0, None))
    axes.set_xticks(GAP_SIZES)
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, name)


def _note_proofs(axes: Axes, curves: Mapping[str, Mapping[int, GapPoint]]) -> None:
    """Say at which sizes the bound is not the proved optimum on every instance."""
    points: dict[int, GapPoint] = {}
    for by_size in curves.values():
        points |= by_size
    left_open = [(k, p) for k, p in sorted(points.items()) if p.proved < p.mean.n]
    listed = ", ".join(f"{k} ({p.proved} of {p.mean.n} proved)" for k, p in left_open)
    text = f"gap to a bound at K = {listed}" if left_open else "all optima proved"
    counts = sorted({p.mean.n for p in points.values()})
    text += f"; n = {' … '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} a point"
    axes.set_title(text, fontsize=6.5, loc="left", wrap=True)


def _draw_time(curves: Mapping[str, Mapping[int, GapPoint]], folder: Path, name: str) -> list[Path]:
    figure, axes = new_figure(SIZE_INCHES)
    if not curves:
        return discard(figure)
    for method, points in curves.items():
        style = style_of(method)
        label, colour, marker = label_of("balance", method), style.colour, style.marker
        axes.plot(
            [1e3 * p.median_s for p in points.values()], [p.mean.value for p in points.values()],
            color=colour, marker=marker, linestyle=style.dash, markevery=[], label=label,
        )  # fmt: skip
        for size, p in points.items():
            x, y, across = 1e3 * p.median_s, p.mean.value, SMALLEST_MARKER * (size / GAP_SIZES[0]) ** 0.5
            axes.plot([x], [y], color=colour, marker=marker, markersize=across, clip_on=False)
            mark(axes, label, x, y, p.rows)
    axes.set(xscale="log", xlabel="Median running time (ms)", ylabel="Mean gap to the bound (%)")
    axes.set_ylim(bottom=0.0)
    sizes = sorted({size for points in curves.values() for size in points})
    title = f"a curve joins K = {sizes[0]} … {sizes[-1]}; markers grow with K"
    axes.set_title(title, fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, name)
