"""ImpactHO, Fig. 2: measured accuracy against the kept fraction of the cache, with the fitted sigmoids."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formulations.handover.fit import UtilityFit, fitted_values
from instances.importers.retention import RetentionCurve
from reports.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, new_figure, save_figure

__all__ = ["draw_fits"]

MOST_CURVES = 6  # that can be told apart
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, BLACK)
MARKERS = ("o", "^", "s", "v", "D", "P")
SIZE_INCHES = (3.35, 3.0)  # one column of 85 mm


def draw_fits(
    curves: Sequence[RetentionCurve], fits: Sequence[Sequence[UtilityFit]], folder: Path
) -> list[Path]:
    """Draw the points of the first six curves, and the algebraic family fitted to each; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = new_figure(SIZE_INCHES)
    grid = np.linspace(0.0, 1.0, 400)
    for i, (curve, families) in enumerate(zip(curves[:MOST_CURVES], fits, strict=False)):
        fit = next(f for f in families if f.utility == "algebraic")
        style: dict[str, Any] = {"color": COLOURS[i], "markersize": 4}
        plain = curve.name.replace("$", r"\$")[:44]
        axes.plot(curve.kept, curve.accuracy, MARKERS[i], **style)
        axes.plot(grid, fitted_values(fit, grid), "-", **style)
        dash = "" if fit.identified else ", open"
        axes.plot([], [], MARKERS[i] + "-", label=f"{plain}: $R^2$ {fit.r_squared:.4f}{dash}", **style)
    axes.set(xlabel="Kept fraction of the cache", ylabel="Accuracy", xlim=(0.0, 1.02), ylim=(0.0, None))
    axes.set_title("open: $k$ and $\\tau$ are not identified", fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=1, frameon=False, fontsize=6)
    return save_figure(figure, folder, "handover-fig2")
