"""The Lagrangian bound of a node: P1 with its thresholds at their optimistic ends and exact batch sizes.

With thresholds fixed, P1 at one compute share is a choice of AD, SD or nobody for each user under three rows
(AD time, SD time, memory). Batch sizes n_AD and n_SD, one pair a tree, add two more. Scaled to right-hand
sides of 1,

    max  Σ_k x_k + y_k                                                                            (1)
    s.t. Σ_k a_rk x_k + b_rk y_k ≤ 1                                              r = 1 … 5       (2)
         x_k + y_k ≤ 1, binary, and only what the node allows                     all k           (3)

and for multipliers λ ≥ 0 the value Σ_r λ_r + Σ_k max(0, 1 − λ·a_k, 1 − λ·b_k) is an upper bound. Both batches
must be full, so a bound below n_AD + n_SD closes the node.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, batch_bytes, batch_seconds
from formulations.balance.exact.tightening import (
    ACCEPTED,
    AD,
    DEADLINE,
    INPUT,
    NONE,
    SD,
    STEPS,
    UPLOAD,
    Users,
)

__all__ = ["MARGIN", "ROWS", "Rows", "bound_of", "fill_rows", "fix_users", "improve", "relaxed_choice"]

ROWS = 5  # AD time, SD time, memory, AD size, SD size
MEMORY = 2
SIZE = 3
MARGIN = 1e-7  # a bound must miss the wanted number of users by this much: far above rounding
THIN = 1e-7  # a row with less room than this share of its right-hand side is left out: it is mostly rounding


class Rows(NamedTuple):
    """Scaled coefficients: what user k takes of row r in each mode."""

    weights: NDArray[np.float64]  # (2, K, 5)
    right: NDArray[np.float64]  # (5,) 1, or 0 for a row that is left out


@numba.njit(cache=True)
def fill_rows(
    rows: Rows, users: Users, share: float, room: float, sizes: NDArray[np.int64], lo: NDArray[np.float64]
) -> bool:
    """Write the rows at thresholds ``lo`` (2, 5); return False where a row alone is violated."""
    left = room
    rows.weights[:] = 0.0
    for side in range(2):
        rows.right[side] = rows.right[SIZE + side] = 0.0
        if sizes[side] == 0:
            continue
        costs, portion, at = users.costs[side], share if side == AD else 1.0 - share, lo[side]
        n, start = (
            sizes[side],
            batch_seconds(
                users.costs[side],
                portion,
                at[INPUT],
                at[ACCEPTED],
                sizes[side],
                0.0,
                0.0,
                at[STEPS],
                at[UPLOAD],
            ),
        )
        spare = LATENCY_SLACK_S - at[DEADLINE] - start
        step = (costs.step_0 + costs.step_input * at[INPUT] + costs.step_accept * at[ACCEPTED]) / portion
        growth = (costs.growth_0 + costs.growth_accept * at[ACCEPTED]) / portion
        rows.right[side] = 1.0 if spare > THIN * abs(at[DEADLINE]) else 0.0
        rows.right[SIZE + side] = 1.0
        left -= batch_bytes(costs, at[INPUT], at[ACCEPTED], n, 0.0, 0)
        step_bytes = costs.bytes_step + costs.bytes_accept * at[ACCEPTED]
        for k, m in enumerate(users.values[side, STEPS]):
            rows.weights[side, k, side] = m * (step + growth * m) / spare if rows.right[side] > 0.0 else 0.0
            rows.weights[side, k, MEMORY] = m * step_bytes - (costs.bytes_late if m > 0.0 else 0.0)
            rows.weights[side, k, SIZE + side] = 1.0 / n
    rows.right[MEMORY] = 1.0 if left > THIN * room else 0.0
    rows.weights[:, :, MEMORY] *= 1.0 / left if left > THIN * room else 0.0
    return left >= -THIN * room


@numba.njit(cache=True)
def _gain(rows: Rows, k: int, side: int, multipliers: NDArray[np.float64]) -> float:
    price = 0.0
    for r in (side, MEMORY, SIZE + side):
        price += multipliers[r] * rows.weights[side, k, r]
    return 1.0 - price


@numba.njit(cache=True)
def relaxed_choice(
    rows: Rows, k: int, allowed: NDArray[np.bool_], multipliers: NDArray[np.float64]
) -> tuple[int, float]:
    """Return what user k does in the relaxed problem, and its gain."""
    chosen, gain = NONE, 0.0 if allowed[k, NONE] else -np.inf
    for side in range(2):
        if allowed[k, side]:
            value = _gain(rows, k, side, multipliers)
            if value > gain:
                chosen, gain = side, value
    return chosen, gain


@numba.njit(cache=True)
def bound_of(
    rows: Rows, allowed: NDArray[np.bool_], multipliers: NDArray[np.float64], slope: NDArray[np.float64]
) -> float:
    """Return the bound at multipliers (5,), and its subgradient in ``slope``."""
    bound = 0.0
    for r in range(ROWS):
        slope[r] = rows.right[r]
        bound += multipliers[r] * rows.right[r]
    for k in range(allowed.shape[0]):
        side, gain = relaxed_choice(rows, k, allowed, multipliers)
        bound += gain
        if side != NONE:
            slope[side] -= rows.weights[side, k, side]
            slope[MEMORY] -= rows.weights[side, k, MEMORY]
            slope[SIZE + side] -= rows.weights[side, k, SIZE + side]
    return bound


@numba.njit(cache=True)
def improve(
    rows: Rows, allowed: NDArray[np.bool_], multipliers: NDArray[np.float64], wanted: int, most: int
) -> tuple[float, int]:
    """Return the best bound of at most ``most`` subgradient steps, and the steps; keeps its multipliers.

    Polyak's step towards ``wanted``, for the question is only whether the bound falls below it.
    """
    for r in range(ROWS):
        if rows.right[r] == 0.0:
            multipliers[r] = 0.0
    at, slope = multipliers.copy(), np.empty(ROWS)
    best, relax, stale, step = np.inf, 1.0, 0, 0
    while step < most:
        step += 1
        bound = bound_of(rows, allowed, at, slope)
        if bound < best - 1e-9:
            stale = 0
            best = bound
            multipliers[:] = at
            if best < wanted - MARGIN:
                break
        else:
            stale += 1
            if stale == 4:
                relax, stale = 0.5 * relax, 0
                if relax < 0.02:
                    break
                at[:] = multipliers
                continue
        square = 0.0
        for r in range(ROWS):
            if at[r] <= 0.0 and slope[r] > 0.0:
                slope[r] = 0.0
            square += slope[r] * slope[r]
        if square < 1e-18:
            break
        length = relax * (bound - wanted + 0.05) / square
        for r in range(ROWS):
            at[r] = max(0.0, at[r] - length * slope[r]) if rows.right[r] > 0.0 else 0.0
    return best, step


@numba.njit(cache=True)
def fix_users(
    rows: Rows, allowed: NDArray[np.bool_], multipliers: NDArray[np.float64], bound: float, wanted: int
) -> bool:
    """Forbid what would take the bound below ``wanted``; return whether anything was forbidden."""
    changed = False
    for k in range(allowed.shape[0]):
        _, gain = relaxed_choice(rows, k, allowed, multipliers)
        for option in (AD, SD, NONE):
            if allowed[k, option]:
                value = 0.0 if option == NONE else _gain(rows, k, option, multipliers)
                if bound - gain + value < wanted - MARGIN:
                    allowed[k, option] = False
                    changed = True
    return changed
