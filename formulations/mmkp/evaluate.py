"""The exact evaluator of MMKP choices: rationals throughout, apart from every method on purpose."""

from __future__ import annotations

import math
from fractions import Fraction

from formulations.evaluation import Evaluation
from instances.decisions import Choice
from instances.mmkp import MmkpInstance

__all__ = ["evaluate_mmkp"]


def evaluate_mmkp(instance: MmkpInstance, choice: Choice) -> Evaluation:
    """Return the total value of a choice and whether it keeps every capacity, in exact decimals.

    The violation is the largest excess over a capacity, relative to max(capacity, 1). A choice of the wrong
    length, or of an item that its group lacks, has no value: its objective is NaN, its violation infinite.
    """
    start = [int(s) for s in instance.group_start]
    items = [int(i) for i in choice.item]
    n = instance.n_groups
    if len(items) != n:
        return _no_choice(f"item: found {len(items)} entries, expected {n}, one a group")
    for g, item in enumerate(items):
        size = start[g + 1] - start[g]
        if item >= size:
            return _no_choice(f"item[{g}]: found {item}, expected 0 to {size - 1}")
    chosen = [start[g] + item for g, item in enumerate(items)]
    value = sum((_exact(instance.values[j]) for j in chosen), Fraction(0))
    excesses = [_excess(instance, chosen, k) for k in range(instance.n_resources)]
    worst = max(range(len(excesses)), key=lambda k: excesses[k], default=0)
    excess = excesses[worst] if excesses else Fraction(0)
    message = ""
    if excess > 0:
        capacity = float(instance.capacities[worst])
        message = f"resource {worst + 1} exceeds its capacity {capacity:g} by {_above(excess):.3g} relative"
    details = {"exact_objective": str(value), "resources_exceeded": sum(e > 0 for e in excesses)}
    return Evaluation(float(value), excess == 0, _above(excess), message, details)


def _excess(instance: MmkpInstance, chosen: list[int], k: int) -> Fraction:
    """Return the relative excess of resource k, 0 if its capacity is kept."""
    capacity = _exact(instance.capacities[k])
    used = sum((_exact(instance.weights[j, k]) for j in chosen), Fraction(0))
    return max(Fraction(0), (used - capacity) / max(capacity, Fraction(1)))


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _above(number: Fraction) -> float:
    """Return the nearest double, but never 0 for a positive number."""
    return max(float(number), math.ulp(0.0)) if number > 0 else 0.0


def _no_choice(message: str) -> Evaluation:
    return Evaluation(math.nan, False, math.inf, message)
