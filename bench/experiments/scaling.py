"""Growth of running times with the number of users, over at least a decade and a half of sizes."""

from __future__ import annotations

from bench.experiments.balance import GROWTH_SIZES
from bench.jobs.job import Job
from bench.jobs.sources import Generated, Source
from formulations.result import Limits

__all__ = ["EXACT_SIZES", "scaling"]

EXACT_SIZES = (30, 50, 70, 100, 150, 200)  # K of `physical`, each instance proved
SLOT_SIZES = (1000, 10_000, 100_000, 1_000_000)
TRACE_SIZES = (80, 240, 800, 2400, 8000)  # users of a horizon at eight users a second
REPETITIONS = 3
LIMITS = Limits(time_s=120.0)


def scaling(seeds: int) -> list[Job]:
    """Return heuristics and `exact` on `physical`, water-filling and the clairvoyant bound, by size.

    Sizes are interleaved, so that a slow spell of the machine does not fall on one of them.
    """
    jobs: list[Job] = []
    for seed in range(seeds):
        for size in GROWTH_SIZES:
            for method in ("hybrid", "best-order", "refined"):
                jobs += _runs("balance", Generated("physical-fig4", size, seed), method)
        for size in EXACT_SIZES:
            jobs += _runs("balance", Generated("physical-fig4", size, seed), "exact", 1)
        for size in SLOT_SIZES:
            source = Generated("slot-importance", size, seed, (("bandwidth_bps", 8e9 * size),))
            jobs += _runs("slot", source, "water-filling")
        for size in TRACE_SIZES:
            source = Generated("importance", size, seed, (("horizon_s", size / 8.0),))
            jobs += _runs("handover", source, "clairvoyant", 1)
    return jobs


def _runs(problem: str, source: Source, method: str, repetitions: int = REPETITIONS) -> list[Job]:
    return [
        Job("scaling", problem, source, method, (), LIMITS, 0, repetition, timing=True)
        for repetition in range(repetitions)
    ]
