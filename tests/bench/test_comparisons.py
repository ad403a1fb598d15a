"""Statistics of comparisons: against scipy, or against values computed by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bench.judging.comparisons import (
    compare_methods,
    compare_records,
    paired_difference,
    paired_ratio,
    seconds_by_method,
    times_by_method,
    values_by_method,
)
from bench.judging.profiles import (
    MAX_CURVES,
    cost_to_reach,
    data_profile,
    mean_gaps,
    performance_profile,
    profile_of_records,
    trajectories_by_method,
)
from bench.judging.statistics import (
    bootstrap_interval,
    holm,
    penalised_mean,
    shifted_geometric_mean,
    signed_rank,
)
from tests.bench.sample_records import record

SKEWED = [1.0, 2.0, 2.5, 3.0, 4.5, 7.0, 30.0]


def places(*values: float | None) -> dict[tuple[Any, Any], float | None]:
    """Return values of instances 0, 1, … with one seed each."""
    return {(i, 0): value for i, value in enumerate(values)}


def test_bootstrap_interval_is_scipys() -> None:
    """The interval is scipy's BCa interval with the same generator."""
    rng = np.random.Generator(np.random.PCG64(3))
    expected = stats.bootstrap((SKEWED,), np.mean, n_resamples=9999, method="BCa", rng=rng)
    assert bootstrap_interval(SKEWED, seed=3) == pytest.approx(tuple(expected.confidence_interval))


def test_bootstrap_interval_is_seeded() -> None:
    """The same seed gives the same interval, another seed another one."""
    assert bootstrap_interval(SKEWED, seed=1) == bootstrap_interval(SKEWED, seed=1)
    assert bootstrap_interval(SKEWED, seed=1) != bootstrap_interval(SKEWED, seed=2)


@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0, 2.0]])
def test_interval_without_width(values: list[float]) -> None:
    """A single value and equal values have an interval of one point, without a warning."""
    assert bootstrap_interval(values) == (2.0, 2.0)


def test_seeds_are_nested_in_instances() -> None:
    """Ten seeds of one instance weigh as much as one seed of another."""
    first: dict[tuple[Any, Any], float | None] = {("a", s): 0.0 for s in range(10)} | {("b", 0): 0.0}
    second: dict[tuple[Any, Any], float | None] = {("a", s): 1.0 for s in range(10)} | {("b", 0): 3.0}
    difference = paired_difference(first, second)
    assert (difference.value, difference.n, difference.n_ok) == (2.0, 2, 11)
    assert difference.by_instance == (1.0, 3.0)


def test_missing_pairs_are_counted() -> None:
    """A failure and a row on one side only are no pairs, but were expected."""
    difference = paired_difference(places(1.0, None, 1.0), places(2.0, 5.0))
    assert (difference.value, difference.n_ok, difference.n_expected) == (1.0, 1, 3)
    assert (difference.low, difference.high) == (1.0, 1.0)


def test_no_pair_at_all() -> None:
    """Without a pair, the difference is not a number and says so by its counts."""
    difference = paired_difference(places(None), places(1.0))
    assert math.isnan(difference.value)
    assert (difference.n_ok, difference.n_expected) == (0, 1)


def test_ratio_is_geometric() -> None:
    """Twice and half as long are, together, as long; the interval holds the value."""
    ratio = paired_ratio(places(1.0, 1.0, 2.0), places(2.0, 0.5, 2.0))
    assert ratio.value == pytest.approx(1.0)
    assert ratio.low < 1.0 < ratio.high


def test_ratio_of_zero_is_refused() -> None:
    """A time of 0 has no ratio."""
    with pytest.raises(ValueError, match="needs positive values"):
        paired_ratio(places(0.0), places(1.0))


def test_signed_rank_of_five_gains() -> None:
    """Five gains in five: 2 of 2⁵ signs are as extreme, p = 1/16."""
    test = signed_rank([1.0, 2.0, 3.0, 4.0, 5.0])
    assert (test.statistic, test.p, test.n, test.n_zero) == (0.0, 0.0625, 5, 0)


def test_signed_rank_with_zeros_is_pratts() -> None:
    """Zeros are ranked, their ranks dropped, as scipy's ``pratt`` does."""
    differences = [0.0, 0.0, 1.0, -2.0, 3.0, 4.0, 4.0, 6.0]
    expected = stats.wilcoxon(differences, zero_method="pratt")
    test = signed_rank(differences)
    assert (test.statistic, test.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert test.n_zero == 2


@pytest.mark.parametrize("differences", [[], [0.0], [0.0] * 20])
def test_signed_rank_of_equals(differences: list[float]) -> None:
    """Methods that never differ have p = 1, not an error."""
    assert signed_rank(differences).p == 1.0


def test_holm_by_hand() -> None:
    """Holm's procedure: .01·3, then .03·2, then no less than before; never above 1."""
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert holm({"a": 0.9, "b": 0.8}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}


def test_methods_are_compared_with_the_reference() -> None:
    """Each method has its difference, test and corrected p; all are judged on the same grid."""
    base = [1.0, 2.0, 3.0, 4.0, 5.0]
    values = {
        "base": places(*base),
        "better": places(*(v + i + 1 for i, v in enumerate(base))),
        "same": places(*base),
        "failing": places(1.0, None, None, None, None),
        "elsewhere": {("z", 0): 1.0},
    }
    found = {c.method: c for c in compare_methods(values, "base")}
    assert list(found) == ["better", "same", "failing", "elsewhere"]
    assert found["better"].difference.value == 3.0
    assert (found["better"].test.p, found["better"].p_holm) == pytest.approx((0.0625, 0.25))
    assert (found["same"].difference.value, found["same"].p_holm) == (0.0, 1.0)
    assert (found["failing"].difference.n_ok, found["failing"].difference.n_expected) == (1, 6)


def test_unknown_reference_is_named() -> None:
    """A reference that isn't there is refused by name."""
    with pytest.raises(ValueError, match="reference: found 'x', expected one of a"):
        compare_methods({"a": places(1.0)}, "x")


def test_shifted_geometric_mean_by_hand() -> None:
    """With shift 1, of 0 and 8 it is √(1·9) − 1 = 2; with shift 0 it is scipy's geometric mean."""
    mean = shifted_geometric_mean([0.0, 8.0], shift=1.0)
    assert mean.value == pytest.approx(2.0)
    assert (mean.shift, mean.n_ok, mean.n_expected) == (1.0, 2, 2)
    assert mean.low <= mean.value <= mean.high
    assert shifted_geometric_mean(SKEWED, shift=0.0).value == pytest.approx(stats.gmean(SKEWED))


def test_shifted_geometric_mean_counts_failures() -> None:
    """Failures are left out and counted; of failures only, there is no mean."""
    mean = shifted_geometric_mean([3.0, None], shift=1.0, expected=5)
    assert (mean.value, mean.n_ok, mean.n_expected) == (pytest.approx(3.0), 1, 5)
    assert math.isnan(shifted_geometric_mean([None], shift=1.0).value)


def test_shift_must_make_values_positive() -> None:
    """A value at or below minus the shift is refused."""
    with pytest.raises(ValueError, match="needs values above −1, found -2"):
        shifted_geometric_mean([-2.0], shift=1.0)


def test_par10_by_hand() -> None:
    """A failure, a time at the limit and a missing run cost ten limits each: (1 + 3·20) / 4."""
    mean = penalised_mean([1.0, None, 2.0], limit_s=2.0, expected=4)
    assert (mean.value, mean.limit_s, mean.n_ok, mean.n_expected) == (15.25, 2.0, 1, 4)


@pytest.mark.parametrize("limit", [None, 0.0, math.inf, math.nan])
def test_par10_needs_a_limit(limit: float | None) -> None:
    """Without a time limit there is no PAR-10."""
    with pytest.raises(ValueError, match="PAR-10 needs a time limit"):
        penalised_mean([1.0], limit_s=limit)


def test_more_runs_than_expected_is_refused() -> None:
    """A grid smaller than the runs is a mistake."""
    with pytest.raises(ValueError, match="found 2 runs, expected at most 1"):
        penalised_mean([1.0, 1.0], limit_s=2.0, expected=1)


def test_performance_profile_by_hand() -> None:
    """Ratios to the best; a problem that nobody solves counts and keeps every curve below 1."""
    costs = {"a": {1: 1.0, 2: 4.0, 3: None}, "b": {1: 2.0, 2: 2.0, 3: math.inf}}
    profile = performance_profile(costs)
    a, b = profile.curves
    assert (a.at, a.share) == ((1.0, 2.0), (1 / 3, 2 / 3))
    assert (a(0.5), a(1.0), a(1.9), a(2.0), a(1e9)) == (0.0, 1 / 3, 1 / 3, 2 / 3, 2 / 3)
    assert (b.at, b.n_ok, b.n_expected) == ((1.0, 2.0), 2, 3)
    assert profile.reference == "the best of 2 methods on each problem"


def test_profile_against_one_method() -> None:
    """With a reference, a faster method has a ratio below 1; where the reference fails, nobody counts."""
    profile = performance_profile({"a": {1: 1.0, 2: 1.0}, "b": {1: 2.0, 2: None}}, reference="b")
    assert (profile.reference, profile.curves[0].at, profile.curves[0].n_ok) == ("b", (0.5,), 1)


def test_profile_ratio_to_zero() -> None:
    """A cost of 0 equals another 0 and is infinitely better than anything else."""
    profile = performance_profile({"a": {1: 0.0}, "b": {1: 1e-9}, "c": {1: 0.0}})
    assert [curve.n_ok for curve in profile.curves] == [1, 0, 1]


def test_profile_draws_the_best_eight() -> None:
    """Of ten methods the eight of the smallest mean gap are drawn, and the others named."""
    costs = {f"m{i}": {1: 1.0 + i} for i in range(10)}
    gaps = {f"m{i}": None if i == 3 else 0.1 * (10 - i) for i in range(10)}
    profile = performance_profile(costs, gaps=gaps)
    assert len(profile.curves) == MAX_CURVES
    assert profile.curves[0].method == "m9"
    assert profile.left_out == ("m0", "m3")
    assert profile.curves[0].at == (10.0,)  # relative to m0, which is not drawn


def test_profile_of_one_method_and_of_failures() -> None:
    """One method alone is its own best; failures only give a curve that never steps."""
    assert performance_profile({"a": {1: 3.0}}).curves[0].at == (1.0,)
    curve = performance_profile({"a": {1: None}}).curves[0]
    assert (curve.at, curve(1e9), curve.n_ok, curve.n_expected) == ((), 0.0, 0, 1)
    assert performance_profile({}).curves == ()


def test_negative_cost_is_refused() -> None:
    """A negative cost is refused by method and problem."""
    with pytest.raises(ValueError, match=r"found -1\.0 for a on 7, expected at least 0"):
        performance_profile({"a": {7: -1.0}})


def test_data_profile_by_hand() -> None:
    """Budgets are counted in each problem's unit; an expected problem without a run is unsolved."""
    profile = data_profile({"a": {1: 6.0, 2: 4.0}}, units={1: 3.0, 2: 4.0, 3: 1.0}, expected=[1, 2, 3])
    (curve,) = profile.curves
    assert (curve.at, curve.share, curve.n_expected) == ((1.0, 2.0), (1 / 3, 2 / 3), 3)


def test_cost_to_reach_by_hand() -> None:
    """With tolerance .1 from 0 to 10, the first value of at least 9 counts; none is a failure."""
    trajectory = [(0.1, 5.0), (0.4, 9.0), (2.0, 10.0)]
    assert cost_to_reach(trajectory, 10.0, tolerance=0.1) == 0.4
    assert cost_to_reach(trajectory, 10.0, tolerance=0.0) == 2.0
    assert cost_to_reach(trajectory, 20.0, tolerance=0.1) is None


def test_records_become_costs() -> None:
    """Of a run the fastest repetition counts; a limit or an error is a failure in time and value."""
    rows = [
        record("m", "i", 4.0, solve_s=2.0, repetition=0),
        record("m", "i", 4.0, solve_s=1.0, repetition=1),
        record("m", "j", 4.0, solve_s=1.0, stopped="time"),
        record("m", "k", None, status="error", solve_s=1.0),
    ]
    assert list(seconds_by_method(rows)["m"].values()) == [1.0, None, None]
    assert list(values_by_method(rows)["m"].values()) == [4.0, 4.0, None]


def test_newest_code_counts() -> None:
    """Of two rows of one run, that of the later start is used, whatever their order."""
    rows = [
        record("m", "i", 2.0, started_utc="2030-01-02T00:00:00+00:00", method_version="new"),
        record("m", "i", 1.0, started_utc="2030-01-01T23:00:00+00:00", method_version="old"),
    ]
    assert list(values_by_method(rows)["m"].values()) == [2.0]


def test_means_are_over_instances() -> None:
    """With groups, the seeds of an instance are averaged first: (√(1·4) · 8)^½ = 4; (2 + 6) / 2 = 4."""
    mean = shifted_geometric_mean([1.0, 4.0, None, 8.0], shift=0.0, groups=["a", "a", "a", "b"])
    assert (mean.value, mean.n_ok, mean.n_expected) == (pytest.approx(4.0), 3, 4)
    assert penalised_mean([4.0, None, 2.0], limit_s=2.0, groups="aab").value == 20.0
    assert penalised_mean([1.0, 3.0, 6.0], limit_s=9.0, groups="aab").value == 4.0


def test_times_of_records_expect_the_same_of_all() -> None:
    """A method is charged for instances that only others ran on; without one limit there is no PAR-10."""
    rows = [record("m", i, 1.0, solve_s=3.0, time_limit_s=5.0) for i in ("i", "j")]
    rows += [record("n", "i", 1.0, solve_s=1.0, time_limit_s=5.0), record("o", "i", 1.0, solve_s=1.0)]
    found = {t.method: t for t in times_by_method(rows)}
    assert (found["m"].seconds.value, found["m"].seconds.shift) == (pytest.approx(3.0), 1.0)
    n = found["n"].par10
    assert n is not None
    assert (n.value, n.n_ok, n.n_expected) == (25.5, 1, 2)
    assert found["o"].par10 is None


def test_profile_of_records_ranks_by_gap() -> None:
    """Methods without a gap come last; parameters make a method another one."""
    rows = [
        record("m", "i", 1.0, solve_s=1.0),
        record("m", "i", 1.0, solve_s=2.0, parameters='{"x": 1}', gap=0.5),
    ]
    assert mean_gaps(rows) == {"m": None, 'm {"x": 1}': 0.5}
    assert [c.method for c in profile_of_records(rows).curves] == ['m {"x": 1}', "m"]


def test_trajectories_end_with_the_checked_value() -> None:
    """A run without incumbents is one point; a run without a feasible decision has none."""
    rows = [record("m", "i", 3.0, solve_s=2.0), record("m", "j", None, status="unknown", solve_s=2.0)]
    assert list(trajectories_by_method(rows)["m"].values()) == [[(2.0, 3.0)], []]


def test_time_ratio_of_records_is_over_instances() -> None:
    """The ratio takes each run's fastest repetition on either side, and counts pairs without a time."""
    before = [record("m", "i", 1.0, solve_s=s, repetition=k) for k, s in enumerate((4.0, 2.0))]
    after = [record("m", "i", 1.0, solve_s=s, repetition=k) for k, s in enumerate((1.0, 3.0))]
    before.append(record("m", "j", 1.0, solve_s=1.0))
    after.append(record("m", "j", None, status="error"))
    (comparison,) = compare_records(before, after)
    assert comparison.times.value == pytest.approx(0.5)
    assert (comparison.times.n_ok, comparison.times.n_expected) == (1, 2)
