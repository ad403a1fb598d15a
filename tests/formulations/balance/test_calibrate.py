"""The latency law's constants: exact laws are found, scipy agrees, and bad points are refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from formulations.balance.calibrate import fit_latency, work_of
from formulations.balance.costs import problem_of
from instances.errors import InputError
from instances.generate import generate
from instances.importers.speeds import Speed
from instances.presets import BALANCE_CONSTANTS, BALANCE_MODELS

ALPHA, BETA = 1e-14, 0.0164


def points(noise: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return FLOPs, passes and seconds of prefills and decodes with a relative error."""
    rng = np.random.Generator(np.random.PCG64(seed))
    flops, passes = rng.uniform(1e12, 2e13, 20), np.where(np.arange(20) % 2, 1, 500)
    seconds = (ALPHA * flops + BETA * passes) * (1.0 + noise * rng.standard_normal(20))
    return flops, passes, seconds


@pytest.mark.parametrize("weights", ["relative", "equal"])
def test_exact_law_is_found(weights: str) -> None:
    """Points that follow the law give its constants, without residual and with R² = 1."""
    fitted = fit_latency(*points(0.0), weights=weights)
    assert fitted.seconds_per_flop.value == pytest.approx(ALPHA, rel=1e-12)
    assert fitted.seconds_per_pass.value == pytest.approx(BETA, rel=1e-12)
    assert (fitted.r_squared, fitted.n) == (pytest.approx(1.0, abs=1e-12), 20)
    assert fitted.residual < 1e-12


@pytest.mark.parametrize("weights", ["relative", "equal"])
def test_fit_and_intervals_are_those_of_scipy(weights: str) -> None:
    """Constants, and intervals at n − 2 degrees of freedom, equal scipy's curve_fit with the same weights."""
    flops, passes, seconds = points(0.03)
    fitted = fit_latency(flops, passes, seconds, weights=weights)
    sigma = seconds if weights == "relative" else np.ones(20)
    found, covariance = optimize.curve_fit(
        lambda x, a, b: a * x[0] + b * x[1], np.array([flops / 1e12, passes]), seconds, [0.01, 0.02], sigma
    )
    half = stats.t.ppf(0.975, 18) * np.sqrt(np.diag(covariance))
    for constant, value, width, unit in zip(
        (fitted.seconds_per_flop, fitted.seconds_per_pass), found, half, (1e-12, 1.0), strict=True
    ):
        assert constant.value == pytest.approx(value * unit, rel=1e-6)
        assert constant.high - constant.value == pytest.approx(width * unit, rel=1e-5)
        assert constant.value - constant.low == pytest.approx(width * unit, rel=1e-5)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """Of 400 noisy samples, between 92 and 98 % have the true constants inside their 95 % intervals."""
    inside = np.zeros(2)
    for seed in range(400):
        fitted = fit_latency(*points(0.02, seed))
        inside += [
            c.low <= true <= c.high
            for c, true in ((fitted.seconds_per_flop, ALPHA), (fitted.seconds_per_pass, BETA))
        ]
    assert np.all((inside / 400 > 0.92) & (inside / 400 < 0.98))


def test_work_is_the_problems_own() -> None:
    """FLOPs of a prefill and of a decode, times α, are the seconds that the problem charges for them."""
    instance = generate("calibrated-fig4", users=1)
    llm, ad = instance.llm, problem_of(instance).ad
    alpha = llm.seconds_per_flop
    flops, passes = work_of(llm, Speed(1, "prefill", 1, 300, 0, 1.0))
    assert (flops, passes) == (3_067_084_800_000, 1)
    flops, passes = work_of(llm, Speed(1, "decode", 3, 300, 99, 1.0))
    charged = 99 * (ad.step_0 + ad.step_input * 300) + 99**2 * ad.growth_0
    assert alpha * flops == pytest.approx(3 * charged, rel=1e-14)
    assert passes == 99


@pytest.mark.parametrize(
    ("flops", "passes", "seconds", "message"),
    [
        ([1e12, 2e12], [1, 1], [0.1, 0.2], "points: found 2, expected at least 3"),
        ([1e12, 2e12, 4e12], [1, 2, 4], [0.1, 0.2, 0.4], "one ratio of FLOPs to passes"),
        ([0, 0, 0], [1, 2, 4], [0.1, 0.2, 0.4], "one ratio of FLOPs to passes"),
        ([1e12, 2e12, 3e12], [1, 1, 1], [0.3, 0.2, 0.1], "seconds_per_flop: found -"),
        ([1e12, 2e12, 3e12], [1, 1, 1], [0.1, 0.3, 0.5], "seconds_per_pass: found -"),
    ],
)
def test_points_that_decide_nothing_are_refused(
    flops: list[float], passes: list[int], seconds: list[float], message: str
) -> None:
    """Too few points, points on one ray, and a falling law are refused with the reason."""
    with pytest.raises(InputError, match=message):
        fit_latency(flops, passes, seconds, weights="equal")


def test_unknown_weights_are_refused() -> None:
    """Weights are chosen by name."""
    with pytest.raises(InputError, match="weights: found huber, expected one of relative, equal"):
        fit_latency(*points(0.0), weights="huber")


def test_named_constants_stay() -> None:
    """The two named constant sets are the pinned ones, whatever is fitted."""
    pinned = {"calibrated": (8.4e12, 0.0414, 27e12, 0.0077), "physical": (80e12, 0.0134, 60e12, 0.0022)}
    found = {
        name: (1 / llm.seconds_per_flop, llm.seconds_per_pass, 1 / slm.seconds_per_flop, slm.seconds_per_pass)
        for name, (llm, slm) in BALANCE_CONSTANTS.items()
    }
    assert found == {name: pytest.approx(values, rel=1e-15) for name, values in pinned.items()}
    shapes = [(m.layers, m.hidden, m.heads, m.head_dim, m.ffn) for m in BALANCE_MODELS.values()]
    assert shapes == [(32, 4096, 32, 128, 11008), (22, 2048, 32, 64, 5632)]
