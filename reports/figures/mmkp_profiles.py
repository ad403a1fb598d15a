"""MMKP: Dolan and Moré's performance profiles, a panel a class of instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from bench.jobs.job import Record
from bench.judging.mmkp_gaps import PUBLIC, MmkpRun, runs_of, seconds_to
from bench.judging.profiles import Profile, performance_profile
from bench.registry import METHODS
from reports.figures.profile_steps import Drawn, draw_profile, end_of
from reports.style import label_of, save_figure

__all__ = ["TITLES", "class_profiles", "draw"]

NEAR = 0.01  # gap of an instance that counts as solved
TITLES = {
    "mmkp-profiles": "MMKP: performance profiles by class, generated ones by correlation and shape (solved: "
    "a value within 1 % of the least bound)"
}
COLUMNS = 4
WIDTH_INCHES, ROW_INCHES, MARGIN_INCHES = 7.16, 1.35, 0.85
Runs = Mapping[str, Sequence[MmkpRun]]  # by method


def class_profiles(records: Sequence[Record]) -> dict[str, tuple[Profile, dict[str, list[MmkpRun]]]]:
    """Return each class's profile with its runs by method, public classes first; sizes are one class.

    Bounds alone are no curve. The cost is the time of the first value within 1 % of the least bound; of a run
    without incumbents it is the run's whole time.
    """
    classes: dict[str, dict[str, list[MmkpRun]]] = {}
    for name, methods in runs_of(records).items():
        own = classes.setdefault(name.partition(", ")[0], {})
        for method, runs in methods.items():
            if not _only_bounds(method):
                own.setdefault(method, []).extend(runs)
    ordered = sorted(classes.items(), key=lambda pair: PUBLIC.index(pair[0]) if pair[0] in PUBLIC else 99)
    return {name: (_profile(methods), methods) for name, methods in ordered if methods}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw a panel for each class with rows; return the files, none without records."""
    profiles = class_profiles(records)
    if not profiles:
        return []
    columns = min(COLUMNS, len(profiles))
    rows = -(-len(profiles) // columns)
    size = (WIDTH_INCHES, ROW_INCHES * rows + MARGIN_INCHES)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, sharex=True, sharey=True)
    end = end_of(*(profile for profile, _ in profiles.values()))
    handles = {}
    for axes, (name, (profile, methods)) in zip(grid.flat, profiles.items(), strict=False):
        drawn = {
            m: Drawn(m, label_of("mmkp", m), [run.record for run in runs]) for m, runs in methods.items()
        }
        draw_profile(axes, profile, drawn, end)
        title = f"{name.replace('-', ', ')}, n = {profile.curves[0].n_expected}"
        axes.set_title(title, fontsize=6.5, loc="left")
        handles.update(dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True)))
    for axes in grid.flat[len(profiles) :]:
        axes.set_axis_off()
    for axes in grid.flat[max(len(profiles) - columns, 0) : len(profiles)]:
        axes.tick_params(labelbottom=True)
    figure.supxlabel("Time / least time of the methods", fontsize=8)
    figure.supylabel("Solved (% of instances)", fontsize=8)
    figure.legend(handles.values(), handles, loc="outside upper center", ncols=6, frameon=False)
    return save_figure(figure, folder, "mmkp-profiles")


def _only_bounds(method: str) -> bool:
    return ("mmkp", method) in METHODS and METHODS["mmkp", method].role == "bound"


def _profile(methods: Runs) -> Profile:
    costs = {
        m: {run.record.instance_sha256: seconds_to(run, NEAR) for run in runs} for m, runs in methods.items()
    }
    gaps = {}
    for method, runs in methods.items():
        found = [run.gap for run in runs if run.gap is not None]
        gaps[method] = float(np.mean(found)) if found else None
    return performance_profile(costs, gaps=gaps)
