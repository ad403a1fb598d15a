"""BALANCE at fixed thresholds is an MMKP: one group a user, its items none, AD and SD.

Costs depend on a batch only through its extremes. With the share z fixed, and for each mode the longest
input L, the longest upload U, the most further steps M, the least budget T and (SD) the largest accepted
length a, the users that keep to them add up:

    Σ_k (base(L) + m_k step(L, a) + m_k² growth(a)) / share ≤ T − U − wait − wait_step M    a row a mode  (1)
    Σ_k bytes of k at (L, a)                                ≤ memory beside the weights                   (2)

A choice of the MMKP is feasible in P1, since its batches' extremes are within the thresholds, and an optimum
of P1 is a choice at its own extremes. So the best MMKP over all thresholds is P1's optimum. Weights are
rounded, far below the slacks of P1's predicate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem, problem_of
from instances.balance import BalanceInstance
from instances.decisions import MODES, Assignment, Choice
from instances.errors import InputError, number, shown
from instances.mmkp import MmkpInstance
from instances.origin import Origin

__all__ = ["ModeThresholds", "Thresholds", "as_mmkp", "assignment_of", "thresholds_from", "thresholds_of"]

SECOND_DIGITS = 11  # far below the slack of 1e-9 s, and small enough for integers
MEMORY_DIGITS = 12  # of the room for caches: far below the relative slack of 1e-9
ROWS = 3  # AD time, SD time, memory


@dataclass(frozen=True)
class ModeThresholds:
    """The extremes that a mode's batch keeps to."""

    input_tokens: float  # longest input, token
    upload_s: float  # longest upload, s
    steps: float  # most steps after the first
    budget_s: float  # least deadline without the download, s
    accepted: float = 0.0  # largest accepted length, token; SD only


@dataclass(frozen=True)
class Thresholds:
    """The compute share of AD, and what each mode's batch keeps to; None bars the mode."""

    compute_share: float
    ad: ModeThresholds | None
    sd: ModeThresholds | None


def thresholds_from(values: object) -> Thresholds:
    """Return thresholds from a JSON object of compute_share, ad and sd, of which the latter may be null.

    Raises
    ------
    InputError
        Naming the first key that is missing, unknown or no number.
    """
    if not isinstance(values, Mapping) or set(values) != {"compute_share", "ad", "sd"}:
        raise InputError(f"thresholds: found {shown(values)}, expected the keys compute_share, ad and sd")
    share = number("thresholds.compute_share", values["compute_share"], low=0, high=1)
    return Thresholds(share, _mode("ad", values["ad"]), _mode("sd", values["sd"]))


def _mode(mode: str, values: object) -> ModeThresholds | None:
    if values is None:
        return None
    wanted = [f.name for f in fields(ModeThresholds) if mode == "sd" or f.name != "accepted"]
    if not isinstance(values, Mapping) or set(values) != set(wanted):
        raise InputError(f"thresholds.{mode}: found {shown(values)}, expected the keys {', '.join(wanted)}")
    checked = {key: number(f"thresholds.{mode}.{key}", values[key], low=0, high=1e15) for key in wanted}
    return ModeThresholds(**checked)


def thresholds_of(instance: BalanceInstance, assignment: Assignment) -> Thresholds:
    """Return the extremes of an assignment's batches, the tightest thresholds that it keeps to.

    Raises
    ------
    InputError
        When the assignment is for another number of users.
    """
    if len(assignment.mode) != instance.n_users:
        raise InputError(f"mode: found {len(assignment.mode)} entries, expected {instance.n_users}")
    problem = problem_of(instance)
    batches: dict[str, ModeThresholds | None] = {}
    for mode, steps in (("ad", problem.ad_steps), ("sd", problem.sd_steps)):
        chosen = np.array([m == mode for m in assignment.mode], dtype=bool)
        batches[mode] = None
        if chosen.any():
            batches[mode] = ModeThresholds(
                float(problem.input_tokens[chosen].max()),
                float(problem.upload_s[chosen].max()),
                float(steps[chosen].max()),
                max(float(problem.budget_s[chosen].min()), 0.0),
                float(problem.accepted[chosen].max()) if mode == "sd" else 0.0,
            )
    return Thresholds(assignment.compute_share, batches["ad"], batches["sd"])


def as_mmkp(instance: BalanceInstance, thresholds: Thresholds) -> MmkpInstance:
    """Return P1 at fixed thresholds.

    Item 0 of a group is *none*, item 1 AD and item 2 SD; a served user is worth 1. The resources are AD's
    seconds, SD's seconds (both to 10⁻¹¹ s) and the memory's bytes, to twelve digits of the room beside the
    weights: accepted lengths are fractions, and so are the bytes that SD reserves. The slacks of P1's
    predicate are in the capacities. An item that the thresholds bar, or that needs more than there is by
    itself, weighs the next whole number of seconds above its row's capacity.

    Raises
    ------
    InputError
        When the share is not one of the server's, or the weights do not fit the memory at it.
    """
    share = thresholds.compute_share
    problem = problem_of(instance)
    if share not in problem.compute_shares:
        raise InputError(f"thresholds.compute_share: found {share:g}, expected one of the server's shares")
    room = problem.cache_bytes(share)
    if room < 0:
        raise InputError(f"thresholds.compute_share: at {share:g} the weights exceed the memory")
    digits = _byte_digits(room)
    capacities = np.array([0.0, 0.0, round(room, digits)])
    weights = np.zeros((instance.n_users, len(MODES), ROWS))
    modes = (
        (thresholds.ad, problem.ad, problem.ad_steps, share),
        (thresholds.sd, problem.sd, problem.sd_steps, 1.0 - share),
    )
    for row, (limits, costs, steps, portion) in enumerate(modes):
        seconds, size, allowed = _mode_rows(problem, limits, costs, steps, portion)
        size = np.round(size, digits)
        capacities[row] = max(_time_left(limits, costs), 0.0)
        allowed &= (_time_left(limits, costs) >= 0.0) & (seconds <= capacities[row]) & (size <= capacities[2])
        weights[:, row + 1, row] = np.where(allowed, seconds, np.floor(capacities[row]) + 1.0)
        weights[:, row + 1, 2] = np.where(allowed, size, 0.0)
    values = np.tile([0.0, 1.0, 1.0], instance.n_users)
    start = np.arange(instance.n_users + 1, dtype=np.int64) * len(MODES)
    origin = Origin(source=f"certigap convert {instance.name} at thresholds")
    return MmkpInstance(instance.name, capacities, start, values, weights.reshape(-1, ROWS), origin)


def assignment_of(choice: Choice, share: float) -> Assignment:
    """Return the assignment that a choice of the MMKP stands for."""
    return Assignment(tuple(MODES[item] for item in choice.item.tolist()), share)


def _time_left(limits: ModeThresholds | None, costs: ModeCosts) -> float:
    """Return the right side of (1), with the slack of P1's predicate."""
    if limits is None:
        return 0.0
    spent = limits.upload_s + costs.wait + costs.wait_step * limits.steps
    return round(limits.budget_s + LATENCY_SLACK_S - spent, SECOND_DIGITS)


def _byte_digits(room: float) -> int:
    """Return how many decimals of a byte are kept."""
    return max(MEMORY_DIGITS - math.ceil(math.log10(room)), 0) if room >= 1.0 else MEMORY_DIGITS


def _mode_rows(
    problem: Problem,
    limits: ModeThresholds | None,
    costs: ModeCosts,
    steps: NDArray[np.int64],
    portion: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return each user's seconds and bytes in a mode, (K,), and who keeps to the thresholds."""
    none = np.zeros(len(steps))
    if limits is None or portion <= 0.0:
        return none, none, np.zeros(len(steps), dtype=bool)
    longest, accepted, m = limits.input_tokens, limits.accepted, steps.astype(np.float64)
    base = costs.base_0 + (costs.base_1 + costs.base_2 * longest) * longest
    step = costs.step_0 + costs.step_input * longest + costs.step_accept * accepted
    growth = costs.growth_0 + costs.growth_accept * accepted
    seconds = np.round((base + m * step + m * m * growth) / portion, SECOND_DIGITS)
    user = costs.bytes_user + costs.bytes_input * longest
    size = user + m * (costs.bytes_step + costs.bytes_accept * accepted) - (m >= 1) * costs.bytes_late
    allowed = (problem.input_tokens <= longest) & (problem.upload_s <= limits.upload_s)
    allowed &= (m <= limits.steps) & (problem.budget_s >= limits.budget_s)
    if costs is problem.sd:
        allowed &= problem.accepted <= accepted
    return seconds, size, allowed
