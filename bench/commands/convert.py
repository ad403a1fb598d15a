"""``certigap convert``: MMKP files between formats, BALANCE at thresholds, and models for other solvers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from bench.commands.common import note, parse_settings
from instances.errors import InputError, shown

__all__ = ["convert_file"]

SETTINGS = ("padding", "separator", "thresholds")
TEXT_ENDINGS, MODEL_ENDINGS = ("", ".txt", ".gz", ".txt.gz"), (".mps", ".lp")


def convert_file(
    source: Path = typer.Argument(..., metavar="IN", help="An MMKP file, or a BALANCE instance."),
    target: Path = typer.Argument(
        ..., metavar="OUT", help="FILE or FILE.txt, also with .gz; FILE.mps or FILE.lp."
    ),
    to: str | None = typer.Option(None, "--to", help="khan, irregular or hiremath-hill; else what fits."),
    item: int | None = typer.Option(None, "--item", help="Which problem of a file of several, from 1."),
    settings: list[str] = typer.Option(
        [], "--set", help="thresholds=JSON or a decision's file; separator=dash; padding=strip."
    ),
) -> int:
    """Write an instance in another format.

    A file of several problems is written as one unless --item names a problem. A BALANCE instance needs
    thresholds and becomes an MMKP with a group a user: none, AD, SD. MPS and LP files come with
    OUT.names.json: sense, constant, and what the names stand for.
    """
    from instances.files import write_whole
    from instances.importers.mmkp_text import write_mmkp

    _check_target(source, target)
    chosen = parse_settings(settings)
    for key in chosen:
        if key not in SETTINGS:
            raise InputError(f"--set: found {shown(key)}, expected one of {', '.join(SETTINGS)}")
    problems = _problems(source, item, chosen)
    if target.suffix in MODEL_ENDINGS:
        if to is not None or len(problems) != 1:
            raise InputError(f"{target}: found {len(problems)} problems and --to {to}, expected one and none")
        _write_model(problems[0], target)
    else:
        write_whole(target, write_mmkp(problems, to))
    count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
    note(f"{count} of {source} in {target}")
    return 0


def _check_target(source: Path, target: Path) -> None:
    """Refuse a target whose ending says no format, and the source itself."""
    plain = target.with_suffix("") if target.suffix == ".gz" else target
    ending = plain.suffix + (".gz" if target.suffix == ".gz" else "")
    if ending not in (*TEXT_ENDINGS, *MODEL_ENDINGS):
        expected = f"none, {', '.join(TEXT_ENDINGS[1:])}, {' or '.join(MODEL_ENDINGS)}"
        raise InputError(f"{target}: found the ending {shown(ending)}, expected {expected}")
    if target.exists() and source.exists() and target.samefile(source):
        raise InputError(f"{target}: found the file that is read, expected another")


def _problems(source: Path, item: int | None, chosen: dict[str, Any]) -> list[Any]:
    """Return the MMKPs to write."""
    from instances.importers import mmkp_text, text

    if mmkp_text.format_of(text.read(source).text) is None and "separator" not in chosen:
        return [_at_thresholds(source, chosen)]
    if "thresholds" in chosen:
        raise InputError("--set thresholds: found an MMKP file, expected a BALANCE instance")
    separator = chosen.get("separator", "blank")
    several = item is None and separator == "blank" and mmkp_text.problem_count(source) > 1
    items = range(1, mmkp_text.problem_count(source) + 1) if several else [item]
    problems = [mmkp_text.read_mmkp(source, item=i, separator=separator) for i in items]
    if chosen.get("padding", "strip") != "strip":
        raise InputError(f"--set padding: found {shown(chosen['padding'])}, expected strip")
    return [mmkp_text.without_padding(p) for p in problems] if "padding" in chosen else problems


def _at_thresholds(source: Path, chosen: dict[str, Any]) -> Any:
    """Return a BALANCE instance as an MMKP."""
    from formulations.balance.as_mmkp import as_mmkp, thresholds_from, thresholds_of
    from instances.balance import BalanceInstance
    from instances.decisions import Assignment
    from instances.files import document_of, load_decision, load_instance

    instance = load_instance(source)
    if not isinstance(instance, BalanceInstance):
        raise InputError(
            f"{source}: found {document_of(instance)['format']}, expected an MMKP or a BALANCE instance"
        )
    if "thresholds" not in chosen or set(chosen) != {"thresholds"}:
        raise InputError("--set thresholds: missing, expected JSON or the file of an assignment")
    wanted = chosen["thresholds"]
    if not isinstance(wanted, str):
        return as_mmkp(instance, thresholds_from(wanted))
    decision = load_decision(wanted)
    if not isinstance(decision, Assignment):
        raise InputError(f"{wanted}: found {document_of(decision)['format']}, expected an assignment")
    return as_mmkp(instance, thresholds_of(instance, decision))


def _write_model(problem: Any, target: Path) -> None:
    from bench.jobs.run import quiet_stdout
    from formulations.mmkp.exact.export import export_model, name_map
    from instances.files import write_whole

    with quiet_stdout():  # HiGHS greets before it can be silenced
        model = export_model(problem, target.suffix)
    write_whole(target, model)
    write_whole(target.with_name(target.name + ".names.json"), json.dumps(name_map(problem), indent=1) + "\n")
