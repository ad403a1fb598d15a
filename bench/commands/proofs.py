"""Proofs of bounds: ``certigap verify``, and the file that ``certigap solve --proof`` writes."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from bench.commands.common import FAILED, note
from bench.jobs.job import Record
from bench.judging.proofs import Verified, verify
from bench.registry import Method, methods_of, resolve
from instances.errors import InputError, shown
from instances.files import Instance, content_hash, load_instance
from instances.proof_files import Header, ProofError, decision_of, write_proof

__all__ = ["check_provable", "prove", "verify_proof"]


def verify_proof(
    file: Path = typer.Argument(..., help="An instance."),
    proof: Path = typer.Argument(..., help="A proof of a bound on it."),
    item: int | None = typer.Option(None, "--item", help="Which problem of a file of several, from 1."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> int:
    """Check a proof of a bound without any solver; exit status 1 when a step does not hold."""
    instance = load_instance(file, item=item)
    try:
        verified = verify(instance, proof)
    except ProofError as error:
        answer = {"verified": False, "failure": str(error)}
        typer.echo(json.dumps(answer) if as_json else f"refused    {error}")
        return FAILED
    if as_json:
        typer.echo(json.dumps({"verified": True, **vars(verified)}))
    else:
        _print(verified)
    return 0


def _print(verified: Verified) -> None:
    claim = "is feasible" if verified.bound < 0 else f"is worth more than {_digits(verified.bound)}"
    typer.echo(f"verified   no decision{verified.scope} {claim} ({verified.method})")
    if verified.value is not None:
        gap = verified.bound - verified.value
        best = f"the best one{verified.scope}" if verified.scope else "optimal"
        word = best if gap <= 0 else f"within {gap:.3g} of {best}"
        typer.echo(f"value      {_digits(verified.value)}, re-checked, feasible: {word}")


def _digits(value: float) -> str:
    """Return the shortest decimal that reads as this double."""
    return repr(value).removesuffix(".0")


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
