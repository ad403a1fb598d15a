"""Claims about utilities fitted to measured accuracies."""

import csv
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from formulations.handover.evaluate_fit import evaluate_fit
from formulations.handover.fit import (
    UtilityFit,
    fit_utilities,
    fit_utility,
    fitted_values,
    solve_least_squares,
)
from formulations.handover.utility import values
from formulations.result import Limits
from instances.catalogue import public_folder
from instances.decisions import Sigmoid
from instances.errors import InputError
from instances.handover import UTILITIES
from instances.importers.retention import read_retention
from instances.retention import RetentionCurve

KEPT = np.array([0.0, 0.02, 0.05, 0.07, 0.1, 0.15, 0.25, 0.5, 0.75, 1.0])
TRUE = (0.94, 34.0, 0.066)
POINTS = public_folder() / "accuracy" / "retention_points.csv"


def values_at(utility: str, y: np.ndarray, parameters: tuple[float, float, float] = TRUE) -> np.ndarray:
    """Return the methods' own curve at the fractions y."""
    return values(utility, *(np.full(len(y), p) for p in parameters), y)


def fitted(kept: np.ndarray, accuracy: np.ndarray, utility: str) -> UtilityFit:
    """Return a family's fit to points."""
    return fit_utility(RetentionCurve("points", kept, accuracy), utility)


def parameters_of(fit: UtilityFit) -> tuple[float, float, float]:
    """Return M, k and τ."""
    return fit.ceiling.value, fit.sharpness.value, fit.anchor.value


@pytest.mark.parametrize("utility", UTILITIES)
def test_exact_points_give_back_their_parameters(utility: str) -> None:
    """Points on a curve are fitted by its own parameters, with R² = 1, and these are identified."""
    fit = fitted(KEPT, values_at(utility, KEPT), utility)
    assert np.allclose(parameters_of(fit), TRUE, rtol=1e-6)
    assert fit.r_squared == pytest.approx(1.0, abs=1e-12)
    assert fit.identified
    assert np.allclose(fitted_values(fit.sigmoid, KEPT), values_at(utility, KEPT), atol=1e-7)


@pytest.mark.parametrize("utility", ["algebraic", "logistic"])
def test_intervals_hold_the_parameters_in_most_samples(utility: str, counted: Callable[[int], int]) -> None:
    """Under noise each parameter lies in its 95 % interval in at least four fifths of the samples."""
    rng, n = np.random.default_rng(1), counted(60)
    hits = np.zeros(3)
    for _ in range(n):
        noisy = np.maximum(values_at(utility, KEPT) + rng.normal(0, 0.006, len(KEPT)), 0.0)
        fit = fitted(KEPT, noisy, utility)
        for i, (parameter, true) in enumerate(
            zip((fit.ceiling, fit.sharpness, fit.anchor), TRUE, strict=True)
        ):
            assert parameter.low <= parameter.value <= parameter.high
            hits[i] += parameter.low <= true <= parameter.high
        assert fit.identified
    assert np.all(hits >= 0.8 * n - 1)


def test_no_other_parameters_fit_better() -> None:
    """No random parameters have a smaller sum of squares than the fit."""
    rng = np.random.default_rng(2)
    noisy = values_at("algebraic", KEPT) + rng.uniform(0, 0.02, len(KEPT))
    fit = fitted(KEPT, noisy, "algebraic")
    least = float(np.sum((fitted_values(fit.sigmoid, KEPT) - noisy) ** 2))
    for _ in range(2000):
        guess = (rng.uniform(0.8, 1.1), 10 ** rng.uniform(0, 3), rng.uniform(-0.2, 0.6))
        near = tuple(float(p * rng.uniform(0.98, 1.02)) for p in parameters_of(fit))
        for parameters in (guess, near):
            other = float(np.sum((values_at("algebraic", KEPT, parameters) - noisy) ** 2))
            assert other >= least * (1 - 1e-9)


def test_unit_of_accuracy_is_immaterial() -> None:
    """Per cent instead of fractions scale M and RMSE, and nothing else."""
    noisy = np.maximum(values_at("erf", KEPT) + np.random.default_rng(3).normal(0, 0.01, len(KEPT)), 0.0)
    one, hundred = fitted(KEPT, noisy, "erf"), fitted(KEPT, 100 * noisy, "erf")
    assert hundred.ceiling.value == pytest.approx(100 * one.ceiling.value, rel=1e-6)
    assert hundred.rmse == pytest.approx(100 * one.rmse, rel=1e-6)
    assert hundred.sharpness.value == pytest.approx(one.sharpness.value, rel=1e-4)


def test_points_beyond_the_rise_do_not_identify() -> None:
    """Points on the plateau alone fit well, and the warning says that k and τ are not identified."""
    y = np.array([0.25, 0.4, 0.6, 0.8, 1.0])
    noisy = values_at("algebraic", y) + np.array([2e-4, -1e-4, 1e-4, -2e-4, 1e-4])
    fit = fitted(y, noisy, "algebraic")
    assert not fit.identified
    assert fit.warning.startswith("k and τ are not identified: ")
    assert "no point lies below the anchor" in fit.warning


def test_three_points_have_no_intervals() -> None:
    """Three points are fitted exactly and bound nothing."""
    y = np.array([0.05, 0.1, 1.0])
    fit = fitted(y, values_at("logistic", y), "logistic")
    assert fit.rmse <= 1e-6
    assert math.isinf(fit.anchor.high)
    assert not fit.identified


def plain_r_squared(sigmoid: Sigmoid, curve: RetentionCurve) -> float:
    """Return R² in plain floats, by the methods' own curve."""
    parameters = (sigmoid.ceiling, sigmoid.sharpness, sigmoid.anchor)
    left = np.sum((curve.accuracy - values_at(sigmoid.utility, curve.kept, parameters)) ** 2)
    return 1.0 - float(left / np.sum((curve.accuracy - curve.accuracy.mean()) ** 2))


@pytest.mark.parametrize("utility", UTILITIES)
def test_claim_and_checker_agree(utility: str) -> None:
    """The claimed R² is what the checker and plain floats find, and worse constants have a smaller one."""
    rng = np.random.default_rng(4)
    noisy = values_at(utility, KEPT) + rng.uniform(0, 0.02, len(KEPT))
    points = RetentionCurve("noisy", KEPT, noisy)
    result = solve_least_squares(points, limits=Limits(), utility=utility)
    assert isinstance(result.decision, Sigmoid)
    verdict = evaluate_fit(points, result.decision)
    assert verdict.feasible
    assert result.objective == pytest.approx(verdict.objective, abs=1e-12)
    assert verdict.objective == pytest.approx(plain_r_squared(result.decision, points), abs=1e-12)
    assert verdict.details["rmse"] == pytest.approx(fit_utility(points, utility).rmse, rel=1e-9)
    for key in ("ceiling", "sharpness", "anchor"):
        low, high = result.certificate["interval_95"][key]
        assert low < getattr(result.decision, key) < high
        worse = replace(result.decision, **{key: high})
        assert evaluate_fit(points, worse).objective < verdict.objective


def test_unfit_points_are_refused() -> None:
    """R² of accuracies without a spread does not exist: the method says so, and the checker refuses."""
    flat = RetentionCurve("flat", KEPT, np.full(len(KEPT), 0.9))
    with pytest.raises(InputError, match="accuracy: found the same at every point"):
        solve_least_squares(flat, limits=Limits())
    assert not evaluate_fit(flat, Sigmoid("erf", 0.9, 1.0, 0.5)).feasible
    with pytest.raises(InputError, match=r"set\.utility: found cubic, expected one of algebraic"):
        solve_least_squares(flat, limits=Limits(), utility="cubic")


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
def test_public_points_fit_as_published() -> None:
    """All four families have R² > .99 on Fast KVzip's points of Qwen3-8B, though its points identify none."""
    conditions = {"model": "Qwen3-8B", "method": "fastkvzip", "context_tokens": "4096"}
    (found,) = read_retention(POINTS, conditions)
    assert found.kept.tolist() == [0.125, 0.25, 0.5, 0.75, 1.0]
    fits = fit_utilities(found)
    assert all(fit.r_squared > 0.99 for fit in fits)
    assert not any(fit.identified for fit in fits)


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
@pytest.mark.parametrize("model", ["Qwen3-8B", "Llama-3.1-8B-Instruct"])
def test_random_ordering_has_its_anchor_in_the_middle(model: str) -> None:
    """Random ordering's points fit with R² > .99 and identify an anchor far above that of importance."""
    (found,) = read_retention(POINTS, {"model": model, "method": "random"})
    fit = fit_utility(found, "algebraic")
    assert fit.r_squared > 0.99
    assert fit.identified
    assert fit.anchor.low > 0.4


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
def test_independent_fits_of_the_public_points_agree() -> None:
    """Where an independent coarse fit is at hand, ours has no larger root mean square error."""
    curves = {c.name: c for c in read_retention(POINTS)}
    aware = {"True": "-query-aware", "False": "-query-agnostic", "": ""}
    compared = 0
    with (POINTS.parent / "s_curve_fits.csv").open(encoding="utf-8") as file:
        for row in list(csv.DictReader(file))[::6]:
            name = f"{row['model']}-{row['context_tokens']}-{row['method']}{aware[row['query_aware']]}"
            if name in curves and int(row["n_points"]) == len(curves[name].kept):
                fit = fit_utility(curves[name], "algebraic")
                assert fit.rmse <= float(row["rmse_points"]) * 1.02 + 0.02
                compared += 1
    assert compared >= 5
