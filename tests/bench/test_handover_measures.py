"""Claims about what is read from the records of the handover sweeps."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from bench.experiments import EXPERIMENTS
from bench.experiments.handover_sweeps import HORIZONS, SWEEPS, Curve, horizon, latency, sweep
from bench.jobs.job import Job, Record
from bench.jobs.run import run_job
from bench.jobs.sources import Generated, source_as_dict
from bench.judging.claims import judge_all, published_claims
from bench.judging.handover_measures import (
    crossover,
    curve_means,
    curve_values,
    hybrid_mean,
    latency_mean,
)
from bench.judging.horizon_gaps import VERSIONS, closed_shares, gap_points
from bench.judging.measures import NotTestableError
from bench.registry import METHODS, check_options, find
from formulations.result import Limits
from reports.figures import handover_horizon, handover_sweeps
from reports.handover_tables import (
    admission_table,
    allocators_table,
    crossover_table,
    handover_tables,
    horizon_table,
    latency_table,
)

HANDOVER = [name for name in EXPERIMENTS if name.startswith("handover-")]


def record(
    experiment: str, method: str, seed: int, axis: str, at: float, accuracy: float, starved: int = 0
) -> Record:
    """Return a row of a sweep with ten users."""
    source = Generated("importance", None, seed, ((axis, at),))
    return Record(
        key=f"{experiment}-{method}-{seed}-{at}",
        experiment=experiment,
        problem="handover",
        instance=f"trace-{seed}-{at}",
        instance_sha256=f"{seed}-{at}",
        family="importance",
        size=10,
        seed=seed,
        method=method,
        method_version="1",
        parameters="{}",
        status="feasible",
        objective=accuracy / 10,
        checked_objective=accuracy / 10,
        feasible=True,
        extra={"source": source_as_dict(source), "checked": {"starved": starved, "latency": {}}},
    )


def crossing(values: dict[float, float], seeds: int = 4) -> list[Record]:
    """Return rows of Fig. 4(a) in which equal shares lead winner-take-all by the values given, in points."""
    rows = []
    for at in SWEEPS["handover-fig4a"].values:
        for seed in range(seeds):
            lead = values[at] + 0.01 * (seed - 1.5)
            rows.append(record("handover-fig4a", "equal", seed, "slot_s", at, 90.0 + lead))
            rows.append(record("handover-fig4a", "winner-take-all", seed, "slot_s", at, 90.0))
    return rows


@pytest.mark.parametrize("experiment", HANDOVER)
def test_every_run_of_a_grid_has_a_method_with_these_options(experiment: str) -> None:
    """Each job names a method that exists and options that it takes, and no run is listed twice."""
    jobs = EXPERIMENTS[experiment](1)
    assert len({(job.source, job.method, job.options) for job in jobs}) == len(jobs)
    for job in {(job.problem, job.method, job.options): job for job in jobs}.values():
        assert ":" in job.method or (job.problem, job.method) in METHODS
        check_options(find(job.problem, job.method), dict(job.options))


@pytest.mark.parametrize("experiment", sorted(SWEEPS))
def test_curves_of_a_sweep_run_and_are_checked(experiment: str) -> None:
    """The first trace of every curve runs; the row keeps what was checked and leaves the decision out."""
    first = {(job.method, job.options, job.source.family): job for job in reversed(sweep(experiment, 1))}
    for job in first.values():
        assert isinstance(job.source, Generated)
        short = replace(job.source, settings=(*job.source.settings, ("horizon_s", 5.0)))
        row = run_job(replace(job, source=short))
        assert (row.status, row.message) == ("feasible", "")
        assert row.extra["decision"] is None
        assert set(row.extra["checked"]) >= {"starved", "latency"}


def test_values_of_a_curve_are_percentages_by_point_and_seed() -> None:
    """Accuracy is the checked objective and starvation the checked count, both by user."""
    rows = [record("handover-fig3a", "equal", s, "rate_per_s", 4.0, 80.0 + s, s) for s in range(3)]
    rows.append(replace(rows[0], key="x", seed=9, feasible=False))
    values = curve_values(rows, "handover-fig3a", Curve("equal"))
    assert list(values) == [4.0]
    assert values[4.0] == pytest.approx({0: 80.0, 1: 81.0, 2: 82.0})
    starved = curve_means(rows, "handover-fig3a", Curve("equal"), "starved")
    assert starved[4.0].value == pytest.approx(10.0)
    assert curve_values(rows, "handover-fig3a", Curve("equal", (("redistribute", True),))) == {}


def test_crossover_is_interpolated_between_the_points() -> None:
    """Where the lead changes from −.1 to .3 between 70 and 80 ms, the curves cross at 72.5 ms."""
    leads = {at: -0.1 if at <= 0.07 else 0.3 for at in SWEEPS["handover-fig4a"].values}
    found = crossover(crossing(leads), "handover-fig4a")
    assert found.value == pytest.approx(0.0725, rel=1e-12)
    assert found.low <= found.value <= found.high
    assert found.detail == "equal shares is ahead above"


def test_curves_that_do_not_cross_are_not_testable() -> None:
    """Without a change of places there is no crossover, and it is said who is ahead."""
    rows = crossing(dict.fromkeys(SWEEPS["handover-fig4a"].values, 1.0))
    with pytest.raises(NotTestableError, match="equal is ahead throughout"):
        crossover(rows, "handover-fig4a")
    assert "equal is ahead" in crossover_table(rows).rows[0][-1]


def test_latencies_are_pooled_over_users() -> None:
    """Runs' sums are divided by all their users; users who never have it are named."""
    rows = [record("handover-latency", "water-filling", s, "rate_per_s", 4.0, 90.0) for s in range(2)]
    rows[0].extra["checked"]["latency"] = {"4096": [3, 3, 0.6, 0.13]}
    rows[1].extra["checked"]["latency"] = {"4096": [2, 1, 0.4, 0.16]}
    found = latency_mean(rows, 4096)
    assert found.value == pytest.approx(250.0)
    assert found.detail == "4 users; 1 users never have it"
    with pytest.raises(NotTestableError, match="no user of this context length"):
        latency_mean(rows, 8192)


@pytest.fixture(scope="module")
def small_runs() -> list[Record]:
    """Rows of short runs: latencies, the receding horizon at two loads, admission, allocators."""
    jobs: list[Job] = list(latency(12))
    for job in horizon(1):
        assert isinstance(job.source, Generated)
        if job.source.settings in (HORIZONS[1], HORIZONS[7]):
            jobs.append(job)
    jobs += [
        job for job in sweep("handover-fig5b", 2) if dict(job.source.settings)["rate_per_s"] in (4.0, 12.0)
    ]
    jobs += [job for job in EXPERIMENTS["handover-allocators"](1) if job.source.users == 10]
    return [run_job(replace(job, limits=Limits(time_s=60.0))) for job in jobs]


def test_tables_hold_what_the_runs_say(small_runs: list[Record]) -> None:
    """Each table has its rows, and without records there is none."""
    assert [row[0] for row in latency_table(small_runs).rows] == ["4K", "8K", "16K", "mean of the three"]
    assert len(admission_table(small_runs).rows) == 7
    assert len(horizon_table(small_runs).rows) == 6
    errors = {row[1]: row[-1] for row in allocators_table(small_runs).rows}
    assert float(errors["water-filling"]) <= 1e-14
    assert float(errors["water-filling-bisection (epsilon 1e-12, tolerance absolute)"]) > 1e-4
    assert not any(table.rows for table in handover_tables([]))


def test_hybrid_is_measured_on_the_stored_arrivals(small_runs: list[Record]) -> None:
    """The Hybrid row follows from the records' sources and grows with the context."""
    means = [hybrid_mean(small_runs, tokens).value for tokens in (4096, 8192, 16384)]
    assert means == sorted(means)
    assert all(150 < mean < 900 for mean in means)


def test_gap_is_closed_by_a_share_between_nothing_and_all(small_runs: list[Record]) -> None:
    """Every version closes some of the gap to a verified bound, none more than all of it."""
    for closed in closed_shares(small_runs):
        assert 0.0 < closed.share.value <= 100.0
        assert closed.share.low <= closed.share.value <= closed.share.high
        assert closed.gap > 0.0
    gaps = [gap_points(small_runs, version)[8.0].value for version in VERSIONS]
    assert min(gaps) >= 0.0
    assert gaps[0] == max(gaps)


def test_figures_are_drawn_from_the_records(small_runs: list[Record], tmp_path: Path) -> None:
    """The figures of the experiments at hand are drawn, no others."""
    drawn = {path.stem for path in handover_sweeps.draw(small_runs, tmp_path)}
    assert drawn == {"handover-fig5b", "handover-fig5b-starved"}
    drawn = {path.stem for path in handover_horizon.draw(small_runs, tmp_path)}
    assert drawn == {"handover-horizon", "handover-closed", "handover-decomposition"}


def test_published_claims_are_judged(small_runs: list[Record]) -> None:
    """Every claim whose experiment ran is judged, and a measured value comes with its interval."""
    own = [c for c in published_claims() if c.experiment in ("handover-fig5b", "handover-latency")]
    judged = {j.claim.id: j for j in judge_all(small_runs) if j.claim in own}
    assert set(judged) == {c.id for c in own}
    for j in judged.values():
        assert j.measurement is not None
        assert j.measurement.low <= j.measurement.value <= j.measurement.high
        assert math.isfinite(j.measurement.value)
