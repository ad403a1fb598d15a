"""Method ``clairvoyant-relaxed``: the envelope relaxation as a conic programme over prices, by cvxpy.

With every algebraic utility replaced by its concave envelope, the dual of the clairvoyant problem is

    minimise    Σ_e p_e n_e C + Σ_i s_i                                                             (1)
    subject to  s_i ≥ A_i(0)                                                                    (2)
                s_i ≥ μ_i + M_i/2 (1 + r_i) − g_i τ_i                                           (3)
                π_i^{2/3} + r_i^{2/3} ≥ 1,  π_i = g_i / (M_i k_i / 2)                           (4)
                g_i = L_i q_i + μ_i,  0 ≤ q_i ≤ p_e      for the segments e of i's window       (5)
                p, q, μ, r ≥ 0                                                                  (6)

for u/√(1+u²) has the conjugate max_u [u/√(1+u²) − π u] = (1 − π^{2/3})^{3/2}, and μ_i is the multiplier of
y_i ≤ 1. The optimal prices bound the optimum of the utilities themselves; no other family has such a cone.
"""

from __future__ import annotations

import importlib
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.busy_periods import BusyPeriod, busy_periods
from formulations.handover.horizon.certificate import price_bound
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import values
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.handover import HandoverTrace

__all__ = ["solve_relaxed"]

Floats = NDArray[np.float64]


def solve_relaxed(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Bound the clairvoyant optimum by the envelopes' dual prices, found by Clarabel.

    Parameters
    ----------
    instance
        A horizon with algebraic utilities; other families are skipped.
    limits
        ``time_s`` holds between busy periods; those that are left count with free slots.
    seed
        Part of the method contract; nothing here is random.

    Returns
    -------
    No schedule; the bound that the prices prove, whatever the solver's tolerances
    (``certificate["prices"]``, accuracy per bit by slot).

    Raises
    ------
    InputError
        For an unknown option.
    """
    no_more_options("clairvoyant-relaxed", options)
    if instance.utility != "algebraic":
        text = f"the conic programme is of the algebraic family only, found {instance.utility}"
        return Result(Status.SKIPPED, Stopped.UNSUPPORTED, message=text)
    begun, prices, solve_s, stopped = perf_counter(), dict[int | str, float](), 0.0, Stopped.DONE
    for period in busy_periods(instance):
        if limits.time_s is not None and perf_counter() - begun >= limits.time_s:
            stopped = Stopped.TIME
            break
        price, seconds = _solve_period(instance, period)
        solve_s += seconds
        for start, count, p in zip(period.start.tolist(), period.slots.tolist(), price, strict=True):
            if p > 0:
                prices |= dict.fromkeys(range(start, start + count), float(p))
    return Result(
        Status.BOUND_ONLY,
        stopped,
        bound=price_bound(instance, prices),
        bound_kind=BoundKind.PRICES,
        phases={"build": perf_counter() - begun - solve_s, "solve": solve_s},
        certificate={"prices": prices},
    )


def _solve_period(instance: HandoverTrace, period: BusyPeriod) -> tuple[Floats, float]:
    """Solve (1)–(6) of one busy period; return the prices, (m,) accuracy a bit, and the solver's seconds."""
    cp: Any = importlib.import_module("cvxpy")  # takes half a second
    chosen, users, capacity = period.user, instance.users, instance.capacity_bits
    ceiling, sharpness, anchor = users.ceiling[chosen], users.sharpness[chosen], users.anchor[chosen]
    # Prices are of a slot's bits, so that all numbers are near 1.
    cache = users.cache_bits[chosen] / capacity
    n, m = len(chosen), len(period.slots)
    p, q = cp.Variable(m, nonneg=True), cp.Variable(n, nonneg=True)
    mu, r, s = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True), cp.Variable(n)
    g = cp.multiply(cache, q) + mu  # (5)
    pi = cp.multiply(2.0 / (ceiling * sharpness), g)
    at_zero = values(instance.utility, ceiling, sharpness, anchor, np.zeros(n))
    user = np.repeat(np.arange(n), period.end - period.first)
    segment = np.concatenate([np.arange(a, b) for a, b in zip(period.first, period.end, strict=True)])
    constraints = [
        s >= at_zero,  # (2)
        s >= mu + cp.multiply(ceiling / 2, 1 + r) - cp.multiply(anchor, g),  # (3)
        cp.power(pi, 2 / 3) + cp.power(r, 2 / 3) >= 1,  # (4)
        q[user] <= p[segment],  # (5)
    ]
    problem = cp.Problem(cp.Minimize(period.slots @ p + cp.sum(s)), constraints)  # (1)
    problem.solve(solver=cp.CLARABEL)
    seconds = float(problem.solver_stats.solve_time or 0.0) if problem.solver_stats else 0.0
    found = np.zeros(m) if p.value is None else np.maximum(np.asarray(p.value), 0.0) / capacity
    return np.where(found * capacity > 1e-12, found, 0.0), seconds
