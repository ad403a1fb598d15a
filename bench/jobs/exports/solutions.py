"""Records for tools of the solver community: perprof-py's tables and SCIP's list of known solutions."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from bench.jobs.exports.selection import RunId, ended_well, method_label, newest, token, without_repetitions
from bench.jobs.exports.timings import SHORTEST_S
from bench.jobs.job import Record

__all__ = ["records_as_perprof", "records_as_solu"]

TOLERANCE = 1e-9  # relative, between a proved optimum and what others reached
_GAVE_UP_S = 1.0  # the cost beside a failure's flag, which perprof must be able to read, but does not use


def records_as_perprof(records: Sequence[Record]) -> dict[str, str]:
    """Return a table of ``problem flag seconds`` for each method, by the name of its file.

    The flag is ``c`` where a run came to its own end with a claim that held, else ``d``; a limit is ``d``.
    Parameters make a method another one. A run's time is that of its fastest repetition.
    """
    lines: dict[str, list[str]] = defaultdict(list)
    for run, rows in without_repetitions(records).items():
        label = method_label(run)
        seconds = [r.solve_s for r in rows if r.solve_s is not None]
        solved = ended_well(rows) and bool(seconds)
        cost = max(min(seconds, default=_GAVE_UP_S), SHORTEST_S)
        lines[label].append(f"{_problem(run, rows[0])} {'c' if solved else 'd'} {cost!r}\n")
    names = _file_names(lines)
    headers = {label: f"---\nalgname: {json.dumps(label, ensure_ascii=False)}\n---\n" for label in lines}
    return {f"{names[label]}.table": headers[label] + "".join(rows) for label, rows in lines.items()}


def records_as_solu(records: Sequence[Record]) -> str:
    """Return a line an instance: ``=opt= name value``, ``=best= name value``, ``=inf= name`` or ``=unkn=``.

    An optimum is one that a run proved and no run contradicts. Values are those of checked, feasible
    decisions, to be maximised; bounds have no place in this format.
    """
    by_instance: dict[str, list[Record]] = defaultdict(list)
    for record in newest(records):
        if record.instance_sha256:
            by_instance[record.instance_sha256].append(record)
    names = _instance_names(by_instance)
    return "".join(f"{_solution(names[digest], rows)}\n" for digest, rows in by_instance.items())


def _solution(name: str, rows: list[Record]) -> str:
    held = [r for r in rows if r.status in ("optimal", "feasible")]
    reached = [r.checked_objective for r in held if r.feasible and r.checked_objective is not None]
    if not reached:
        refused = any(r.status == "infeasible" for r in rows)
        return f"=inf= {name}" if refused else f"=unkn= {name}"
    best = max(reached)
    proved = [r.checked_objective for r in held if r.status == "optimal" and r.checked_objective is not None]
    agreed = bool(proved) and best - min(proved) <= TOLERANCE * max(abs(best), 1.0)
    refuted = any(r.status == "infeasible" for r in rows)
    kind = "=opt=" if agreed and not refuted else "=best="
    return f"{kind} {name} {repr(best).removesuffix('.0')}"


def _problem(run: RunId, record: Record) -> str:
    """Return a name for one line of a table, the same in every method's table and in every store."""
    seed = f"/{run.seed}" if run.seed else ""
    name = f"{run.experiment}/{record.instance}/{record.instance_sha256[:8]}{seed}"
    return token(name).replace("_", "-")  # as perprof itself does


def _instance_names(by_instance: dict[str, list[Record]]) -> dict[str, str]:
    """Return the instances' names, with the beginning of the hash where two have the same."""
    names = {digest: token(rows[0].instance) for digest, rows in by_instance.items()}
    counts: dict[str, int] = defaultdict(int)
    for name in names.values():
        counts[name] += 1
    return {d: name if counts[name] == 1 else f"{name}-{d[:8]}" for d, name in names.items()}


def _file_names(labels: Iterable[str]) -> dict[str, str]:
    """Return a safe file name for each method, numbered where two would share one."""
    names: dict[str, str] = {}
    for label in labels:
        stem = token(label).replace("/", "-").replace(":", "-").strip(".-")[-80:] or "method"
        taken, name, number = {n.lower() for n in names.values()}, stem, 2
        while name.lower() in taken:
            name, number = f"{stem}-{number}", number + 1
        names[label] = name
    return names
