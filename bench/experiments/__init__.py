"""The named grids of runs."""

from __future__ import annotations

from collections.abc import Callable

from bench.experiments import balance, balance_sweeps, handover, handover_sweeps, mmkp, scaling, utility_fits
from bench.jobs.job import Job

__all__ = ["EXPERIMENTS"]


def _bench(seeds: int | None) -> list[Job]:
    """Return the main job: a part of every experiment that takes minutes."""
    return [
        *balance.guarantee(5 if seeds is None else seeds),
        *balance.fig6(5 if seeds is None else seeds, naive_up_to=13),
        *balance_sweeps.single_user(2 if seeds is None else seeds),
        *balance_sweeps.gap(2 if seeds is None else seeds),
        *handover.clairvoyant(5 if seeds is None else seeds),
        *handover_sweeps.horizon(2 if seeds is None else seeds),
        *utility_fits.fits(),
        *balance.real(10 if seeds is None else seeds),
        *handover.real(5 if seeds is None else seeds),
        *mmkp.benchmark(3 if seeds is None else seeds),
    ]


def _sweep(name: str) -> Callable[[int | None], list[Job]]:
    """Return the grid of one of the sweeps of BALANCE's Fig. 4, 5 and 7."""
    return lambda seeds: balance_sweeps.sweep(name, seeds or 100)


def _handover_sweep(name: str) -> Callable[[int | None], list[Job]]:
    """Return the grid of one of the sweeps of the handover paper's Fig. 3 to 5."""
    return lambda seeds: handover_sweeps.sweep(name, seeds or 100)


EXPERIMENTS: dict[str, Callable[[int | None], list[Job]]] = {
    "bench": _bench,
    "balance-guarantee": lambda seeds: balance.guarantee(seeds or 20),
    "balance-fig6": lambda seeds: balance.fig6(seeds or 5, naive_up_to=16),
    "balance-fig1": lambda seeds: balance_sweeps.single_user(seeds or 100),
    **{name: _sweep(name) for name in balance_sweeps.SWEEPS},
    "balance-gap": lambda seeds: balance_sweeps.gap(seeds or 10),
    "balance-exact": lambda seeds: balance_sweeps.exact_methods(seeds or 3),
    "balance-real": lambda seeds: balance.real(seeds or 10),
    "handover-clairvoyant": lambda seeds: handover.clairvoyant(seeds or 30),
    "handover-bounds": lambda seeds: handover.bounds(seeds or 3),
    "handover-fig2": lambda seeds: utility_fits.fits(),
    **{name: _handover_sweep(name) for name in handover_sweeps.SWEEPS},
    "handover-latency": lambda seeds: handover_sweeps.latency(seeds or 1000),
    "handover-horizon": lambda seeds: handover_sweeps.horizon(seeds or 30),
    "handover-allocators": lambda seeds: handover_sweeps.allocators(seeds or 5),
    "handover-real": lambda seeds: handover.real(seeds or 10),
    "scaling": lambda seeds: scaling.scaling(seeds or 5),
    "mmkp": lambda seeds: mmkp.everything(seeds or 10),
}
