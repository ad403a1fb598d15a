"""Problem (4) of the paper by cvxpy and Clarabel: power cones where the family has them, tangents elsewhere.

    maximise    Σ_i v_i                                                                   (1)
    subject to  Σ_i L_i (y_i − x_i) ≤ C                                                   (2)
                max(x_i, τ_i) ≤ y_i ≤ 1                                                   (3)

The algebraic u/√(1 + u²) is the power mean (1 + u^(−2))^(−1/2) of 1 and u = k_i (y_i − τ_i) ≥ 0, so that

                v_i ≤ M_i/2 (1 + t_i),  t_i³ ≤ a_i,  t_i³ ≤ u_i² b_i,  a_i + b_i ≤ t_i        (4)

Beyond its anchor A_i of any family is concave, and so the least of its tangents there:

                v_i ≤ A_i(p) + A_i'(p) (y_i − p)            for the points p of user i        (5)

Every solution adds the point where it lies, so the optimum of (1) falls to that of (4) in the paper.
"""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.slot.claim import claimed, no_more_options
from formulations.handover.utility import slopes, values
from formulations.result import Limits, Result, Status, Stopped
from instances.errors import InputError
from instances.handover import SlotInstance

__all__ = ["solve_convex"]

Floats = NDArray[np.float64]

FIRST_POINTS = 9
MOST_ROUNDS = 60
CLOSED = 1e-9  # gap a user, accuracy


def solve_convex(instance: SlotInstance, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Solve (4) on a slot in which every user can reach its anchor.

    Parameters
    ----------
    instance
        One slot with C ≥ C_min.
    limits
        ``time_s`` holds between the programmes.
    seed
        Part of the method contract; Clarabel draws nothing.

    Returns
    -------
    The allocation; ``certificate["gap"]`` is what the last programme's optimum is above its value. That
    optimum bounds (4), not the slot without the anchors' floor, so no bound is claimed.

    Raises
    ------
    InputError
        For an unknown option, or a slot without enough capacity for the anchors.
    """
    no_more_options("convex", options)
    if len(instance.users) == 0:
        return claimed(instance, instance.users.received)
    try:
        import cvxpy
    except ImportError:
        message = "cvxpy is not installed; python -m pip install cvxpy clarabel"
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=message)
    return _Programme(instance, cvxpy).refined(limits)


class _Programme:
    """The programme with its tangents so far, in units of the largest cache."""

    def __init__(self, instance: SlotInstance, cvxpy: Any) -> None:
        users = instance.users
        self.instance, self.cvxpy = instance, cvxpy
        self.floor = np.maximum(users.received, users.anchor)
        self.weight = users.cache_bits / users.cache_bits.max()
        lift = math.fsum(users.cache_bits * (self.floor - users.received))
        self.budget = (instance.capacity_bits - lift) / float(users.cache_bits.max())
        if self.budget < -1e-12 * instance.capacity_bits / float(users.cache_bits.max()):
            expected = f"at least the {lift:g} bits that lift every user to its anchor"
            raise InputError(f"convex: found a slot of {instance.capacity_bits:g} bits, expected {expected}")
        spread = np.linspace(0.0, 1.0, FIRST_POINTS)[:, None] ** 3
        self.points = [self.floor + part * (1.0 - self.floor) for part in spread]
        self.cones = instance.utility == "algebraic"

    def curve(self, y: Floats) -> tuple[Floats, Floats]:
        """Return A_i(y_i) and A_i'(y_i), (N,) each."""
        users, utility = self.instance.users, self.instance.utility
        shape = (users.ceiling, users.sharpness, users.anchor)
        return values(utility, *shape, y), slopes(utility, *shape, y)

    def solution(self) -> tuple[Floats, float]:
        """Solve the programme; return y, (N,), within its limits and the optimum of (1)."""
        cp, n = self.cvxpy, len(self.floor)
        rise, worth = cp.Variable(n, nonneg=True), cp.Variable(n)
        limits = [rise <= 1.0 - self.floor, self.weight @ rise <= max(0.0, self.budget)]
        limits += self.power_cones(rise, worth) if self.cones else self.tangents(rise, worth)
        problem = cp.Problem(cp.Maximize(cp.sum(worth)), limits)
        with warnings.catch_warnings(), suppress(cp.SolverError):
            warnings.simplefilter("ignore")  # an inaccurate solution shows in the gap
            problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
        if rise.value is None:  # the cones of ten thousand users can be too much
            return self.floor, math.inf
        y = self.floor + np.clip(np.asarray(rise.value), 0.0, 1.0 - self.floor)
        used = float(self.weight @ (y - self.floor))
        if used > self.budget:
            y = self.floor + (y - self.floor) * max(0.0, self.budget / used)
        return np.asarray(y), float(problem.value)

    def power_cones(self, rise: Any, worth: Any) -> list[Any]:
        """Return (4)."""
        cp, n, users = self.cvxpy, len(self.floor), self.instance.users
        u = cp.multiply(users.sharpness, rise + (self.floor - users.anchor))
        t, a, b = cp.Variable(n), cp.Variable(n), cp.Variable(n)
        share = np.full(n, 2.0 / 3.0)
        return [
            worth <= cp.multiply(users.ceiling / 2.0, 1.0 + t),
            cp.PowCone3D(np.ones(n), a, t, share),
            cp.PowCone3D(u, b, t, share),
            a + b <= t,
        ]

    def tangents(self, rise: Any, worth: Any) -> list[Any]:
        """Return (5)."""
        limits = []
        for p in self.points:
            value, slope = self.curve(p)
            limits.append(worth <= value + self.cvxpy.multiply(slope, self.floor + rise - p))
        return limits

    def refined(self, limits: Limits) -> Result:
        """Solve until the optimum of (1) is reached, by tangents once the cones were not accurate enough."""
        deadline = math.inf if limits.time_s is None else perf_counter() + limits.time_s
        best, least, rounds, stopped = self.floor, math.inf, 0, Stopped.GAP
        most = -math.inf
        while rounds < MOST_ROUNDS:
            y, optimum = self.solution()
            rounds += 1
            value = math.fsum(self.curve(y)[0])
            least = min(least, optimum)
            if value > most:
                best, most = y, value
            if least - most <= CLOSED * len(y):
                stopped = Stopped.DONE
                break
            if perf_counter() >= deadline:
                stopped = Stopped.TIME
                break
            self.points.append(y)
            self.cones = False
        gap = {"gap": max(0.0, least - most)}
        return claimed(self.instance, best, stopped=stopped, counters={"rounds": rounds}, certificate=gap)
