"""MMKP: gap to the least certified bound against time, the mean over the large public instances."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.jobs.job import Record
from bench.judging.mmkp_gaps import MmkpRun, gap_at, runs_of
from reports.style import discard, label_of, mark, new_figure, save_figure, style_of

__all__ = ["draw", "mean_gaps"]

CLASSES = ("Khan I07–I13", "INST01–20", "INST21–30", "mmkp_d")
TIMES = tuple(float(t) for t in np.geomspace(0.01, 60.0, 60))  # s
APART = 12  # times between two markers
SMALLEST = 1e-3  # %, what is drawn for a gap of 0


def mean_gaps(runs: Sequence[MmkpRun]) -> list[tuple[float, float]]:
    """Return (seconds, mean gap in %) at the times at which every run has a value."""
    points = []
    for seconds in TIMES:
        gaps = [gap_at(run, seconds) for run in runs]
        known = [gap for gap in gaps if gap is not None]
        if known and len(known) == len(gaps):
            points.append((seconds, 100.0 * float(np.mean(known))))
    return points


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw one curve a method from the stored records; return the files, none without records."""
    figure, axes = new_figure()
    by_method: dict[str, list[MmkpRun]] = defaultdict(list)
    table = runs_of(records)
    chosen = [name for name in table if name in CLASSES] or list(table)
    for name in chosen:
        for method, runs in table[name].items():
            by_method[method] += [run for run in runs if run.gap is not None]
    drawn = False
    for method, runs in by_method.items():
        points = mean_gaps(runs)
        if points:
            drawn = True
            style, label = style_of(method), label_of("mmkp", method)
            times, gaps = np.array(points).T
            axes.plot(
                times, np.maximum(gaps, SMALLEST), drawstyle="steps-post", color=style.colour,
                linestyle=style.dash, marker=style.marker, markevery=(0, APART), label=label,
            )  # fmt: skip
            for seconds, gap in points[::APART]:
                mark(axes, label, seconds, max(gap, SMALLEST), [run.record for run in runs])
    if not drawn:
        return discard(figure)
    most = max(len(runs) for runs in by_method.values())
    axes.set(xscale="log", yscale="log", xlabel=f"Time (s), n = {most}", ylabel="Mean gap (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, "mmkp")
