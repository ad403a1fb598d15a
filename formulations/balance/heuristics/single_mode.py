"""AD-only and SD-only: one mode takes all compute and memory (the paper's baselines)."""

from __future__ import annotations

from formulations.balance.costs import problem_of
from formulations.balance.heuristics.batches import NOBODY, ModeView
from formulations.balance.heuristics.claim import claim
from formulations.result import Limits, Result
from instances.balance import BalanceInstance

__all__ = ["solve_ad_only", "solve_ad_only_own", "solve_sd_only"]


def solve_ad_only(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 1 at z = 1, λ = 1 with padded memory, eq. (27): at least half of the best AD batch."""
    return _solve(instance, "ad", padded=True)


def solve_ad_only_own(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 1 at z = 1, λ = 1 with each user's own memory, eq. (15): the best AD batch."""
    return _solve(instance, "ad", padded=False)


def solve_sd_only(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 2 at z = 0, λ = 0: the best SD batch."""
    return _solve(instance, "sd", padded=False)


def _solve(instance: BalanceInstance, mode: str, padded: bool) -> Result:
    problem = problem_of(instance)
    share = 1.0 if mode == "ad" else 0.0
    batch = ModeView(problem, mode).solve(1.0, problem.cache_bytes(share), padded)
    counters = {"sweeps": batch.sweeps, "steps": batch.sweeps * instance.n_users}
    return claim(problem, *((batch, NOBODY) if mode == "ad" else (NOBODY, batch)), share, counters)
