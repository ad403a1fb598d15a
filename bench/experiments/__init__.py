"""The named grids of runs."""

from __future__ import annotations

from collections.abc import Callable

from bench.experiments import balance, handover, mmkp
from bench.jobs.job import Job

__all__ = ["EXPERIMENTS"]


def _bench(seeds: int | None) -> list[Job]:
    """Return the main job: a part of every experiment that takes minutes."""
    return [
        *balance.guarantee(5 if seeds is None else seeds),
        *balance.fig6(5 if seeds is None else seeds, naive_up_to=13),
        *handover.clairvoyant(5 if seeds is None else seeds),
        *balance.real(10 if seeds is None else seeds),
        *handover.real(5 if seeds is None else seeds),
        *mmkp.benchmark(3 if seeds is None else seeds),
    ]


EXPERIMENTS: dict[str, Callable[[int | None], list[Job]]] = {
    "bench": _bench,
    "balance-guarantee": lambda seeds: balance.guarantee(seeds or 20),
    "balance-fig6": lambda seeds: balance.fig6(seeds or 5, naive_up_to=16),
    "balance-real": lambda seeds: balance.real(seeds or 10),
    "handover-clairvoyant": lambda seeds: handover.clairvoyant(seeds or 30),
    "handover-real": lambda seeds: handover.real(seeds or 10),
    "mmkp": lambda seeds: mmkp.everything(seeds or 10),
}
