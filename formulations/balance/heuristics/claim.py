"""From two batches to the claimed result of a heuristic."""

from __future__ import annotations

from formulations.balance.costs import Problem
from formulations.balance.heuristics.batches import Batch
from formulations.result import Result, Status
from instances.decisions import Assignment

__all__ = ["claim"]


def claim(problem: Problem, ad: Batch, sd: Batch, share: float, counters: dict[str, int]) -> Result:
    """Return the result that serves the two batches at a compute share.

    Serving nobody needs the LLM's weights alone; where even they do not fit, there is no feasible decision.
    """
    if problem.cache_bytes(1.0) < 0.0:
        return Result(Status.INFEASIBLE, counters=counters, message="the LLM's weights do not fit the memory")
    mode = ["none"] * len(problem.ad_steps)
    for batch, name in ((ad, "ad"), (sd, "sd")):
        for k in batch.members:
            mode[k] = name
    served = len(ad) + len(sd)
    decision = Assignment(tuple(mode), share if served else 1.0)
    return Result(Status.FEASIBLE, decision=decision, objective=float(served), counters=counters)
