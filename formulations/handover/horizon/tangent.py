"""Method ``clairvoyant-tangent``: the clairvoyant optimum by tangent programmes.

They are solved through PuLP, or by ``clairvoyant-tangent-highs`` through highspy directly.

Each busy period is solved apart, by rounds of three steps until the bounds meet.

1. The programme of ``tangent_model``, lines (1)–(8), gives an upper bound. The first rounds drop its
   integrality, which is the concave-envelope LP by cutting planes; sides of a user's curve that the LP's slot
   prices rule out are left out of the MILPs that follow.
2. With the users' sides taken from its solution, ``price_blocks`` finds the best fractions and their prices
   exactly, and earliest deadline first makes a schedule of them: a lower bound. The prices, and those of the
   LP, give upper bounds of their own (``certificate``).
3. Unless a bound meets the schedule within 10⁻⁹ a user, the programme gets a tangent or a break at each
   fraction found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.handover.horizon.busy_periods import BusyPeriod, busy_periods
from formulations.handover.horizon.certificate import price_bound, surpluses
from formulations.handover.horizon.earliest_deadline import earliest_deadline_first
from formulations.handover.horizon.price_blocks import block_optimum
from formulations.handover.horizon.tangent_highs import solve_model_highs
from formulations.handover.horizon.tangent_model import Curve, Solution, curves_of, solve_model
from formulations.handover.slot.claim import no_more_options
from formulations.handover.utility import CODES, covering, reach, values
from formulations.pulp_solver import missing_solver
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.handover import HandoverTrace

__all__ = ["solve_tangent", "solve_tangent_highs"]

Floats = NDArray[np.float64]
Solver = Callable[[list[Curve], BusyPeriod, float, float | None, bool], Solution]

CLOSED = 1e-9  # gap a user that counts as none
MOST_ROUNDS = 60
RELAXED_ROUNDS = 5
PASSES = 4  # over the busy periods, under a time limit


@dataclass
class _Search:
    """The state of one busy period's rounds."""

    instance: HandoverTrace
    period: BusyPeriod
    curves: list[Curve]
    solver: Solver
    lower: float = -math.inf
    fraction: Floats = field(default_factory=lambda: np.empty(0))
    tangent_bound: float = math.inf
    price_bound: float = math.inf
    price: Floats = field(default_factory=lambda: np.empty(0))  # accuracy per bit, by segment
    counters: dict[str, int] = field(default_factory=dict)
    phases: dict[str, float] = field(default_factory=dict)
    relaxed: bool = True  # whether the programme is still solved without its integrality
    stopped: Stopped = Stopped.GAP

    @property
    def columns(self) -> tuple[Floats, Floats, Floats, Floats]:
        """L (bit), M, k (per fraction) and τ of the period's users, (n,) each."""
        users, chosen = self.instance.users, self.period.user
        return (
            users.cache_bits[chosen],
            users.ceiling[chosen],
            users.sharpness[chosen],
            users.anchor[chosen],
        )

    @property
    def bound(self) -> float:
        """The smaller of both upper bounds."""
        return min(self.tangent_bound, self.price_bound)

    def closed(self) -> bool:
        """Return whether the bounds meet with something to spare."""
        return self.bound - self.lower <= 0.5 * CLOSED * len(self.curves)

    def count(self, key: str, amount: int) -> None:
        """Add to a counter."""
        self.counters[key] = self.counters.get(key, 0) + amount

    def carried(self) -> Floats:
        """Bits that each segment carries, (m,)."""
        carried: Floats = np.asarray(self.period.slots * self.instance.capacity_bits, dtype=np.float64)
        return carried

    def lowest(self, price: Floats) -> Floats:
        """Return the lowest price in each user's window, (n,)."""
        windows = zip(self.period.first.tolist(), self.period.end.tolist(), strict=True)
        return np.array([price[a:b].min() for a, b in windows])

    def offer_price(self, price: Floats) -> None:
        """Keep segment prices if their dual bound is the lowest so far."""
        parts = surpluses(CODES[self.instance.utility], *self.columns, self.lowest(price))
        bound = math.fsum([*(price * self.carried()), *parts])
        if bound < self.price_bound:
            self.price_bound, self.price = bound, price

    def offer_sides(self, fraction: Floats, fixed: NDArray[np.bool_]) -> Floats:
        """Keep the best schedule with these sides if it is the best so far; return its fractions, (n,)."""
        cache, ceiling, sharpness, anchor = self.columns
        floor = np.where(fixed, fraction, anchor)
        windows = (self.period.first, self.period.end)
        family = CODES[self.instance.utility]
        y, price = block_optimum(family, self.columns, floor, fixed, windows, self.carried())
        first, end = self.instance.windows()
        chosen = self.period.user
        user, _, bits = earliest_deadline_first(
            cache * y, first[chosen], end[chosen], self.instance.capacity_bits
        )
        sent = np.bincount(user, weights=bits, minlength=len(cache)) / cache
        total = math.fsum(values(self.instance.utility, ceiling, sharpness, anchor, np.minimum(sent, 1.0)))
        if total > self.lower:
            self.lower, self.fraction = total, y
        self.offer_price(price)
        return y


def solve_tangent(
    instance: HandoverTrace, *, limits: Limits, seed: int = 0, solver: str = "HiGHS", **options: Any
) -> Result:
    """Solve the clairvoyant problem to a certified gap by refined tangent programmes.

    Parameters
    ----------
    instance
        A horizon.
    limits
        ``time_s``, shared among the busy periods, holds between and inside the solver's calls, ``nodes``
        between them.
    seed
        Part of the method contract; the solver's seed is fixed.
    solver
        One of ``pulp.listSolvers()``; one that cannot be used gives a skipped result. Only HiGHS's own bounds
        are taken; with another solver the bound comes from the prices alone.

    Returns
    -------
    A schedule, with the least upper bound: by slot prices (``certificate["prices"]``, accuracy per bit by
    slot, which ``formulations.handover.verify`` checks) if these are within 10⁻⁹ a user of it, else by the
    tangent programmes, as good as the solver's tolerances. ``optimal`` means a gap of at most 10⁻⁹ a user.

    Raises
    ------
    InputError
        For an unknown option.
    """
    no_more_options("clairvoyant-tangent", options)
    skipped = missing_solver(solver)
    if skipped is not None:
        return skipped
    return _solve_all(instance, partial(_by_pulp, solver), limits)


def solve_tangent_highs(instance: HandoverTrace, *, limits: Limits, seed: int = 0, **options: Any) -> Result:
    """Solve as ``solve_tangent`` does, with the programmes built for highspy directly.

    Parameters
    ----------
    instance
        A horizon.
    limits
        ``time_s``, shared among the busy periods, holds between and inside the solver's calls, ``nodes``
        between them.
    seed
        Part of the method contract; the solver's seed is fixed.

    Returns
    -------
    As ``solve_tangent``.

    Raises
    ------
    InputError
        For an unknown option.
    """
    no_more_options("clairvoyant-tangent-highs", options)
    return _solve_all(instance, solve_model_highs, limits)


def _by_pulp(
    solver: str,
    curves: list[Curve],
    period: BusyPeriod,
    capacity: float,
    time_s: float | None,
    relaxed: bool,
) -> Solution:
    return solve_model(curves, period, capacity, solver, time_s, relaxed)


def _solve_all(instance: HandoverTrace, solver: Solver, limits: Limits) -> Result:
    searches = [
        _Search(instance, period, curves_of(instance, period), solver) for period in busy_periods(instance)
    ]
    _close_all(searches, limits)
    return _claim(instance, searches)


def _close_all(searches: list[_Search], limits: Limits) -> None:
    """Close the busy periods one after the other; those whose time ran out get what the others left.

    Each may use its users' share of the time that is left, so that none is left without a bound.
    """
    deadline = math.inf if limits.time_s is None else perf_counter() + limits.time_s
    nodes = math.inf if limits.nodes is None else limits.nodes
    pending = searches
    for _ in range(PASSES):
        waiting = sum(len(s.curves) for s in pending)
        for search in pending:
            share = (deadline - perf_counter()) * len(search.curves) / waiting
            spent = sum(s.counters.get("nodes", 0) for s in searches)
            _close(search, perf_counter() + share, nodes - spent)
            waiting -= len(search.curves)
        pending = [s for s in pending if s.stopped is Stopped.TIME]


def _close(search: _Search, deadline: float, nodes: float) -> None:
    """Run rounds until the bounds meet, nothing new is found, or a limit is reached."""
    n, before = len(search.curves), search.counters.get("nodes", 0)
    search.stopped = Stopped.GAP
    if not len(search.fraction):
        search.offer_sides(np.zeros(n), np.zeros(n, dtype=np.bool_))
        search.offer_sides(np.zeros(n), np.ones(n, dtype=np.bool_))
    for turn in range(MOST_ROUNDS):
        left = deadline - perf_counter()
        if left <= 0 or search.counters.get("nodes", 0) - before >= nodes:
            search.stopped = Stopped.TIME if left <= 0 else Stopped.NODES
            return
        solved = _solve(search, None if math.isinf(left) else left)
        if not len(solved.fraction):
            search.stopped = Stopped.CRASH if solved.status == "failed" else Stopped.TIME
            return
        new = _learn(search, solved)
        if search.closed():
            search.stopped = Stopped.DONE
            return
        if search.relaxed and (turn + 1 >= RELAXED_ROUNDS or not new):
            search.relaxed = False
            for curve, q in zip(search.curves, search.lowest(search.price), strict=True):
                _leave_out(curve, q * curve.cache, search.price_bound - search.lower)
        elif not new:
            return


def _solve(search: _Search, time_s: float | None) -> Solution:
    """Solve the programme once, keep its bound and count what it took."""
    capacity = search.instance.capacity_bits
    solved = search.solver(search.curves, search.period, capacity, time_s, search.relaxed)
    search.tangent_bound = min(search.tangent_bound, solved.bound)
    search.count("rounds", 1)
    search.count("nodes", solved.nodes)
    search.counters["binaries"] = max(search.counters.get("binaries", 0), solved.binaries)
    for phase, seconds in (("build", solved.build_s), ("solve", solved.solve_s)):
        search.phases[phase] = search.phases.get(phase, 0.0) + seconds
    return solved


def _learn(search: _Search, solved: Solution) -> bool:
    """Offer a solution's sides and prices, and cut where it lies; return whether a cut is new."""
    anchor = search.columns[3]
    fixed = solved.fraction < anchor * (1.0 - 1e-9)
    given = np.where(solved.fraction < 1e-9, 0.0, solved.fraction)
    if search.relaxed:
        search.offer_price(solved.price)
        given = np.zeros(len(anchor))
    y = search.offer_sides(given, fixed)
    new = False
    for i, curve in enumerate(search.curves):
        if not math.isnan(solved.touch[i]) and curve.concave:
            new |= curve.cut(min(1.0, max(curve.anchor, float(solved.touch[i]))))
        if y[i] >= curve.anchor or not search.relaxed:
            new |= curve.cut(float(y[i]))
    return new


def _leave_out(curve: Curve, cost: float, slack: float) -> None:
    """Leave out the sides of a curve that cost more than ``slack`` against its best side at these prices.

    A schedule that uses such a side is worth less than the best one found, since the price bound is its
    surplus summed over users. ``cost`` is accuracy per fraction.
    """
    margin = slack + 1e-9
    point = curve.anchor
    peak = curve.slope(curve.anchor)
    if cost <= 0:
        point = 1.0
    elif cost < peak:
        point = min(1.0, curve.anchor + float(reach(curve.family, math.log(peak / cost))) / curve.sharpness)
    concave = curve.value(point) - cost * point
    at = [curve.value(b) - cost * b for b in curve.breaks]
    best = max([concave, *at])
    kept = {j for j in curve.pieces if best - max(at[j], at[j + 1]) <= margin}
    curve.concave = best - concave <= margin
    curve.pieces = kept


def _claim(instance: HandoverTrace, searches: list[_Search]) -> Result:
    """Put the busy periods together: one schedule, the least bound and what proves it."""
    users, (first, end) = instance.users, instance.windows()
    amount = np.zeros(len(users))
    for search in searches:
        amount[search.period.user] = users.cache_bits[search.period.user] * search.fraction
    user, slot, bits = earliest_deadline_first(amount, first, end, instance.capacity_bits)
    y = np.minimum(1.0, np.bincount(user, weights=bits, minlength=len(users)) / users.cache_bits)
    objective = math.fsum(values(instance.utility, users.ceiling, users.sharpness, users.anchor, y))
    prices = _slot_prices(searches)
    bound, kind = math.fsum(s.bound for s in searches), BoundKind.TANGENT
    by_prices = price_bound(instance, prices)
    if by_prices <= bound + CLOSED * len(users):
        bound, kind = by_prices, BoundKind.PRICES
    optimal = bound - objective <= CLOSED * len(users)
    stops = [s.stopped for s in searches if s.stopped is not Stopped.DONE]
    return Result(
        Status.OPTIMAL if optimal else Status.FEASIBLE,
        Stopped.DONE if optimal else max(stops, key=_severity, default=Stopped.GAP),
        Schedule(user, slot, bits),
        objective,
        covering(bound, objective),
        kind,
        _counters(searches),
        {phase: sum(s.phases.get(phase, 0.0) for s in searches) for phase in ("build", "solve")},
        certificate={"prices": prices},
    )


def _slot_prices(searches: list[_Search]) -> dict[int | str, float]:
    """Return the positive prices by slot, accuracy per bit."""
    prices: dict[int | str, float] = {}
    for search in searches:
        columns = (search.period.start.tolist(), search.period.slots.tolist(), search.price.tolist())
        for start, count, price in zip(*columns, strict=True):
            if price > 0:
                prices |= dict.fromkeys(range(start, start + count), price)
    return prices


def _counters(searches: list[_Search]) -> dict[str, int]:
    """Return binaries (of each busy period's largest model), tangents, rounds and nodes, summed."""
    counters = {key: sum(s.counters.get(key, 0) for s in searches) for key in ("binaries", "rounds", "nodes")}
    return counters | {"tangents": sum(len(c.tangents) for s in searches for c in s.curves)}


def _severity(stopped: Stopped) -> int:
    return [Stopped.GAP, Stopped.NODES, Stopped.TIME, Stopped.CRASH].index(stopped)
