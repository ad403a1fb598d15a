"""Method ``clairvoyant``: the clairvoyant optimum by decomposition, with slot prices as proof.

    maximise    Σ_i A_i(y_i)                                                                          (1)
    subject to  Σ_{i: window inside S} L_i y_i ≤ C |S|      for each union S of slot intervals      (2)
                0 ≤ y_i ≤ 1                                                                           (3)

Windows are intervals, so (2) says that the fractions are schedulable, and earliest deadline first sends them.

1. ``envelope_optimum`` solves (1)–(3) with the concave envelopes of all A_i, and slot prices prove its value.
2. Where that leaves users inside their chords, ``groups`` splits a busy period and ``branching`` decides on
   which side of their curves each group's users are. ``period_search`` moves the prices at which groups share
   slots, joins groups that still disagree, and adds their bounds up.
3. The sides found make a schedule: with users kept on their concave sides or at given fractions the problem
   is concave, so step 1 solves it exactly. ``neighbourhoods`` then improves it a part at a time.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.envelope import envelope_gaps, envelopes
from formulations.handover.horizon.envelope_optimum import dual_value, envelope_optimum
from formulations.handover.horizon.group_proof import group_documents
from formulations.handover.horizon.neighbourhoods import fixed_sides
from formulations.handover.horizon.period_search import Budget, PeriodSearch
from formulations.handover.horizon.segments import (
    Horizon,
    Period,
    horizon_of,
    horizon_within,
    periods_of,
    schedule_of,
)
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import covering, values
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.errors import number
from instances.handover import HandoverTrace

__all__ = ["solve_clairvoyant"]

Floats = NDArray[np.float64]

CLOSED = 1e-9  # gap a user that counts as none


def solve_clairvoyant(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, gap: float = CLOSED, **options: Any
) -> Result:
    """Solve the clairvoyant problem by decomposition and branch and bound.

    Parameters
    ----------
    instance
        A horizon.
    limits
        ``time_s`` holds between groups, ``nodes`` counts those of all trees.
    seed
        Part of the method contract; nothing here is random.
    gap
        Accuracy a user at which the search may end.

    Returns
    -------
    A schedule and an upper bound. ``certificate["prices"]`` holds prices, accuracy per bit by slot: the
    root's, and in busy periods with groups those of the slots that groups share; ``certificate["groups"]``,
    where there was something to branch on, the groups' trees with prices of their own, as
    ``formulations.handover.verify`` reads them. ``optimal`` means a gap of at most 10⁻⁹ a user.

    Raises
    ------
    InputError
        For an unknown option, or a gap that is not a finite number of at least 0.
    """
    no_more_options("clairvoyant", options)
    target = number("gap", gap, low=0)
    begun = perf_counter()
    horizon = horizon_of(instance)
    built = perf_counter()
    deadline = math.inf if limits.time_s is None else built + limits.time_s
    nodes = math.inf if limits.nodes is None else float(limits.nodes)
    budget = Budget(target, deadline, nodes - 1, {"blocks": 0, "nodes": 1, "groups": 0})
    periods = _root(horizon, budget)
    _search([search for _, search in periods], budget)
    return _claim(instance, horizon, periods, budget, built - begun, perf_counter() - built)


def _root(horizon: Horizon, budget: Budget) -> list[tuple[Period, PeriodSearch]]:
    """Solve the envelopes, and keep of each busy period the best schedule that follows."""
    n, family = len(horizon.user), horizon.family
    shape = envelopes(family, horizon.curves, np.zeros(n), np.ones(n))
    y, price, filled, _ = envelope_optimum(family, horizon.curves, shape, horizon.windows)
    budget.counters["blocks"] += int(filled)
    inside = envelope_gaps(family, horizon.curves, shape, y) > 0.01 * budget.gap
    periods = []
    for period in periods_of(horizon):
        own, paid = horizon_within(horizon, period), price[period.segments]
        whole = (np.zeros(len(own.user)), np.ones(len(own.user)), np.zeros(len(own.user), dtype=np.bool_))
        bound = dual_value(family, own.curves, *whole, own.windows, paid)
        search = PeriodSearch(own, budget, paid, inside[period.users], bound, y[period.users], -math.inf)
        search.offer(search.fraction)
        if not search.closed():
            search.offer(fixed_sides(own, search.fraction))
        periods.append((period, search))
    return periods


def _search(searches: list[PeriodSearch], budget: Budget) -> None:
    """Advance the busy periods that are open a stage at a time, those with the widest gaps first."""
    users = sum(len(search.fraction) for search in searches)
    waiting = searches
    while waiting:
        waiting = sorted((s for s in waiting if not s.closed()), key=PeriodSearch.gap, reverse=True)
        able = []
        for search in waiting:
            if budget.spent() or sum(s.gap() for s in searches) <= 0.5 * budget.gap * users:
                return
            if search.advance():
                able.append(search)
        waiting = able


def _claim(
    instance: HandoverTrace,
    horizon: Horizon,
    periods: list[tuple[Period, PeriodSearch]],
    budget: Budget,
    build_s: float,
    solve_s: float,
) -> Result:
    """Put schedule, bound and proof together."""
    fraction, price, groups = np.zeros(len(horizon.user)), np.zeros(len(horizon.slots)), []
    for period, search in periods:
        fraction[period.users] = search.fraction
        price[period.segments] = search.price if search.proof is None else search.proof.floor
        if search.proof is not None:
            groups += group_documents(search.horizon, search.proof)
    schedule, y = schedule_of(horizon, fraction)
    curves = horizon.curves
    objective = math.fsum(values(instance.utility, curves.ceiling, curves.sharpness, curves.anchor, y))
    bound = covering(math.fsum(search.bound for _, search in periods), objective)
    optimal = bound - objective <= CLOSED * len(y)
    reached = bound - objective <= budget.gap * len(y)
    budget.counters["groups"] = len(groups)
    proof: dict[str, Any] = {"prices": _slot_prices(horizon, price)}
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if reached else budget.stopped,
        schedule,
        objective,
        bound,
        BoundKind.TREE if groups else BoundKind.PRICES,
        budget.counters,
        {"build": build_s, "solve": solve_s},
        certificate=proof | ({"groups": groups} if groups else {}),
    )


def _slot_prices(horizon: Horizon, price: Floats) -> dict[int | str, float]:
    """Return the positive prices by slot, accuracy a bit."""
    paid = price > 0
    slots = horizon.slots[paid]
    slot = np.repeat(horizon.start[paid] - np.cumsum(slots) + slots, slots) + np.arange(slots.sum())
    return dict(zip(slot.tolist(), np.repeat(price[paid], slots).tolist(), strict=True))
