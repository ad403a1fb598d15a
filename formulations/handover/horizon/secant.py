"""Method ``clairvoyant-secant``: the clairvoyant bound by piecewise-linear interpolation (Section VI-E).

Each busy period's interpolation on n equal segments is solved as a MILP (``secant_model``). A chord over a
convex part is above the utility. Elsewhere, on a piece of width h = 1/n, the utility minus its chord vanishes
at both ends and its second derivative is at least −max|A''|, so it is at most

    max|A''| h²/8,   max|A''| = c M k²,                                                             (1)

with c = 3/2 · u/(1+u²)^{5/2} at u = 1/2 for the algebraic family, 1/(6√3) for the logistic, √(2/(πe)) for
erf and 3√3/(8π) for arctan. That correction, summed over the users, makes the MILP's bound one on the true
optimum.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np

from formulations.handover.horizon.busy_periods import BusyPeriod, busy_periods
from formulations.handover.horizon.earliest_deadline import earliest_deadline_first
from formulations.handover.horizon.secant_model import Interpolated, Interpolation, solve_interpolated
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import covering, values
from formulations.pulp_solver import missing_solver
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.errors import integer
from instances.handover import HandoverTrace

__all__ = ["correction", "solve_secant"]

CLOSED = 1e-9  # gap a user that counts as none
SEGMENTS = 128
CURVATURE = {
    "algebraic": 1.5 * 0.5 / 1.25**2.5,
    "logistic": 1.0 / (6.0 * math.sqrt(3.0)),
    "erf": math.sqrt(2.0 / (math.pi * math.e)),
    "arctan": 3.0 * math.sqrt(3.0) / (8.0 * math.pi),
}


def correction(instance: HandoverTrace, segments: int) -> float:
    """Return (1) summed over the users whose curve has a concave part, accuracy."""
    users = instance.users
    bent = users.anchor < 1.0
    curvature = CURVATURE[instance.utility] * users.ceiling * users.sharpness**2
    return math.fsum(curvature[bent] / (8.0 * segments**2)) * (1.0 + 1e-12)


def solve_secant(
    instance: HandoverTrace,
    *,
    limits: Limits,
    seed: int = 0,
    segments: int = SEGMENTS,
    solver: str = "HiGHS",
    **options: Any,
) -> Result:
    """Bound the clairvoyant optimum by a piecewise-linear MILP and its validated upper correction.

    Parameters
    ----------
    instance
        A horizon.
    limits
        ``time_s``, shared among the busy periods.
    seed
        Part of the method contract; the solver's seed is fixed.
    segments
        n, at least 1.
    solver
        One of ``pulp.listSolvers()``; one that cannot be used gives a skipped result.

    Returns
    -------
    The schedule of the interpolation's optimum, and the corrected bound or, as a trivial one, Σ A_i(1) if
    that is less, as good as the solver's tolerances. ``certificate`` holds ``interpolated`` and
    ``correction``, whose sum is the corrected bound.
    A busy period without an answer counts with Σ A_i(1) and sends nothing.

    Raises
    ------
    InputError
        For an unknown option, or segments that are not an integer of at least 1.
    """
    no_more_options("clairvoyant-secant", options)
    n = integer("segments", segments, low=1, high=10_000)
    skipped = missing_solver(solver)
    if skipped is not None:
        return skipped
    periods = busy_periods(instance)
    deadline = math.inf if limits.time_s is None else perf_counter() + limits.time_s
    answers, waiting = [], len(instance.users)
    for period in periods:
        share = (deadline - perf_counter()) * len(period.user) / max(waiting, 1)
        answers.append(_solve_period(instance, period, n, solver, share))
        waiting -= len(period.user)
    return _claim(instance, periods, answers, n)


def _solve_period(
    instance: HandoverTrace, period: BusyPeriod, segments: int, solver: str, time_s: float
) -> Interpolated:
    """Interpolate and solve one busy period; without time, or an answer, its ceiling is its bound."""
    users, chosen = instance.users, period.user
    grid = np.arange(segments + 1) / segments
    interpolations = []
    for i in chosen.tolist():
        curve = [np.full(len(grid), column[i]) for column in (users.ceiling, users.sharpness, users.anchor)]
        accuracy = values(instance.utility, curve[0], curve[1], curve[2], grid)
        interpolations.append(Interpolation(float(users.cache_bits[i]), float(users.anchor[i]), accuracy))
    ceiling = math.fsum(user.accuracy[-1] for user in interpolations)
    if time_s <= 0:
        return Interpolated(Stopped.TIME, ceiling, np.zeros(len(chosen)), 0, 0.0, 0.0)
    limit = None if math.isinf(time_s) else time_s
    solved = solve_interpolated(interpolations, period, instance.capacity_bits, solver, limit)
    fraction = solved.fraction if len(solved.fraction) else np.zeros(len(chosen))
    # Of other solvers PuLP passes on no bound that a limit could not have made wrong.
    bound = solved.bound if solver == "HiGHS" else math.inf
    return Interpolated(
        solved.stopped, min(bound, ceiling), fraction, solved.nodes, solved.build_s, solved.solve_s
    )


def _claim(
    instance: HandoverTrace, periods: list[BusyPeriod], answers: list[Interpolated], segments: int
) -> Result:
    users, (first, end) = instance.users, instance.windows()
    amount = np.zeros(len(users))
    for period, answer in zip(periods, answers, strict=True):
        amount[period.user] = users.cache_bits[period.user] * answer.fraction
    user, slot, bits = earliest_deadline_first(amount, first, end, instance.capacity_bits)
    y = np.minimum(1.0, np.bincount(user, weights=bits, minlength=len(users)) / users.cache_bits)
    curves = (users.ceiling, users.sharpness, users.anchor)
    objective = math.fsum(values(instance.utility, *curves, y))
    ceiling = math.fsum(values(instance.utility, *curves, np.ones(len(users))))
    interpolated, corrected = math.fsum(a.bound for a in answers), correction(instance, segments)
    bound = interpolated + corrected
    optimal = min(bound, ceiling) - objective <= CLOSED * len(users)
    stops = [a.stopped for a in answers if a.stopped is not Stopped.DONE]
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if optimal else (stops[0] if stops else Stopped.GAP),
        Schedule(user, slot, bits),
        objective,
        covering(min(bound, ceiling), objective),
        BoundKind.SECANT if bound <= ceiling else BoundKind.TRIVIAL,
        {"segments": segments, "nodes": sum(a.nodes for a in answers)},
        {"build": sum(a.build_s for a in answers), "solve": sum(a.solve_s for a in answers)},
        certificate={"interpolated": interpolated, "correction": corrected},
    )
