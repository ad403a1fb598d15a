"""Fitted growth of running times with the number of users, exponential and polynomial ones apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bench.jobs.job import Record
from bench.judging.measures import FIG6_FAMILY, fastest_seconds, medians
from bench.judging.selecting import select
from bench.judging.statistics import Fit, power_law, semi_log
from reports.style import label_of, mark, new_panels, save_figure, style_of

__all__ = ["Growth", "draw", "growth_fits"]

_Fit = Callable[[Sequence[float], Sequence[float]], Fit]


@dataclass(frozen=True)
class Ladder:
    """One method's times on one family, and how they are said to grow."""

    experiment: str
    family: str
    method: str
    declared: str
    kind: _Fit
    low: int  # sizes from
    high: int  # and to
    least: int = 6  # sizes that the fit takes at least


LADDERS = (
    Ladder("balance-fig6", FIG6_FAMILY, "exhaustive-naive", "3", semi_log, 10, 16),
    Ladder("balance-fig6", FIG6_FAMILY, "exhaustive", "2", semi_log, 10, 16),
    Ladder("balance-fig6", FIG6_FAMILY, "hybrid-literal", "≤ 6", power_law, 10, 16),
    Ladder("balance-fig6", FIG6_FAMILY, "hybrid", "–", power_law, 32, 1024),
    Ladder("scaling", "physical-fig4", "hybrid", "1.5", power_law, 32, 1024),
    Ladder("scaling", "physical-fig4", "best-order", "1.5", power_law, 32, 1024),
    Ladder("scaling", "physical-fig4", "refined", "1.5", power_law, 32, 1024),
    Ladder("scaling", "physical-fig4", "exact", "–", power_law, 30, 200),
    Ladder("scaling", "slot-importance", "water-filling", "1.1", power_law, 1000, 10**6, 4),
    Ladder("scaling", "importance", "clairvoyant", "1.1", power_law, 80, 8000, 5),
)


@dataclass(frozen=True)
class Growth:
    """The growth of one method's median time with the number of users."""

    ladder: Ladder
    points: dict[int, float]  # median seconds by size
    fit: Fit
    rows: tuple[Record, ...]

    @property
    def exponential(self) -> bool:
        """Whether the fit is a base per user, else an exponent."""
        return self.ladder.kind is semi_log


def growth_fits(records: Sequence[Record]) -> list[Growth]:
    """Return the growth of each timed method that has enough sizes."""
    found = []
    for ladder in LADDERS:
        seconds = fastest_seconds(records, ladder.method, ladder.family, ladder.experiment)
        points = medians(seconds, ladder.low, ladder.high)
        if len(points) >= ladder.least:
            fit = ladder.kind(list(points), list(points.values()))
            found.append(Growth(ladder, points, fit, _rows(records, ladder, points)))
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
    style, label = style_of(growth.ladder.method), _label(growth.ladder)
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


def _label(ladder: Ladder) -> str:
    problem = {"slot-importance": "slot", "importance": "handover"}.get(ladder.family, "balance")
    constants = ", physical" if ladder.family.startswith("physical") else ""
    return label_of(problem, ladder.method) + constants


def _rows(records: Iterable[Record], ladder: Ladder, sizes: Iterable[int]) -> tuple[Record, ...]:
    wanted = set(sizes)
    own = select(records, experiment=ladder.experiment, family=ladder.family, method=ladder.method)
    return tuple(r for r in own if r.size in wanted)
