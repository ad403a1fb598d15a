"""BALANCE's sweeps: users served against one quantity (Fig. 4, 5 and 7); one user alone (Fig. 1); the gap."""

from __future__ import annotations

from dataclasses import dataclass

from bench.jobs.job import Job
from bench.jobs.sources import Generated
from formulations.result import Limits

__all__ = [
    "FIG1_OUTPUTS",
    "GAP_FAMILIES",
    "GAP_METHODS",
    "GAP_SIZES",
    "OPTIMUM",
    "SWEEPS",
    "USERS",
    "Sweep",
    "exact_methods",
    "gap",
    "single_user",
    "sweep",
]

USERS = "users"  # the axis that is no setting of a family
OPTIMUM = "exact"
LIMITS = Limits(time_s=120.0)
EXACT_LIMITS = Limits(time_s=60.0)
EXACT_METHODS = ("exact", "milp", "milp-highs", "cp-sat")
EXACT_FAMILIES = ("calibrated-fig4", "physical-fig4")
EXACT_SIZES = (14, 30, 50)
LONG_ENOUGH_S = 1000.0

SINGLE, EQUAL = ("ad-only", "sd-only"), ("ecra", "ema", "ecrma")
MODES = ("hybrid", "hybrid-own", "best-order", "refined", *SINGLE, OPTIMUM)
ABLATIONS = ("hybrid", *EQUAL, OPTIMUM)
GAP_METHODS = MODES
GAP_SIZES = (30, 50, 70, 100, 150, 200)
GAP_FAMILIES = ("calibrated-fig4", "physical-fig4", "calibrated-fig4-q12.6", "physical-fig4-q14")


@dataclass(frozen=True)
class Sweep:
    """One quantity changed, everything else as the family has it; seeds are the same at every value."""

    experiment: str
    axis: str  # USERS, or the setting that is changed
    values: tuple[int, ...]
    families: tuple[str, ...]  # the paper's two readings, then the memory-bound ones
    methods: tuple[str, ...]
    baselines: tuple[str, ...]  # over which the paper prints hybrid's average gain


_FIG4 = ("calibrated-fig4", "physical-fig4", "calibrated-fig4-q12.6", "physical-fig4-q14")
_FIG5 = ("calibrated-fig5", "physical-fig5", "calibrated-fig5-q14")
_USERS, _DEADLINES = (20, 30, 40, 50, 60, 70), (2, 3, 4, 5, 6)
_INPUTS, _OUTPUTS = (200, 400, 600, 800, 1000), (100, 200, 300, 400, 500)

SWEEPS: dict[str, Sweep] = {
    s.experiment: s
    for s in (
        Sweep("balance-fig4a", USERS, _USERS, _FIG4, MODES, SINGLE),
        Sweep("balance-fig4b", "deadline_max_s", _DEADLINES, _FIG4, MODES, SINGLE),
        Sweep("balance-fig5a", "input_max", _INPUTS, _FIG5, MODES, SINGLE),
        Sweep("balance-fig5b", "output_max", _OUTPUTS, _FIG5, MODES, SINGLE),
        Sweep("balance-fig7a", USERS, _USERS, _FIG4, ABLATIONS, EQUAL),
        Sweep("balance-fig7b", "deadline_max_s", _DEADLINES, _FIG4, ABLATIONS, EQUAL),
    )
}

FIG1_OUTPUTS = tuple(range(100, 1001, 100))  # token


def sweep(experiment: str, seeds: int) -> list[Job]:
    """Return the sweep's methods, the optimum among them, on ``seeds`` instances a value."""
    chosen = SWEEPS[experiment]
    return [
        job
        for family in chosen.families
        for seed in range(seeds)
        for value in chosen.values
        for job in _runs(experiment, _source(chosen.axis, value, family, seed), chosen.methods)
    ]


def single_user(seeds: int) -> list[Job]:
    """Return one user in AD and in SD, 500 input tokens, by output tokens (Fig. 1).

    Latency and memory are in the checker's details of the two decisions; uploads take no time.
    """
    jobs: list[Job] = []
    for constants in ("calibrated", "physical"):
        for seed in range(seeds):
            for tokens in FIG1_OUTPUTS:
                settings = {
                    "input_min": 500, "input_max": 500, "output_min": tokens, "output_max": tokens,
                    "deadline_min_s": LONG_ENOUGH_S, "deadline_max_s": LONG_ENOUGH_S, "bits_per_token": 0,
                }  # fmt: skip
                pairs = tuple((key, float(value)) for key, value in settings.items())
                source = Generated(f"{constants}-fig5", 1, seed, pairs)
                jobs += _runs("balance-fig1", source, SINGLE)
    return jobs


def gap(seeds: int) -> list[Job]:
    """Return every heuristic and the optimum at K = 30 … 200."""
    return [
        job
        for family in GAP_FAMILIES
        for seed in range(seeds)
        for size in GAP_SIZES
        for job in _runs("balance-gap", Generated(family, size, seed), GAP_METHODS)
    ]


def exact_methods(seeds: int) -> list[Job]:
    """Return the exact methods that solve beyond enumeration, on the same instances, with published times."""
    return [
        Job(
            "balance-exact",
            "balance",
            Generated(family, size, seed),
            method,
            limits=EXACT_LIMITS,
            timing=True,
        )
        for seed in range(seeds)
        for size in EXACT_SIZES
        for family in EXACT_FAMILIES
        for method in EXACT_METHODS
    ]


def _source(axis: str, value: int, family: str, seed: int) -> Generated:
    if axis == USERS:
        return Generated(family, value, seed)
    return Generated(family, None, seed, ((axis, float(value)),))


def _runs(experiment: str, source: Generated, methods: tuple[str, ...]) -> list[Job]:
    return [Job(experiment, "balance", source, method, limits=LIMITS) for method in methods]
