"""One look for every picture: a method has one colour, marker and dash everywhere.

Colours are Okabe and Ito's, which colour-blind readers tell apart; markers and dashes carry the difference in
grey.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import matplotlib as mpl
import numpy as np
from fontTools import subset

from bench.jobs.job import Record
from bench.registry import METHODS
from reports.page import Point

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, NullFormatter

__all__ = [
    "COLUMN_INCHES",
    "METHOD_STYLES",
    "TWO_COLUMNS_INCHES",
    "MethodStyle",
    "discard",
    "label_of",
    "mark",
    "new_figure",
    "new_panels",
    "plot_intervals",
    "save_figure",
    "style_of",
]

COLUMN_INCHES = (3.5, 2.5)  # one column of a two-column paper
TWO_COLUMNS_INCHES = (7.16, 2.9)
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
    "sd-first": MethodStyle(GREEN, "d", "-"),
    "best-order": MethodStyle(RED, "*", "-"),
    "refined": MethodStyle(PURPLE, "h", "-"),
    "ad-only": MethodStyle(ORANGE, "^", "--"),
    "ad-only-own": MethodStyle(YELLOW, "<", "--"),
    "sd-only": MethodStyle(GREEN, ">", "--"),
    "ecra": MethodStyle(ORANGE, "p", ":"),
    "ema": MethodStyle(YELLOW, "H", ":"),
    "ecrma": MethodStyle(GREY, "d", ":"),
    "exhaustive": MethodStyle(BLACK, "D", "-."),
    "exhaustive-naive": MethodStyle(RED, "X", ":"),
    "exact": MethodStyle(BLACK, "*", "-"),
    "milp": MethodStyle(GREY, "P", "-."),
    "milp-highs": MethodStyle(GREY, "p", ":"),
    "cp-sat": MethodStyle(RED, "h", "-."),
    "water-filling": MethodStyle(BLUE, "o", "-"),
    "water-filling+wta": MethodStyle(SKY, "s", "-"),
    "water-filling+drop-lowest": MethodStyle(PURPLE, "v", "-"),
    "water-filling+exact": MethodStyle(RED, "*", "-"),
    "no-admission": MethodStyle(GREY, "P", "--"),
    "equal": MethodStyle(ORANGE, "^", "--"),
    "winner-take-all": MethodStyle(GREEN, ">", "--"),
    "proportional-fair": MethodStyle(YELLOW, "<", "--"),
    "clairvoyant": MethodStyle(BLACK, "o", "-"),
    "water-filling-bisection": MethodStyle(RED, "X", ":"),
    "convex": MethodStyle(PURPLE, "d", "--"),
    "slot-exact": MethodStyle(BLACK, "D", "-."),
    "clairvoyant-lifted": MethodStyle(GREEN, "p", "-."),
    "receding-horizon": MethodStyle(RED, "*", "-"),
    "receding-horizon+learned": MethodStyle(RED, "d", "--"),
    "receding-horizon+mean": MethodStyle(RED, "P", ":"),
    "clairvoyant-tangent": MethodStyle(BLACK, "D", "-."),
    "clairvoyant-tangent-highs": MethodStyle(GREY, "X", "-."),
    "clairvoyant-secant": MethodStyle(RED, "s", "--"),
    "clairvoyant-relaxed": MethodStyle(GREEN, "v", ":"),
    "clairvoyant-grid": MethodStyle(YELLOW, "P", ":"),
    "greedy": MethodStyle(ORANGE, "^", "--"),
    "heu": MethodStyle(BLUE, "o", "-"),
    "core-beam": MethodStyle(GREEN, "s", "-"),
    "lp-bound": MethodStyle(SKY, "v", ":"),
}
_OWN_COLOURS, _OWN_MARKERS = ("#555555", "#888888", "#AAAAAA"), ("H", "p", "d", "h", "8")
_SETTINGS: dict[str, Any] = {
    "font.size": 8,
    "axes.labelsize": 8,
    "axes.titlesize": 8,
    "legend.fontsize": 7,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "axes.axisbelow": True,
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
}


mpl.rcParams.update(_SETTINGS)  # type: ignore[arg-type, unused-ignore]
# Matplotlib places every letter itself; cutting these tables to its letters took most of a PDF's time.
subset.Options._drop_tables_default += ["GDEF", "GPOS", "GSUB", "kern"]


_marks: WeakKeyDictionary[Figure, list[tuple[Axes, str, float, float, tuple[str, ...]]]] = WeakKeyDictionary()


def style_of(method: str) -> MethodStyle:
    """Return the method's style; a method of the user's own is grey, its shade and marker chosen by name."""
    if method in METHOD_STYLES:
        return METHOD_STYLES[method]
    digest = hashlib.sha256(method.encode(errors="replace")).digest()
    shade, marker = _OWN_COLOURS[digest[0] % len(_OWN_COLOURS)], _OWN_MARKERS[digest[1] % len(_OWN_MARKERS)]
    return MethodStyle(shade, marker, (0, (4, 1, 1, 1)))


def label_of(problem: str, method: str) -> str:
    """Return the method's label, fit for a figure: a stranger's name is never taken for mathematics."""
    if (problem, method) in METHODS:
        return METHODS[problem, method].label
    name = method if ".py:" in method else method.rpartition(":")[2]
    name = "".join(c if " " <= c <= "~" else "?" for c in name)[-30:]
    return name.replace("\\", "/").replace("$", r"\$").lstrip("_") or "own method"


def new_figure(size: tuple[float, float] = COLUMN_INCHES) -> tuple[Figure, Axes]:
    """Return a figure of one column's width, or of another size in inches, and its axes."""
    return plt.subplots(figsize=size)


def new_panels(count: int, size: tuple[float, float] = TWO_COLUMNS_INCHES) -> tuple[Figure, list[Axes]]:
    """Return a figure of two columns' width, or of another size in inches, and its axes side by side."""
    figure, axes = plt.subplots(1, count, figsize=size, squeeze=False)
    return figure, list(axes[0])


def plot_intervals(
    axes: Axes,
    problem: str,
    method: str,
    points: Mapping[float, tuple[float, float, float]],
    shift: float = 0.0,
    rows: Mapping[float, Sequence[Record]] | None = None,
    label: str = "",
) -> None:
    """Plot (middle, low, high) against x in the method's style, the whole curve moved by ``shift``.

    ``rows`` are the records behind the point at each x; ``label`` stands for the method's own where a curve
    is not a method as registered.
    """
    style, label = style_of(method), label or label_of(problem, method)
    middle, low, high = np.array(list(points.values())).T
    axes.errorbar(
        np.array(list(points)) + shift,
        middle,
        np.maximum([middle - low, high - middle], 0.0),  # a mean beyond the range that its interval is cut to
        color=style.colour,
        marker=style.marker,
        linestyle=style.dash,
        capsize=2,
        label=label,
    )
    for x, (y, _, _) in points.items():
        mark(axes, label, x + shift, y, (rows or {}).get(x, ()))


def mark(axes: Axes, label: str, x: float, y: float, records: Iterable[Record]) -> None:
    """Remember which records a point of a figure shows, for the page."""
    keys = tuple(dict.fromkeys(r.key for r in records))
    figure = axes.get_figure(root=True)
    if keys and figure is not None:
        _marks.setdefault(figure, []).append((axes, label, x, y, keys))


def discard(figure: Figure) -> list[Path]:
    """Close a figure for which there are no records; return no paths."""
    plt.close(figure)
    return []


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write the figure as SVG, PDF and PNG without dates and its points as JSON; return the paths."""
    no_dates: dict[str, dict[str, Any]] = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    for axes in figure.axes:
        _thin_labels(axes)
    ConstrainedLayoutEngine().execute(figure)  # once, and the same in every format
    paths = []
    for suffix, metadata in no_dates.items():
        path = folder / f"{name}.{suffix}"
        figure.savefig(path, metadata=metadata, dpi=300)
        paths.append(path)
    width, height = figure.get_size_inches()
    content = {"width_in": float(width), "height_in": float(height), "points": _points(figure)}
    path = folder / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    plt.close(figure)
    return [*paths, path]


def _thin_labels(axes: Axes) -> None:
    """Label the powers of ten of a horizontal logarithmic axis, and 3 times these where it has few."""
    low, high = axes.get_xlim()
    if axes.get_xscale() == "log":
        decades = np.floor(np.log10(high)) - np.ceil(np.log10(low))
        axes.xaxis.set_minor_formatter(NullFormatter() if decades > 0 else FuncFormatter(_three))


def _three(value: float, _: int | None = None) -> str:
    power = int(np.floor(np.log10(value)))
    return f"$3 \\times 10^{{{power}}}$" if round(value / 10.0**power) == 3 else ""


def _points(figure: Figure) -> list[dict[str, Any]]:
    """Return the marked points with their places in the picture as it was drawn."""
    found = []
    for axes, label, x, y, keys in _marks.pop(figure, []):
        left, bottom = figure.transFigure.inverted().transform(axes.transData.transform((x, y)))
        if 0.0 <= left <= 1.0 and 0.0 <= bottom <= 1.0:
            place = round(float(left), 5), round(1.0 - float(bottom), 5)
            found.append(asdict(Point(label, float(x), float(y), *place, keys)))
    return found
