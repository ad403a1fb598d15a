"""Grids of BALANCE runs."""

from __future__ import annotations

from collections.abc import Iterator

from bench.jobs.job import Job
from bench.jobs.sources import FromPublicData, Generated, Source
from formulations.result import Limits
from instances.presets import BALANCE_CONSTANTS, BALANCE_PRESETS

__all__ = ["FIG6_SIZES", "GROWTH_SIZES", "fig6", "guarantee", "real"]

FIG6_SIZES = tuple(range(10, 17))  # K of Fig. 6
GROWTH_SIZES = (32, 64, 128, 256, 512, 1024)  # K of the growth fit, 1.5 decades
EXACT_LIMITS = Limits(time_s=60.0)
NAIVE_LIMITS = Limits(time_s=600.0)  # a minute and a half at K = 16 is usual
WITNESS_SIZES: tuple[tuple[str, int | None], ...] = (
    ("theorem-1", None),
    ("half-is-tight", None),
    ("proposition-2", None),
    ("proposition-4", None),
    ("tie-proof", 3),
    ("tie-proof", 7),
    ("tie-proof", 11),
)
RANDOM_SIZES = (3, 5, 7)  # small enough for two exact methods


def guarantee(seeds: int) -> list[Job]:
    """Return heuristics and three exact methods on witnesses and on random instances of every family."""
    sources: list[Source] = [Generated(family, size, 0) for family, size in WITNESS_SIZES]
    for seed in range(seeds):
        for constants in BALANCE_CONSTANTS:
            for i, preset in enumerate(BALANCE_PRESETS):
                size = RANDOM_SIZES[(seed + i) % len(RANDOM_SIZES)]
                sources.append(Generated(f"{constants}-{preset}", size, seed))
    sources += [Generated("unit-random", 3 + seed % 5, seed) for seed in range(20 * seeds)]
    heuristics = ("hybrid", "hybrid-own", "best-order", "refined", "ad-only", "ad-only-own", "sd-only")
    methods = (*heuristics, "exhaustive", "exact", "milp-highs")
    return [_job("balance-guarantee", source, method) for source in sources for method in methods]


def fig6(seeds: int, naive_up_to: int) -> list[Job]:
    """Return Algorithm 3 against exhaustive search, K = 10 … 16, and its growth beyond.

    Sizes are interleaved, so that a slow spell of the machine does not fall on one of them.
    """
    jobs = []
    for constants in BALANCE_CONSTANTS:
        for seed in range(seeds):
            for size in FIG6_SIZES:
                source = Generated(f"{constants}-fig4", size, seed)
                methods = ["hybrid", "hybrid-literal", "exhaustive"]
                if constants == "calibrated" and size <= naive_up_to:
                    methods.append("exhaustive-naive")
                jobs += list(_repeated("balance-fig6", source, methods, {"hybrid": 3}))
    for seed in range(min(seeds, 3)):
        for size in GROWTH_SIZES:
            source = Generated("calibrated-fig4", size, seed)
            jobs += list(_repeated("balance-fig6", source, ["hybrid"], {"hybrid": 3}))
    return jobs


def real(seeds: int) -> list[Job]:
    """Return users whose token counts come from the Azure traces."""
    jobs = []
    for name in ("conv", "code"):
        for constants in BALANCE_CONSTANTS:
            for seed in range(seeds):
                source = FromPublicData(
                    f"azure-{name}-{constants}",
                    (f"traces/AzureLLMInferenceTrace_{name}.csv",),
                    "balance_from_azure",
                    seed,
                    (("users", 40), ("preset", "fig5"), ("constants", constants)),
                )
                for method in ("hybrid", "hybrid-own", "refined", "ad-only", "sd-only", "exact"):
                    jobs.append(_job("balance-real", source, method))
    return jobs


def _job(experiment: str, source: Source, method: str) -> Job:
    return Job(experiment, "balance", source, method, limits=EXACT_LIMITS)


def _repeated(experiment: str, source: Source, methods: list[str], times: dict[str, int]) -> Iterator[Job]:
    for method in methods:
        limits = NAIVE_LIMITS if method == "exhaustive-naive" else EXACT_LIMITS
        for repetition in range(times.get(method, 1)):
            yield Job(experiment, "balance", source, method, (), limits, 0, repetition, timing=True)
