"""Slot policies simulated over a horizon, and what their schedules amount to.

Which users a slot holds, and what they receive, is decided in ``slot_by_slot``. A window is a number of slots
from the first slot after the arrival. With the option ``deadline_s`` a user's last slot is cut where the
deadline, counted from the arrival, falls into it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.slot.bisection import EPSILON, bisected, precision
from formulations.handover.slot.claim import flag, no_more_options, one_of
from formulations.handover.slot.columns import Slot
from formulations.handover.slot.fallbacks import FALLBACKS, READINGS, feasible
from formulations.handover.slot.sides import best_sides
from formulations.handover.slot.water_filling import water_filling as lifted
from formulations.handover.slot_by_slot import POLICY_CODES, run, step_through
from formulations.handover.utility import CODES, values
from formulations.result import Limits, Result, Status
from instances.decimals import as_decimal
from instances.decisions import Schedule
from instances.errors import number
from instances.handover import HandoverTrace

__all__ = [
    "POLICIES",
    "no_admission",
    "share_equally",
    "share_proportionally_fair",
    "solve_policy",
    "summarise",
    "water_filling",
    "water_filling_bisection",
    "water_filling_drop_lowest",
    "water_filling_wta",
    "winner_takes_all",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BISECTION = "water-filling-bisection"
POLICIES = (
    "water-filling",
    "water-filling+wta",
    "water-filling+drop-lowest",
    BISECTION,
    "no-admission",
    "equal",
    "winner-take-all",
    "proportional-fair",
)


def solve_policy(
    instance: HandoverTrace,
    *,
    limits: Limits,
    seed: int = 0,
    policy: str = "water-filling",
    deadline_s: Any = None,
    **options: Any,
) -> Result:
    """Simulate a slot policy over a horizon.

    Parameters
    ----------
    instance
        A horizon.
    limits, seed
        Part of the method contract; a run takes milliseconds and draws nothing.
    policy
        One of ``POLICIES``.
    deadline_s
        Seconds from a user's arrival until which it receives; where this falls into the last slot of its
        window, only that share of the slot's bits arrives. None for whole slots.
    options
        ``fallback`` (water-filling: eb, wta, drop-lowest, exact), ``tolerance`` and ``epsilon``
        (water-filling-bisection, see ``slot.bisection``), ``reading`` (no-admission: bisect, scaled,
        arrival-order, equal-bytes, nothing), ``redistribute`` (equal: true or false).

    Returns
    -------
    A feasible schedule with the objective Σ A_i(y_i) over all users, served or not.

    Raises
    ------
    InputError
        For an unknown policy, option or option value.
    """
    left, width, relative = dict(options), EPSILON, True
    if policy == BISECTION:
        width, relative = precision(left.pop("tolerance", "relative"), left.pop("epsilon", EPSILON))
    variant = _variant(one_of("policy", policy, POLICIES), left)
    users, (first, end) = instance.users, instance.windows()
    rank = np.arange(float(len(users)))
    order = np.argsort(first, kind="stable")
    if variant == "arrival-order":
        rank = np.argsort(np.argsort(users.arrival_s, kind="stable")).astype(np.float64)
    family, tail = CODES[instance.utility], _tails(instance, end, deadline_s)
    cache = users.cache_bits.copy()  # numba would compile every kernel again for read-only arrays
    curve = (users.ceiling.copy(), users.sharpness.copy(), users.anchor.copy())
    capacity, started = instance.capacity_bits, perf_counter_ns()
    if variant in ("exact", BISECTION):
        share = _exactly_else if variant == "exact" else _bisecting(instance.slot_s, width, relative)
        decide = _slot_by_slot(share, family, cache, curve, capacity)
        user, slot, bits, sent, called = step_through(decide, cache, first, end, tail, order, capacity)
    else:
        code = POLICY_CODES[variant]
        user, slot, bits, sent, called = run(
            code, family, cache, *curve, first, end, tail, order, rank, capacity
        )
    seconds = (perf_counter_ns() - started) * 1e-9
    y = np.minimum(1.0, sent / users.cache_bits)
    gained = values(instance.utility, users.ceiling, users.sharpness, users.anchor, y)
    return Result(
        Status.FEASIBLE,
        decision=Schedule(user, slot, bits),
        objective=math.fsum(gained),
        counters={"steps": int(called)},
        phases={"solve": seconds},
    )


def _slot_by_slot(
    share: Callable[[Slot], Floats],
    family: int,
    cache: Floats,
    curve: tuple[Floats, Floats, Floats],
    capacity: float,
) -> Callable[[int, Ints, Floats, int], Floats]:
    """Return the decision of a slot's bits that shares among the active users."""

    def decide(slot: int, active: Ints, sent: Floats, arrived: int) -> Floats:
        ceiling, sharpness, anchor = (column[active] for column in curve)
        own, received = cache[active], sent[active] / cache[active]
        return share(Slot(family, own, received, ceiling, sharpness, anchor, capacity))

    return decide


def _exactly_else(slot: Slot) -> Floats:
    """Return the bits of Theorem 1, or of the best slot of S-shaped curves where not all anchors fit."""
    bits: Floats = lifted(slot) if feasible(slot) else best_sides(slot)
    return bits


def _bisecting(slot_s: float, width: float, relative: bool) -> Callable[[Slot], Floats]:
    """Return Algorithm 1 to the letter with its tolerance."""

    def share(slot: Slot) -> Floats:
        bits: Floats = bisected(slot, slot_s, width, relative)
        return bits

    return share


def _tails(instance: HandoverTrace, end: NDArray[np.int64], deadline_s: Any) -> Floats:
    """Return the share of its last slot in which each user still receives, (N,)."""
    tails = np.ones(len(end))
    if deadline_s is None:
        return tails
    slot = as_decimal(instance.slot_s)
    window = as_decimal(number("deadline_s", deadline_s, above=0))
    for i, (arrival, after) in enumerate(zip(instance.users.arrival_s.tolist(), end.tolist(), strict=True)):
        tails[i] = min(1.0, max(0.0, float((as_decimal(arrival) + window) / slot - (after - 1))))
    return tails


def _variant(policy: str, options: dict[str, Any]) -> str:
    """Return the variant that a policy and its options name; no option may be left over."""
    variant = policy
    if policy.startswith("water-filling") and policy != BISECTION:
        variant = policy.removeprefix("water-filling").removeprefix("+") or "eb"
        if policy == "water-filling":
            variant = one_of("fallback", options.pop("fallback", "eb"), FALLBACKS)
    elif policy == "no-admission":
        variant = one_of("reading", options.pop("reading", "bisect"), READINGS)
    elif policy == "equal" and flag("redistribute", options.pop("redistribute", False)):
        variant = "equal-redistributed"
    no_more_options(policy, options)
    return variant


def summarise(instance: HandoverTrace, schedule: Schedule) -> dict[str, float]:
    """Return the mean accuracy and the starved fraction of the users under ``schedule``.

    A user is starved if its received fraction is below τ (1 − 10⁻⁹) at its window's end. Both are 0 without
    users.
    """
    users = instance.users
    if len(users) == 0:
        return {"mean_accuracy": 0.0, "starved": 0.0}
    sent = np.bincount(schedule.user, weights=schedule.bits, minlength=len(users))
    y = np.minimum(1.0, sent / users.cache_bits)
    gained = values(instance.utility, users.ceiling, users.sharpness, users.anchor, y)
    return {
        "mean_accuracy": math.fsum(gained) / len(users),
        "starved": float(np.mean(y < users.anchor * (1.0 - 1e-9))),
    }


def water_filling(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Simulate ``water-filling`` (Algorithm 1); option ``fallback``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="water-filling", **options)


def water_filling_bisection(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Simulate ``water-filling-bisection``; options ``tolerance`` and ``epsilon``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy=BISECTION, **options)


def water_filling_wta(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Simulate ``water-filling+wta``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="water-filling+wta", **options)


def water_filling_drop_lowest(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Simulate ``water-filling+drop-lowest``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="water-filling+drop-lowest", **options)


def no_admission(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Simulate ``no-admission``; option ``reading``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="no-admission", **options)


def share_equally(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Simulate ``equal``; option ``redistribute``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="equal", **options)


def winner_takes_all(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Simulate ``winner-take-all`` (cascading). See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="winner-take-all", **options)


def share_proportionally_fair(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any
) -> Result:
    """Simulate ``proportional-fair``. See ``solve_policy``."""
    return solve_policy(instance, limits=limits, seed=seed, policy="proportional-fair", **options)
