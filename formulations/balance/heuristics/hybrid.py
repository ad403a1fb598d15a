"""Algorithm 3 of BALANCE: AD first, then SD for who is left, over all pairs of compute and memory share."""

from __future__ import annotations

from collections.abc import Sequence

from formulations.balance.costs import Problem, problem_of
from formulations.balance.heuristics.two_stages import Plan, TwoStages
from formulations.result import Limits, Result
from instances.balance import BalanceInstance

__all__ = ["algorithm_3", "solve_hybrid", "solve_hybrid_own"]


def solve_hybrid(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 as published: Algorithm 1 charges padded memory, eq. (27).

    Serves at least a third of the optimum (not half, as Theorem 1 says). Same objective and AD set as the
    enumeration in ``hybrid_literal.py``.
    """
    return _solve(instance, padded=True)


def solve_hybrid_own(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with each AD user charged its own memory, eq. (15): serves at least half of the optimum."""
    return _solve(instance, padded=False)


def _solve(instance: BalanceInstance, padded: bool) -> Result:
    problem = problem_of(instance)
    return algorithm_3(problem, padded, problem.compute_shares, problem.memory_shares).result(problem)


def algorithm_3(
    problem: Problem, padded: bool, compute_shares: Sequence[float], memory_shares: Sequence[float]
) -> Plan:
    """Return what AD first serves at the first of the best pairs of shares (z outside, λ inside)."""
    return TwoStages(problem, padded, compute_shares, memory_shares).plan("ad")
