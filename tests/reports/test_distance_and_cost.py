"""The figure of distance and cost: which experiment and which settings it shows."""

from __future__ import annotations

import json
from pathlib import Path

from reports.figures import distance_and_cost
from tests.bench.sample_records import record


def test_one_curve_a_method(tmp_path: Path) -> None:
    """Of several settings of a method only the best is drawn, with its name, and carries its rows."""
    rows = []
    for name in ("i", "j"):
        rows.append(record("milp", name, 10, bound=10, status="optimal", solve_s=1.0, experiment="e"))
        for steps, value in ((1, 5), (2, 9)):
            row = record("hybrid", name, value, solve_s=0.1, experiment="e")
            row.parameters, row.key = json.dumps({"steps": steps}), f"{name}{steps}"
            rows.append(row)
    paths = distance_and_cost.draw(rows, tmp_path)
    assert {path.name for path in paths} == {f"cost-balance.{s}" for s in ("svg", "pdf", "png", "json")}
    points = json.loads((tmp_path / "cost-balance.json").read_text(encoding="utf-8"))["points"]
    curves = {point["label"]: point["keys"] for point in points}
    assert set(curves) == {"MILP", "Algorithm 3, steps = 2"}
    assert curves["Algorithm 3, steps = 2"] == ["i2", "j2"]


def test_settings_on_different_instances_are_one_curve(tmp_path: Path) -> None:
    """A method whose settings divide the instances among them is one curve without a setting."""
    rows = []
    for steps, name in enumerate(("i", "j")):
        rows.append(record("milp", name, 10, bound=10, status="optimal", solve_s=1.0, experiment="e"))
        row = record("hybrid", name, 9, solve_s=0.1, experiment="e")
        row.parameters = json.dumps({"steps": steps})
        rows.append(row)
    distance_and_cost.draw(rows, tmp_path)
    points = json.loads((tmp_path / "cost-balance.json").read_text(encoding="utf-8"))["points"]
    curves = {point["label"]: point["keys"] for point in points}
    assert curves == {"MILP": ["e-milp-i", "e-milp-j"], "Algorithm 3": ["e-hybrid-i", "e-hybrid-j"]}


def test_a_setting_of_a_few_easy_instances_does_not_stand_for_its_method(tmp_path: Path) -> None:
    """The setting that ran on the most instances is drawn, though another has the smaller mean gap."""
    rows = []
    for name in ("i", "j"):
        rows.append(record("milp", name, 10, bound=10, status="optimal", solve_s=1.0, experiment="e"))
        row = record("hybrid", name, 5, solve_s=0.1, experiment="e")
        row.parameters, row.key = json.dumps({"steps": 1}), f"{name}1"
        rows.append(row)
    easy = record("hybrid", "i", 10, solve_s=0.1, experiment="e")
    easy.parameters, easy.key = json.dumps({"steps": 2}), "i2"
    distance_and_cost.draw([*rows, easy], tmp_path)
    points = json.loads((tmp_path / "cost-balance.json").read_text(encoding="utf-8"))["points"]
    assert {point["label"]: point["keys"] for point in points}["Algorithm 3, steps = 1"] == ["i1", "j1"]


def test_witness_families_are_drawn_only_alone(tmp_path: Path) -> None:
    """An experiment of witness families gives way to any other of its problem."""
    rows = [
        record(method, "i", 1, bound=1, status="optimal", solve_s=0.1, experiment=experiment)
        for experiment, methods in (("balance-guarantee", ("milp", "exhaustive", "hybrid")), ("e", ("milp",)))
        for method in methods
    ]
    distance_and_cost.draw(rows, tmp_path)
    points = json.loads((tmp_path / "cost-balance.json").read_text(encoding="utf-8"))["points"]
    assert {key for point in points for key in point["keys"]} == {"e-milp-i"}


def test_nothing_is_drawn_without_a_bound(tmp_path: Path) -> None:
    """Heuristics alone have no gap, so there is no figure of it."""
    assert distance_and_cost.draw([record("hybrid", "i", 1, solve_s=0.1)], tmp_path) == []
