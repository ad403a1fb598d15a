"""ECRA, EMA and ECRMA: Algorithm 3 with compute, memory or both split equally (paper, Section V-D)."""

from __future__ import annotations

from collections.abc import Sequence

from formulations.balance.costs import problem_of
from formulations.balance.heuristics.hybrid import algorithm_3
from formulations.result import Limits, Result, Status, Stopped
from instances.balance import BalanceInstance

__all__ = ["solve_ecra", "solve_ecrma", "solve_ema"]

HALF = (0.5,)


def solve_ecra(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with padded memory, eq. (27), at z = ½; λ is searched."""
    return _solve(instance, HALF, instance.server.memory_shares)


def solve_ema(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with padded memory, eq. (27), at λ = ½, in the server's set or not; z is searched."""
    return _solve(instance, instance.server.compute_shares, HALF)


def solve_ecrma(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with padded memory, eq. (27), at z = λ = ½."""
    return _solve(instance, HALF, HALF)


def _solve(
    instance: BalanceInstance, compute_shares: Sequence[float], memory_shares: Sequence[float]
) -> Result:
    """Return Algorithm 3's result on a part of the grids; λ is the method's own, z must be the server's."""
    if not set(compute_shares) <= set(instance.server.compute_shares):
        text = "the equal split needs a compute share of 0.5, which the server does not offer"
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)
    problem = problem_of(instance)
    return algorithm_3(problem, True, compute_shares, memory_shares).result(problem)
