"""Checks a proof of a bound: about this instance, every step, and the decision beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bench.jobs.verdict import TOLERANCE
from bench.registry import PROBLEMS, problem_of, resolve
from instances.decimals import as_decimal
from instances.errors import InputError, shown
from instances.files import Instance, content_hash, size_of
from instances.proof_files import Header, ProofError, read_proof

__all__ = ["Verified", "verify"]

SCOPES = {"slot": " that lifts every user to its anchor"}  # what a bound holds for, if not for all decisions


@dataclass(frozen=True)
class Verified:
    """What a proof has shown."""

    bound: float  # no decision is worth more; rounded upwards, below 0 if none is feasible
    value: float | None  # of the decision that the proof brings, re-evaluated
    method: str  # whose proof it is
    scope: str  # words about the decisions that the bound holds for, empty for all


def verify(instance: Instance, proof: str | Path) -> Verified:
    """Check the proof of a bound, without any solver.

    Raises
    ------
    ProofError
        With the first step that does not hold.
    InputError
        For a file that is no proof, or a record of another form.
    """
    path, problem = Path(proof), problem_of(instance)
    header, records = read_proof(path)
    _check_header(header, problem, instance)
    value = _checked_value(header, problem, instance)
    try:
        bound = resolve(PROBLEMS[problem].proof)(instance, header, records)
    except InputError as error:
        raise error if str(error).startswith(str(path)) else error.within(path) from None
    if value is not None and value > bound + TOLERANCE * size_of(instance):
        raise ProofError(f"the decision is worth {value:.12g}, more than the bound")
    return Verified(_upwards(bound), value, header.method, SCOPES.get(problem, ""))


def _check_header(header: Header, problem: str, instance: Instance) -> None:
    if header.problem != problem:
        raise ProofError(f"the proof is about {shown(header.problem)}, the instance is one of {problem}")
    if header.instance_sha256 != content_hash(instance):
        raise ProofError("the proof is about another instance")


def _checked_value(header: Header, problem: str, instance: Instance) -> float | None:
    """Return the value of the proof's decision, re-evaluated; None without one."""
    if header.decision is None:
        return None
    verdict = resolve(PROBLEMS[problem].evaluator)(instance, header.decision)
    if not verdict.feasible:
        raise ProofError(f"the decision is infeasible: {verdict.message}")
    return float(verdict.objective)


def _upwards(bound: Fraction) -> float:
    """Return the smallest double that prints as a decimal at or above the bound."""
    value = float(bound)
    while as_decimal(value) < bound:
        value = math.nextafter(value, math.inf)
    return value
