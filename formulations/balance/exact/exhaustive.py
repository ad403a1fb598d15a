"""Exhaustive search of P1, twice: over feasible sets of each mode, and over all 3^K assignments."""

from __future__ import annotations

import time

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import (
    LATENCY_SLACK_S,
    ModeCosts,
    Problem,
    batch_bytes,
    batch_seconds,
    problem_of,
)
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.decisions import Assignment

__all__ = ["MAX_USERS_MASKS", "MAX_USERS_NAIVE", "solve_exhaustive", "solve_exhaustive_naive"]

MAX_USERS_MASKS = 22  # 2^22 sets of each mode
MAX_USERS_NAIVE = 18  # 3^18 assignments for each share


def solve_exhaustive(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Exhaustive search over feasibility masks; O(2^K) sets for each share, at worst O(3^K) disjoint pairs.

    For each z:  (1) time and memory of every set of users in AD, and in SD,
                 (2) the largest AD set inside every set of users, memory apart,
                 (3) for every SD set that (2) lets improve, the disjoint AD sets that fit the memory with it.
    """
    return _search(instance, _best_pair, MAX_USERS_MASKS)


def solve_exhaustive_naive(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Exhaustive search over all 3^K assignments for each share, each checked in constant time."""
    return _search(instance, _best_assignment, MAX_USERS_NAIVE)


def _search(instance: BalanceInstance, kernel: object, largest: int) -> Result:
    if instance.n_users > largest:
        text = f"enumeration is limited to {largest} users, this instance has {instance.n_users}"
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)
    problem, begun = problem_of(instance), time.perf_counter()
    if problem.cache_bytes(1.0) < 0.0:
        return Result(Status.INFEASIBLE, message="the LLM's weights do not fit the memory")
    best, ad, sd, chosen, visited = -1, 0, 0, 1.0, 0
    incumbents: list[tuple[float, float]] = []
    for share in problem.compute_shares:
        room = problem.cache_bytes(share)
        if room < 0.0:
            continue
        served, ad_set, sd_set, count = kernel(*_arguments(problem), share, room, best)  # type: ignore[operator]
        visited += count
        if served > best:
            best, ad, sd, chosen = served, ad_set, sd_set, share
            incumbents.append((time.perf_counter() - begun, float(best)))
    users = range(instance.n_users)
    mode = tuple("ad" if ad >> k & 1 else "sd" if sd >> k & 1 else "none" for k in users)
    return Result(
        Status.OPTIMAL,
        decision=Assignment(mode, chosen),
        objective=float(best),
        bound=float(best),
        bound_kind=BoundKind.ENUMERATION,
        counters={"steps": visited},
        incumbents=incumbents,
    )


def _arguments(problem: Problem) -> tuple[object, ...]:
    return (
        problem.ad,
        problem.sd,
        problem.ad_steps,
        problem.sd_steps,
        problem.input_tokens,
        problem.accepted,
        problem.upload_s,
        problem.budget_s,
    )


@numba.njit(cache=True)
def _bytes_of_sets(
    costs: ModeCosts,
    share: float,
    room: float,
    steps: NDArray[np.int64],
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    budgets: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the cache bytes of each set of users (a bit mask), infinity where it is infeasible."""
    users = len(steps)
    sets = 1 << users
    used = np.full(sets, np.inf)
    used[0] = 0.0
    sums = np.zeros((sets, 4), dtype=np.int64)  # n, S1, S2, late
    tops = np.zeros((sets, 4))  # longest input, accepted, upload, least budget
    tops[0, 3] = np.inf
    last = np.zeros(sets, dtype=np.int64)
    for k in range(users):
        m = steps[k]
        for rest in range(1 << k):
            if used[rest] == np.inf:
                continue
            both = rest | (1 << k)
            n, s1 = sums[rest, 0] + 1, sums[rest, 1] + m
            s2, late = sums[rest, 2] + m * m, sums[rest, 3] + (m >= 1)
            longest, most = max(tops[rest, 0], inputs[k]), max(tops[rest, 1], accepted[k])
            upload, budget = max(tops[rest, 2], uploads[k]), min(tops[rest, 3], budgets[k])
            final = max(last[rest], m)
            seconds = batch_seconds(costs, share, longest, most, n, s1, s2, final, upload)
            size = batch_bytes(costs, longest, most, n, s1, late)
            if seconds <= budget + LATENCY_SLACK_S and size <= room:
                used[both] = size
                sums[both] = np.array([n, s1, s2, late])
                tops[both] = np.array([longest, most, upload, budget])
                last[both] = final
    return used


@numba.njit(cache=True)
def _count(mask: int) -> int:
    ones = 0
    while mask:
        mask &= mask - 1
        ones += 1
    return ones


@numba.njit(cache=True)
def _best_pair(
    ad: ModeCosts,
    sd: ModeCosts,
    ad_steps: NDArray[np.int64],
    sd_steps: NDArray[np.int64],
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    budgets: NDArray[np.float64],
    share: float,
    room: float,
    best: int,
) -> tuple[int, int, int, int]:
    """Return (served, AD set, SD set, pairs visited) where more than ``best`` users can be served."""
    sets = 1 << len(inputs)
    nothing = np.full(sets, np.inf)
    nothing[0] = 0.0
    ad_bytes, sd_bytes = nothing, nothing
    if share > 0.0:
        ad_bytes = _bytes_of_sets(ad, share, room, ad_steps, inputs, 0.0 * accepted, uploads, budgets)
    if share < 1.0:
        sd_bytes = _bytes_of_sets(sd, 1.0 - share, room, sd_steps, inputs, accepted, uploads, budgets)
    inside = np.zeros(sets, dtype=np.int64)  # size of the largest AD set inside a set
    for mask in range(sets):
        if ad_bytes[mask] < np.inf:
            inside[mask] = _count(mask)
    for k in range(len(inputs)):
        for mask in range(sets):
            if mask >> k & 1:
                inside[mask] = max(inside[mask], inside[mask ^ (1 << k)])
    ad_set, sd_set, visited = 0, 0, 0
    for chosen in range(sets):
        if sd_bytes[chosen] == np.inf:
            continue
        size, others = _count(chosen), sets - 1 - chosen
        if size + inside[others] <= best:
            continue
        subset = others
        while True:
            visited += 1
            if ad_bytes[subset] + sd_bytes[chosen] <= room and size + _count(subset) > best:
                best, ad_set, sd_set = size + _count(subset), subset, chosen
                if best == size + inside[others]:
                    break
            if subset == 0:
                break
            subset = (subset - 1) & others
    return best, ad_set, sd_set, visited


@numba.njit(cache=True)
def _best_assignment(
    ad: ModeCosts,
    sd: ModeCosts,
    ad_steps: NDArray[np.int64],
    sd_steps: NDArray[np.int64],
    inputs: NDArray[np.float64],
    accepted: NDArray[np.float64],
    uploads: NDArray[np.float64],
    budgets: NDArray[np.float64],
    share: float,
    room: float,
    best: int,
) -> tuple[int, int, int, int]:
    """Return (served, AD set, SD set, assignments visited); a counter to base 3 with prefix sums by depth."""
    users = len(inputs)
    sums = np.zeros((users + 1, 2, 5), dtype=np.int64)  # n, S1, S2, late, last of AD and SD
    tops = np.zeros((users + 1, 2, 4))  # longest input, accepted, upload, least budget
    tops[0, :, 3] = np.inf
    digits = np.full(users + 1, -1, dtype=np.int64)
    ad_set, sd_set, visited, depth = 0, 0, 0, 0
    while depth >= 0:
        if depth == users:
            visited += 1
            served = sums[depth, 0, 0] + sums[depth, 1, 0]
            if served > best and _fits(ad, sd, sums[depth], tops[depth], share, room):
                best, ad_set, sd_set = served, 0, 0
                for k in range(users):
                    ad_set |= (digits[k] == 1) << k
                    sd_set |= (digits[k] == 2) << k
            depth -= 1
            continue
        digits[depth] += 1
        if digits[depth] == 3:
            digits[depth] = -1
            depth -= 1
            continue
        sums[depth + 1] = sums[depth]
        tops[depth + 1] = tops[depth]
        if digits[depth] > 0:
            side = digits[depth] - 1
            m = ad_steps[depth] if side == 0 else sd_steps[depth]
            row, top = sums[depth + 1, side], tops[depth + 1, side]
            row[0] += 1
            row[1] += m
            row[2] += m * m
            row[3] += m >= 1
            row[4] = max(row[4], m)
            top[0] = max(top[0], inputs[depth])
            top[1] = max(top[1], accepted[depth]) if side == 1 else 0.0
            top[2] = max(top[2], uploads[depth])
            top[3] = min(top[3], budgets[depth])
        depth += 1
    return best, ad_set, sd_set, visited


@numba.njit(cache=True)
def _fits(
    ad: ModeCosts,
    sd: ModeCosts,
    sums: NDArray[np.int64],
    tops: NDArray[np.float64],
    share: float,
    room: float,
) -> bool:
    used = 0.0
    for side in range(2):
        n, s1, s2, late, last = sums[side]
        if n == 0:
            continue
        longest, most, upload, budget = tops[side]
        portion = share if side == 0 else 1.0 - share
        costs = ad if side == 0 else sd
        if portion <= 0.0:
            return False
        seconds = batch_seconds(costs, portion, longest, most, n, s1, s2, last, upload)
        if seconds > budget + LATENCY_SLACK_S:
            return False
        used += batch_bytes(costs, longest, most, n, s1, late)
    return used <= room
