"""Grids of MMKP runs."""

from __future__ import annotations

from bench.jobs.job import Job
from bench.jobs.sources import FromPublicData, Generated, Source
from formulations.result import Limits

__all__ = ["KHAN", "benchmark"]

KHAN = ("I01", "I02", "I03", "I05", "I06")  # proved in seconds; I04 takes a minute
LIMITS = Limits(time_s=60.0)


def benchmark(seeds: int) -> list[Job]:
    """Return the greedy heuristic and the MILP on Khan's small instances and on generated ones."""
    sources: list[Source] = [FromPublicData(name, (f"mmkp/khan/{name}",), "mmkp_from_khan") for name in KHAN]
    for correlation in ("uncorrelated", "weakly", "strongly", "inversely"):
        sources += [Generated(f"mmkp-{correlation}", 10, seed) for seed in range(seeds)]
    return [
        Job("mmkp", "mmkp", source, method, limits=LIMITS)
        for source in sources
        for method in ("greedy", "milp")
    ]
