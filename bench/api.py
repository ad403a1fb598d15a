"""The public Python API; it stays stable."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.commands.run import keyed_runs, missing_runs
from bench.commands.solve import problem_of
from bench.experiments import EXPERIMENTS
from bench.jobs.executors import run_all
from bench.jobs.job import Record
from bench.jobs.store import Store
from bench.registry import PROBLEMS, check_options, find, resolve
from formulations.evaluation import Evaluation
from formulations.result import Limits, Result
from instances.decisions import Decision
from instances.errors import InputError
from instances.files import Instance, load, save
from instances.generate import generate

__all__ = ["Store", "evaluate", "generate", "load", "run", "save", "solve"]


def solve(
    instance: Instance, method: str, *, time_limit_s: float | None = None, seed: int = 0, **options: Any
) -> Result:
    """Return what a method claims for an instance; it runs in this process, without a hard limit.

    Raises
    ------
    InputError
        For a method or option that does not exist.
    """
    chosen = find(problem_of(instance), method)
    check_options(chosen, options)
    limits = Limits(time_s=time_limit_s)
    return resolve(chosen.function)(instance, limits=limits, seed=seed, **options)  # type: ignore[no-any-return]


def evaluate(instance: Instance, decision: Decision) -> Evaluation:
    """Return the checker's verdict on a decision, exact and independent of every method."""
    return resolve(PROBLEMS[problem_of(instance)].evaluator)(instance, decision)  # type: ignore[no-any-return]


def run(
    experiment: str, store: str | Path, *, seeds: int | None = None, workers: int = 1
) -> Iterator[Record]:
    """Run an experiment's missing runs into a store, and yield their records as they finish."""
    if experiment not in EXPERIMENTS:
        raise InputError(f"experiment: found {experiment!r}, expected one of {', '.join(EXPERIMENTS)}")
    with Store(store) as opened:
        jobs = [job for _, job in missing_runs(keyed_runs(EXPERIMENTS[experiment](seeds)), opened)]
        for record in run_all(jobs, workers=workers):
            opened.add(record)
            yield record
