"""BALANCE's sweeps: the grids are paired, and gains, one user's costs and gaps are as computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bench.experiments import EXPERIMENTS
from bench.experiments.balance_sweeps import FIG1_OUTPUTS, SWEEPS, USERS, single_user
from bench.jobs.job import Record
from bench.jobs.run import run_job
from bench.judging.balance_measures import average_gain, gap_points, single_user_change, sweep_points
from bench.judging.claims import judge, published_claims
from bench.judging.measures import NotTestableError
from bench.judging.statistics import mean_gain
from bench.registry import METHODS
from instances.generate import FAMILIES
from instances.presets import BALANCE_CONSTANTS
from tests.bench.sample_records import record

NAMES = [*SWEEPS, "balance-fig1", "balance-gap", "balance-exact"]


def row(
    method: str,
    seed: int,
    at: float,
    value: float | None,
    *,
    experiment: str = "balance-fig4b",
    **fields: object,
) -> Record:
    """Return a checked row at one value of a sweep."""
    axis = SWEEPS[experiment].axis if experiment in SWEEPS else "output_max"
    settings = [] if axis == USERS else [[axis, at]]
    size = int(at) if axis == USERS else 30
    made = record(method, f"s{seed}-{at}", value, experiment=experiment, family="calibrated-fig4", size=size)
    made.seed = seed
    made.extra = {"source": {"settings": settings}, "checked": {"memory_bytes": 12e9}}
    for key, content in fields.items():
        setattr(made, key, content)
    return made


def sweep_rows(method: str, values: np.ndarray, experiment: str = "balance-fig4b") -> list[Record]:
    """Return the rows of a table of values, (seeds, points)."""
    points = SWEEPS[experiment].values
    return [
        row(method, seed, at, float(value), experiment=experiment)
        for seed, line in enumerate(values)
        for at, value in zip(points, line, strict=True)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_grids_are_paired(name: str) -> None:
    """Every method runs on the same instances, as many at every value, and all names exist."""
    jobs = EXPERIMENTS[name](3)
    by_method: dict[str, list[object]] = {}
    for job in jobs:
        assert job.experiment == name
        assert ("balance", job.method) in METHODS
        assert job.source.family in FAMILIES
        by_method.setdefault(job.method, []).append(job.source)
    sources = next(iter(by_method.values()))
    assert len(set(sources)) == len(sources)
    assert all(other == sources for other in by_method.values())


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps_have_both_constants_memory_and_the_optimum(name: str) -> None:
    """Each sweep has both sets of constants, a family in which memory binds, and an exact method."""
    sweep = SWEEPS[name]
    assert {f.partition("-")[0] for f in sweep.families} == set(BALANCE_CONSTANTS)
    assert any("-q" in family for family in sweep.families)
    assert any(METHODS["balance", method].role == "exact" for method in sweep.methods)
    assert len(EXPERIMENTS[name](None)) == 100 * len(sweep.values) * len(sweep.families) * len(sweep.methods)


def test_average_gain_is_the_papers() -> None:
    """The gain is the mean over the values of (mean with BALANCE / mean with the baseline − 1)."""
    ours = np.array([[6, 9, 8, 9, 10], [8, 7, 8, 9, 10]])
    theirs = np.array([[5, 6, 4, 9, 5], [5, 4, 4, 9, 5]])
    rows = [*sweep_rows("hybrid", ours), *sweep_rows("ad-only", theirs), row("ad-only", 9, 2, 1.0)]
    measured = average_gain(rows, "balance-fig4b", "calibrated-fig4", "ad-only")
    assert measured.value == pytest.approx(100 * np.mean([7 / 5, 8 / 5, 2, 1, 2]) - 100)
    assert (measured.n, measured.expected) == (2, 2)
    assert measured.low < measured.value < measured.high
    assert "equal in 2 of 10 instances" in measured.detail
    assert "at most 50 % of the memory" in measured.detail


def test_gain_without_a_pair_at_every_value_is_not_testable() -> None:
    """A seed counts only if both methods ran at every value; a baseline that serves nobody has no gain."""
    ours = np.full((2, 5), 4.0)
    rows = [*sweep_rows("hybrid", ours), *sweep_rows("ad-only", ours)[:-1]]
    assert average_gain(rows, "balance-fig4b", "calibrated-fig4", "ad-only").n == 1
    with pytest.raises(NotTestableError, match="no seed with a run at every value"):
        average_gain(rows, "balance-fig4b", "calibrated-fig4", "sd-only")
    rows += sweep_rows("sd-only", np.zeros((2, 5)))
    with pytest.raises(NotTestableError, match="the baseline serves nobody"):
        average_gain(rows, "balance-fig4b", "calibrated-fig4", "sd-only")


def test_gain_over_an_equal_baseline_contradicts_with_the_reason() -> None:
    """Equal memory that costs nobody contradicts the published gain; the detail says that memory is idle."""
    values = np.array([[5, 6, 7, 8, 9.0]] * 10)
    rows = [*sweep_rows("hybrid", values, "balance-fig7b"), *sweep_rows("ema", values, "balance-fig7b")]
    claim = next(c for c in published_claims() if c.id == "fig7b-ema")
    judged = judge(claim, rows)
    assert (judged.verdict, judged.measurement.value) == ("contradicted", 0.0)
    assert "equal in 50 of 50 instances" in judged.measurement.detail
    assert "fill at most 50 % of the memory" in judged.measurement.detail


def test_gains_interval_is_paired() -> None:
    """A constant ratio has no interval however much the instances differ; a single seed has none either."""
    rng = np.random.Generator(np.random.PCG64(1))
    theirs = rng.uniform(1, 100, (12, 4))
    exact = mean_gain(1.5 * theirs, theirs)
    assert (exact.value, exact.low, exact.high) == pytest.approx((0.5, 0.5, 0.5))
    single = mean_gain([[3.0, 4.0]], [[2.0, 2.0]])
    assert (single.low, single.value, single.high, single.n) == (0.75, 0.75, 0.75, 1)


def test_gains_interval_covers_the_truth() -> None:
    """Of 300 samples of 30 seeds, 90 to 99 % have the true gain of 25 % inside their 95 % interval."""
    rng = np.random.Generator(np.random.PCG64(2))
    inside = 0
    for _ in range(300):
        theirs = rng.poisson(20, (30, 3)) + 1.0
        mean = mean_gain(rng.poisson(26.25, (30, 3)), theirs, resamples=999)
        inside += mean.low <= 0.25 <= mean.high
    assert 0.90 < inside / 300 < 0.99


def test_points_count_proofs() -> None:
    """A point is the mean of users served / K of feasible rows, and counts the proved ones."""
    rows = [
        row("exact", 0, 2, 12.0, status="optimal"),
        row("exact", 1, 2, 15.0),
        row("exact", 2, 2, None, status="error"),
    ]
    points = sweep_points(rows, "balance-fig4b", "calibrated-fig4", "exact")
    assert list(points) == [2.0]
    assert (points[2.0].mean.value, points[2.0].mean.n, points[2.0].proved) == (0.45, 2, 1)


def test_gaps_are_to_the_least_bound() -> None:
    """A gap is (bound − value) / bound, and a size says how many of its bounds are optima."""
    place = {"experiment": "balance-gap", "family": "physical-fig4", "size": 30}
    rows = [
        record("exact", "a", 20, status="optimal", bound=20, **place),
        record("hybrid", "a", 19, **place),
        record("exact", "b", 21, bound=24, **place),
        record("hybrid", "b", 18, **place),
    ]
    point = gap_points(rows, "physical-fig4", "hybrid")[30]
    assert point.mean.value == pytest.approx((5.0 + 25.0) / 2)
    assert (point.proved, point.mean.n) == (1, 2)
    assert gap_points(rows, "physical-fig4", "exact")[30].mean.value == pytest.approx(6.25)
    assert gap_points(rows, "calibrated-fig4", "hybrid") == {}


def test_one_user_in_both_modes_gives_fig_1() -> None:
    """Runs of one user give AD's and SD's latency and memory: SD needs 17.9 to 18.6 % more of it."""
    rows = [run_job(job) for job in single_user(2) if job.source.family == "calibrated-fig5"]
    assert len(rows) == 2 * 2 * len(FIG1_OUTPUTS)
    memory = single_user_change(rows, "calibrated-fig5", "memory_bytes")
    assert memory.detail == "17.9 … 18.6 % by output length"
    assert memory.value == pytest.approx(18.3, abs=0.05)
    latency = single_user_change(rows, "calibrated-fig5", "seconds")
    ad = [r for r in rows if r.method == "ad-only" and r.extra["checked"]["seconds_sd"] == 0.0]
    assert len(ad) == len(rows) / 2
    assert -39.1 < latency.low <= latency.value <= latency.high < -15.0
    with pytest.raises(NotTestableError, match="no seed with a run at every value"):
        single_user_change(rows, "physical-fig5", "seconds")
