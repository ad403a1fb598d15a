"""Proofs of bounds: ``certigap verify``, and the file that ``certigap solve --proof`` writes."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import FAILED, note
from bench.jobs.job import Record
from bench.registry import PROBLEMS, Method, methods_of, problem_of, resolve
from instances.errors import InputError, shown
from instances.files import Instance, content_hash, load_instance
from instances.proof_files import Header, ProofError, decision_of, read_proof, write_proof

_SCOPES = {"slot": " that lifts every user to its anchor"}  # what a bound holds for

__all__ = ["check_provable", "prove", "verify_proof"]


def verify_proof(
    file: Path = typer.Argument(..., help="An instance."),
    proof: Path = typer.Argument(..., help="A proof of a bound on it."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> int:
    """Check a proof of a bound without any solver; exit status 1 when a step does not hold."""
    instance = load_instance(file)
    header, records = read_proof(proof)
    problem, bound, value, failure = problem_of(instance), None, None, ""
    try:
        _check_header(header, problem, instance)
        value = _checked_value(header, problem, instance)
        bound = resolve(PROBLEMS[problem].proof)(instance, header, records)
        if value is not None and value > bound:
            raise ProofError(f"the decision is worth {value:.12g}, more than the bound")
    except ProofError as error:
        failure = str(error)
    except InputError as error:
        raise error if str(error).startswith(str(proof)) else error.within(proof) from None
    answer = {
        "verified": not failure,
        "bound": None if bound is None or failure else _upwards(bound),
        "value": value,
        "scope": _SCOPES.get(problem, ""),
        "method": header.method,
        "failure": failure,
    }
    typer.echo(json.dumps(answer)) if as_json else _print(answer)
    return FAILED if failure else 0


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
    """Return a double at or above the bound."""
    value = float(bound)
    while Fraction(value) < bound:
        value = math.nextafter(value, math.inf)
    return value


def _print(answer: dict[str, Any]) -> None:
    if answer["failure"]:
        typer.echo(f"refused    {answer['failure']}")
        return
    bound, which = f"{answer['bound']:.17g}", answer["scope"]
    typer.echo(f"verified   no decision{which} is worth more than {bound} ({answer['method']})")
    if answer["value"] is not None:
        gap = answer["bound"] - answer["value"]
        word = "optimal" if gap == 0 else f"within {gap:.3g} of optimal"
        typer.echo(f"value      {answer['value']:.17g}, re-checked, feasible: {word}")


def check_provable(method: Method) -> None:
    """Refuse a method whose bounds have no proof.

    Raises
    ------
    InputError
        With the methods that have one.
    """
    if not method.proof:
        names = ", ".join(m.name for m in methods_of(method.problem) if m.proof) or "none"
        raise InputError(f"--proof: found method {shown(method.name)}, expected one of {names}")


def prove(record: Record, instance: Instance, method: Method, path: Path) -> None:
    """Write the proof of a record's bound, and say how large it is."""
    certificate = record.extra.get("certificate") or {}
    bound, records = resolve(method.proof)(instance, record.bound, certificate)
    decision = decision_of(record.extra.get("decision") if record.feasible else None)
    digest = content_hash(instance)
    header = Header(record.problem, digest, record.method, bound, decision)
    size = write_proof(path, header, records)
    note(f"proof in {path} ({size} bytes)")
