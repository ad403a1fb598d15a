"""The independent evaluator of utilities fitted to measured points.

Shares no code with the methods. Numbers mean the decimals that they print as; with points (y_j, a_j) and
their mean accuracy ā, the objective

    R² = 1 − Σ_j (a_j − A(y_j))² / Σ_j (a_j − ā)²

is evaluated in python-flint balls. Every sigmoid is feasible.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx

from formulations.evaluation import Evaluation
from formulations.handover.evaluate import BITS, accuracy_ball, ball_of, decimals
from instances.decisions import Sigmoid
from instances.retention import RetentionCurve

__all__ = ["evaluate_fit"]


def evaluate_fit(curve: RetentionCurve, sigmoid: Sigmoid) -> Evaluation:
    """Judge a sigmoid by the points that it stands for.

    Returns
    -------
    The verdict; without a spread of the accuracies R² does not exist, and the sigmoid is refused.
    ``details``: ``rmse`` (in the unit of the accuracies), ``radius`` (of the objective's ball), ``kept`` and
    ``accuracy`` (the points).
    """
    points = {"kept": curve.kept.tolist(), "accuracy": curve.accuracy.tolist()}
    if len(set(points["accuracy"])) < 2:
        return Evaluation(math.nan, False, math.inf, "accuracy: every point has the same", details=points)
    before = ctx.prec
    ctx.prec = BITS
    try:
        r_squared, square = _agreement(curve, sigmoid)
    finally:
        ctx.prec = before
    details = {"rmse": math.sqrt(max(float(square.mid()), 0.0)), "radius": float(r_squared.rad()), **points}
    return Evaluation(float(r_squared.mid()), True, 0.0, details=details)


def _agreement(curve: RetentionCurve, sigmoid: Sigmoid) -> tuple[Any, Any]:
    """Return R² and the mean square error as balls."""
    kept, measured = ([ball_of(v) for v in decimals(column)] for column in (curve.kept, curve.accuracy))
    constants = np.array([sigmoid.ceiling, sigmoid.sharpness, sigmoid.anchor])
    ceiling, sharpness, anchor = (ball_of(v) for v in decimals(constants))
    mean = sum(measured, arb(0)) / len(measured)
    left = total = arb(0)
    for y, a in zip(kept, measured, strict=True):
        left += (a - accuracy_ball(sigmoid.utility, ceiling, sharpness * (y - anchor))) ** 2
        total += (a - mean) ** 2
    return 1 - left / total, left / len(measured)
