"""The jobs that a command's words stand for: experiments or instance files, and methods on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bench.experiments import EXPERIMENTS
from bench.jobs.job import Job
from bench.jobs.sources import FromFile
from bench.registry import methods_of, problem_of, problems_of
from instances.errors import InputError, shown
from instances.files import load_instance
from instances.importers.mmkp_text import problem_count

__all__ = ["jobs_of"]


def jobs_of(targets: Sequence[str], methods: Sequence[str] = (), seeds: int | None = None) -> list[Job]:
    """Return the jobs of experiments and of folders or files of instances, those of named methods if any are.

    Raises
    ------
    InputError
        For a target or a method that is unknown, or a method that takes none of the instances.
    """
    jobs: list[Job] = []
    for target in targets:
        if target in EXPERIMENTS:
            jobs += EXPERIMENTS[target](seeds)
        elif Path(target).exists():
            jobs += _file_jobs(Path(target))
        else:
            raise InputError(
                f"{shown(target)}: found neither, expected a folder or one of {', '.join(EXPERIMENTS)}"
            )
    return _chosen(jobs, list(dict.fromkeys(map(_absolute, methods)))) if methods else jobs


def _chosen(jobs: list[Job], methods: list[str]) -> list[Job]:
    """Return the jobs of the named methods, and those of own ones once on each instance that they take.

    An own method gets the limits, seed and timing of its instance's first job, and runs beside it.
    """
    known = {job.method for job in jobs}
    own = {name: problems_of(name) for name in methods if ":" in name and name not in known}
    wrong = [name for name in methods if name not in known and name not in own]
    if wrong:
        expected = ", ".join(sorted(known)) or "methods of the instances' problems"
        raise InputError(f"--method: found {', '.join(sorted(wrong))}, expected some of {expected}")
    chosen: list[Job] = []
    places = set()
    for job in jobs:
        chosen += [job] if job.method in methods else []
        if (job.experiment, job.source) not in places:
            places.add((job.experiment, job.source))
            fitting = [name for name, problems in own.items() if job.problem in problems]
            chosen += [replace(job, method=name, options=(), repetition=0) for name in fitting]
    found = {job.problem for job in jobs}
    for name, problems in own.items():
        if found.isdisjoint(problems):
            raise InputError(
                f"--method: {name}: found instances of {', '.join(sorted(found))}, "
                f"expected {' or '.join(problems)}"
            )
    return chosen


def _file_jobs(target: Path) -> list[Job]:
    """Return every method on each instance in a folder or file."""
    paths = (
        sorted(p for p in target.iterdir() if p.is_file() and p.name[0] != ".")
        if target.is_dir()
        else [target]
    )
    if not paths:
        raise InputError(f"{target}: found no file, expected files of instances")
    jobs = []
    for path in paths:
        for item in _items(path):
            problem = problem_of(load_instance(path, item=item))
            source = FromFile(str(path.absolute()), item=item)
            jobs += [Job("files", problem, source, method.name) for method in methods_of(problem)]
    return jobs


def _items(path: Path) -> Sequence[int | None]:
    """Return the problems of a file that holds several, counted from 1, else None alone."""
    count = problem_count(path)
    return [None] if count == 1 else range(1, count + 1)


def _absolute(method: str) -> str:
    """Return an own method's name with the absolute path of its file."""
    place, _, function = method.rpartition(":")
    return f"{Path(place).absolute()}:{function}" if place.endswith(".py") else method
