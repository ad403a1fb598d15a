"""Records for tools that follow running times: pytest-benchmark and github-action-benchmark."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from bench.jobs.exports.selection import RunId, ended_well, started, without_repetitions
from bench.jobs.job import Record

__all__ = ["SHORTEST_S", "records_as_action_benchmark", "records_as_pytest_benchmark"]

SHORTEST_S = 1e-9  # the clock's unit, in place of a time of 0 that has no rate
_LAYOUT = "5.0.0"  # the pytest-benchmark whose layout this is


def records_as_pytest_benchmark(records: Sequence[Record]) -> str:
    """Return the file that ``pytest-benchmark compare`` reads: an entry a run, its repetitions as rounds.

    Runs that failed or met a limit have no time, so they are left out; ``extra_info`` says what was reached.
    """
    groups = without_repetitions(records)
    entries = [_entry(run, rows) for run, rows in groups.items() if ended_well(rows) and _seconds(rows)]
    last = max(records, key=started, default=None)
    commit = "" if last is None else last.git_commit
    document = {
        "machine_info": {"node": ", ".join(sorted({r.host for r in records if r.host})), "cpu": {}},
        "commit_info": {
            "id": commit.removesuffix("+"),
            "dirty": commit.endswith("+"),
            "project": "certigap",
            "branch": "(unknown)",
        },
        "benchmarks": entries,
        "datetime": "" if last is None else last.started_utc,
        "version": _LAYOUT,
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def records_as_action_benchmark(records: Sequence[Record]) -> str:
    """Return the list that github-action-benchmark reads as ``customSmallerIsBetter``.

    Three series for each experiment, method, parameters, family and size: the median seconds, the mean gap
    and the number of failures. A run's time is that of its fastest repetition.
    """
    groups: dict[tuple[str, ...], list[list[Record]]] = defaultdict(list)
    for run, rows in without_repetitions(records).items():
        parts = (run.experiment, run.method, run.parameters, rows[0].family, f"n={rows[0].size}")
        groups[tuple(part for part in parts if part != "{}")].append(rows)
    series = [entry for parts, runs in groups.items() for entry in _series(" / ".join(parts), runs)]
    return json.dumps(series, indent=1, allow_nan=False) + "\n"


def _series(name: str, runs: list[list[Record]]) -> list[dict[str, Any]]:
    good = [rows for rows in runs if ended_well(rows)]
    seconds = [min(_seconds(rows)) for rows in good if _seconds(rows)]
    gaps = [rows[0].gap for rows in good if rows[0].gap is not None]
    extra = f"n_ok / n_expected: {len(good)} / {len(runs)}"
    entries: list[dict[str, Any]] = []
    if seconds:
        q1, median, q3 = _quartiles(seconds)
        entries.append({"name": f"{name} / seconds", "unit": "s", "value": median})
        entries[-1] |= {"range": f"± {(q3 - q1) / 2:.3g}", "extra": f"median; {extra}"}
    if gaps:
        spread = statistics.stdev(gaps) if len(gaps) > 1 else 0.0
        entries.append({"name": f"{name} / gap", "unit": "fraction", "value": statistics.fmean(gaps)})
        entries[-1] |= {"range": f"± {spread:.3g}", "extra": f"mean of {len(gaps)}; {extra}"}
    entries.append({"name": f"{name} / failures", "unit": "runs", "value": len(runs) - len(good)})
    entries[-1] |= {"range": "± 0", "extra": extra}
    return entries


def _entry(run: RunId, rows: list[Record]) -> dict[str, Any]:
    first = rows[0]
    options = "" if run.parameters == "{}" else f" {run.parameters}"
    seed = f" seed {run.seed}" if run.seed else ""
    name = f"{run.method}[{first.instance}{options}{seed}]"
    info = {key: getattr(first, key) for key in ("key", "status", "checked_objective", "bound", "gap")}
    return {
        "group": run.experiment,
        "name": name,
        "fullname": f"{run.experiment}::{run.instance[:8]}::{name}",
        "params": {"method": run.method, "instance": first.instance, "size": first.size},
        "param": first.instance,
        "extra_info": info,
        "options": {},
        "stats": _statistics(_seconds(rows)),
    }


def _statistics(seconds: list[float]) -> dict[str, Any]:
    """Return pytest-benchmark's figures of one entry; outliers are beyond 1.5 interquartile ranges."""
    mean = statistics.fmean(seconds)
    spread = statistics.stdev(seconds) if len(seconds) > 1 else 0.0
    q1, median, q3 = _quartiles(seconds)
    low, high = q1 - 1.5 * (q3 - q1), q3 + 1.5 * (q3 - q1)
    inside = [s for s in seconds if low <= s <= high]
    outer = len(seconds) - len(inside)
    apart = sum(abs(s - mean) > spread for s in seconds) if spread else 0
    return {
        "min": min(seconds),
        "max": max(seconds),
        "mean": mean,
        "stddev": spread,
        "rounds": len(seconds),
        "median": median,
        "iqr": q3 - q1,
        "q1": q1,
        "q3": q3,
        "iqr_outliers": outer,
        "stddev_outliers": apart,
        "outliers": f"{apart};{outer}",
        "ld15iqr": min(inside),
        "hd15iqr": max(inside),
        "ops": 1.0 / mean,
        "total": sum(seconds),
        "iterations": 1,
    }


def _quartiles(values: list[float]) -> tuple[float, float, float]:
    if len(values) == 1:
        return values[0], values[0], values[0]
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    return q1, median, q3


def _seconds(rows: Sequence[Record]) -> list[float]:
    return [max(r.solve_s, SHORTEST_S) for r in rows if r.solve_s is not None]
