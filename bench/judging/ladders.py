"""Size ladders: what is timed and counted at growing sizes, with the growth that is declared for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.registry import PROBLEMS, find, resolve
from formulations.result import Limits
from instances.generate import generate

__all__ = ["LADDERS", "Ladder"]

Prepared = Callable[[], dict[str, int]]  # runs once and returns the operation counts


@dataclass(frozen=True)
class Ladder:
    """One operation at growing sizes."""

    name: str
    sizes: tuple[int, ...]
    declared: float  # exponent of its time in the size
    prepare: Callable[[int], Prepared]
    count_tolerance: float = 0.0  # relative; 0 for counts that integers drive


def _solves(problem: str, method: str, family: str, **settings: Any) -> Callable[[int], Prepared]:
    """Return a preparation that solves the family's instance of a size."""

    def prepare(size: int) -> Prepared:
        instance = generate(family, users=size, seed=1, settings=settings)
        solve = resolve(find(problem, method).function)
        return lambda: dict(solve(instance, limits=Limits(), seed=0).counters)

    return prepare


def _checks(problem: str, method: str, family: str, **settings: Any) -> Callable[[int], Prepared]:
    """Return a preparation that re-evaluates a method's decision on the family's instance of a size."""

    def prepare(size: int) -> Prepared:
        instance = generate(family, users=size, seed=1, settings=settings)
        decision = resolve(find(problem, method).function)(instance, limits=Limits(), seed=0).decision
        evaluate = resolve(PROBLEMS[problem].evaluator)

        def check() -> dict[str, int]:
            evaluate(instance, decision)
            return {}

        return check

    return prepare


def _trace(make: Callable[..., Callable[[int], Prepared]]) -> Callable[[int], Prepared]:
    """Return a preparation on traces of eight users a second, so that the size stretches the horizon."""

    def prepare(size: int) -> Prepared:
        return make("handover", "water-filling", "importance", horizon_s=size / 8.0)(size)

    return prepare


def _slot(size: int) -> Prepared:
    """Return water-filling of a slot that lifts all users and fills none, whatever their number."""
    return _solves("slot", "water-filling", "slot-importance", bandwidth_bps=8e9 * size)(size)


def _clairvoyant(size: int) -> Prepared:
    """Return the clairvoyant bound of a trace of eight users a second."""
    return _solves("handover", "clairvoyant", "importance", horizon_s=size / 8.0)(size)


LADDERS = (
    Ladder("hybrid", (32, 64, 128, 256, 512, 1024), 1.5, _solves("balance", "hybrid", "calibrated-fig4")),
    Ladder("exact", (32, 64, 128, 256, 512, 1024), 2.0, _solves("balance", "exact", "calibrated-fig4"), 0.05),
    Ladder(
        "water-filling",
        (1000, 3000, 10_000, 30_000, 100_000, 300_000),
        1.1,
        _slot,
        0.05,
    ),
    Ladder("clairvoyant", (80, 240, 800, 2400, 8000), 1.1, _clairvoyant, 0.05),
    Ladder("simulator", (80, 240, 800, 2400, 8000), 1.0, _trace(_solves), 0.05),
    Ladder(
        "check balance", (32, 64, 128, 256, 512, 1024), 1.1, _checks("balance", "hybrid", "calibrated-fig4")
    ),
    Ladder("check handover", (80, 240, 800, 2400), 1.1, _trace(_checks)),
    Ladder("greedy (mmkp)", (10, 30, 100, 300), 2.0, _solves("mmkp", "greedy", "mmkp-uncorrelated")),
)
