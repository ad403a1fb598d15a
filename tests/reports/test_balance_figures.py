"""Figures of BALANCE's sweeps: drawn from rows alone, one for each family that has any."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.experiments.balance_sweeps import FIG1_OUTPUTS, GAP_SIZES, SWEEPS, USERS
from bench.jobs.job import Record
from reports import balance_tables
from reports.figures import balance_gap, balance_sweeps, fig1
from reports.report import FIGURES
from tests.bench.sample_records import record


def rows_of_sweep(name: str, family: str) -> list[Record]:
    """Return three seeds of a sweep with known values, the optimum proved."""
    sweep, rows = SWEEPS[name], []
    for i, at in enumerate(sweep.values):
        for seed in range(3):
            for j, method in enumerate(sweep.methods):
                size = at if sweep.axis == USERS else 30
                status = "optimal" if method == "exact" else "feasible"
                place = {"experiment": name, "family": family, "size": size, "seed": seed, "status": status}
                made = record(method, f"{at}-{seed}", 5 + i + (j + seed) % 3, **place)
                made.extra = {"source": {"settings": [] if sweep.axis == USERS else [[sweep.axis, at]]}}
                rows.append(made)
    return rows


@pytest.mark.parametrize("name", ["balance-fig4a", "balance-fig5b"])
def test_sweep_is_drawn_for_each_family_with_rows(name: str, tmp_path: Path) -> None:
    """A family with rows gives its figure, one without gives none, and every figure has a title."""
    family = SWEEPS[name].families[1]
    paths = balance_sweeps.draw(rows_of_sweep(name, family), tmp_path)
    assert {path.stem for path in paths} == {f"{name.removeprefix('balance-')}-{family}"}
    assert all(path.stat().st_size > 500 for path in paths)
    assert {path.stem for path in paths} <= set(FIGURES)


def test_one_user_and_gap_are_drawn(tmp_path: Path) -> None:
    """Fig. 1 has two panels; the gap is drawn against users and against time."""
    rows = []
    for tokens in FIG1_OUTPUTS:
        for method, seconds in (("ad-only", 0.04 * tokens), ("sd-only", 0.03 * tokens)):
            made = record(method, f"{tokens}", 1.0, experiment="balance-fig1", family="physical-fig5", size=1)
            made.extra = {
                "source": {"settings": [["output_max", tokens]]},
                "checked": {"seconds_ad": seconds, "seconds_sd": 0.0, "memory_bytes": 1e10},
            }
            rows.append(made)
    for size in GAP_SIZES:
        place = {"experiment": "balance-gap", "family": "physical-fig4", "size": size, "solve_s": 0.01}
        rows += [record("hybrid", f"g{size}", size - 2, **place)]
        rows += [record("exact", f"g{size}", size - 1, bound=size - 1, status="optimal", **place)]
    names = {path.stem for path in (*fig1.draw(rows, tmp_path), *balance_gap.draw(rows, tmp_path))}
    expected = {"fig1a-physical-fig5", "fig1b-physical-fig5"}
    assert names == expected | {"gap-users-physical-fig4", "gap-time-physical-fig4"}
    assert names <= set(FIGURES)


def test_nothing_is_drawn_without_rows(tmp_path: Path) -> None:
    """A store without these experiments gives no such figure."""
    for figure in (balance_sweeps, fig1, balance_gap):
        assert figure.draw([record("hybrid", "i", 1.0)], tmp_path) == []


def test_tables_hold_published_values_residuals_and_proofs() -> None:
    """Gains stand beside the published ones with residuals; gaps and exact methods count their proofs."""
    rows = rows_of_sweep("balance-fig4a", "calibrated-fig4")
    table = balance_tables.gains_table(rows)
    assert [row[2:4] for row in table.rows] == [("ad-only", "37.9"), ("sd-only", "33.4")]
    measured = float(table.rows[0][4].partition(" ")[0])
    assert float(table.rows[0][5]) == pytest.approx(measured - 37.9, abs=0.06)
    place = {"family": "physical-fig4", "size": 30, "experiment": "balance-gap"}
    gaps = [
        record("exact", "i", 20, status="optimal", bound=20, solve_s=0.5, **place),
        record("hybrid", "i", 19, solve_s=0.01, **place),
    ]
    assert [row[2:] for row in balance_tables.gap_table(gaps).rows] == [
        ("hybrid", "1", "1", "5.00", "0.01"),
        ("exact", "1", "1", "0", "0.5"),
    ]
    place["experiment"] = "balance-exact"
    exact = [
        record("exact", "i", 20, status="optimal", bound=20, solve_s=0.5, **place),
        record("milp-highs", "i", 19, bound=25, solve_s=60.0, **place),
        record("cp-sat", "i", None, status="skipped", **place),
    ]
    assert [row[2:] for row in balance_tables.exact_table(exact).rows] == [
        ("exact", "1", "1", "0.5", "20", "20"),
        ("milp-highs", "1", "0", "60", "19", "25"),
        ("cp-sat", "1", "0", "–", "–", "–"),
    ]
