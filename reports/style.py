"""One look for every picture: a method has one colour, marker and dash everywhere.

Colours are Okabe and Ito's, which colour-blind readers tell apart; markers and dashes carry the difference in
grey.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

from bench.registry import find

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = [
    "COLUMN_INCHES",
    "METHOD_STYLES",
    "MethodStyle",
    "discard",
    "new_figure",
    "plot_intervals",
    "save_figure",
    "style_of",
]

COLUMN_INCHES = (3.5, 2.5)  # one column of a two-column paper
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE, GREY = (
    "#000000", "#E69F00", "#56B4E9", "#009E73", "#B8A500", "#0072B2", "#D55E00", "#CC79A7", "#777777"
)  # fmt: skip


@dataclass(frozen=True)
class MethodStyle:
    """How a method is drawn."""

    colour: str
    marker: str
    dash: str | tuple[int, tuple[int, ...]]


METHOD_STYLES: dict[str, MethodStyle] = {
    "hybrid": MethodStyle(BLUE, "o", "-"),
    "hybrid-own": MethodStyle(SKY, "s", "-"),
    "hybrid-literal": MethodStyle(PURPLE, "v", "--"),
    "ad-only": MethodStyle(ORANGE, "^", "--"),
    "ad-only-own": MethodStyle(YELLOW, "<", "--"),
    "sd-only": MethodStyle(GREEN, ">", "--"),
    "exhaustive": MethodStyle(BLACK, "D", "-."),
    "exhaustive-naive": MethodStyle(RED, "X", ":"),
    "milp": MethodStyle(GREY, "P", "-."),
    "water-filling": MethodStyle(BLUE, "o", "-"),
    "water-filling+wta": MethodStyle(SKY, "s", "-"),
    "water-filling+drop-lowest": MethodStyle(PURPLE, "v", "-"),
    "no-admission": MethodStyle(GREY, "P", "--"),
    "equal": MethodStyle(ORANGE, "^", "--"),
    "winner-take-all": MethodStyle(GREEN, ">", "--"),
    "proportional-fair": MethodStyle(YELLOW, "<", "--"),
    "clairvoyant-tangent": MethodStyle(BLACK, "D", "-."),
    "greedy": MethodStyle(ORANGE, "^", "--"),
    "heu": MethodStyle(GREEN, ">", "--"),
    "core-beam": MethodStyle(BLUE, "o", "-"),
    "milp-highs": MethodStyle(RED, "X", "-."),
    "exact": MethodStyle(BLACK, "D", "-"),
    "lp-bound": MethodStyle(PURPLE, "v", ":"),
}
_FALLBACK = MethodStyle(GREY, ".", "-")
_SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "lines.markersize": 4,
    "lines.linewidth": 1.2,
    "svg.hashsalt": "certigap",  # the same file twice
    "svg.fonttype": "path",
    "pdf.fonttype": 42,
    "figure.constrained_layout.use": True,
}


mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type, unused-ignore]


def style_of(method: str) -> MethodStyle:
    """Return the method's style; an unknown method of the user's is grey."""
    return METHOD_STYLES.get(method, _FALLBACK)


def new_figure() -> tuple[Figure, Axes]:
    """Return a figure of one column's width and its axes."""
    return plt.subplots(figsize=COLUMN_INCHES)


def plot_intervals(
    axes: Axes,
    problem: str,
    method: str,
    points: Mapping[float, tuple[float, float, float]],
    shift: float = 0.0,
) -> None:
    """Plot (middle, low, high) against x in the method's style, the whole curve moved by ``shift``."""
    style = style_of(method)
    middle, low, high = np.array(list(points.values())).T
    axes.errorbar(
        np.array(list(points)) + shift,
        middle,
        [middle - low, high - middle],
        color=style.colour,
        marker=style.marker,
        linestyle=style.dash,
        capsize=2,
        label=find(problem, method).label,
    )


def discard(figure: Figure) -> list[Path]:
    """Close a figure for which there are no records; return no paths."""
    plt.close(figure)
    return []


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as SVG and PNG without dates, close it, and return the paths."""
    paths = []
    for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
        path = folder / f"{name}.{suffix}"
        figure.savefig(path, metadata=metadata, dpi=300)
        paths.append(path)
    plt.close(figure)
    return paths
