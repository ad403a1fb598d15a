"""Claims about ``certigap fit utility``."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from bench.cli import app
from instances.errors import InputError
from instances.importers.retention import read_retention


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
    assert (tmp_path / "drawn" / "handover-fig2.svg").is_file()
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
    assert [c.name for c in curves] == ["A 4096 ours query-agnostic", "A 4096 other query-agnostic"]
    assert curves[0].kept.tolist() == [0.125, 0.25, 1.0]
    assert curves[0].accuracy.tolist() == [60.0, 80.0, 95.0]
    (chosen,) = read_retention(write(tmp_path, TABLE), {"method": "other"})
    assert chosen.kept.tolist() == [0.25, 0.5, 1.0]


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
