"""Claims about what the records of the forms of the clairvoyant bound say."""

import json
from pathlib import Path

import pytest

from bench.experiments import EXPERIMENTS
from bench.jobs.job import Record
from bench.judging.bounds import excess_by_segments, secant_traces, segments_for, share_by_segments
from reports.bounds_table import bounds_table
from reports.figures import secant
from tests.bench.sample_records import record


def rows(load: float, certified: float, water: float, curvature: float) -> list[Record]:
    """Return the records of one trace of 10 users with secant bounds of 16 and 32 segments."""
    trace, shared = f"t{load:g}", {"experiment": "handover-bounds", "size": 10, "load": load}
    made = [
        record("clairvoyant", trace, certified, bound=certified, **shared),
        record("water-filling", trace, water, **shared),
    ]
    for n in (16, 32):
        bound = certified + curvature / n**2
        row = record("clairvoyant-secant", trace, certified, bound=bound, key=f"{trace}-{n}", **shared)
        row.parameters = json.dumps({"segments": n})
        row.extra["certificate"] = {"interpolated": certified, "correction": curvature / n**2}
        made.append(row)
    return made


def test_slack_and_share_follow_the_segments() -> None:
    """The slack is the corrected bound less the certified one, in points, and the share has it below."""
    traces = secant_traces(rows(8.0, 9.0, 8.9, 25.6))
    slack, share = excess_by_segments(traces), share_by_segments(traces)
    assert {n: mean.value for n, mean in slack.items()} == pytest.approx({16: 1.0, 32: 0.25})
    assert share[16].value == pytest.approx(100 * 8.9 / 9.1)


def test_segments_for_a_share_give_that_share() -> None:
    """The number of segments found for a share reproduces it; a share above the exact one has none."""
    traces = secant_traces(rows(8.0, 9.0, 8.9, 25.6))
    n = segments_for(traces, 97.0)
    assert n is not None
    assert 100 * 8.9 / (9.0 + 25.6 / n**2) == pytest.approx(97.0, rel=1e-6)
    assert segments_for(traces, 99.9) is None


def test_runs_that_ended_early_are_left_out() -> None:
    """A secant bound of a run that a limit ended says nothing of its segments."""
    own = rows(8.0, 9.0, 8.9, 25.6)
    own[-1].stopped = "time"
    assert list(secant_traces(own)[0].secant) == [16]


def test_table_and_figures_come_from_the_records(tmp_path: Path) -> None:
    """Each form and number of segments is a row, and both figures are drawn; without records nothing is."""
    own = [*rows(1.0, 9.4, 9.39, 12.8), *rows(8.0, 9.0, 8.9, 25.6)]
    assert [row[:3] for row in bounds_table(own).rows] == [
        (load, form, n)
        for load in ("1", "8")
        for form, n in (
            ("`clairvoyant`", "–"),
            ("`clairvoyant-secant`", "16"),
            ("`clairvoyant-secant`", "32"),
        )
    ]
    drawn = {path.name for path in secant.draw(own, tmp_path)}
    assert {"secant-slack.svg", "secant-share.svg"} <= drawn
    assert secant.draw([], tmp_path) == []


def test_experiment_holds_all_forms_at_four_loads() -> None:
    """One seed of handover-bounds runs every form at four loads, the secant form at several segments."""
    jobs = EXPERIMENTS["handover-bounds"](1)
    assert len(jobs) == 4 * 11
    assert len({(job.source, job.method, job.options) for job in jobs}) == len(jobs)
