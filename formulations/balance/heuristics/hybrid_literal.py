"""Algorithms 1, 2 and 3 of BALANCE as printed: every threshold is enumerated.

Compiled, O(K⁵ |Z| |Λ|) for AD and O(K⁶ |Z| |Λ|) for SD. It is the reference that ``hybrid`` must agree with.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem, problem_of
from formulations.balance.heuristics.batches import NOBODY, Batch
from formulations.balance.heuristics.claim import claim
from formulations.result import Limits, Result
from instances.balance import BalanceInstance
from instances.errors import InputError

__all__ = ["MEMORY_READINGS", "LiteralMode", "solve_hybrid_literal"]

MEMORY_READINGS = ("padded", "own", "printed")


def solve_hybrid_literal(
    instance: BalanceInstance, *, limits: Limits, seed: int = 0, memory: str = "padded"
) -> Result:
    """Algorithm 3 by enumeration.

    ``memory`` is the reading of what a user is charged: ``padded`` is (27) for AD and (16) for SD, ``own`` is
    (15) and (16), ``printed`` is (27) and (31), which can return an infeasible point.
    """
    if memory not in MEMORY_READINGS:
        raise InputError(f"memory: found {memory!r}, expected one of {', '.join(MEMORY_READINGS)}")
    problem = problem_of(instance)
    ad_view = LiteralMode(problem, "ad", padded=memory != "own", relief=0.0)
    sd_view = LiteralMode(
        problem, "sd", padded=False, relief=problem.llm_token_bytes if memory == "printed" else 0.0
    )
    best, result, tuples = 0, (NOBODY, NOBODY, 1.0), 0
    for share in problem.compute_shares:
        room = problem.cache_bytes(share)
        for memory_share in problem.memory_shares:
            ad = ad_view.solve(share, memory_share * room, memory_share > 0.0, NOBODY)
            sd = sd_view.solve(1.0 - share, (1.0 - memory_share) * room, memory_share < 1.0, ad)
            tuples += ad.sweeps + sd.sweeps
            if len(ad) + len(sd) > best:
                best, result = len(ad) + len(sd), (ad, sd, share)
    return claim(problem, *result, {"steps": tuples})


class LiteralMode:
    """Algorithm 1 (AD) or 2 (SD).

    ``padded`` charges every user the batch's last step, by (27); ``relief`` is what (31) forgets to charge a
    user that needs one iteration, byte.
    """

    def __init__(self, problem: Problem, mode: str, *, padded: bool, relief: float) -> None:
        self.problem, self.padded, self.relief = problem, padded, relief
        self.costs = problem.ad if mode == "ad" else problem.sd
        self.steps = problem.ad_steps if mode == "ad" else problem.sd_steps
        self.accepted = problem.accepted if mode == "sd" else np.zeros_like(problem.accepted)
        self.order = np.lexsort((np.arange(len(self.steps)), self.steps))
        self.times = np.unique(np.append(problem.budget_s, 0.0))  # T' of all users, and 0

    def solve(self, share: float, room: float, active: bool, taken: Batch) -> Batch:
        """Return the first largest batch in the order of the nested loops."""
        free = np.setdiff1d(np.arange(len(self.steps)), taken.members)
        if not active or share <= 0.0 or room < 0.0 or not len(free):
            return Batch(np.empty(0, dtype=np.int64), 0.0, 0)
        order = self.order[np.isin(self.order, free)]
        problem = self.problem
        axes = (
            np.unique(np.append(problem.input_tokens[free], 0.0)),
            np.unique(np.append(self.accepted[free], 0.0)),
            np.unique(np.append(self.steps[free], -1)),  # L2 or N is one more: 0 is the printed extra value
            self.times,
            np.unique(np.append(problem.upload_s[free], 0.0)),
        )
        users = (
            problem.input_tokens[order],
            self.accepted[order],
            self.steps[order],
            problem.budget_s[order],
            problem.upload_s[order],
        )
        places, tuples = _enumerate(self.costs, self.padded, self.relief, share, room, *users, *axes)
        return Batch(np.sort(order[places]), 0.0, tuples)


@numba.njit(cache=True)
def _enumerate(
    costs: ModeCosts,
    padded: bool,
    relief: float,
    share: float,
    room: float,
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    steps: NDArray[np.int64],
    budgets: NDArray[np.float64],
    uploads: NDArray[np.float64],
    input_axis: NDArray[np.float64],
    accepted_axis: NDArray[np.float64],
    steps_axis: NDArray[np.int64],
    time_axis: NDArray[np.float64],
    upload_axis: NDArray[np.float64],
) -> tuple[NDArray[np.int64], int]:
    users = len(inputs)
    chosen, best = np.empty(users, dtype=np.int64), np.empty(users, dtype=np.int64)
    size, tuples = 0, 0
    for top_input in input_axis:
        for top_accepted in accepted_axis:
            base = costs.base_0 + (costs.base_1 + costs.base_2 * top_input) * top_input
            step = costs.step_0 + costs.step_input * top_input + costs.step_accept * top_accepted
            growth = costs.growth_0 + costs.growth_accept * top_accepted
            user_bytes = costs.bytes_user + costs.bytes_input * top_input
            step_bytes = costs.bytes_step + costs.bytes_accept * top_accepted
            for top_steps in steps_axis:
                for top_time in time_axis:
                    for top_upload in upload_axis:
                        tuples += 1
                        budget = top_time - top_upload - costs.wait - costs.wait_step * top_steps
                        budget += LATENCY_SLACK_S
                        n, seconds, used = 0, 0.0, 0.0
                        for i in range(users):
                            if (
                                inputs[i] > top_input
                                or accepted[i] > top_accepted
                                or steps[i] > top_steps
                                or budgets[i] < top_time
                                or uploads[i] > top_upload
                            ):
                                continue
                            m = steps[i]
                            seconds += (base + m * step + m * m * growth) / share
                            charged = top_steps if padded else m
                            used += user_bytes + charged * step_bytes
                            used -= costs.bytes_late if m >= 1 else relief
                            if seconds > budget or used > room:
                                break
                            chosen[n] = i
                            n += 1
                        if n > size:
                            size = n
                            best[:n] = chosen[:n]
    return best[:size], tuples
