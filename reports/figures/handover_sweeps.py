"""ImpactHO, Fig. 3 to 5 and the fallbacks: mean accuracy and starvation against one quantity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.experiments.handover_sweeps import SWEEPS, Curve
from bench.jobs.job import Record
from bench.judging.handover_measures import curve_means, curve_rows
from bench.judging.selecting import select
from reports.style import discard, new_figure, plot_intervals, save_figure, style_of

__all__ = ["TITLES", "draw"]

SIZE_INCHES = (3.35, 2.9)  # one column of 85 mm
AXES = {
    "rate_per_s": ("Handover rate $\\rho$ (users/s)", 1.0),
    "bandwidth_bps": ("Backhaul bandwidth $B$ (Gbps)", 1e-9),
    "slot_s": ("Slot duration $\\Delta t$ (ms)", 1e3),
    "window_s": ("Transfer window $T_{\\max}$ (ms)", 1e3),
}
VALUES = {"accuracy": "Mean accuracy (%)", "starved": "Users below their anchor (%)"}
SPREAD = 0.012  # of the axis between two curves, so that their intervals can be told apart


Curves = tuple[tuple[str, str, Curve], ...]  # style, label ("" for the method's own), curve


@dataclass(frozen=True)
class Panel:
    """One figure: some curves of a sweep, by default the policies on the usual family."""

    experiment: str
    title: str
    what: str = "accuracy"
    suffix: str = ""  # of the file's name
    chosen: Curves = ()
    published: tuple[tuple[float, float, str], ...] = ()  # (x, %, style)

    @property
    def name(self) -> str:
        """The file's name."""
        return self.experiment + self.suffix

    @property
    def curves(self) -> Curves:
        """The curves that are drawn."""
        usual = (c for c in SWEEPS[self.experiment].curves if c.family == "importance" and not c.options)
        return self.chosen or tuple((c.method, "", c) for c in usual)


def _fallbacks(family: str) -> Curves:
    drawn = {
        "eb": ("water-filling", "Equalised bytes"),
        "wta": ("water-filling+wta", "Winner takes all"),
        "drop-lowest": ("water-filling+drop-lowest", "Drop lowest"),
        "exact": ("water-filling+exact", "Exact slot"),
    }
    own = (c for c in SWEEPS["handover-fallback"].curves if c.family == family)
    return tuple((*drawn[str(dict(c.options)["fallback"])], c) for c in own)


_ORDERINGS = (
    ("water-filling", "Importance, EB", Curve("water-filling")),
    ("water-filling+wta", "Importance, WTA", Curve("water-filling+wta")),
    ("no-admission", "Random, EB", Curve("water-filling", (), "random-ordering")),
    ("winner-take-all", "Random, WTA", Curve("water-filling+wta", (), "random-ordering")),
)
_STARVED = ((12.0, 0.65, "water-filling"), (12.0, 15.5, "water-filling+wta"), (12.0, 20.8, "no-admission"))
_RANDOM = ((2.0, 56.7, "no-admission"), (8.0, 20.2, "no-admission"))
_DEFAULT = ((4.0, 93.7, "water-filling"),)
_IMPORTANCE, _RANDOM_ORDER = _fallbacks("importance"), _fallbacks("random-ordering")

PANELS = (
    Panel("handover-fig3a", "ImpactHO, Fig. 3(a): accuracy against the load", published=_DEFAULT),
    Panel("handover-fig3b", "ImpactHO, Fig. 3(b): accuracy against the bandwidth"),
    Panel("handover-fig4a", "ImpactHO, Fig. 4(a): accuracy against the slot"),
    Panel("handover-fig4b", "ImpactHO, Fig. 4(b): accuracy against the window"),
    Panel("handover-fig5a", "ImpactHO, Fig. 5(a): both orderings", chosen=_ORDERINGS, published=_RANDOM),
    Panel("handover-fig5b", "ImpactHO, Fig. 5(b): accuracy by admission"),
    Panel("handover-fig5b", "ImpactHO, Section VI-C: starvation", "starved", "-starved", published=_STARVED),
    Panel("handover-fallback", "Fallbacks, importance ordering: accuracy", chosen=_IMPORTANCE),
    Panel("handover-fallback", "Fallbacks: starvation", "starved", "-starved", _IMPORTANCE),
    Panel("handover-fallback", "Fallbacks, random ordering: accuracy", "accuracy", "-random", _RANDOM_ORDER),
)

TITLES = {panel.name: panel.title for panel in PANELS}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw each panel from the stored records; return the files, none without records."""
    return [path for panel in PANELS for path in _draw(records, panel, folder)]


def _draw(records: Sequence[Record], panel: Panel, folder: Path) -> list[Path]:
    sweep = SWEEPS[panel.experiment]
    own = select(records, experiment=panel.experiment)
    label, scale = AXES[sweep.axis]
    figure, axes = new_figure()
    figure.set_size_inches(*SIZE_INCHES)
    experiment, what = panel.experiment, panel.what
    drawn = ((*entry, curve_means(own, experiment, entry[2], what)) for entry in panel.curves)
    found = [entry for entry in drawn if entry[3]]
    if not found:
        return discard(figure)
    width = (sweep.values[-1] - sweep.values[0]) * scale * SPREAD
    for i, (style, name, curve, means) in enumerate(found):
        points = {at * scale: (m.value, m.low, m.high) for at, m in means.items()}
        rows = {at * scale: behind for at, behind in curve_rows(own, experiment, curve).items()}
        plot_intervals(axes, "handover", style, points, (i - (len(found) - 1) / 2) * width, rows, name)
    for x, value, style in panel.published:
        axes.plot(
            x, value, "*", color=style_of(style).colour, markerfacecolor="white", markersize=9, zorder=5,
            label="_",
        )  # fmt: skip
    axes.set(xlabel=label, ylabel=VALUES[panel.what])
    if panel.published:
        axes.set_title("Stars: published values", fontsize=6.5, loc="left")
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=6.5)
    return save_figure(figure, folder, panel.name)
