"""Every point of a figure carries the rows behind it, and labels stay apart."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from bench.jobs.job import Record
from bench.judging.horizon_gaps import VERSIONS
from reports.figures import handover_horizon, mmkp
from reports.style import new_figure, save_figure
from tests.bench.sample_records import record


def points_of(folder: Path, name: str) -> list[dict[str, object]]:
    """Return a figure's points."""
    points: list[dict[str, object]] = json.loads((folder / f"{name}.json").read_text("utf-8"))["points"]
    return points


def horizon_records() -> list[Record]:
    """Return two traces at two loads: the bound, both losses and every version."""
    rows = []
    for load in (1.0, 8.0):
        for seed in range(2):
            place = {"experiment": "handover-horizon", "load": load, "size": 10, "family": "importance"}
            trace = f"t{load:g}-{seed}"
            values = [("clairvoyant-lifted", "{}", 9.0)]
            values += [(v.method, json.dumps({"arrivals": v.arrivals}), 8.0 + 0.1 * seed) for v in VERSIONS]
            made = [record("clairvoyant", trace, 9.5, bound=9.6, status="optimal", **place)]
            made += [
                record(m, trace, value, parameters=p if m == "receding-horizon" else "{}", **place)
                for m, p, value in values
            ]
            rows += [replace(r, key=f"{trace}-{r.method}-{r.parameters}", seed=seed) for r in made]
    return rows


def test_horizon_figures_name_their_rows(tmp_path: Path) -> None:
    """Each point names the policy's rows and those of what it stands against, at its load alone."""
    rows = {r.key: r for r in horizon_records()}
    handover_horizon.draw(list(rows.values()), tmp_path)
    for name, count in (("handover-horizon", 2 * len(VERSIONS)), ("handover-decomposition", 4)):
        points = points_of(tmp_path, name)
        assert len(points) == count
        for point in points:
            behind = [rows[key] for key in point["keys"]]  # type: ignore[attr-defined]
            assert len({dict(r.extra["source"]["settings"])["rate_per_s"] for r in behind}) == 1
            assert {r.seed for r in behind} == {0, 1}
            assert len({r.method for r in behind}) == 2
    points = points_of(tmp_path, "handover-closed")  # three versions by window and by bandwidth
    assert len(points) == 6
    assert all({rows[key].seed for key in p["keys"]} == {0, 1} for p in points)  # type: ignore[attr-defined]


def test_mmkp_figure_names_its_rows(tmp_path: Path) -> None:
    """Each marker of a curve of mean gaps names all of the method's runs, also of a method nobody knows."""
    rows = [
        replace(record(method, f"d{i}", value, bound=10.0, solve_s=0.5), experiment="mmkp", problem="mmkp")
        for i in range(3)
        for method, value in (("heu", 9.0), ("/nowhere/own.py:mine", 8.0))
    ]
    for r in rows:
        r.key, r.family = f"{r.method}-{r.instance}", "mmkp-uncorrelated"
    mmkp.draw(rows, tmp_path)
    points = points_of(tmp_path, "mmkp")
    assert {point["label"] for point in points} == {"HEU", "/nowhere/own.py:mine"}
    assert all(len(point["keys"]) == 3 for point in points)  # type: ignore[arg-type]


@pytest.mark.parametrize(("low", "high"), [(2e-3, 5e-2), (1e-3, 2e3), (1.1, 9.0)])
def test_labels_of_a_logarithmic_axis_stay_apart(tmp_path: Path, low: float, high: float) -> None:
    """No label of a horizontal logarithmic axis touches the next one, whatever its range."""
    figure, axes = new_figure((2.4, 2.4))
    axes.plot([low, high], [1.0, 2.0])
    axes.set(xscale="log")
    save_figure(figure, tmp_path, "f")
    figure.draw_without_rendering()  # at one resolution again
    left, right = axes.get_xlim()
    every = [*axes.get_xticklabels(), *axes.get_xticklabels(minor=True)]
    labels = [label for label in every if label.get_text() and left <= label.get_position()[0] <= right]
    boxes = sorted((label.get_window_extent() for label in labels), key=lambda box: box.x0)
    assert boxes
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
