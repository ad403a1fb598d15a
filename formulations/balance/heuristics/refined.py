"""Beyond the paper: users divided between the modes before either is served.

Algorithm 3 lets one mode choose among all users and leaves the rest to the other. Two batches, one of short
outputs and early deadlines and one of long outputs and late deadlines, often serve more. Here users are
ranked in several ways; each ranking is cut at several places, and at every pair of shares that could improve
AD is offered one side of the cut, or SD the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import Problem, problem_of
from formulations.balance.heuristics.batches import Batch
from formulations.balance.heuristics.best_order import better_order
from formulations.balance.heuristics.divisions import Candidates, Side, divide
from formulations.balance.heuristics.two_stages import Pair, Plan, TwoStages
from formulations.result import Limits, Result, Stopped
from instances.balance import BalanceInstance

__all__ = ["solve_refined"]

PARTS = 16  # a ranking is cut into so many equal parts
WORK = 4  # sweeps spent here for each sweep of the two orders


def solve_refined(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Serve no fewer users than ``best-order``, often as many as possible: at least half of the optimum.

    Polynomial: a bounded number of divisions, each a few largest batches, within ``WORK`` times the sweeps of
    ``best-order`` and one division. Limits of time and steps are looked at between rankings.
    """
    begun, problem = time.perf_counter(), problem_of(instance)
    stages = TwoStages(problem, False, problem.compute_shares, problem.memory_shares)
    plan, stopped = better_order(stages), Stopped.DONE
    places, candidates = _candidates(stages, problem)
    ad_view, sd_view = stages.views
    sides = (
        Side(ad_view.costs, False, ad_view.pool, ad_view.order),
        Side(sd_view.costs, False, sd_view.pool, sd_view.order),
    )
    sweeps, most_sweeps = stages.sweeps, (1 + WORK) * stages.sweeps
    for ranked, cuts in _divisions(problem):
        stopped = _stopped(limits, begun, sweeps * instance.n_users)
        if not places or sweeps >= most_sweeps or stopped is not Stopped.DONE:
            break
        masks, winner, served, more = divide(
            sides, candidates, ranked, cuts, plan.served, most_sweeps - sweeps
        )
        sweeps += more
        if served > plan.served:
            ad, sd = (Batch(np.flatnonzero(mask), 0.0, 0) for mask in masks)
            plan = Plan(ad, sd, problem.compute_shares[places[winner]], 0)
    return replace(plan._replace(sweeps=sweeps).result(problem), stopped=stopped)


def _stopped(limits: Limits, begun: float, steps: int) -> Stopped:
    """Return which limit is met, ``done`` if none is."""
    if limits.time_s is not None and time.perf_counter() - begun >= limits.time_s:
        return Stopped.TIME
    return Stopped.NODES if limits.steps is not None and steps >= limits.steps else Stopped.DONE


def _candidates(stages: TwoStages, problem: Problem) -> tuple[list[int], Candidates]:
    """Return places of compute shares, and the numbers of all pairs of shares that no other one dominates.

    Of the pairs with one z, those remain at which neither mode alone could serve more without the other
    serving fewer: a single one where memory is idle.
    """
    front: list[Pair] = []
    for pair in stages.pairs:  # λ ascending: more for AD, less for SD
        if front and front[-1].place[0] == pair.place[0]:
            if front[-1].sizes[1] == pair.sizes[1]:
                front.pop()
            elif front[-1].sizes[0] == pair.sizes[0]:
                continue
        front.append(pair)
    front = sorted((p for p in front if min(p.sizes) > 0), key=lambda p: (-sum(p.sizes), p.place))
    most = np.array([pair.sizes for pair in stages.pairs]).reshape(*stages.rooms.shape).max(axis=1)
    places = [pair.place[0] for pair in front]
    shares = np.array([problem.compute_shares[i] for i in places])
    caches = np.array([problem.cache_bytes(share) for share in shares])
    rooms = np.array([pair.widest for pair in front]).reshape(-1, 2)
    return places, Candidates(np.column_stack((shares, 1.0 - shares)), caches, rooms, most[places])


def _divisions(problem: Problem) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield rankings with places to cut: the odd sixteenths of every ranking, then the even ones."""
    rankings, users = list(_rankings(problem)), len(problem.ad_steps)
    for start in (1, 2):
        cuts = np.unique(np.arange(start, PARTS, 2) * users // PARTS)
        for ranked in rankings:
            yield ranked, cuts


def _rankings(problem: Problem) -> Iterator[NDArray[np.int64]]:
    """Yield users in several orders; only users that are alike in all numbers are ordered by their index."""
    numbers = (problem.budget_s, problem.ad_steps, problem.input_tokens, problem.accepted, problem.upload_s)
    deadline, steps, inputs, accepted, upload = (np.unique(n, return_inverse=True)[1] for n in numbers)
    ties = (upload, accepted, inputs, steps, deadline)
    patience = deadline + steps
    for key in (patience, -patience, inputs, -deadline, -inputs, steps, accepted - steps, accepted):
        yield np.lexsort((*ties, key))
