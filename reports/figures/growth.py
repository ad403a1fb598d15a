"""BALANCE, Fig. 6(a) continued: fitted growth of the running times, exponential and polynomial ones apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bench.jobs.job import Record
from bench.judging.measures import FIG6_FAMILY, fastest_seconds, medians
from bench.judging.statistics import Fit, power_law, semi_log
from reports.cells import select
from reports.style import label_of, mark, new_panels, save_figure, style_of

__all__ = ["Growth", "draw", "growth_fits"]

SIZES = 6  # that a fit takes at least
_FITS: tuple[tuple[str, str, Callable[[Sequence[float], Sequence[float]], Fit], int, int], ...] = (
    ("exhaustive-naive", "3", semi_log, 10, 16),
    ("exhaustive", "2", semi_log, 10, 16),
    ("hybrid-literal", "≤ 6", power_law, 10, 16),
    ("hybrid", "–", power_law, 32, 1024),
)  # method, declared growth, kind, sizes from and to


@dataclass(frozen=True)
class Growth:
    """The growth of one method's median time with the number of users."""

    method: str
    declared: str
    exponential: bool  # the fit is a base per user, else an exponent
    points: dict[int, float]  # median seconds by size
    fit: Fit
    rows: tuple[Record, ...]


def growth_fits(records: Sequence[Record]) -> list[Growth]:
    """Return the growth of each timed method that has enough sizes."""
    found = []
    for method, declared, fit, low, high in _FITS:
        points = medians(fastest_seconds(records, method, FIG6_FAMILY), low, high)
        if len(points) >= SIZES:
            result = fit(list(points), list(points.values()))
            rows = _rows(records, method, points)
            found.append(Growth(method, declared, fit is semi_log, points, result, rows))
    return found


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw times with their fitted lines; return the files, none without a fit."""
    fits = growth_fits(records)
    panels = [kind for kind in (True, False) if any(g.exponential is kind for g in fits)]
    if not panels:
        return []
    figure, row = new_panels(len(panels))
    for axes, exponential in zip(row, panels, strict=True):
        for growth in fits:
            if growth.exponential is exponential:
                _draw_growth(axes, growth)
        axes.set(yscale="log", xlabel="Number of users $K$", ylabel="Median running time (s)")
        if not exponential:
            axes.set_xscale("log")
    figure.legend(loc="outside right center", frameon=False)
    return save_figure(figure, folder, "growth")


def _draw_growth(axes: Axes, growth: Growth) -> None:
    """Draw the medians, and the least-squares line, which goes through their centre of gravity."""
    style, label = style_of(growth.method), label_of("balance", growth.method)
    x, y = np.array(list(growth.points)), np.array(list(growth.points.values()))
    place = x if growth.exponential else np.log(x)
    slope = np.log(growth.fit.growth) if growth.exponential else growth.fit.growth
    line = np.exp(np.log(y).mean() + slope * (place - place.mean()))
    fit, name = growth.fit, "base" if growth.exponential else "exponent"
    text = f"{label}:\n{name} {fit.growth:.3g} [{fit.low:.3g}, {fit.high:.3g}]"
    axes.plot(x, y, color=style.colour, marker=style.marker, linestyle="", label=text)
    axes.plot(x, line, color=style.colour, linestyle=style.dash, linewidth=1.0)
    for size, seconds in growth.points.items():
        mark(axes, label, size, seconds, (r for r in growth.rows if r.size == size))


def _rows(records: Iterable[Record], method: str, sizes: Iterable[int]) -> tuple[Record, ...]:
    wanted = set(sizes)
    own = select(records, experiment="balance-fig6", family=FIG6_FAMILY, method=method)
    return tuple(r for r in own if r.size in wanted)
