"""BALANCE, Fig. 1: latency and memory of one user in AD and in SD against the output's length."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.jobs.job import Record
from bench.judging.balance_measures import single_user_rows, single_user_value
from bench.judging.statistics import mean_of
from reports.style import discard, new_figure, plot_intervals, save_figure

__all__ = ["TITLES", "draw"]

PANELS = (("a", "seconds", "Latency (s)", 1.0), ("b", "memory_bytes", "Memory (GB)", 1e-9))
FAMILIES = ("calibrated-fig5", "physical-fig5")
TITLES = {
    f"fig1{panel}-{family}": f"BALANCE, Fig. 1({panel}): {what} of one user, family {family}"
    for panel, what in (("a", "latency"), ("b", "memory"))
    for family in FAMILIES
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw both panels for both sets of constants; return the files, none without records."""
    own = [r for r in records if r.experiment == "balance-fig1"]
    paths: list[Path] = []
    for family in FAMILIES:
        for panel, detail, label, unit in PANELS:
            paths += _draw(own, family, detail, label, unit, folder, f"fig1{panel}-{family}")
    return paths


def _draw(
    records: Sequence[Record], family: str, detail: str, label: str, unit: float, folder: Path, name: str
) -> list[Path]:
    figure, axes = new_figure()
    drawn = False
    for shift, method in ((-6.0, "ad-only"), (6.0, "sd-only")):
        rows = single_user_rows(records, family, method)
        means = {at: mean_of([unit * single_user_value(r, detail) for r in rows[at]]) for at in rows}
        if means:
            points = {at: (m.value, m.low, m.high) for at, m in means.items()}
            plot_intervals(axes, "balance", method, points, shift, rows)
            drawn = True
    if not drawn:
        return discard(figure)
    axes.set(xlabel="Output length (tokens), input 500 tokens", ylabel=label)
    axes.set_ylim(0.0, 1.05 * axes.get_ylim()[1])
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, name)
