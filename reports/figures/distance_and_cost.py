"""Each problem's methods side by side: mean gap against time, and Dolan and Moré's performance profile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from bench.jobs.exports.selection import instance_of
from bench.jobs.job import Record
from bench.judging.gaps import MethodGaps, gaps_by_method, mean_gap
from bench.judging.profiles import MAX_CURVES, performance_profile
from bench.registry import PROBLEMS
from reports.figures.profile_steps import Drawn, draw_profile, end_of
from reports.overview import WITNESSES, seconds_by_place
from reports.style import label_of, mark, new_panels, save_figure, style_of

__all__ = ["TITLES", "draw"]

NEAR = 0.01  # gap of an instance that counts as solved in the profile
PLAIN = re.compile(r"[A-Za-z0-9._+-]{1,40}")
TITLES = {
    f"cost-{problem}": f"{problem}: mean gap against time, and performance profiles (solved: gap at most 1 %)"
    for problem in PROBLEMS
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw a figure for each problem, of its experiment with the most methods; return the files."""
    groups = [g for g in gaps_by_method(records) if g.gaps and seconds_by_place(g.runs)]
    paths: list[Path] = []
    for problem in PROBLEMS:
        experiments: dict[str, list[MethodGaps]] = {}
        for g in groups:
            if g.problem == problem:
                experiments.setdefault(g.experiment, []).append(g)
        if experiments:
            name = max(experiments, key=lambda name: _weight(name, experiments[name]))
            paths += _draw(problem, name, _one_a_method(experiments[name]), folder)
    return paths


def _one_a_method(groups: Sequence[MethodGaps]) -> list[MethodGaps]:
    """Return one group a method: its settings as one where each instance was solved with one of them only.

    Else, since settings look alike in a figure, the one of the most instances, of these the best: a setting
    that ran on a few easy instances does not stand for its method.
    """
    variants: dict[str, list[MethodGaps]] = {}
    for g in groups:
        variants.setdefault(g.runs[0].method, []).append(g)
    return [
        _joined(own) or min(own, key=lambda g: (-len(g.gaps), _mean_value(g))) for own in variants.values()
    ]


def _joined(groups: Sequence[MethodGaps]) -> MethodGaps | None:
    """Return groups on different instances as one, None where an instance is in several."""
    instances = [{instance_of(r) for r in g.runs} for g in groups]
    if len(set().union(*instances)) < sum(map(len, instances)):
        return None
    runs = tuple(r for g in groups for r in g.runs)
    gaps = tuple(gap for g in groups for gap in g.gaps)
    return replace(groups[0], runs=runs, gaps=gaps)


def _mean_value(group: MethodGaps) -> float:
    return float(np.mean([gap.value for gap in group.gaps]))


def _weight(experiment: str, groups: Sequence[MethodGaps]) -> tuple[bool, int, int]:
    """Return what makes an experiment the one to draw: no witness families, most methods, most runs."""
    return experiment not in WITNESSES, len(_one_a_method(groups)), sum(len(g.gaps) for g in groups)


def _draw(problem: str, experiment: str, groups: Sequence[MethodGaps], folder: Path) -> list[Path]:
    drawn = sorted(groups, key=_mean_value)[:MAX_CURVES]
    figure, (left, right) = new_panels(2)
    for g in drawn:
        _draw_gap(left, g)
    left.set(xscale="log", xlabel="Median running time (s), quartiles", ylabel="Mean gap (%)")
    left.set_ylim(bottom=min(0.0, left.get_ylim()[0]))
    _draw_profile(right, groups, drawn)
    count = len({gap.record.instance_sha256 for g in groups for gap in g.gaps})
    title = f"{experiment}, n = {count}" if PLAIN.fullmatch(experiment) else f"n = {count}"
    if len(drawn) < len(groups):
        title += f"\nbest {len(drawn)} of {len(groups)} methods"
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", title=title, frameon=False)
    return save_figure(figure, folder, f"cost-{problem}")


def _draw_gap(axes: Axes, group: MethodGaps) -> None:
    style, label = style_of(group.runs[0].method), _label(group)
    mean = mean_gap(group.gaps)
    low, middle, high = np.quantile(list(seconds_by_place(group.runs).values()), [0.25, 0.5, 0.75])
    if mean is not None:
        value = 100.0 * mean.value
        below, above = max(value - 100.0 * mean.low, 0.0), max(100.0 * mean.high - value, 0.0)
        axes.errorbar(
            [middle], [value], [[below], [above]],
            [[middle - low], [high - middle]],
            color=style.colour, marker=style.marker, linestyle="", capsize=2, label=label,
        )  # fmt: skip
        mark(axes, label, float(middle), value, group.runs)


def _label(group: MethodGaps) -> str:
    """Return the method's label, with its settings where they are short and plain."""
    first = group.runs[0]
    label = label_of(group.problem, first.method)
    if any(r.parameters != first.parameters for r in group.runs):
        return label
    settings = re.sub(r"[{}\" ]", "", first.parameters).replace(":", " = ").replace(",", ", ")
    return f"{label}, {settings}" if re.fullmatch(r"[A-Za-z0-9_.=, +-]{1,24}", settings) else label


def _draw_profile(axes: Axes, groups: Sequence[MethodGaps], drawn: Sequence[MethodGaps]) -> None:
    """Draw the share of all instances that a method solves within a factor of the fastest time."""
    costs, near = {}, {}
    for g in groups:
        near[g.method] = {gap.record.instance_sha256 for gap in g.gaps if gap.value <= NEAR}
        times = seconds_by_place(g.runs)
        costs[g.method] = {place: s for place, s in times.items() if place in near[g.method]}
    places = {r.instance_sha256 for g in groups for r in g.runs if r.instance_sha256}
    gaps = {g.method: _mean_value(g) for g in groups}
    profile = performance_profile(costs, gaps=gaps, expected=sorted(places))
    drawn_as = {g.method: Drawn(g.runs[0].method, _label(g), g.runs) for g in drawn}
    draw_profile(axes, profile, drawn_as, end_of(profile))
    axes.set(xlabel=f"Time / least time of the {len(costs)} methods", ylabel="Solved (% of instances)")
