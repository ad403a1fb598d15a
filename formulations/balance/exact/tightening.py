"""Thresholds and users of one mode that a batch of a given size still leaves possible.

A batch has five thresholds: its longest input, largest accepted length, most steps, longest upload, and its
earliest deadline, written as −T' so that each is the largest value among its users and its time grows with
each. A node of the tree keeps an interval [lo, hi] for each threshold of both modes, and what each user may
do.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem, batch_seconds

__all__ = ["AD", "AXES", "NONE", "SD", "Users", "meets_deadline", "tighten", "users_of"]

AD, SD, NONE = 0, 1, 2  # what a user may do; columns of ``allowed``
INPUT, ACCEPTED, STEPS, UPLOAD, DEADLINE = range(5)
AXES = 5


class Users(NamedTuple):
    """Users of both modes as the tree's kernels see them."""

    values: NDArray[np.float64]  # (2, 5, K) what a user asks of each threshold of a mode
    orders: NDArray[np.int64]  # (2, 5, K) users by increasing value
    costs: tuple[ModeCosts, ModeCosts]


def users_of(problem: Problem) -> Users:
    """Return the problem's users for the kernels."""
    nothing = np.zeros_like(problem.accepted)
    sides = (
        (problem.input_tokens, nothing, problem.ad_steps, problem.upload_s, -problem.budget_s),
        (problem.input_tokens, problem.accepted, problem.sd_steps, problem.upload_s, -problem.budget_s),
    )
    values = np.array([[np.asarray(row, dtype=np.float64) for row in side] for side in sides])
    values = values.reshape(2, AXES, len(nothing))
    return Users(values, np.argsort(values, axis=2, kind="stable"), (problem.ad, problem.sd))


@numba.njit(cache=True)
def meets_deadline(
    costs: ModeCosts, share: float, at: NDArray[np.float64], n: int, s1: float, s2: float
) -> bool:
    """Return whether n users with sums of steps s1 and of their squares s2 are in time at thresholds (5,)."""
    seconds = batch_seconds(costs, share, at[INPUT], at[ACCEPTED], n, s1, s2, at[STEPS], at[UPLOAD])
    return bool(seconds <= LATENCY_SLACK_S - at[DEADLINE])


@numba.njit(cache=True)
def tighten(
    users: Users,
    side: int,
    share: float,
    n: int,
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    allowed: NDArray[np.bool_],
) -> tuple[bool, bool]:
    """Return (whether a batch of n users is possible, whether anything changed); narrows the node.

    A user leaves the mode when it exceeds a threshold's upper end, or when the batch would miss a deadline
    with it even at the lower ends. A threshold is at least the n-th smallest value and is reached by
    somebody; where only one user can reach it, that user is fixed.
    """
    values, changed = users.values[side], False
    for k in range(allowed.shape[0]):
        if allowed[k, side] and (n == 0 or _exceeds(values, k, hi)):
            allowed[k, side] = False
            changed = True
    if n == 0:
        return True, changed
    possible, moved = _raise_ends(users, side, n, lo, hi, allowed)
    changed = changed or moved
    if not possible:
        return False, changed
    forced, s1, s2, last = _lightest(users, side, n, allowed)
    if forced > n or not meets_deadline(users.costs[side], share, lo, n, s1, s2):
        return False, changed
    at = np.empty(AXES)
    for k in range(allowed.shape[0]):
        if not allowed[k, side] or not _has_choice(allowed, k, side):
            continue
        m = max(values[STEPS, k], last)  # k replaces the last of the lightest, if it is not among them
        for axis in range(AXES):
            at[axis] = max(lo[axis], values[axis, k])
        if forced == n or not meets_deadline(
            users.costs[side], share, at, n, s1 + m - last, s2 + m * m - last * last
        ):
            allowed[k, side] = False
            changed = True
    return True, changed


@numba.njit(cache=True)
def _exceeds(values: NDArray[np.float64], k: int, hi: NDArray[np.float64]) -> bool:
    exceeded = False
    for axis in range(AXES):
        if values[axis, k] > hi[axis]:
            exceeded = True
    return exceeded


@numba.njit(cache=True)
def _has_choice(allowed: NDArray[np.bool_], k: int, side: int) -> bool:
    return bool(allowed[k, 1 - side] or allowed[k, NONE])


@numba.njit(cache=True)
def _raise_ends(
    users: Users,
    side: int,
    n: int,
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    allowed: NDArray[np.bool_],
) -> tuple[bool, bool]:
    """Narrow the intervals to values in the pool; return (whether n are left, whether it moved)."""
    changed = False
    for axis in range(AXES):
        row = users.values[side, axis]
        seen, reaching, reacher, first, last, old = 0, 0, -1, 0.0, 0.0, lo[axis]
        for k in users.orders[side, axis]:
            if not allowed[k, side]:
                continue
            seen += 1
            last = row[k]
            if not _has_choice(allowed, k, side):
                lo[axis] = max(lo[axis], row[k])
            if seen == n:
                lo[axis] = max(lo[axis], row[k])
        if seen < n or last < lo[axis]:
            return False, True
        changed = changed or last < hi[axis]
        hi[axis] = min(hi[axis], last)
        for k in users.orders[side, axis]:
            if allowed[k, side] and row[k] >= lo[axis]:
                if reaching == 0:
                    first, reacher = row[k], k
                reaching += 1
        lo[axis] = first
        changed = changed or first > old
        if reaching == 1 and _has_choice(allowed, reacher, side):
            changed = True
            allowed[reacher, 1 - side] = False
            allowed[reacher, NONE] = False
    return True, changed


@numba.njit(cache=True)
def _lightest(users: Users, side: int, n: int, allowed: NDArray[np.bool_]) -> tuple[int, float, float, float]:
    """Return (users fixed to the mode, Σ m, Σ m², last m) of the n users with fewest steps."""
    steps = users.values[side, STEPS]
    forced, s1, s2 = 0, 0.0, 0.0
    for k in range(allowed.shape[0]):
        if allowed[k, side] and not _has_choice(allowed, k, side):
            forced += 1
            s1 += steps[k]
            s2 += steps[k] * steps[k]
    taken, last = forced, 0.0
    for k in users.orders[side, STEPS]:
        if taken >= n:
            break
        if allowed[k, side] and _has_choice(allowed, k, side):
            taken += 1
            last = steps[k]
            s1 += last
            s2 += last * last
    return forced, s1, s2, last
