"""ImpactHO, Fig. 2: measured accuracy against the kept fraction of the cache, with the fitted sigmoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from bench.jobs.job import Record
from bench.judging.fit_measures import PAPERS, fits_by_curve, title_of
from formulations.handover.fit import UtilityFit, fitted_values
from instances.decisions import Sigmoid
from instances.retention import RetentionCurve
from reports.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, mark, new_figure, new_panels, save_figure

__all__ = ["TITLES", "draw", "draw_fits"]

TITLES = {
    "handover-fig2": "ImpactHO, Fig. 2: accuracy against the received fraction, algebraic fits; published "
    "R² > 0.99 (hollow: the points do not identify k and τ)"
}
MOST_CURVES = 6  # that can be told apart
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, BLACK)
MARKERS = ("o", "^", "s", "v", "D", "P")
SIZE_INCHES = (3.35, 3.0)  # one column of 85 mm
TWO_COLUMNS_INCHES = (7.16, 3.3)
GRID = np.linspace(0.0, 1.0, 400)


@dataclass(frozen=True)
class _Fitted:
    """Points with the sigmoid that stands for them."""

    label: str
    kept: ArrayLike  # (n,) fraction
    accuracy: ArrayLike  # (n,)
    sigmoid: Sigmoid
    r_squared: float
    identified: bool


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the stored fits, importance ordering beside random ordering; return the files."""
    fits = [(curve, own[PAPERS]) for curve, own in fits_by_curve(records).items() if PAPERS in own]
    if not fits:
        return []
    figure, panels = new_panels(2, TWO_COLUMNS_INCHES)
    measured = list(dict.fromkeys((curve.model, curve.context) for curve, _ in fits))  # one style each
    titles = ("(a) importance ordering", "(b) random ordering")
    for axes, title, random in zip(panels, titles, (False, True), strict=True):
        own = [(curve, r) for curve, r in fits if (curve.ordering == "random") == random]
        for curve, r in own:
            i = measured.index((curve.model, curve.context))
            fitted = _of_record(title_of(curve).removesuffix(", random ordering"), r)
            _draw_curve(axes, i, fitted)
            for y, a in zip(r.extra["checked"]["kept"], r.extra["checked"]["accuracy"], strict=True):
                mark(axes, fitted.label, y, a, [r])
        _finish(axes)
        axes.set_ylabel("Accuracy (%)")
        axes.set_title(title, loc="left")
        axes.legend(loc="upper left" if random else "lower right", frameon=False, fontsize=6)
    return save_figure(figure, folder, "handover-fig2")


def draw_fits(
    curves: Sequence[RetentionCurve], fits: Sequence[Sequence[UtilityFit]], folder: Path
) -> list[Path]:
    """Draw the points of the first six curves, and the algebraic family fitted to each; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = new_figure(SIZE_INCHES)
    for i, (curve, families) in enumerate(zip(curves[:MOST_CURVES], fits, strict=False)):
        fit = next(f for f in families if f.utility == PAPERS)
        name = curve.name[:44]
        _draw_curve(
            axes, i, _Fitted(name, curve.kept, curve.accuracy, fit.sigmoid, fit.r_squared, fit.identified)
        )
    _finish(axes)
    axes.set_title("hollow: $k$ and $\\tau$ are not identified", fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=1, frameon=False, fontsize=6)
    return save_figure(figure, folder, "utility-fit")


def _of_record(label: str, record: Record) -> _Fitted:
    constants = {key: record.extra["decision"][key] for key in Sigmoid.__dataclass_fields__}
    checked = record.extra["checked"]
    r_squared = record.checked_objective or 0.0
    return _Fitted(
        label, checked["kept"], checked["accuracy"], Sigmoid(**constants), r_squared, not record.message
    )


def _draw_curve(axes: Axes, i: int, fitted: _Fitted) -> None:
    style: dict[str, Any] = {"color": COLOURS[i], "markersize": 4}
    if not fitted.identified:
        style["markerfacecolor"] = "white"
    axes.plot(GRID, fitted_values(fitted.sigmoid, GRID), "-", **style)
    axes.plot(fitted.kept, fitted.accuracy, MARKERS[i], clip_on=False, zorder=5, **style)
    label = f"{fitted.label}: $R^2$ {fitted.r_squared:.4f}"
    axes.plot([], [], MARKERS[i] + "-", label=label, **style)


def _finish(axes: Axes) -> None:
    axes.set(xlabel="Received fraction of the cache", ylabel="Accuracy", xlim=(0.0, 1.02), ylim=(0.0, None))
