"""The largest batch of one mode within time and memory: Algorithms 1 and 2 without their enumeration.

With the thresholds fixed, the best batch is a prefix of the candidates in order of (steps, index). For fixed
(longest input, accepted length, upload) one sweep over decreasing deadlines settles the last two thresholds:
candidates enter, and while the batch is too slow or too large its last member leaves; who left never returns,
for the budget shrinks and the pool grows. Over the three outer thresholds boxes are bisected, with the count
for the pool of the upper corner at the costs of the lower corner as an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem, batch_bytes

__all__ = ["Batch", "ModeView", "Pool", "Thresholds", "largest_batch"]


MANY = 2**62  # more steps than any user has


class Pool(NamedTuple):
    """Users in order of (steps, index), K entries each."""

    steps: NDArray[np.int64]
    inputs: NDArray[np.float64]
    accepted: NDArray[np.float64]
    uploads: NDArray[np.float64]
    budgets: NDArray[np.float64]  # T'_k, s
    by_budget: NDArray[np.int64]  # positions in order of decreasing T'_k
    open: NDArray[np.bool_]  # who may be chosen


class Thresholds(NamedTuple):
    """One corner of a box of outer thresholds."""

    input: float
    accepted: float
    upload: float


@dataclass(frozen=True, eq=False)
class Batch:
    """The batch that the published enumeration would return."""

    members: NDArray[np.int64]  # users' indices
    bytes: float  # as charged at the thresholds
    sweeps: int

    def __len__(self) -> int:
        return len(self.members)


class ModeView:
    """One mode of a problem: its users in sorted order, ready for the kernels."""

    def __init__(self, problem: Problem, mode: str) -> None:
        steps = problem.ad_steps if mode == "ad" else problem.sd_steps
        accepted = problem.accepted if mode == "sd" else np.zeros_like(problem.accepted)
        self.order = np.lexsort((np.arange(len(steps)), steps))
        self.costs = problem.ad if mode == "ad" else problem.sd
        budgets = problem.budget_s[self.order]
        self.pool = Pool(
            steps[self.order],
            problem.input_tokens[self.order],
            accepted[self.order],
            problem.upload_s[self.order],
            budgets,
            np.argsort(-budgets, kind="stable"),
            np.ones(len(steps), dtype=np.bool_),
        )

    def solve(
        self, share: float, room: float, padded: bool, closed: NDArray[np.int64] | None = None
    ) -> Batch:
        """Return the largest batch at a compute share within ``room`` bytes, without users in ``closed``."""
        pool = self.pool
        if closed is not None and len(closed):
            mask = np.ones(len(self.order), dtype=np.bool_)
            mask[np.isin(self.order, closed)] = False
            pool = pool._replace(open=mask)
        if share <= 0.0 or room < 0.0 or not pool.open.any():
            return Batch(np.empty(0, dtype=np.int64), 0.0, 0)
        axes = [np.unique(values[pool.open]) for values in (pool.inputs, pool.accepted, pool.uploads)]
        places, used, sweeps = largest_batch(self.costs, padded, share, room, pool, *axes)
        return Batch(np.sort(self.order[places]), used, sweeps)


@numba.njit(cache=True)
def _sweep(
    costs: ModeCosts,
    padded: bool,
    share: float,
    room: float,
    pool: Pool,
    caps: Thresholds,
    at: Thresholds,
    target: int,
    inside: NDArray[np.bool_],
) -> tuple[int, int, float]:
    """Return the largest count, and the least (last steps, t) among batches of ``target`` users.

    Candidates are bounded by ``caps``, costs are those at ``at``.
    """
    base = (costs.base_0 + (costs.base_1 + costs.base_2 * at.input) * at.input) / share
    step = (costs.step_0 + costs.step_input * at.input + costs.step_accept * at.accepted) / share
    growth = (costs.growth_0 + costs.growth_accept * at.accepted) / share
    fixed = at.upload + costs.wait - LATENCY_SLACK_S
    users = len(pool.steps)
    inside[:] = False
    n, s1, s2, late, last, limit = 0, 0, 0, 0, -1, users
    largest, least_steps, least_t = 0, MANY, 0.0
    place, zero_due = 0, True
    while place < users or zero_due:
        t = pool.budgets[pool.by_budget[place]] if place < users else -1.0
        if zero_due and t <= 0.0:
            t, zero_due = 0.0, False
        while place < users and pool.budgets[pool.by_budget[place]] == t:
            i = pool.by_budget[place]
            place += 1
            if (
                i < limit
                and pool.open[i]
                and pool.inputs[i] <= caps.input
                and pool.accepted[i] <= caps.accepted
                and pool.uploads[i] <= caps.upload
            ):
                inside[i] = True
                m = pool.steps[i]
                n += 1
                s1 += m
                s2 += m * m
                late += m >= 1
                last = max(last, i)
        while n > 0:
            m = pool.steps[last]
            seconds = fixed + costs.wait_step * m + n * base + s1 * step + s2 * growth
            charged = n * m if padded else s1
            if seconds <= t and batch_bytes(costs, at.input, at.accepted, n, charged, late) <= room:
                break
            inside[last] = False
            limit = last
            n -= 1
            s1 -= m
            s2 -= m * m
            late -= m >= 1
            last -= 1
            while last >= 0 and not inside[last]:
                last -= 1
        largest = max(largest, n)
        if n == target and n > 0 and pool.steps[last] <= least_steps:
            least_steps, least_t = pool.steps[last], t
    return largest, least_steps, least_t


@numba.njit(cache=True)
def _corner(
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    box: NDArray[np.int64],
    high: int,
) -> Thresholds:
    return Thresholds(inputs[box[high]], accepted[box[2 + high]], uploads[box[4 + high]])


@numba.njit(cache=True)
def _largest_count(
    costs: ModeCosts,
    padded: bool,
    share: float,
    room: float,
    pool: Pool,
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    inside: NDArray[np.bool_],
) -> tuple[int, int]:
    """Return the largest count over all thresholds, and the number of sweeps."""
    stack = np.empty((256, 6), dtype=np.int64)
    stack[0] = np.array([0, len(inputs) - 1, 0, len(accepted) - 1, 0, len(uploads) - 1])
    size, best, sweeps = 1, 0, 0
    while size > 0:
        size -= 1
        box = stack[size].copy()
        low, high = _corner(inputs, accepted, uploads, box, 0), _corner(inputs, accepted, uploads, box, 1)
        bound = _sweep(costs, padded, share, room, pool, high, low, -1, inside)[0]
        sweeps += 1
        if bound <= best:
            continue
        reached = _sweep(costs, padded, share, room, pool, high, high, -1, inside)[0]
        sweeps += 1
        best = max(best, reached)
        if bound <= best:
            continue
        axis = _widest(costs, share, low, high, bound, box)
        middle = (box[2 * axis] + box[2 * axis + 1]) // 2
        stack[size] = box
        stack[size, 2 * axis] = middle + 1
        stack[size + 1] = box
        stack[size + 1, 2 * axis + 1] = middle
        size += 2
    return best, sweeps


@numba.njit(cache=True)
def _widest(
    costs: ModeCosts, share: float, low: Thresholds, high: Thresholds, count: int, box: NDArray[np.int64]
) -> int:
    """Return the axis of the box along which a batch's time changes most."""
    spread_input = count * (costs.base_1 + costs.base_2 * (low.input + high.input)) * (high.input - low.input)
    spread_accepted = count * costs.step_accept * (high.accepted - low.accepted)
    spread_upload = (high.upload - low.upload) * share
    axis, widest = -1, -1.0
    for i, spread in enumerate((spread_input, spread_accepted, spread_upload)):
        if box[2 * i] < box[2 * i + 1] and spread > widest:
            axis, widest = i, spread
    return axis


@numba.njit(cache=True)
def _first_cell(
    costs: ModeCosts,
    padded: bool,
    share: float,
    room: float,
    pool: Pool,
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    target: int,
    inside: NDArray[np.bool_],
) -> tuple[float, float, int]:
    """Return the least (input, accepted) thresholds at which ``target`` users fit for some upload."""
    stack = np.empty((256, 6), dtype=np.int64)
    stack[0] = np.array([0, len(inputs) - 1, 0, len(accepted) - 1, 0, len(uploads) - 1])
    size, sweeps = 1, 0
    while size > 0:
        size -= 1
        box = stack[size].copy()
        low, high = _corner(inputs, accepted, uploads, box, 0), _corner(inputs, accepted, uploads, box, 1)
        bound = _sweep(costs, padded, share, room, pool, high, low, -1, inside)[0]
        sweeps += 1
        if bound < target:
            continue
        axis = 0
        while axis < 3 and box[2 * axis] == box[2 * axis + 1]:
            axis += 1
        if axis == 3:
            return low.input, low.accepted, sweeps
        middle = (box[2 * axis] + box[2 * axis + 1]) // 2
        stack[size] = box
        stack[size, 2 * axis] = middle + 1
        stack[size + 1] = box
        stack[size + 1, 2 * axis + 1] = middle
        size += 2
    return -1.0, -1.0, sweeps


@numba.njit(cache=True)
def largest_batch(
    costs: ModeCosts,
    padded: bool,
    share: float,
    room: float,
    pool: Pool,
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
) -> tuple[NDArray[np.int64], float, int]:
    """Return positions of the largest batch, its bytes at the thresholds, and the number of sweeps.

    Of all batches of that size it is the one with the least (input, accepted, last steps, t, upload), the
    first that the nested loops of Algorithms 1 and 2 meet. The axes are the thresholds' values, increasing.
    """
    inside = np.empty(len(pool.steps), dtype=np.bool_)
    target, sweeps = _largest_count(costs, padded, share, room, pool, inputs, accepted, uploads, inside)
    if target == 0:
        return np.empty(0, dtype=np.int64), 0.0, sweeps
    first_input, first_accepted, more = _first_cell(
        costs, padded, share, room, pool, inputs, accepted, uploads, target, inside
    )
    best_steps, best_t, best_upload = MANY, 0.0, 0.0
    for upload in uploads:
        at = Thresholds(first_input, first_accepted, upload)
        _, steps, t = _sweep(costs, padded, share, room, pool, at, at, target, inside)
        if steps < best_steps or (steps == best_steps and t < best_t):
            best_steps, best_t, best_upload = steps, t, upload
    places = np.empty(target, dtype=np.int64)
    n, s1, late = 0, 0, 0
    for i in range(len(pool.steps)):
        if (
            n < target
            and pool.open[i]
            and pool.inputs[i] <= first_input
            and pool.accepted[i] <= first_accepted
            and pool.uploads[i] <= best_upload
            and pool.budgets[i] >= best_t
        ):
            places[n] = i
            n += 1
            s1 += pool.steps[i]
            late += pool.steps[i] >= 1
    charged = n * best_steps if padded else s1
    used = batch_bytes(costs, first_input, first_accepted, n, charged, late)
    return places, used, sweeps + more + len(uploads)
