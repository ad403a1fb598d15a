"""Performance profiles as steps in an axes, each curve in its method's style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from bench.jobs.job import Record
from bench.judging.profiles import Curve, Profile
from reports.style import mark, style_of

__all__ = ["Drawn", "draw_profile", "end_of"]

FINEST = 0.002  # of all instances: a step of a profile that is drawn


@dataclass(frozen=True)
class Drawn:
    """What a curve shows: the method with its label, and the rows behind it."""

    method: str
    label: str
    rows: Sequence[Record]


def end_of(*profiles: Profile) -> float:
    """Return where the abscissa ends so that every step is seen."""
    steps = [at for profile in profiles for curve in profile.curves for at in curve.at]
    return 1.3 * max(steps, default=10.0)


def draw_profile(axes: Axes, profile: Profile, drawn: Mapping[str, Drawn], end: float) -> None:
    """Draw the share of all instances, %, that each method solves within a factor up to ``end``."""
    if not any(curve.at for curve in profile.curves):
        axes.text(0.5, 0.5, "no instance solved\nto within 1 %", ha="center", transform=axes.transAxes)
    for curve in profile.curves:
        shown = drawn[curve.method]
        style = style_of(shown.method)
        steps = _visible(curve)
        x = np.array([1.0, *(at for at, _ in steps), end])
        y = np.array([curve(1.0), *(share for _, share in steps), curve(end)])
        axes.step(x, 100.0 * y, where="post", color=style.colour, linestyle=style.dash)
        axes.plot(
            [end], [100.0 * y[-1]], color=style.colour, marker=style.marker, linestyle=style.dash,
            clip_on=False, zorder=5, label=shown.label,
        )  # fmt: skip
        mark(axes, shown.label, end, 100.0 * y[-1], shown.rows)
    axes.set(xscale="log", xlim=(1.0, end), ylim=(0.0, 102.0))


def _visible(curve: Curve) -> list[tuple[float, float]]:
    """Return the steps of a curve that can be told apart in print, and the last one."""
    kept: list[tuple[float, float]] = []
    for step in zip(curve.at, curve.share, strict=True):
        if not kept or step[1] - kept[-1][1] >= FINEST or step[0] == curve.at[-1]:
            kept.append(step)
    return kept
