"""Claims about utilities fitted to measured accuracies."""

import csv
import math
from collections.abc import Callable

import numpy as np
import pytest

from formulations.handover.fit import UtilityFit, fit_utilities, fit_utility, fitted_values
from formulations.handover.utility import values
from instances.catalogue import public_folder
from instances.errors import InputError
from instances.handover import UTILITIES
from instances.importers.retention import read_retention

KEPT = np.array([0.0, 0.02, 0.05, 0.07, 0.1, 0.15, 0.25, 0.5, 0.75, 1.0])
TRUE = (0.94, 34.0, 0.066)
POINTS = public_folder() / "accuracy" / "retention_points.csv"


def curve(utility: str, y: np.ndarray, parameters: tuple[float, float, float] = TRUE) -> np.ndarray:
    """Return the methods' own curve at the fractions y."""
    return values(utility, *(np.full(len(y), p) for p in parameters), y)


def parameters_of(fit: UtilityFit) -> tuple[float, float, float]:
    """Return M, k and τ."""
    return fit.ceiling.value, fit.sharpness.value, fit.anchor.value


@pytest.mark.parametrize("utility", UTILITIES)
def test_exact_points_give_back_their_parameters(utility: str) -> None:
    """Points on a curve are fitted by its own parameters, with R² = 1, and these are identified."""
    fit = fit_utility(KEPT, curve(utility, KEPT), utility)
    assert np.allclose(parameters_of(fit), TRUE, rtol=1e-6)
    assert fit.r_squared == pytest.approx(1.0, abs=1e-12)
    assert fit.identified
    assert np.allclose(fitted_values(fit, KEPT), curve(utility, KEPT), atol=1e-7)


@pytest.mark.parametrize("utility", ["algebraic", "logistic"])
def test_intervals_hold_the_parameters_in_most_samples(utility: str, counted: Callable[[int], int]) -> None:
    """Under noise each parameter lies in its 95 % interval in at least four fifths of the samples."""
    rng, n = np.random.default_rng(1), counted(60)
    hits = np.zeros(3)
    for _ in range(n):
        noisy = np.maximum(curve(utility, KEPT) + rng.normal(0, 0.006, len(KEPT)), 0.0)
        fit = fit_utility(KEPT, noisy, utility)
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
    noisy = curve("algebraic", KEPT) + rng.uniform(0, 0.02, len(KEPT))
    fit = fit_utility(KEPT, noisy, "algebraic")
    least = float(np.sum((fitted_values(fit, KEPT) - noisy) ** 2))
    for _ in range(2000):
        guess = (rng.uniform(0.8, 1.1), 10 ** rng.uniform(0, 3), rng.uniform(-0.2, 0.6))
        near = tuple(float(p * rng.uniform(0.98, 1.02)) for p in parameters_of(fit))
        for parameters in (guess, near):
            other = float(np.sum((curve("algebraic", KEPT, parameters) - noisy) ** 2))
            assert other >= least * (1 - 1e-9)


def test_unit_of_accuracy_is_immaterial() -> None:
    """Per cent instead of fractions scale M and RMSE, and nothing else."""
    noisy = np.maximum(curve("erf", KEPT) + np.random.default_rng(3).normal(0, 0.01, len(KEPT)), 0.0)
    one, hundred = fit_utility(KEPT, noisy, "erf"), fit_utility(KEPT, 100 * noisy, "erf")
    assert hundred.ceiling.value == pytest.approx(100 * one.ceiling.value, rel=1e-6)
    assert hundred.rmse == pytest.approx(100 * one.rmse, rel=1e-6)
    assert hundred.sharpness.value == pytest.approx(one.sharpness.value, rel=1e-4)


def test_points_beyond_the_rise_do_not_identify() -> None:
    """Points on the plateau alone fit well, and the warning says that k and τ are not identified."""
    y = np.array([0.25, 0.4, 0.6, 0.8, 1.0])
    noisy = curve("algebraic", y) + np.array([2e-4, -1e-4, 1e-4, -2e-4, 1e-4])
    fit = fit_utility(y, noisy, "algebraic")
    assert not fit.identified
    assert fit.warning.startswith("k and τ are not identified: ")
    assert "no point lies below the anchor" in fit.warning


def test_three_points_have_no_intervals() -> None:
    """Three points are fitted exactly and bound nothing."""
    y = np.array([0.05, 0.1, 1.0])
    fit = fit_utility(y, curve("logistic", y), "logistic")
    assert fit.rmse <= 1e-6
    assert math.isinf(fit.anchor.high)
    assert not fit.identified


@pytest.mark.parametrize(
    ("kept", "accuracy", "text"),
    [
        ([0.1, 0.5, 1.2], [0.1, 0.2, 0.3], "kept_fraction: found 1.2, expected 0 to 1"),
        ([0.1, 0.5, 0.5], [0.1, 0.2, 0.3], "found 2 different fractions, expected at least 3"),
        ([0.1, 0.5, 1.0], [0.1, -0.2, 0.3], "accuracy: found one below 0"),
        ([0.1, 0.5], [0.1, 0.2, 0.3], "expected two columns of one length"),
        ([0.1, 0.5, math.nan], [0.1, 0.2, 0.3], "found a number that is not finite"),
    ],
)
def test_unfit_points_are_refused(kept: list[float], accuracy: list[float], text: str) -> None:
    """Points that no curve can be fitted to are refused with what was found."""
    with pytest.raises(InputError, match=text):
        fit_utility(kept, accuracy, "algebraic")


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
def test_public_points_fit_as_published() -> None:
    """All four families have R² > .99 on Fast KVzip's points of Qwen3-8B, though its points identify none."""
    conditions = {"model": "Qwen3-8B", "method": "fastkvzip", "context_tokens": "4096"}
    (found,) = read_retention(POINTS, conditions)
    assert found.kept.tolist() == [0.125, 0.25, 0.5, 0.75, 1.0]
    fits = fit_utilities(found.kept, found.accuracy)
    assert all(fit.r_squared > 0.99 for fit in fits)
    assert not any(fit.identified for fit in fits)


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
@pytest.mark.parametrize("model", ["Qwen3-8B", "Llama-3.1-8B-Instruct"])
def test_random_ordering_has_its_anchor_in_the_middle(model: str) -> None:
    """Random ordering's points fit with R² > .99 and identify an anchor far above that of importance."""
    (found,) = read_retention(POINTS, {"model": model, "method": "random"})
    fit = fit_utility(found.kept, found.accuracy, "algebraic")
    assert fit.r_squared > 0.99
    assert fit.identified
    assert fit.anchor.low > 0.4


@pytest.mark.skipif(not POINTS.is_file(), reason="no public files at hand")
def test_independent_fits_of_the_public_points_agree() -> None:
    """Where an independent coarse fit is at hand, ours has no larger root mean square error."""
    curves = {c.name: c for c in read_retention(POINTS)}
    aware = {"True": " query-aware", "False": " query-agnostic", "": ""}
    compared = 0
    with (POINTS.parent / "s_curve_fits.csv").open(encoding="utf-8") as file:
        for row in list(csv.DictReader(file))[::6]:
            name = f"{row['model']} {row['context_tokens']} {row['method']}{aware[row['query_aware']]}"
            if name in curves and int(row["n_points"]) == len(curves[name].kept):
                fit = fit_utility(curves[name].kept, curves[name].accuracy, "algebraic")
                assert fit.rmse <= float(row["rmse_points"]) * 1.02 + 0.02
                compared += 1
    assert compared >= 5
