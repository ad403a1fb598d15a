"""BALANCE, Fig. 4, 5 and 7: normalised throughput against one quantity, with the optimum drawn in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.experiments.balance_sweeps import OPTIMUM, SWEEPS, USERS, Sweep
from bench.jobs.job import Record
from bench.judging.balance_measures import SweepPoint, average_gain, sweep_points
from bench.judging.claims import published_claims
from bench.judging.measures import NotTestableError
from bench.judging.selecting import select
from reports.style import discard, label_of, new_figure, plot_intervals, save_figure

__all__ = ["TITLES", "draw"]

SIZE_INCHES = (3.35, 3.3)  # one column of 85 mm
AXES = {
    USERS: "Number of users $K$",
    "deadline_max_s": "Largest deadline $T_{\\max}$ (s)",
    "input_max": "Largest input $I_{\\max}$ (tokens)",
    "output_max": "Largest output $O_{\\max}$ (tokens)",
}
SPREAD = 0.012  # of the axis between two curves, so that their intervals can be told apart


def _name(sweep: Sweep, family: str) -> str:
    return f"{sweep.experiment.removeprefix('balance-')}-{family.replace('.', '_')}"


def _title(sweep: Sweep, family: str) -> str:
    panel = sweep.experiment.removeprefix("balance-fig")
    return f"BALANCE, Fig. {panel[0]}({panel[1]}): normalised throughput, family {family}"


TITLES = {_name(s, family): _title(s, family) for s in SWEEPS.values() for family in s.families}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw each sweep for each family from the stored records; return the files, none without records."""
    paths: list[Path] = []
    for sweep in SWEEPS.values():
        for family in sweep.families:
            own = select(records, experiment=sweep.experiment, family=family)
            paths += _draw(own, sweep, family, folder)
    return paths


def _draw(records: Sequence[Record], sweep: Sweep, family: str, folder: Path) -> list[Path]:
    figure, axes = new_figure(SIZE_INCHES)
    curves = {m: _curve(records, sweep, family, m) for m in sweep.methods}
    curves = {method: points for method, points in curves.items() if points}
    if not curves:
        return discard(figure)
    width = (sweep.values[-1] - sweep.values[0]) * SPREAD
    for i, (method, points) in enumerate(curves.items()):
        means = {at: (p.mean.value, p.mean.low, p.mean.high) for at, p in points.items()}
        rows = {at: p.rows for at, p in points.items()}
        label = "Proved optimum" if method == OPTIMUM else ""
        plot_intervals(axes, "balance", method, means, (i - (len(curves) - 1) / 2) * width, rows, label)
    axes.set(xlabel=AXES[sweep.axis], ylabel="Users served / $K$", ylim=(0.0, None))
    axes.set_xticks(sweep.values)
    axes.set_title(_gains(records, sweep, family), fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=6.5)
    return save_figure(figure, folder, _name(sweep, family))


def _curve(records: Sequence[Record], sweep: Sweep, family: str, method: str) -> dict[float, SweepPoint]:
    """Return a method's points; of the optimum, those where it is proved on every instance."""
    points = sweep_points(records, sweep.experiment, family, method)
    return {at: p for at, p in points.items() if method != OPTIMUM or p.proved == p.mean.n}


def _gains(records: Sequence[Record], sweep: Sweep, family: str) -> str:
    """Return the average gains over the baselines, the published ones beside those of the paper's reading."""
    published = {c.measure: c.value for c in published_claims() if c.experiment == sweep.experiment}
    lines = []
    for baseline in sweep.baselines:
        try:
            measured = average_gain(records, sweep.experiment, family, baseline)
        except NotTestableError:
            continue
        value = published.get(("average_gain", sweep.experiment, family, baseline))
        beside = "" if value is None else f" (published {value:+g})"
        lines.append(f"over {label_of('balance', baseline)}: {measured.value:+.1f} %{beside}")
    return "\n".join(["Mean gain of Algorithm 3", *lines]) if lines else ""
