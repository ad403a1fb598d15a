"""The handover paper's sweeps: accuracy and starvation against one quantity (Fig. 3 to 5), and latencies."""

from __future__ import annotations

from dataclasses import dataclass, field

from bench.jobs.job import Job
from bench.jobs.sources import Generated
from formulations.result import Limits

__all__ = [
    "ALLOCATORS",
    "BASELINES",
    "HORIZONS",
    "READINGS",
    "SWEEPS",
    "Curve",
    "Sweep",
    "allocators",
    "horizon",
    "latency",
    "sweep",
]

BASELINES = ("equal", "winner-take-all", "proportional-fair")
READINGS = ("scaled", "arrival-order", "equal-bytes", "nothing")  # of "no admission", beside the default
LIMITS = Limits(time_s=120.0)
_LOADS, _HEAVY = tuple(range(1, 9)), tuple(range(4, 13))  # ρ, users a second
_SLOTS_S = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1)
_WINDOWS_S = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_BANDWIDTHS = (10e9, 12.5e9, 15e9, 17.5e9, 20e9, 22.5e9, 25e9, 27.5e9, 30e9)

Options = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Curve:
    """A method with its options on a family."""

    method: str
    options: Options = ()
    family: str = "importance"


@dataclass(frozen=True)
class Sweep:
    """One setting changed, everything else as the family has it; seeds are the same at every value."""

    experiment: str
    axis: str  # the setting
    values: tuple[float, ...]
    curves: tuple[Curve, ...]
    fixed: tuple[tuple[str, float], ...] = field(default=())


def _policies(family: str = "importance", options: Options = ()) -> tuple[Curve, ...]:
    return tuple(Curve(method, options, family) for method in ("water-filling", *BASELINES))


_FALLBACKS = tuple(
    Curve("water-filling", (("fallback", fallback),), family)
    for family in ("importance", "random-ordering")
    for fallback in ("eb", "wta", "drop-lowest", "exact")
)
_READINGS_OF_WINDOWS = (
    *_policies(),
    *_policies("importance-whole-slots"),
    *_policies("importance-started-slots"),
    *_policies("importance-started-slots", (("deadline_s", 0.5),)),
)
_ADMISSION = (
    Curve("water-filling"),
    Curve("water-filling+wta"),
    Curve("no-admission"),
    *(Curve("no-admission", (("reading", reading),)) for reading in READINGS),
)
_ORDERINGS = tuple(
    Curve(method, (), family)
    for family in ("importance", "random-ordering")
    for method in ("water-filling", "water-filling+wta")
)

SWEEPS: dict[str, Sweep] = {
    s.experiment: s
    for s in (
        Sweep("handover-fig3a", "rate_per_s", _LOADS, _policies()),
        Sweep("handover-fig3b", "bandwidth_bps", _BANDWIDTHS, _policies()),
        Sweep("handover-fig4a", "slot_s", _SLOTS_S, _READINGS_OF_WINDOWS),
        Sweep("handover-fig4b", "window_s", _WINDOWS_S, _policies()),
        Sweep("handover-fig5a", "rate_per_s", tuple(range(2, 9)), _ORDERINGS),
        Sweep("handover-fig5b", "rate_per_s", _HEAVY, _ADMISSION),
        Sweep("handover-fallback", "rate_per_s", _HEAVY, _FALLBACKS),
    )
}

# Settings in which the receding horizon is tried: the default at every load, other windows and bandwidths.
HORIZONS: tuple[tuple[tuple[str, float], ...], ...] = (
    *((("rate_per_s", float(load)),) for load in _LOADS),
    (("rate_per_s", 8.0), ("window_s", 0.2)),
    (("rate_per_s", 8.0), ("window_s", 1.0)),
    (("rate_per_s", 8.0), ("window_s", 2.0)),
    (("bandwidth_bps", 10e9), ("rate_per_s", 8.0)),
    (("bandwidth_bps", 14e9), ("rate_per_s", 8.0)),
    (("bandwidth_bps", 30e9), ("rate_per_s", 8.0)),
)
_REFERENCES = "formulations.handover.slot.references"
ALLOCATORS: tuple[tuple[str, Options], ...] = (
    ("water-filling", ()),
    ("water-filling-bisection", ()),
    ("water-filling-bisection", (("epsilon", 1e-12), ("tolerance", "absolute"))),
    (f"{_REFERENCES}:sorted_breakpoints", ()),
    (f"{_REFERENCES}:log_bisection", ()),
    (f"{_REFERENCES}:root_of_scipy", ()),
    ("convex", ()),
    (f"{_REFERENCES}:sixty_digits", ()),
)
ALLOCATOR_SIZES = (10, 100, 1000, 10_000, 100_000)
LARGEST = {"convex": 1000, f"{_REFERENCES}:sixty_digits": 1000}  # users; slower methods stop there


def sweep(experiment: str, seeds: int) -> list[Job]:
    """Return the sweep's curves on ``seeds`` traces a value."""
    chosen = SWEEPS[experiment]
    jobs = []
    for seed in range(seeds):
        for value in chosen.values:
            for curve in chosen.curves:
                settings = (*chosen.fixed, (chosen.axis, float(value)))
                source = Generated(curve.family, None, seed, settings)
                jobs.append(_job(experiment, source, curve.method, curve.options))
    return jobs


def latency(seeds: int) -> list[Job]:
    """Return water-filling on arrivals within a second without a deadline (the paper's Section VI-D)."""
    settings = (("horizon_s", 1.0), ("rate_per_s", 4.0))
    sources = [Generated("importance-no-deadline", None, seed, settings) for seed in range(seeds)]
    return [_job("handover-latency", source, "water-filling", ()) for source in sources]


def horizon(seeds: int) -> list[Job]:
    """Return the receding horizon in its versions beside water-filling, the bound and what lies between."""
    jobs = []
    for seed in range(seeds):
        for settings in HORIZONS:
            source = Generated("importance", None, seed, settings)
            rate = dict(settings)["rate_per_s"]
            methods: list[tuple[str, Options]] = [
                ("water-filling", ()),
                ("receding-horizon", ()),
                ("receding-horizon", (("arrivals", "learned"),)),
                ("receding-horizon", (("arrivals", "mean"), ("rate_per_s", rate))),
                ("clairvoyant-lifted", ()),
                ("clairvoyant", (("gap", 1e-4),)),
            ]
            jobs += [_job("handover-horizon", source, method, options) for method, options in methods]
    return jobs


def allocators(seeds: int) -> list[Job]:
    """Return every way to a slot's price on feasible slots of 10 to 100 000 users."""
    jobs = []
    for seed in range(seeds):
        for size in ALLOCATOR_SIZES:
            settings = (("bandwidth_bps", 8e9 * size),)  # about .8 of what the users' anchors and more need
            source = Generated("slot-importance", size, seed, settings)
            for method, options in ALLOCATORS:
                if size <= LARGEST.get(method, size):
                    jobs.append(_timed(source, method, options))
    return jobs


def _timed(source: Generated, method: str, options: Options) -> Job:
    """Return a run whose time and fractions are compared; the fractions of many users are left out."""
    keep = (source.users or 0) <= max(LARGEST.values())
    return Job(
        "handover-allocators", "slot", source, method, options, LIMITS, timing=True, keep_decision=keep
    )


def _job(experiment: str, source: Generated, method: str, options: Options) -> Job:
    return Job(experiment, "handover", source, method, options, LIMITS, keep_decision=False)
