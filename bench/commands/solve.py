"""``certigap solve`` and ``certigap check``: one instance, one method; one decision, re-evaluated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import FAILED, LIMIT, note, parse_settings
from instances.errors import InputError

__all__ = ["check_decision", "solve_file"]

DECISIONS = {
    "balance": "assignment",
    "slot": "allocation",
    "handover": "schedule",
    "mmkp": "choice",
    "utility": "sigmoid",
}  # by problem


def solve_file(
    file: Path = typer.Argument(..., help="An instance."),
    method: str = typer.Option(..., "--method", help="A method of `certigap methods`."),
    settings: list[str] = typer.Option([], "--set", help="KEY=VALUE of the method."),
    time_limit: float | None = typer.Option(None, "--time-limit", help="Seconds.", min=0.0, max=1e9),
    memory_limit: float | None = typer.Option(None, "--memory-limit", help="Megabytes.", min=0.0, max=1e9),
    proof: Path | None = typer.Option(None, "--proof", help="File for the proof of the bound."),
    item: int | None = typer.Option(None, "--item", help="Which problem of a file of several, from 1."),
    output: Path | None = typer.Option(None, "-o", "--output", help="File for the decision."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> int:
    """Solve an instance with a method, and re-check the decision."""
    from bench.commands.proofs import check_provable, prove
    from bench.jobs.executors import run_all
    from bench.jobs.job import Job
    from bench.jobs.sources import FromFile
    from bench.registry import check_options, find, problem_of
    from formulations.result import Limits
    from instances.files import load_instance

    instance = load_instance(file, item=item)
    problem = problem_of(instance)
    options = parse_settings(settings)
    chosen = find(problem, method)
    check_options(chosen, options)
    if proof is not None:
        check_provable(chosen)
    limits = Limits(time_s=time_limit, memory_mb=memory_limit)
    source = FromFile(str(file.absolute()), item=item)
    job = Job("solve", problem, source, method, tuple(options.items()), limits)
    record = next(iter(run_all([job])))
    if record.status == "skipped":
        raise InputError(record.message)
    answer = _answer(record)
    decision = answer["decision"]
    if output is not None and decision is not None:
        from instances.files import write_whole

        write_whole(output, json.dumps(decision) + "\n")
    typer.echo(json.dumps(answer, allow_nan=False)) if as_json else _print(record, output)
    if proof is not None and record.status in ("optimal", "feasible", "bound_only", "infeasible"):
        prove(record, instance, chosen, proof)
    return _status(record)


def check_decision(
    file: Path = typer.Argument(..., help="An instance."),
    decision: Path = typer.Argument(..., help="A decision for it."),
    item: int | None = typer.Option(None, "--item", help="Which problem of a file of several, from 1."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> int:
    """Re-evaluate a decision exactly; exit status 1 when it is infeasible."""
    from bench.jobs.store import jsonable
    from bench.registry import PROBLEMS, problem_of, resolve
    from instances.files import document_of, load_decision, load_instance

    instance, chosen = load_instance(file, item=item), load_decision(decision)
    problem = problem_of(instance)
    expected = DECISIONS[problem]
    found = document_of(chosen)["format"]
    if found != f"certigap/{expected}":
        raise InputError(f"{decision}: format: found {found}, expected certigap/{expected} for {problem}")
    verdict = resolve(PROBLEMS[problem].evaluator)(instance, chosen)
    if as_json:
        fields = {key: getattr(verdict, key) for key in ("feasible", "objective", "violation", "message")}
        typer.echo(json.dumps(jsonable(fields | verdict.details)))
    else:
        word = "feasible" if verdict.feasible else "infeasible"
        typer.echo(f"{word}  objective {verdict.objective:.12g}  violation {verdict.violation:.6g}")
        if verdict.message:
            typer.echo(verdict.message)
    return 0 if verdict.feasible else FAILED


def _answer(record: Any) -> dict[str, Any]:
    phases = {
        "compile": record.compile_s,
        "build": record.build_s,
        "solve": record.solve_s,
        "check": record.check_s,
    }
    checked = {
        "feasible": record.feasible,
        "objective": record.checked_objective,
        "violation": record.violation,
    }
    return {
        "status": str(record.status),
        "stopped": str(record.stopped),
        "objective": record.objective,
        "bound": record.bound,
        "bound_kind": None if record.bound_kind is None else str(record.bound_kind),
        "gap": record.gap,
        "phases": phases,
        "counters": record.extra.get("counters", {}),
        "checked": checked,
        "decision": record.extra.get("decision"),
    }


def _print(record: Any, output: Path | None) -> None:
    typer.echo(f"{record.status} ({record.stopped})  {record.instance}  {record.method}")
    if record.checked_objective is not None:
        typer.echo(f"objective  {record.checked_objective:.12g}  re-checked, {_word(record.feasible)}")
    if record.bound is not None:
        gap = "" if record.gap is None else f", gap {record.gap:.3g}"
        typer.echo(f"bound      {record.bound:.12g}  {record.bound_kind}{gap}")
    if record.solve_s is not None:
        typer.echo(f"time       {record.solve_s:.4g} s")
    if record.message:
        typer.echo(record.message)
    if output is not None and record.extra.get("decision"):
        note(f"decision in {output}")


def _word(feasible: bool | None) -> str:
    return "feasible" if feasible else "infeasible"


def _status(record: Any) -> int:
    if record.status in ("inconsistent", "error"):
        return FAILED
    return LIMIT if record.status == "unknown" else 0
