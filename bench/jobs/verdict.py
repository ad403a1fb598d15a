"""Claim against re-evaluation: what a method says is entered, what the checker finds decides."""

from __future__ import annotations

import math
from collections.abc import Iterator

from bench.jobs.job import Record
from bench.registry import PROBLEMS, find, resolve
from formulations.evaluation import Evaluation
from formulations.result import BoundKind, Result, Status, Stopped
from instances.files import Instance, document_of, size_of
from instances.proof_files import Header, ProofError

__all__ = ["TOLERANCE", "enter_claim", "enter_verdict"]

TOLERANCE = 1e-9  # a user, between a claim and its re-evaluation
PROVED_USERS = 24  # up to which a proof takes a fraction of a second
PROVED_NODES = 10**6  # likewise, of the search


def enter_claim(record: Record, result: Result) -> None:
    """Enter what the method claims."""
    record.status, record.stopped = result.status, result.stopped
    record.objective, record.bound = _finite(result.objective), _finite(result.bound)
    record.bound_kind = result.bound_kind
    record.build_s = result.phases.get("build")
    record.message = result.message
    record.extra |= {
        "counters": result.counters,
        "phases": result.phases,
        "incumbents": [list(pair) for pair in result.incumbents],
        "decision": None if result.decision is None else document_of(result.decision),
        "certificate": result.certificate,
    }


def enter_verdict(record: Record, instance: Instance, result: Result) -> None:
    """Re-evaluate the decision; a claim that does not hold makes the run inconsistent."""
    problem = PROBLEMS[record.problem]
    tolerance = TOLERANCE * max(size_of(instance), 1)
    evaluation: Evaluation | None = None
    lies: list[str] = []
    if result.decision is not None:
        evaluation = resolve(problem.evaluator)(instance, result.decision)
        record.checked_objective, record.feasible = _finite(evaluation.objective), evaluation.feasible
        record.violation = _finite(evaluation.violation)
        record.extra["checked"] = evaluation.details
        lies += [] if evaluation.feasible else [f"the decision is infeasible: {evaluation.message}"]
    lies += _contradictions(result, evaluation, tolerance)
    if problem.verifier is not None and "prices" in result.certificate:
        groups = {key: result.certificate[key] for key in ("groups",) if key in result.certificate}
        verified = resolve(problem.verifier)(instance, result.certificate["prices"], **groups)
        record.extra["verified_bound"] = verified
        proved = result.bound_kind in (BoundKind.PRICES, BoundKind.LP) or bool(groups)
        if proved and (result.bound or 0.0) < verified - tolerance:
            lies.append(f"bound {result.bound!r} is below the {verified!r} that its prices prove")
    elif result.status is Status.OPTIMAL and size_of(instance) <= PROVED_USERS:
        lies += _proof(record, instance, result)
    if record.bound is not None and record.checked_objective is not None:
        record.gap = _finite((record.bound - record.checked_objective) / max(record.bound, 1e-300))
    if lies:
        record.status, record.stopped, record.message = Status.INCONSISTENT, Stopped.LIE, "; ".join(lies)


def _proof(record: Record, instance: Instance, result: Result) -> Iterator[str]:
    """Write the proof of a small optimum and verify it, where the method has one; yield why it fails."""
    writer = find(record.problem, record.method).proof
    if not writer or result.bound is None or result.counters.get("nodes", 0) > PROVED_NODES:
        return
    try:
        bound, records = resolve(writer)(instance, result.bound, result.certificate)
        header = Header(record.problem, record.instance_sha256, record.method, bound, None)
        record.extra["verified_bound"] = float(
            resolve(PROBLEMS[record.problem].proof)(instance, header, records)
        )
    except ProofError as error:
        yield f"bound {result.bound!r} has no proof: {error}"


def _contradictions(result: Result, evaluation: Evaluation | None, tolerance: float) -> Iterator[str]:
    decided = result.status in (Status.OPTIMAL, Status.FEASIBLE)
    if decided != (result.decision is not None):
        yield f"status {result.status} with{'out' if result.decision is None else ''} a decision"
    if decided and (result.objective is None or not math.isfinite(result.objective)):
        yield f"objective {result.objective} is no finite number"
    elif decided and evaluation is not None and not _close(result.objective, evaluation.objective, tolerance):
        yield f"claimed {result.objective!r}, re-evaluated {evaluation.objective!r}"
    if result.bound is not None and not result.bound > -math.inf:
        yield f"bound {result.bound} is no bound"
    if result.bound is None or evaluation is None:
        if result.status is Status.OPTIMAL and result.bound is None:
            yield "status optimal without a bound"
        return
    if result.bound < evaluation.objective - tolerance:
        yield f"bound {result.bound!r} is below the decision's {evaluation.objective!r}"
    if result.status is Status.OPTIMAL and result.bound > evaluation.objective + tolerance:
        yield f"status optimal, but the bound {result.bound!r} leaves a gap to {evaluation.objective!r}"


def _close(claimed: float | None, checked: float, tolerance: float) -> bool:
    return claimed is not None and abs(claimed - checked) <= tolerance


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
