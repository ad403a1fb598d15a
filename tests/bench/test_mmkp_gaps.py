"""Gaps of MMKP runs by class and time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bench.experiments import mmkp
from bench.jobs.job import Record
from bench.jobs.run import run_job
from bench.judging.mmkp_gaps import MmkpRun, class_of, gap_at, runs_of, seconds_to
from bench.registry import methods_of
from reports.figures import mmkp_profiles
from reports.figures.mmkp import draw
from reports.tables import mmkp_class_table


def row(family: str, method: str, value: float | None, bound: float | None, **extra: Any) -> Record:
    """Return a stored row of the experiment."""
    record = Record("k", "mmkp", "mmkp", family, family, family, 100, 0, method, "v", "{}", status="feasible")
    return replace(
        record, checked_objective=value, bound=bound, solve_s=5.0, feasible=value is not None, extra=extra
    )


@pytest.mark.parametrize(
    ("family", "size", "name"),
    [
        ("I06", 30, "Khan I01–I06"),
        ("I13", 400, "Khan I07–I13"),
        ("b_03", 60, "INST01–20"),
        ("c_21", 100, "INST21–30"),
        ("d_129", 100, "mmkp_d"),
        ("TestSet1.5GP10IT5KP-3", 5, "Hiremath & Hill, ≤ 25 groups"),
        ("TestSet.30GP10IT10KP-3", 30, "Hiremath & Hill, ≥ 30 groups"),
        ("mmkp-irregular-weakly", 10, "irregular-weakly, 10 groups"),
    ],
)
def test_classes(family: str, size: int, name: str) -> None:
    """Every source of the experiment has a class by its family."""
    assert class_of(replace(row(family, "heu", 1, None), size=size)) == name


def test_gap_to_the_least_bound() -> None:
    """Values of all methods are compared with the least bound of any that did not fail."""
    rows = [row("I07", "heu", 90, None), row("I07", "lp-bound", None, 100), row("I07", "exact", 95, 120)]
    rows.append(replace(row("I07", "milp", 10, 50), status="inconsistent"))
    runs = runs_of(rows)["Khan I07–I13"]
    assert runs["heu"][0].gap == pytest.approx(0.1)
    assert runs["exact"][0].gap == pytest.approx(0.05)
    assert runs["lp-bound"][0].gap is None


def test_values_at_shorter_times() -> None:
    """A shorter limit's value is the best incumbent by then; without incumbents it counts from the end on."""
    run = MmkpRun(row("I07", "core-beam", 95, None, incumbents=[[0.1, 80], [2.0, 95]]), 100.0)
    assert [gap_at(run, t) for t in (0.05, 0.1, 1, 2)] == [None, 0.2, 0.2, 0.05]
    assert [gap_at(MmkpRun(row("I07", "heu", 95, None), 100.0), t) for t in (4, 5)] == [None, 0.05]


def test_time_to_a_gap() -> None:
    """The first incumbent within the gap counts, without incumbents the end; a refused claim never does."""
    run = MmkpRun(row("I07", "core-beam", 99, None, incumbents=[[0.1, 80], [2.0, 99], [3.0, 99.5]]), 100.0)
    assert [seconds_to(run, gap) for gap in (0.2, 0.01, 0.001)] == [0.1, 2.0, None]
    assert seconds_to(MmkpRun(row("I07", "heu", 99, None), 100.0), 0.01) == 5.0
    assert seconds_to(MmkpRun(replace(run.record, feasible=False), 100.0), 0.2) is None
    assert seconds_to(MmkpRun(row("I07", "heu", None, None), 100.0), 0.2) is None


def test_profiles_by_class(tmp_path: Path) -> None:
    """A class has a profile over its own instances and sizes, public ones first, and bounds have no curve."""
    rows = []
    for family, size in (("mmkp-weakly", 10), ("mmkp-weakly", 100), ("I07", 100)):
        for method, value, seconds in (("heu", 99, 1.0), ("exact", 100, 4.0), ("lp-bound", None, 1.0)):
            found = replace(row(family, method, value, 100), size=size, solve_s=seconds)
            found.instance_sha256, found.key = f"{family}{size}", f"{family}{size}{method}"
            rows.append(found)
    rows[0].checked_objective = 50.0
    profiles = mmkp_profiles.class_profiles(rows)
    assert list(profiles) == ["Khan I07–I13", "weakly"]
    curves = {curve.method: curve for curve in profiles["weakly"][0].curves}
    assert set(curves) == {"heu", "exact"}
    assert [curves["heu"](x) for x in (1.0, 4.0)] == [0.5, 0.5]
    assert [curves["exact"](x) for x in (1.0, 3.9, 4.0)] == [0.5, 0.5, 1.0]
    assert "mmkp-profiles.svg" in {path.name for path in mmkp_profiles.draw(rows, tmp_path)}
    points = json.loads((tmp_path / "mmkp-profiles.json").read_text(encoding="utf-8"))["points"]
    assert len(points) == 4  # two curves in each of two panels
    assert mmkp_profiles.draw([], tmp_path) == []


def test_grids() -> None:
    """Both grids run every method of the problem, and the large one has all 310 problems of the sets."""
    names = {method.name for method in methods_of("mmkp")}
    assert {job.method for job in mmkp.benchmark(1)} == names
    jobs = mmkp.everything(1)
    assert {job.method for job in jobs} == names
    assert len({job.source for job in jobs if job.source.family.startswith("TestSet")}) == 310


def test_report_of_a_small_run(tmp_path: Path) -> None:
    """A generated instance under every method gives a figure and a row a method, with nothing refused."""
    jobs = [job for job in mmkp.benchmark(1) if job.source.family == "mmkp-irregular-strongly"]
    records = [run_job(job) for job in jobs]
    assert {r.status for r in records} <= {"optimal", "feasible", "bound_only"}
    assert len(mmkp_class_table(records).rows) == len(jobs)
    assert {"mmkp.svg", "mmkp.png"} <= {path.name for path in draw(records, tmp_path)}
    assert draw([], tmp_path) == []
