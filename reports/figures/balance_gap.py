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
    axes.set_title(text, fontsize=6.5, loc="left", wrap=True)


def _draw_time(curves: Mapping[str, Mapping[int, GapPoint]], folder: Path, name: str) -> list[Path]:
    figure, axes = new_figure(SIZE_INCHES)
    if not curves:
        return discard(figure)
    for method, points in curves.items():
        style = style_of(method)
        axes.plot(
            [1e3 * p.median_s for p in points.values()], [p.mean.value for p in points.values()],
            color=style.colour, marker=style.marker, linestyle=style.dash,
            clip_on=False, label=label_of("balance", method),
        )  # fmt: skip
        for p in points.values():
            mark(axes, label_of("balance", method), 1e3 * p.median_s, p.mean.value, p.rows)
        for size, p in list(points.items())[:: max(len(points) - 1, 1)]:
            place = (1e3 * p.median_s, p.mean.value)
            axes.annotate(f"{size}", place, xytext=(3, 3), textcoords="offset points", fontsize=6)
    axes.set(xscale="log", xlabel="Median running time (ms)", ylabel="Mean gap to the bound (%)")
    axes.set_ylim(bottom=0.0)
    axes.set_title("a curve joins K = 30 … 200; its ends are labelled", fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, name)
