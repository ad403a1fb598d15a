"""The thresholds at which a batch is largest: Algorithms 1 and 2 without their enumeration.

With the thresholds fixed, the best batch is a prefix of the candidates in order of (steps, index). For fixed
(longest input, accepted length, upload) one sweep over decreasing deadlines settles the last two thresholds:
candidates enter, and while the batch is too slow or too large its last member leaves; who left never returns,
for the budget shrinks and the pool grows. Over the three outer thresholds boxes are bisected: candidates of
the upper corner at the costs of the lower corner bound what the box holds. Users whose own numbers rule out a
batch of the size in question are set aside first, which at large K leaves few.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, batch_bytes
from formulations.balance.heuristics.pool import Pool, axes_of, kept

__all__ = [
    "MANY",
    "Choice",
    "Setting",
    "count_open",
    "first_open",
    "largest_count",
    "largest_counts",
    "members",
    "sweep",
]

MANY = 2**62  # more steps than any user has
SCANNED = 16  # input thresholds that are tried before any box


class Setting(NamedTuple):
    """What one mode may use."""

    costs: ModeCosts
    padded: bool  # memory of eq. (27) instead of (15)
    share: float  # of compute
    room: float  # byte


class Thresholds(NamedTuple):
    """One corner of a box of outer thresholds."""

    input: float
    accepted: float
    upload: float


class Choice(NamedTuple):
    """Thresholds in the order of the published loops."""

    input: float
    accepted: float
    steps: int
    time: float
    upload: float


@numba.njit(cache=True)
def _seconds(setting: Setting, at: Thresholds, n: int, s1: int, s2: int, last: int) -> float:
    """Return what is compared with T': the batch's seconds less the slack, each term growing."""
    costs, share = setting.costs, setting.share
    base = (costs.base_0 + (costs.base_1 + costs.base_2 * at.input) * at.input) / share
    step = (costs.step_0 + costs.step_input * at.input + costs.step_accept * at.accepted) / share
    growth = (costs.growth_0 + costs.growth_accept * at.accepted) / share
    fixed = at.upload + costs.wait - LATENCY_SLACK_S
    return fixed + costs.wait_step * last + n * base + s1 * step + s2 * growth


@numba.njit(cache=True)
def sweep(
    setting: Setting, pool: Pool, caps: Thresholds, at: Thresholds, most: int, inside: NDArray[np.bool_]
) -> tuple[int, float, int, float]:
    """Return the largest count, at most ``most``, its bytes, and the least (last steps, seconds) of ``most``.

    Candidates are bounded by ``caps``, costs are those at ``at``.
    """
    costs = setting.costs
    base = (costs.base_0 + (costs.base_1 + costs.base_2 * at.input) * at.input) / setting.share
    step = (costs.step_0 + costs.step_input * at.input + costs.step_accept * at.accepted) / setting.share
    growth = (costs.growth_0 + costs.growth_accept * at.accepted) / setting.share
    fixed = at.upload + costs.wait - LATENCY_SLACK_S
    users = len(pool.steps)
    inside[:users] = False
    n, s1, s2, late, last, limit = 0, 0, 0, 0, -1, users
    largest, bytes_largest, least_steps, least_seconds = 0, 0.0, MANY, 0.0
    place = 0
    while place < users:
        t = pool.budgets[place]
        entered = False
        while place < users and pool.budgets[place] == t:
            i = pool.by_budget[place]
            place += 1
            if (
                i < limit
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
                entered = True
        seconds, used = 0.0, 0.0
        while n > 0:
            m = pool.steps[last]
            if n <= most:
                seconds = fixed + costs.wait_step * m + n * base + s1 * step + s2 * growth
                charged = n * m if setting.padded else s1
                used = batch_bytes(costs, at.input, at.accepted, n, charged, late)
                if seconds <= t and used <= setting.room:
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
        if n > largest:
            largest, bytes_largest = n, used
        if entered and n == most and n > 0:
            m = pool.steps[last]
            if m < least_steps or (m == least_steps and seconds < least_seconds):
                least_steps, least_seconds = m, seconds
    return largest, bytes_largest, least_steps, least_seconds


@numba.njit(cache=True)
def _able(setting: Setting, pool: Pool, size: int) -> Pool:
    """Return the pool without users whose own numbers rule them out of every batch of ``size`` users."""
    while 0 < size <= len(pool.steps):
        users = len(pool.steps)
        able = np.zeros(users, dtype=np.bool_)
        s1, s2, late = 0, 0, 0
        for i in range(size - 1):
            m = pool.steps[i]
            s1 += m
            s2 += m * m
            late += m >= 1
        nth = pool.steps[size - 1]
        for place in range(users):
            i = pool.by_budget[place]
            m = max(pool.steps[i], nth)
            own = Thresholds(pool.inputs[i], pool.accepted[i], pool.uploads[i])
            seconds = _seconds(setting, own, size, s1 + m, s2 + m * m, m)
            charged = size * m if setting.padded else s1 + m
            used = batch_bytes(setting.costs, own.input, own.accepted, size, charged, late + (m >= 1))
            if seconds <= pool.budgets[place] and used <= setting.room:
                able[i] = True
        if able.all():
            return pool
        pool = kept(pool, able)
    return pool if size <= len(pool.steps) else kept(pool, np.zeros(len(pool.steps), dtype=np.bool_))


@numba.njit(cache=True)
def _corner(
    axes: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    box: NDArray[np.int64],
    high: int,
) -> Thresholds:
    return Thresholds(axes[0][box[high]], axes[1][box[2 + high]], axes[2][box[4 + high]])


@numba.njit(cache=True)
def _whole(axes: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]) -> NDArray[np.int64]:
    """Return a stack of boxes, the first of which is everything."""
    stack = np.zeros((256, 6), dtype=np.int64)
    for axis in range(3):
        stack[0, 2 * axis + 1] = len(axes[axis]) - 1
    return stack


@numba.njit(cache=True)
def _split(
    setting: Setting, stack: NDArray[np.int64], size: int, low: Thresholds, high: Thresholds, count: int
) -> int:
    """Bisect the box on top of the stack where a batch's time changes most, lower half on top.

    Returns the stack's new size, one less if the box is a single point.
    """
    box = stack[size - 1]
    costs = setting.costs
    spread_input = count * (costs.base_1 + costs.base_2 * (low.input + high.input)) * (high.input - low.input)
    spread_accepted = count * costs.step_accept * (high.accepted - low.accepted)
    spread_upload = (high.upload - low.upload) * setting.share
    axis, widest = -1, -1.0
    for i, spread in enumerate((spread_input, spread_accepted, spread_upload)):
        if box[2 * i] < box[2 * i + 1] and spread > widest:
            axis, widest = i, spread
    if axis < 0:
        return size - 1
    middle = (box[2 * axis] + box[2 * axis + 1]) // 2
    for k in range(6):
        stack[size, k] = box[k]
    stack[size - 1, 2 * axis] = middle + 1
    stack[size, 2 * axis + 1] = middle
    return size + 1


@numba.njit(cache=True)
def largest_count(
    setting: Setting, pool: Pool, floor: int, ceiling: int
) -> tuple[int, float, Thresholds, int]:
    """Return the largest count, bytes and thresholds of a batch that reaches it, and the number of sweeps.

    If no batch has more than ``floor`` users, the count returned is ``floor``; none may have more than
    ``ceiling``.
    """
    best, best_bytes, where, sweeps = floor, 0.0, Thresholds(-1.0, -1.0, -1.0), 0
    pool = _able(setting, pool, best + 1)
    users = len(pool.steps)
    if users <= best or ceiling <= best:
        return best, best_bytes, where, sweeps
    inside = np.empty(users, dtype=np.bool_)
    axes = axes_of(pool)
    steps = min(SCANNED, len(axes[0]))
    for k in range(1, steps + 1):
        at = Thresholds(axes[0][k * len(axes[0]) // steps - 1], axes[1][-1], axes[2][-1])
        reached, used, _, _ = sweep(setting, pool, at, at, users, inside)
        sweeps += 1
        if reached > best:
            best, best_bytes, where = reached, used, at
        if best >= ceiling:
            return best, best_bytes, where, sweeps
    pool = _able(setting, pool, best + 1)
    users = len(pool.steps)
    if users <= best:
        return best, best_bytes, where, sweeps
    axes = axes_of(pool)
    stack, size = _whole(axes), 1
    while size > 0 and best < ceiling:
        low, high = _corner(axes, stack[size - 1], 0), _corner(axes, stack[size - 1], 1)
        size -= 1
        bound = sweep(setting, pool, high, low, users, inside)[0]
        sweeps += 1
        if bound <= best:
            continue
        reached, used, _, _ = sweep(setting, pool, high, high, users, inside)
        sweeps += 1
        if reached > best:
            best, best_bytes, where = reached, used, high
        if bound > best:
            size = _split(setting, stack, size + 1, low, high, bound)
    return best, best_bytes, where, sweeps


@numba.njit(cache=True)
def largest_counts(
    costs: ModeCosts, padded: bool, shares: NDArray[np.float64], rooms: NDArray[np.float64], pool: Pool
) -> tuple[NDArray[np.int64], int]:
    """Return the largest count for each share and room, (Z, Λ), and the number of sweeps.

    Shares do not increase, nor do the rooms (Z, Λ) along either axis: nor do the counts, then.
    """
    counts, sweeps = np.zeros(rooms.shape, dtype=np.int64), 0
    for i in range(len(shares)):
        used = np.inf
        for j in range(rooms.shape[1]):
            if shares[i] <= 0.0 or rooms[i, j] < 0.0:
                continue
            ceiling = len(pool.steps) if i == 0 else counts[i - 1, j]
            if j > 0:
                ceiling = min(ceiling, counts[i, j - 1])
            if used <= rooms[i, j]:  # the batch found for more room fits
                counts[i, j] = counts[i, j - 1]
                continue
            setting = Setting(costs, padded, shares[i], rooms[i, j])
            counts[i, j], used, _, more = largest_count(setting, pool, counts[i, j], ceiling)
            sweeps += more
    return counts, sweeps


@numba.njit(cache=True)
def _time(times: NDArray[np.float64], seconds: float) -> float:
    """Return the least of the time thresholds, in increasing order, that is not below ``seconds``."""
    low, high = 0, len(times) - 1
    while low < high:
        middle = (low + high) // 2
        if times[middle] < seconds:
            low = middle + 1
        else:
            high = middle
    return float(times[low])


@numba.njit(cache=True)
def first_batch(setting: Setting, pool: Pool, times: NDArray[np.float64], target: int) -> tuple[Choice, int]:
    """Return the least thresholds with ``target`` users, in the order of the published loops, and sweeps.

    ``target`` is the largest count, and ``times`` are the time thresholds, increasing.
    """
    pool = _able(setting, pool, target)
    inside = np.empty(len(pool.steps), dtype=np.bool_)
    best = Choice(np.inf, np.inf, MANY, np.inf, np.inf)
    axes = axes_of(pool)
    stack, size, sweeps = _whole(axes), 1, 0
    while size > 0:
        low, high = _corner(axes, stack[size - 1], 0), _corner(axes, stack[size - 1], 1)
        size -= 1
        if (low.input, low.accepted) > (best.input, best.accepted):
            continue
        bound, _, steps, seconds = sweep(setting, pool, high, low, target, inside)
        sweeps += 1
        least = Choice(low.input, low.accepted, steps, _time(times, seconds), low.upload)
        if bound < target or least >= best:
            continue
        reached, _, steps, seconds = sweep(setting, pool, high, high, target, inside)
        sweeps += 1
        if reached == target:
            found = Choice(high.input, high.accepted, steps, _time(times, seconds), high.upload)
            if found < best:
                best = found
        size = _split(setting, stack, size + 1, low, high, target)
    return best, sweeps


@numba.njit(cache=True)
def members(setting: Setting, pool: Pool, choice: Choice, target: int) -> tuple[NDArray[np.int64], float]:
    """Return the first ``target`` positions within the choice, and their bytes at its thresholds."""
    timely = np.zeros(len(pool.steps), dtype=np.bool_)
    for place in range(len(pool.steps)):
        timely[pool.by_budget[place]] = pool.budgets[place] >= choice.time
    places = np.empty(target, dtype=np.int64)
    n, s1, late = 0, 0, 0
    for i in range(len(pool.steps)):
        if (
            n < target
            and timely[i]
            and pool.inputs[i] <= choice.input
            and pool.accepted[i] <= choice.accepted
            and pool.uploads[i] <= choice.upload
        ):
            places[n] = i
            n += 1
            s1 += pool.steps[i]
            late += pool.steps[i] >= 1
    charged = n * choice.steps if setting.padded else s1
    return places, batch_bytes(setting.costs, choice.input, choice.accepted, n, charged, late)


@numba.njit(cache=True)
def count_open(
    setting: Setting, pool: Pool, keep: NDArray[np.bool_], floor: int, ceiling: int
) -> tuple[int, int]:
    """Return the largest count of the candidates in ``keep``, or ``floor``, and the number of sweeps."""
    size, _, _, sweeps = largest_count(setting, kept(pool, keep), floor, ceiling)
    return size, sweeps


@numba.njit(cache=True)
def first_open(
    setting: Setting, pool: Pool, keep: NDArray[np.bool_], times: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], float, int]:
    """Return the first batch of the candidates in ``keep``: places among them, bytes, number of sweeps."""
    candidates = kept(pool, keep)
    choice, sweeps = first_batch(setting, candidates, times, size)
    places, used = members(setting, candidates, choice, size)
    return places, used, sweeps
