"""Claims about ``certigap fit utility``."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.cli import app
from bench.experiments.utility_fits import LEADERBOARD as LEADERBOARD_FILE
from bench.experiments.utility_fits import fits
from bench.jobs.grid import job_of
from bench.jobs.job import Record
from bench.jobs.run import run_job
from bench.jobs.sources import build
from bench.judging.claims import judge_all
from bench.judging.fit_measures import fits_by_curve
from instances.catalogue import public_folder
from instances.errors import InputError
from instances.importers.compose import retention_from_table
from instances.importers.retention import read_retention
from reports.figures.utility_fit import draw
from reports.handover_tables import fits_table


def write(folder: Path, text: str) -> Path:
    """Write a file of points and return its path."""
    path = folder / "points.csv"
    path.write_text(text, encoding="utf-8")
    return path


def sigmoid(y: float) -> float:
    """Return an algebraic sigmoid with M = 90, k = 30 and τ = .2."""
    u = 30 * (y - 0.2)
    return 45 * (1 + u / np.sqrt(1 + u * u))


POINTS = "kept_fraction,accuracy\n" + "".join(
    f"{y},{sigmoid(y):.9f}\n" for y in (0, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 1)
)


def test_fit_prints_one_object_of_all_families(tmp_path: Path) -> None:
    """``--json`` prints the four fits; the family of the points has their parameters."""
    result = CliRunner().invoke(app, ["fit", "utility", str(write(tmp_path, POINTS)), "--json"])
    assert result.exit_code == 0
    (curve,) = json.loads(result.stdout)["curves"]
    by_name = {fit["utility"]: fit for fit in curve["fits"]}
    assert set(by_name) == {"algebraic", "logistic", "erf", "arctan"}
    best = by_name["algebraic"]
    assert best["identified"]
    assert (best["ceiling"], best["sharpness"], best["anchor"]) == pytest.approx((90, 30, 0.2), rel=1e-5)
    low, high = best["interval_95"]["anchor"]
    assert low <= best["anchor"] <= high


def test_fit_draws_a_figure(tmp_path: Path) -> None:
    """``-o`` writes the figure of points and fits."""
    arguments = ["fit", "utility", str(write(tmp_path, POINTS)), "-o", str(tmp_path / "drawn")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    assert (tmp_path / "drawn" / "utility-fit.svg").is_file()
    assert "algebraic M 90 [" in result.stdout


TABLE = """model,context_tokens,method,query_aware,kept_fraction_achieved,ruler_score
A,4096,ours,False,0.25,80
A,4096,ours,False,0.125,60
A,4096,no_press,False,1.0,95
A,4096,other,False,0.25,70
A,4096,other,False,0.5,90
B,4096,ours,False,0.25,80
"""


def test_whole_cache_is_every_curves_last_point(tmp_path: Path) -> None:
    """The score without compression is the point at fraction 1; curves of two points are left out."""
    curves = read_retention(write(tmp_path, TABLE))
    assert [c.name for c in curves] == ["A-4096-ours-query-agnostic", "A-4096-other-query-agnostic"]
    assert curves[0].kept.tolist() == [0.125, 0.25, 1.0]
    assert curves[0].accuracy.tolist() == [60.0, 80.0, 95.0]
    (chosen,) = read_retention(write(tmp_path, TABLE), {"method": "other"})
    assert chosen.kept.tolist() == [0.25, 0.5, 1.0]


LEADERBOARD = """model,press_name,query_aware,achieved_ratio,score_macro13
Qwen/Qwen3-8B,no_press,False,0.0,95
Qwen/Qwen3-8B,fastkvzip,False,0.75,94
Qwen/Qwen3-8B,fastkvzip,False,0.9,80
Qwen/Qwen3-8B,fastkvzip,False,0.95,30
Qwen/Qwen3-8B,fastkvzip,False,0.5,94.9
Qwen/Qwen3-8B,random,False,0.25,90
Qwen/Qwen3-8B,random,False,0.5,51
Qwen/Qwen3-8B,random,False,0.75,12
meta-llama/Llama-3.1-8B-Instruct,no_press,False,0.0,96
meta-llama/Llama-3.1-8B-Instruct,random,False,0.25,60
meta-llama/Llama-3.1-8B-Instruct,random,False,0.5,7
meta-llama/Llama-3.1-8B-Instruct,random,False,0.75,1
meta-llama/Llama-3.1-8B-Instruct,kvzip,False,0.25,96
meta-llama/Llama-3.1-8B-Instruct,kvzip,False,0.5,50
meta-llama/Llama-3.1-8B-Instruct,kvzip,False,0.75,95
"""


def test_leaderboard_counts_what_was_removed(tmp_path: Path) -> None:
    """The leaderboard's ratio is the part that was left out; its curve is told by model and method."""
    curve = retention_from_table(write(tmp_path, LEADERBOARD), model="Qwen/Qwen3-8B", method="fastkvzip")
    assert curve.name == "Qwen3-8B-fastkvzip-query-agnostic"
    assert curve.kept.tolist() == [0.05, 0.1, 0.25, 0.5, 1.0]
    assert curve.accuracy.tolist() == [30, 80, 94, 94.9, 95]
    with pytest.raises(InputError, match=r"found the curves .*, expected one"):
        retention_from_table(tmp_path / "points.csv", model="Qwen/Qwen3-8B")


@pytest.fixture
def fig2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Record]]:
    """Return the rows of Fig. 2 on an own leaderboard, without the points of the unnamed model."""
    (tmp_path / "accuracy").mkdir()
    (tmp_path / "accuracy" / "kvpress_leaderboard_raw.csv").write_text(LEADERBOARD, encoding="utf-8")
    monkeypatch.setenv("CERTIGAP_DATA", str(tmp_path))
    build.cache_clear()
    yield [run_job(job) for job in fits()]
    build.cache_clear()  # of instances that other data make


def test_rows_of_fig2(fig2: list[Record], tmp_path: Path) -> None:
    """Every curve at hand has a checked fit of each family, is drawn with its points and tabulated."""
    missing = [r for r in fig2 if r.family.startswith("fastkvzip-unnamed")]
    assert {(r.status, r.stopped) for r in missing} == {("skipped", "missing_data")}
    found = fits_by_curve(fig2)
    assert [len(families) for families in found.values()] == [4, 4, 4, 4]
    for r in (r for families in found.values() for r in families.values()):
        assert r.checked_objective == pytest.approx(r.objective, abs=1e-9)
        assert job_of(r).source == next(job.source for job in fits() if job.source.family == r.family)
    assert len(fits_table(fig2).rows) == 16
    assert "handover-fig2.svg" in [path.name for path in draw(fig2, tmp_path)]
    drawn = json.loads((tmp_path / "handover-fig2.json").read_text(encoding="utf-8"))
    assert len(drawn["points"]) == 5 + 4 + 4 + 4
    assert draw(missing, tmp_path) == []


def test_claims_of_fig2(fig2: list[Record]) -> None:
    """R² is judged by the least of the curves, and what no point tells is not testable."""
    judged = {j.claim.id: j for j in judge_all(fig2)}
    assert judged["fit-4K"].measured == f"{fig2[0].checked_objective:.4g}"
    assert judged["fit-random"].verdict == "holds"
    assert judged["fit-importance"].verdict == "contradicted"  # by the curve that falls and rises
    assert judged["fit-8K"].reason == "no public points: Qwen3-8B, 8K, Fast KVzip"
    assert judged["fit-anchor"].measurement is None or judged["fit-anchor"].measurement.n == 4
    assert {j.verdict for j in judge_all([r for r in fig2 if r.status == "skipped"])} == {"not testable"}


@pytest.mark.skipif(not (public_folder() / LEADERBOARD_FILE).is_file(), reason="no public files at hand")
def test_public_leaderboard_and_points_agree() -> None:
    """The leaderboard's curves at hand are those of the table of points that was collected from it."""
    points = public_folder() / "accuracy" / "retention_points.csv"
    for method in ("fastkvzip", "random"):
        first = retention_from_table(public_folder() / LEADERBOARD_FILE, model="Qwen/Qwen3-8B", method=method)
        second = retention_from_table(points, model="Qwen3-8B", method=method)
        assert np.allclose(first.kept, second.kept)
        assert first.accuracy.tolist() == second.accuracy.tolist()


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("kept_fraction,accuracy\n0.5,1.5x\n", {}, "accuracy"),
        ("kept_fraction,accuracy\n1.5,1\n", {}, "kept_fraction"),
        ("kept_fraction\n1\n", {}, "a column 'accuracy'"),
        (TABLE, {"method": "none"}, "no curve of three different fractions"),
        (TABLE, {"colour": "red"}, "--where colour"),
    ],
)
def test_unfit_files_are_refused(tmp_path: Path, text: str, where: dict[str, str], expected: str) -> None:
    """A bad cell, a missing column, no curve or an unknown condition is named."""
    with pytest.raises(InputError, match=expected):
        read_retention(write(tmp_path, text), where)
