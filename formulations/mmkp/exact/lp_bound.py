"""The bound of the LP relaxation, rigorous: HiGHS's duals, rounded to decimals, are prices that prove it."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

from formulations.mmkp.exact.highs import solve_relaxation
from formulations.mmkp.integers import IntegerMmkp, in_integers
from formulations.result import BoundKind, Limits, Result, Status
from instances.mmkp import MmkpInstance

__all__ = ["dual_bound", "solve_lp_bound"]

DIGITS = 12  # significant ones of a price


def solve_lp_bound(instance: MmkpInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Bound the optimum by the LP relaxation, x_j ≥ 0 in place of x_j ∈ {0, 1}.

    The duals of the capacities, rounded to 12 digits and none below 0, are prices λ. The bound is that of
    weak duality, Σ_k λ_k W_k + Σ_g max_j (v_j − Σ_k λ_k w_jk), computed in rationals and rounded up: it
    holds whatever HiGHS's tolerances were. ``certificate["prices"]`` holds λ by resource, counted from 0.

    Without a point in the relaxation the status is ``infeasible``, as HiGHS says; no prices prove that.

    Guarantee: an upper bound. It needs one linear programme; nothing is random.
    """
    begin = time.perf_counter()
    if instance.n_groups == 0:
        return Result(Status.BOUND_ONLY, bound=0.0, bound_kind=BoundKind.TRIVIAL)
    problem = in_integers(instance)
    built = time.perf_counter()
    answer, duals = solve_relaxation(problem, limits.time_s)
    phases = {"build": built - begin, "solve": time.perf_counter() - built}
    if answer.infeasible:
        return Result(Status.INFEASIBLE, phases=phases)
    if math.isinf(answer.bound):
        return Result(Status.UNKNOWN, answer.stopped, phases=phases, message="no optimal LP relaxation")
    prices = _prices(instance, problem, duals.tolist())
    bound = dual_bound(instance, prices)
    phases["certify"] = time.perf_counter() - built - phases["solve"]
    return Result(
        Status.BOUND_ONLY,
        bound=_above(bound),
        bound_kind=BoundKind.LP,
        phases=phases,
        certificate={"prices": {str(k): price for k, price in prices.items()}},
    )


def dual_bound(instance: MmkpInstance, prices: dict[int, float]) -> Fraction:
    """Return the bound of weak duality, exactly; prices are by resource, value for a unit of weight."""
    exact = {k: Fraction(repr(price)) for k, price in prices.items()}
    unit = math.lcm(*(price.denominator for price in exact.values()))
    whole = [(k, int(price * unit)) for k, price in exact.items()]  # prices in 1/unit
    total = sum((Fraction(repr(float(instance.capacities[k]))) * p for k, p in whole), Fraction(0))
    values = [Fraction(repr(v)) for v in instance.values.tolist()]
    weights = instance.weights.tolist()
    start = instance.group_start.tolist()
    for first, end in pairwise(start):
        total += max(
            values[j] * unit - sum(Fraction(repr(weights[j][k])) * p for k, p in whole)
            for j in range(first, end)
        )
    return total / unit


def _prices(instance: MmkpInstance, problem: IntegerMmkp, duals: list[float]) -> dict[int, float]:
    """Return the duals as decimals for the instance's own units, those that are 0 left out."""
    prices = {}
    for k, dual in enumerate(duals):
        heaviest = int(instance.weights[:, k].argmax())
        counted = int(problem.weights[heaviest, k])
        if dual > 0 and counted:
            unit = Fraction(repr(float(instance.weights[heaviest, k]))) / counted
            scale = int(problem.values.max()) if int(problem.values.max()) > 2**53 else 1
            prices[k] = float(f"{float(Fraction(dual) * scale * problem.value_unit / unit):.{DIGITS - 1}e}")
    return prices


def _above(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
