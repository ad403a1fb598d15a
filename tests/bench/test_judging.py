"""Statistics and verdicts: against scipy, hand-computed values, and records made for the purpose."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.judging.agreement import disagreements
from bench.judging.claims import (
    MEASURES,
    Claim,
    Judged,
    judge,
    judge_all,
    published_claims,
    verdict,
)
from bench.judging.measures import Measurement, NotTestableError, certified_bounds
from bench.judging.statistics import mean_of, power_law, ratio_of_sums, semi_log, stratified_mean
from tests.bench.sample_records import record


def test_mean_has_the_student_interval() -> None:
    """The interval equals scipy's Student interval."""
    values = np.random.Generator(np.random.PCG64(1)).normal(5, 2, 12)
    mean = mean_of(values)
    expected = stats.t.interval(0.95, 11, loc=values.mean(), scale=stats.sem(values))
    assert (mean.low, mean.high) == pytest.approx(expected)
    assert (mean.value, mean.n) == (pytest.approx(values.mean()), 12)


def test_one_value_has_no_interval() -> None:
    """One value, and equal values, have no width."""
    assert mean_of([3.0]).low == mean_of([3.0]).high == 3.0
    assert mean_of([2.0, 2.0]).high == 2.0


def test_growth_of_exact_laws_is_found() -> None:
    """A power law gives its exponent, an exponential its base, without residual."""
    sizes = [10, 20, 40, 80, 160, 320]
    power = power_law(sizes, [3e-6 * k**1.4 for k in sizes])
    assert (power.growth, power.residual) == (pytest.approx(1.4), pytest.approx(0, abs=1e-12))
    exponential = semi_log(range(10, 17), [1e-9 * 3.0**k for k in range(10, 17)])
    assert exponential.growth == pytest.approx(3.0)
    assert exponential.low <= 3.0 + 1e-9
    with pytest.raises(ValueError, match="at least three points"):
        power_law([1, 2], [1, 2])


def test_stratified_mean_weighs_strata_alike() -> None:
    """The mean of strata is the mean of their means, with the standard error of independent strata."""
    mean = stratified_mean([[1.0, 3.0], [10.0, 10.0, 10.0]])
    assert (mean.value, mean.n) == (6.0, 5)
    half = stats.t.ppf(0.975, 3) * np.sqrt(2.0 / 2) / 2
    assert mean.high - mean.value == pytest.approx(half)


def test_interval_is_cut_to_the_possible() -> None:
    """A share's interval ends at 100 %."""
    assert mean_of([99.0, 100.0, 95.0], (0.0, 100.0)).high == 100.0


def test_ratio_of_sums_and_its_interval() -> None:
    """Over equal denominators it is the mean and its interval; else the interval covers as often."""
    values = np.array([1.0, 4.0, 2.0, 7.0])
    plain, ratio = mean_of(values / 2.0), ratio_of_sums(values, np.full(4, 2.0))
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((plain.value, plain.low, plain.high))
    rng = np.random.Generator(np.random.PCG64(5))
    covered = 0
    for _ in range(400):
        below = rng.uniform(1.0, 3.0, 12)
        found = ratio_of_sums(0.6 * below + rng.normal(0.0, 0.3, 12), below)
        covered += found.low <= 0.6 <= found.high
    assert 0.91 <= covered / 400 <= 0.98


def claim(kind: str, value: float, **fields: Any) -> Claim:
    """Return a claim for the verdicts' tests."""
    return Claim("x", "e", "p", "here", "so", kind, value, "%", ("mean_accuracy", 4), **fields)


@pytest.mark.parametrize(
    ("published", "low", "high", "expected"),
    [
        (93.7, 93.5, 93.8, "reproduced"),
        (93.7, 93.74, 93.9, "reproduced"),  # within half the last printed digit
        (93.7, 93.9, 94.1, "close"),
        (93.7, 95.0, 95.4, "contradicted"),
        (93.7, 92.0, 92.4, "contradicted"),
    ],
)
def test_verdict_on_a_value(published: float, low: float, high: float, expected: str) -> None:
    """A value is reproduced in the widened interval, close within the tolerance, else contradicted."""
    measured = Measurement((low + high) / 2, low, high, 10, 10, "sampled")
    assert verdict(claim("value", published, digit=0.1, tolerance=1.0), measured) == expected


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("at_least", 0.5, 0.5, "holds"),
        ("at_least", 1 / 3, 1 / 3, "contradicted"),
        ("at_least", 0.45, 0.56, "holds"),
        ("at_least", 0.45, 0.54, "not testable"),
        ("at_most", 0.45, 0.54, "holds"),
        ("at_most", 0.45, 0.56, "not testable"),
        ("at_most", 0.51, 0.6, "contradicted"),
    ],
)
def test_verdict_on_an_inequality(kind: str, low: float, high: float, expected: str) -> None:
    """An inequality holds by the value, is contradicted by the whole interval, and is open in between."""
    measured = Measurement((low + high) / 2, low, high, 10, 10, "sampled")
    assert verdict(claim(kind, 0.5), measured) == expected


@pytest.mark.parametrize(
    ("wanted", "low", "high", "caveat"),
    [
        (claim("value", 93.7, tolerance=1.0, digit=0.1), 93.0, 94.0, ""),
        (claim("value", 93.7, tolerance=1.0, digit=0.1), 90.0, 96.0, "the interval is wider than"),
        (claim("value", 93.7, tolerance=1.0, digit=0.1), 80.0, 90.0, ""),
        (claim("value", 93.7, tolerance=1.0, digit=0.1, fitted=True), 93.0, 94.0, "constants were fitted"),
        (claim("at_least", 93.7), 93.0, 95.0, "the interval includes the limit"),
        (claim("at_least", 93.7), 94.0, 95.0, ""),
    ],
)
def test_verdict_comes_with_what_it_cannot_tell(
    monkeypatch: pytest.MonkeyPatch, wanted: Claim, low: float, high: float, caveat: str
) -> None:
    """Wide intervals, limits inside them and fitted constants are said beside the verdict."""
    measured = Measurement((low + high) / 2, low, high, 10, 10, "sampled")
    monkeypatch.setitem(MEASURES, "mean_accuracy", lambda records, load: measured)
    reason = judge(wanted, []).reason
    assert caveat in reason
    assert bool(reason) == bool(caveat)


def test_an_inequality_over_all_instances_is_sampled() -> None:
    """What proves the extreme instance proves nothing of the others; of a witness it does."""
    measured = Measurement(0.5, 0.5, 0.5, 10, 10, "verified (proof checked)")
    assert Judged(claim("at_least", 0.5), "holds", measured).evidence.startswith("sampled; the extreme one")
    assert Judged(claim("at_least", 0.6), "contradicted", measured).evidence.startswith("verified")


def test_least_bound_counts_and_a_verified_one_before_it() -> None:
    """Of several bounds the least one is taken, in whatever order; a verified one goes first."""
    first = record("clairvoyant-tangent", "t", 1.0, bound=2.0, status="optimal", experiment="e")
    second = record("clairvoyant-secant", "t", 1.0, bound=3.0, status="feasible", experiment="e")
    third = record("clairvoyant", "t", 1.0, bound=2.5, status="optimal", experiment="e")
    third.extra["verified_bound"] = 2.5
    for rows in ([first, second], [second, first]):
        assert certified_bounds(rows, "e") == {"t": (2.0, False)}
    for rows in ([first, third, second], [third, second, first]):
        assert certified_bounds(rows, "e") == {"t": (2.5, True)}


def test_published_claims_are_complete() -> None:
    """Every published claim has a measure that exists, a known kind, and an id of its own."""
    claims = published_claims()
    assert len({c.id for c in claims}) == len(claims)
    for c in claims:
        assert c.kind in ("value", "at_least", "at_most")
        assert c.measure[0] in MEASURES
        assert c.kind != "value" or c.tolerance > 0


def test_smallest_ratio_names_its_witness() -> None:
    """The measure of the ½-approximation finds the least ratio to a proved optimum and its instance."""
    rows = [
        *[record("hybrid", f"i{i}", value, family="unit") for i, value in enumerate([4, 3, 1, 0])],
        *[record("exhaustive", f"i{i}", best, status="optimal") for i, best in enumerate([4, 4, 3, 0])],
        record("milp", "i2", 3, status="optimal"),
        record("hybrid", "unproved", 0),
    ]
    theorem = next(c for c in published_claims() if c.id == "theorem-1")
    judged = judge(theorem, rows)
    assert judged.verdict == "contradicted"
    assert judged.measurement is not None
    assert judged.measurement.value == pytest.approx(1 / 3)
    assert judged.measurement.evidence == "proved (2 witnesses)"
    assert (judged.measurement.witness, judged.measurement.n, judged.measurement.expected) == ("i2", 4, 5)


def test_a_row_whose_claim_failed_has_no_part_in_a_mean() -> None:
    """The mean accuracy, and the best AD set, are of rows that the checker accepted."""
    statuses = {"a": "feasible", "b": "feasible", "c": "inconsistent"}
    rows = [
        record("water-filling", name, 9.0 if status == "feasible" else 2.0, status=status, size=10, load=4.0)
        for name, status in statuses.items()
    ]
    for row in rows:
        row.experiment = "handover-clairvoyant"
    mean = MEASURES["mean_accuracy"](rows, 4)
    assert mean.value == pytest.approx(90.0)
    assert (mean.n, mean.expected) == (2, 3)
    pair = [record("ad-only", "i", 2), record("ad-only-own", "i", 2)]
    wrong = [record("ad-only", "j", 1, status="inconsistent"), record("ad-only-own", "j", 2)]
    assert MEASURES["smallest_ad_ratio"]([*pair, *wrong]).value == 1.0


def test_claims_without_records_are_left_out() -> None:
    """Only claims whose experiment has records are judged."""
    assert judge_all([]) == []
    assert {j.claim.experiment for j in judge_all([record("hybrid", "i", 1)])} == {"balance-guarantee"}


def test_what_cannot_be_measured_is_not_testable() -> None:
    """Missing runs give *not testable* with the reason, never a verdict."""
    with pytest.raises(NotTestableError, match=r"exhaustive-naive ran not here; `nox -s fig6` runs it"):
        MEASURES["speed_up"]([], "exhaustive-naive", "last")
    single = record("water-filling", "t", 3.0, experiment="handover-clairvoyant", size=4, load=4.0)
    accuracy = next(c for c in published_claims() if c.id == "accuracy-4")
    judged = judge(accuracy, [single])
    assert (judged.verdict, judged.reason) == ("not testable", "one run has no interval")


def test_disagreement_of_exact_methods_is_seen() -> None:
    """A bound below another method's checked value, or *infeasible* beside a decision, is a contradiction."""
    agreeing = [record("exhaustive", "i", 3, status="optimal", bound=3), record("hybrid", "i", 2)]
    assert disagreements(agreeing) == []
    lines = disagreements([*agreeing, record("milp", "i", 2, status="optimal", bound=2)])
    assert lines == ["i: exhaustive reaches 3, milp bounds 2"]
    refused = record("milp", "i", None, status="infeasible")
    assert disagreements([*agreeing, refused]) == ["i: milp says infeasible, exhaustive serves it"]
