"""SD first, then AD for who is left, and the better of both orders; each charged its own memory."""

from __future__ import annotations

from formulations.balance.costs import problem_of
from formulations.balance.heuristics.two_stages import Plan, TwoStages
from formulations.result import Limits, Result
from instances.balance import BalanceInstance

__all__ = ["better_order", "solve_best_order", "solve_sd_first"]


def solve_sd_first(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with its stages exchanged, AD's memory by eq. (15): serves at least half of the optimum.

    λ = 0 and λ = 1 at the optimum's z serve at least its SD and its AD users.
    """
    problem = problem_of(instance)
    stages = TwoStages(problem, False, problem.compute_shares, problem.memory_shares)
    return stages.plan("sd").result(problem)


def solve_best_order(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Return the better of AD first and SD first, AD's memory by eq. (15): never below either."""
    problem = problem_of(instance)
    stages = TwoStages(problem, False, problem.compute_shares, problem.memory_shares)
    return better_order(stages).result(problem)


def better_order(stages: TwoStages) -> Plan:
    """Return the plan that serves more users, AD first if both serve as many."""
    ad_first = stages.plan("ad")
    sd_first = stages.plan("sd", beyond=ad_first.served)
    best = sd_first if sd_first.served > ad_first.served else ad_first
    return best._replace(sweeps=stages.sweeps)
