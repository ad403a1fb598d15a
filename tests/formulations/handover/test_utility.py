"""Claims about the utility families."""

import math
from itertools import pairwise

import numpy as np
import pytest
from flint import arb

from formulations.handover.evaluate import evaluate_slot
from formulations.handover.utility import (
    CODES,
    covering,
    drop,
    drop_rate,
    log_slopes,
    reach,
    slope,
    slopes,
    total,
    value,
    values,
)
from instances.decisions import Allocation
from instances.handover import UTILITIES, SlotInstance, SlotUsers

PEAKS = {"algebraic": 2, "logistic": 4, "erf": math.sqrt(math.pi), "arctan": math.pi}


def columns(*numbers: float) -> list[np.ndarray]:
    """Return one-entry arrays."""
    return [np.array([x], dtype=float) for x in numbers]


@pytest.mark.parametrize("utility", UTILITIES)
def test_reach_inverts_drop(utility: str) -> None:
    """``reach`` inverts ``drop`` with full relative precision from almost flat to very steep."""
    for u in np.geomspace(1e-9, 1e9, 60):
        d = drop(CODES[utility], u)
        again = reach(CODES[utility], d)
        assert math.isclose(again, u, rel_tol=1e-13 * max(1.0, d))


@pytest.mark.parametrize("utility", UTILITIES)
def test_reach_does_not_overflow(utility: str) -> None:
    """``reach`` is finite and increasing for drops as large as a double's exponents allow."""
    found = [reach(CODES[utility], d) for d in (0.0, 1e-12, 1.0, 79.0, 81.0, 700.0, 1400.0)]
    assert found[0] == 0
    assert all(math.isfinite(x) for x in found)
    assert all(a < b for a, b in pairwise(found))


@pytest.mark.parametrize("utility", UTILITIES)
def test_slope_is_the_derivative(utility: str) -> None:
    """The slope equals the value's difference quotient."""
    for y in (0.0, 0.1, 0.3, 0.9):
        curve, h = columns(0.9, 7.0, 0.2), 1e-6
        low, high = (values(utility, *curve, np.array([y + s])) for s in (-h, h))
        assert math.isclose(
            float(slopes(utility, *curve, np.array([y]))[0]),
            (high - low)[0] / 2 / h,
            rel_tol=1e-8,
            abs_tol=1e-9,
        )


@pytest.mark.parametrize("utility", UTILITIES)
def test_slope_falls_by_drop(utility: str) -> None:
    """``slope`` is the exponential of the logarithm of the slope."""
    for u in (0.0, 1e-9, 0.3, 2.0, 20.0):
        y = np.array([0.2 + u / 7.0])
        expected = float(slopes(utility, *columns(0.9, 7.0, 0.2), y)[0])
        assert math.isclose(slope(CODES[utility], 0.9, 7.0, u), expected, rel_tol=1e-12)


@pytest.mark.parametrize("utility", UTILITIES)
def test_total_is_the_rounded_sum(utility: str) -> None:
    """``total`` is the exact sum of the values to a rounding, whatever their sizes and order."""
    rng = np.random.default_rng(5)
    curve = (10.0 ** rng.uniform(-12, 6, 5000), rng.uniform(1.0, 60.0, 5000), rng.uniform(0.0, 0.5, 5000))
    y = rng.uniform(0.0, 1.0, 5000)
    assert math.isclose(total(utility, *curve, y), math.fsum(values(utility, *curve, y)), rel_tol=2.3e-16)


@pytest.mark.parametrize("utility", UTILITIES)
def test_covering_bound_is_above_the_exact_value(utility: str) -> None:
    """A bound that meets a decision's rounded value is not below what the checker finds, and hardly above."""
    rng = np.random.default_rng(6)
    apart = 0
    for n in (10, 30, 300) * 10:
        curve = (rng.uniform(0.5, 1.0, n), rng.uniform(1.0, 60.0, n), rng.uniform(0.0, 0.5, n))
        y, cache = rng.uniform(0.0, 1.0, n), rng.uniform(1e8, 1e10, n)
        slot = SlotInstance("s", utility, 1.0, 1e13, SlotUsers(cache, np.zeros(n), *curve))
        exact, claimed = evaluate_slot(slot, Allocation(y)).objective, total(utility, *curve, y)
        apart += claimed != exact
        bound = covering(claimed, claimed)
        assert exact <= bound <= exact * (1.0 + 1e-14)
        assert covering(bound + 1.0, claimed) == bound + 1.0
    assert apart > 0


@pytest.mark.parametrize("utility", UTILITIES)
def test_slope_peaks_at_the_anchor(utility: str) -> None:
    """The slope at the anchor is Mk over the family's constant."""
    peak = slopes(utility, *columns(0.9, 7.0, 0.2, 0.2))[0]
    assert math.isclose(peak, 0.9 * 7.0 / PEAKS[utility], rel_tol=1e-14)


@pytest.mark.parametrize("utility", UTILITIES)
def test_drop_rate_is_the_derivative_of_drop(utility: str) -> None:
    """``drop_rate`` equals the difference quotient of ``drop``."""
    for u in (1e-3, 0.5, 3.0, 50.0):
        h = 1e-6 * u
        quotient = (drop(CODES[utility], u + h) - drop(CODES[utility], u - h)) / (2 * h)
        assert math.isclose(drop_rate(CODES[utility], u), quotient, rel_tol=1e-6)


@pytest.mark.parametrize("utility", UTILITIES)
def test_lower_tail_keeps_its_digits(utility: str) -> None:
    """A far below the anchor agrees with 60 digits relative to itself."""
    u = arb(-30) * arb("0.5")
    exact = {
        "algebraic": (1 + u / (1 + u * u).sqrt()) / 2,
        "logistic": 1 / (1 + (-u).exp()),
        "erf": (1 + u.erf()) / 2,
        "arctan": arb(1) / 2 + u.atan() / arb.pi(),
    }
    if utility == "erf":
        exact["erf"] = (-u).erfc() / 2
    found = value(CODES[utility], 1.0, 30.0, 0.5, 0.0)
    assert math.isclose(found, float(exact[utility].mid()), rel_tol=1e-9 if utility == "algebraic" else 1e-13)


def test_log_slope_survives_underflow() -> None:
    """The logarithm of a slope that is 0 in double is still finite."""
    curve = columns(0.9, 2000.0, 0.1)
    assert slopes("erf", *curve, np.array([1.0]))[0] == 0
    assert math.isclose(log_slopes("erf", *curve, np.array([1.0]))[0], -(1800.0**2), rel_tol=1e-5)
