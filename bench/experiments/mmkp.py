"""Grids of MMKP runs."""

from __future__ import annotations

from collections.abc import Sequence

from bench.jobs.job import Job
from bench.jobs.sources import FromPublicData, Generated, Source
from formulations.result import Limits

__all__ = ["CORRELATIONS", "KHAN_LARGE", "KHAN_SMALL", "benchmark", "everything"]

KHAN_SMALL = ("I01", "I02", "I03", "I04", "I05", "I06")
KHAN_LARGE = ("I07", "I08", "I09", "I10", "I11", "I12", "I13")
CORRELATIONS = ("uncorrelated", "weakly", "strongly", "inversely")
LIMITS = Limits(time_s=60.0)
QUICK = ("greedy", "heu", "lp-bound")
MILP = ("milp", "milp-highs")
BEAM = "core-beam"
SLOW_FOR_MILP = ("I04",)  # more than a minute
LIB = (
    *(f"b_{i:02d}" for i in range(1, 21) if i != 19),
    *(f"c_{i}" for i in (21, 22, 23, 25, 27, 28, 29, 30)),
    *(f"d_{i}" for i in (1, 2, 3, 4, 17, 20, 65, 66, 129, 132, 194)),
)
HIREMATH_HILL = {  # problems in each file
    **{f"TestSet{i}.{n}GP10IT{m}KP": 30 for i, n, m in ((1, 5, 5), (3, 25, 5), (4, 5, 10), (5, 10, 10))},
    **{f"TestSet{i}.{n}GP10IT{m}KP": 30 for i, n, m in ((6, 25, 10), (7, 5, 25), (8, 10, 25))},
    **{f"TestSet.{n}GP10IT10KP": 10 for n in (30, 50, 70, 80, 100, 150, 250, 300, 350, 400)},
}


def benchmark(seeds: int) -> list[Job]:
    """Return the part that takes minutes: Khan's small instances and small ones of every generated class."""
    jobs = []
    for source in [*(_khan(name) for name in KHAN_SMALL), *_generated(10, seeds)]:
        exact = ("exact",) if source.family in SLOW_FOR_MILP else ("exact", *MILP)
        jobs += _jobs(source, (*QUICK, *exact))
        jobs.append(_beam(source, rounds=30))
    return jobs


def everything(seeds: int) -> list[Job]:
    """Return every public class at hand, and generated ones of both shapes: hours.

    Large instances get a minute of each method that uses it, whose incumbents tell the value at any shorter
    time.
    """
    jobs = benchmark(seeds)
    large: list[Source] = [_khan(name) for name in KHAN_LARGE]
    large += [FromPublicData(name, (f"mmkp/lib/mmkp_{name}.txt",), "mmkp_from_file") for name in LIB]
    large += _generated(100, min(seeds, 3))
    for source in large:
        jobs += [*_jobs(source, (*QUICK, "milp-highs", "exact")), _beam(source)]
    for name, count in HIREMATH_HILL.items():
        for item in range(1, count + 1):
            source = _problem(name, item)
            jobs += [*_jobs(source, (*QUICK, "exact")), _beam(source, rounds=10)]
    return jobs


def _khan(name: str) -> Source:
    return FromPublicData(name, (f"mmkp/khan/{name}",), "mmkp_from_khan")


def _problem(name: str, item: int) -> Source:
    file = f"mmkp/hiremath_hill/{name}.txt.gz"
    return FromPublicData(f"{name}-{item}", (file,), "mmkp_from_file", 0, (("item", item),))


def _generated(groups: int, seeds: int) -> list[Source]:
    names = [f"mmkp-{shape}{c}" for shape in ("", "irregular-") for c in CORRELATIONS]
    return [Generated(name, groups, seed) for name in names for seed in range(seeds)]


def _jobs(source: Source, methods: Sequence[str]) -> list[Job]:
    return [Job("mmkp", "mmkp", source, method, limits=LIMITS) for method in methods]


def _beam(source: Source, rounds: int | None = None) -> Job:
    """Return a beam search of so many rounds, or for the whole time."""
    options = () if rounds is None else (("rounds", rounds),)
    return Job("mmkp", "mmkp", source, BEAM, options, LIMITS)
