"""The public Python API; it stays stable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.experiments import EXPERIMENTS
from bench.jobs.grid import keyed_runs
from bench.jobs.job import Record
from bench.jobs.run import quiet_stdout
from bench.jobs.store import Store
from bench.judging.proofs import Verified, verify
from bench.registry import PROBLEMS, check_options, find, problem_of, resolve
from formulations.evaluation import Evaluation
from formulations.result import Limits, Result
from instances.decisions import Decision
from instances.errors import InputError
from instances.files import Instance, load, save
from instances.generate import generate

__all__ = ["Store", "Verified", "evaluate", "generate", "load", "run", "save", "solve", "verify"]


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
    with quiet_stdout():
        return resolve(chosen.function)(  # type: ignore[no-any-return]
            instance, limits=limits, seed=seed, **options
        )


def evaluate(instance: Instance, decision: Decision) -> Evaluation:
    """Return the checker's verdict on a decision, exact and independent of every method."""
    return resolve(PROBLEMS[problem_of(instance)].evaluator)(instance, decision)  # type: ignore[no-any-return]


def run(experiment: str, store: str | Path, *, seeds: int | None = None, workers: int = 1) -> list[Record]:
    """Run what a store lacks of an experiment, as ``certigap run`` does, and return the experiment's rows.

    Raises
    ------
    InputError
        For an experiment that does not exist, or a store that cannot be written.
    """
    if experiment not in EXPERIMENTS:
        raise InputError(f"experiment: found {experiment!r}, expected one of {', '.join(EXPERIMENTS)}")
    command = [
        sys.executable,
        "-m",
        "bench",
        "run",
        experiment,
        "--store",
        str(store),
        "--workers",
        str(workers),
    ]
    command += [] if seeds is None else ["--seeds", str(seeds)]
    done = subprocess.run(command)
    if done.returncode not in (0, 1):  # 1: some row failed, which the rows say
        raise InputError(f"{store}: the run ended with status {done.returncode}, expected 0 or 1")
    keys = {key for key, _ in keyed_runs(EXPERIMENTS[experiment](seeds))}
    with Store(store, read_only=True) as opened:
        return [record for record in opened.records() if record.key in keys]
