"""What each user adds to a batch once the batch's longest input and accepted length are set: seconds, bytes.

These are the coefficients of the programmes (7)–(9) and (12)–(14) of ``milp.py``, (K,) each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import ModeCosts, Problem

__all__ = [
    "ad_bytes",
    "ad_seconds",
    "largest_wait",
    "sd_accepted_bytes",
    "sd_accepted_seconds",
    "sd_input_bytes",
    "sd_input_seconds",
]

Floats = NDArray[np.float64]


def ad_seconds(problem: Problem, longest_input: float) -> Floats:
    """Return each user's seconds in AD at share 1."""
    return _seconds(problem.ad, problem.ad_steps, longest_input, 0.0)


def ad_bytes(problem: Problem, longest_input: float) -> Floats:
    """Return each user's cache bytes in AD."""
    costs, steps = problem.ad, problem.ad_steps.astype(np.float64)
    return costs.bytes_user + costs.bytes_input * longest_input + steps * costs.bytes_step


def sd_input_seconds(problem: Problem, longest_input: float) -> Floats:
    """Return the part of each user's seconds in SD, at share 1, that no accepted length changes."""
    return _seconds(problem.sd, problem.sd_steps, longest_input, 0.0)


def sd_accepted_seconds(problem: Problem, accepted: float) -> Floats:
    """Return the part of each user's seconds in SD, at share 1, that an accepted length adds."""
    costs, steps = problem.sd, problem.sd_steps.astype(np.float64)
    return accepted * (costs.step_accept * steps + costs.growth_accept * steps**2)


def sd_input_bytes(problem: Problem, longest_input: float) -> Floats:
    """Return the part of each user's cache bytes in SD that no accepted length changes."""
    costs, steps = problem.sd, problem.sd_steps.astype(np.float64)
    late = (steps >= 1).astype(np.float64)
    user = costs.bytes_user + costs.bytes_input * longest_input
    return user + steps * costs.bytes_step - late * costs.bytes_late


def sd_accepted_bytes(problem: Problem, accepted: float) -> Floats:
    """Return the part of each user's cache bytes in SD that an accepted length adds."""
    return accepted * problem.sd.bytes_accept * problem.sd_steps.astype(np.float64)


def largest_wait(problem: Problem, costs: ModeCosts, steps: NDArray[np.int64]) -> float:
    """Return the seconds that no share shortens, at most, for any batch."""
    upload = float(problem.upload_s.max(initial=0.0))
    return upload + costs.wait + costs.wait_step * float(steps.max(initial=0))


def _seconds(costs: ModeCosts, steps: NDArray[np.int64], longest_input: float, accepted: float) -> Floats:
    base = costs.base_0 + (costs.base_1 + costs.base_2 * longest_input) * longest_input
    step = costs.step_0 + costs.step_input * longest_input + costs.step_accept * accepted
    growth = costs.growth_0 + costs.growth_accept * accepted
    return base + steps * step + steps.astype(np.float64) ** 2 * growth
