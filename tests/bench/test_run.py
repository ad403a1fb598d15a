"""One run: claims are compared with their re-evaluation, and failures become rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bench.jobs.job import Job
from bench.jobs.run import run_job
from bench.jobs.sources import FromPublicData, Generated
from bench.registry import METHODS

SAMPLES = "tests.bench.sample_methods:"


def job(method: str, users: int = 6, **fields: object) -> Job:
    """Return a job of a registered method or of one of the samples on a small instance."""
    name = method if ("balance", method) in METHODS else SAMPLES + method
    return Job("test", "balance", Generated("physical-fig4", users, 0), name, **fields)


def test_honest_claim_is_kept() -> None:
    """A claim that holds is stored beside the checker's value, with its times."""
    record = run_job(job("exhaustive"))
    assert (record.status, record.stopped) == ("optimal", "done")
    assert record.objective == record.checked_objective == record.bound
    assert (record.gap, record.feasible, record.violation) == (0.0, True, 0.0)
    assert record.solve_s is not None
    assert record.check_s is not None
    assert record.extra["decision"]["format"] == "certigap/assignment"


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("boasts", "claimed 6.0, re-evaluated 5.0"),
        ("serves_everybody", "the decision is infeasible: deadline: user"),
        ("claims_optimality", "status optimal, but the bound 3.0 leaves a gap to 0.0"),
        ("proves_nothing", "status optimal without a bound"),
        ("counts_nan", "objective nan is no finite number"),
        ("forgets_decision", "status feasible without a decision"),
        ("bounds_too_low", "bound 0.5 is below the decision's 5.0"),
        ("solves_another", "the decision is infeasible: mode: found 1 entries, expected 6"),
    ],
)
def test_lie_is_caught(method: str, message: str) -> None:
    """A claim that does not hold makes the row inconsistent, and the row says why."""
    record = run_job(job(method))
    assert (record.status, record.stopped) == ("inconsistent", "lie")
    assert message in record.message


def test_small_optimum_is_proved_and_verified() -> None:
    """The bound of a small optimum is verified from its proof, without the search."""
    record = run_job(job("exact", 10))
    assert (record.status, record.extra["verified_bound"]) == ("optimal", record.bound)


def test_bound_that_has_no_proof_is_a_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method that calls one user less than the optimum optimal is caught by the proof that it lacks."""
    honest = METHODS["balance", "exact"]
    monkeypatch.setitem(METHODS, ("balance", "exact"), replace(honest, function=SAMPLES + "stops_early"))
    record = run_job(job("exact"))
    assert (record.status, record.stopped) == ("inconsistent", "lie")
    assert record.message == "bound 4.0 has no proof: a decision of 5 users turned up, above the bound"


def test_exception_becomes_a_row() -> None:
    """An exception in a method is an error row with its type and text, and an empty objective."""
    record = run_job(job("raises"))
    assert (record.status, record.stopped, record.objective) == ("error", "crash", None)
    assert record.message == "ZeroDivisionError: nothing to divide by"


def test_decision_of_another_kind_becomes_a_row() -> None:
    """A decision that the checker cannot read is an error row."""
    assert run_job(job("wrong_kind")).status == "error"


def test_missing_public_data_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the public files a run is skipped, with the reason."""
    source = FromPublicData("azure", ("traces/none.csv",), "balance_from_azure")
    monkeypatch.delenv("CERTIGAP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "none"))
    record = run_job(Job("test", "balance", source, "hybrid"))
    assert (record.status, record.stopped) == ("skipped", "missing_data")
    assert record.message == "no public files: set CERTIGAP_DATA, or run certigap fetch"
    monkeypatch.setenv("CERTIGAP_DATA", str(tmp_path))
    assert run_job(Job("test", "balance", source, "hybrid")).message.startswith("none.csv is not among")


def test_unknown_option_is_skipped() -> None:
    """An option that a method does not take is refused by name."""
    record = run_job(job("hybrid", options=(("speed", 3),)))
    assert (record.status, record.stopped) == ("skipped", "unsupported")
    assert "set.speed: unknown for hybrid" in record.message
