"""From a solver's doubles back to whole units: what a mixed-integer solver's answer proves."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.integers import IntegerMmkp
from formulations.pulp_solver import Answer
from formulations.result import BoundKind, Result, Status, Stopped
from instances.decisions import Choice

__all__ = ["EXACT", "GAP", "SMALLEST_GAP", "claim_of", "row_in_doubles", "value_scale"]

GAP = 0.5  # in value units: totals are whole, so a smaller gap closes
SMALLEST_GAP = 1e-9  # where they are not
EXACT = 2**53  # integers up to here are exact as doubles


def value_scale(problem: IntegerMmkp) -> tuple[int, bool]:
    """Return by what values are divided in the objective, and whether every total stays an integer."""
    largest = int(problem.values.max())
    whole = largest <= EXACT
    return (1 if whole else largest), whole


def row_in_doubles(weights: list[int], capacity: int) -> tuple[list[float], float]:
    """Return a resource as doubles; what they cannot hold is scaled and relaxed, to cut nothing off."""
    largest = max(capacity, *weights)
    if largest <= EXACT:
        return [float(w) for w in weights], float(capacity)
    return [w / largest for w in weights], capacity / largest + 1e-9


def claim_of(
    problem: IntegerMmkp, point: NDArray[np.float64] | None, answer: Answer, phases: dict[str, float]
) -> Result:
    """Return the claim; the decision counts only if it keeps the capacities in integers.

    Parameters
    ----------
    problem
        The problem in whole units, whose values over ``value_scale`` are the solver's objective.
    point : (items,)
        The solver's point, if it has one.
    answer
        Why it stopped, and its bound on the objective.
    phases
        Seconds by name.
    """
    if answer.infeasible:
        return Result(Status.INFEASIBLE, phases=phases, counters=answer.counters)
    bound, whole = _safe_bound(problem, answer.bound)
    kind = None if bound is None else BoundKind.MILP_DUAL
    result = Result(
        Status.UNKNOWN, answer.stopped, bound=bound, bound_kind=kind, counters=answer.counters, phases=phases
    )
    if point is None:
        return result
    chosen = _chosen(problem, point)
    if np.any(problem.weights[chosen].sum(axis=0) > problem.capacities):
        message = "the solver's point exceeds a capacity when re-checked in integers"
        return replace(result, message=message)
    units = sum(int(v) for v in problem.values[chosen])
    objective = problem.value(units)
    if whole is not None and units > whole:
        raise RuntimeError(f"the solver's bound {bound} is below the value {objective} of its point")
    status, stopped = Status.FEASIBLE, answer.stopped
    if units == whole:
        status, stopped = Status.OPTIMAL, Stopped.DONE
    elif stopped is Stopped.DONE:
        stopped = Stopped.GAP
    decision = Choice(chosen - problem.group_start[:-1])
    return replace(result, status=status, stopped=stopped, decision=decision, objective=objective)


def _chosen(problem: IntegerMmkp, point: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the item with the largest x of each group, (n,)."""
    order = np.lexsort((-point, problem.group))
    return order[problem.group_start[:-1]].astype(np.int64)


def _safe_bound(problem: IntegerMmkp, bound: float) -> tuple[float | None, int | None]:
    """Return the bound, not below the optimum, and the integer that it rounds down to where that is safe.

    The error granted to the solver is ten times its dual tolerance for each group, whose row carries it, and
    some rounding.
    """
    if not math.isfinite(bound):
        return None, None
    scale, exact_values = value_scale(problem)
    error = 1e-6 * problem.n_groups + 1e-10 * abs(bound)
    whole = math.floor(bound + error) if exact_values and error < GAP else None
    exact = problem.value_unit * scale * (Fraction(bound + error) if whole is None else whole)
    nearest = float(exact)
    if whole is None and Fraction(nearest) < exact:
        nearest = math.nextafter(nearest, math.inf)
    return nearest, whole
