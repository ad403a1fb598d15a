"""Claims about the receding-horizon policy and its plan."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.horizon.decomposition import solve_clairvoyant
from formulations.handover.horizon.envelope_plan import plan
from formulations.handover.horizon.expected_users import expected, horizon_of
from formulations.handover.horizon.receding_horizon import (
    earliest_first,
    solve_receding_horizon,
    unclaimed,
    urgent,
)
from formulations.handover.simulate import water_filling
from formulations.handover.slot.envelope import Envelopes, envelopes, touching_point
from formulations.handover.utility import CODES, slopes, values
from formulations.result import Limits, Status
from instances.decisions import Schedule
from instances.errors import InputError
from instances.generate import generate
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover.cases import random_trace

VERSIONS: tuple[dict[str, Any], ...] = (
    {},
    {"arrivals": "learned"},
    {"arrivals": "mean", "rate_per_s": 12.0},
)


def schedule_of(trace: HandoverTrace, options: dict[str, Any]) -> Schedule:
    """Return the schedule of the policy."""
    decision = solve_receding_horizon(trace, limits=Limits(), **options).decision
    assert isinstance(decision, Schedule)
    return decision


@pytest.mark.parametrize("utility", UTILITIES)
def test_tangent_touches_the_curve_and_stays_above_it(utility: str) -> None:
    """From below the anchor the tangent meets the curve at its touching point and is nowhere below it."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0.0, 1.0, 2001)
    for _ in range(40):
        ceiling, sharpness, anchor = rng.uniform(0.3, 1), 10 ** rng.uniform(0, 2), rng.uniform(0.05, 0.8)
        x = anchor * rng.uniform(0, 0.95)
        touch, log_slope = touching_point(CODES[utility], ceiling, sharpness, anchor, x)

        def at(y: np.ndarray, curve: tuple[float, ...] = (ceiling, sharpness, anchor)) -> np.ndarray:
            return values(utility, *(np.full(len(y), c) for c in curve), y)

        base = float(at(np.array([x]))[0])
        line = base + math.exp(log_slope) * (grid - x)
        assert np.all(line[grid >= x] >= at(grid)[grid >= x] - 1e-12)
        gain = float(at(np.array([touch]))[0]) - base
        assert gain == pytest.approx(math.exp(log_slope) * (touch - x), rel=1e-9)
        if touch < 1.0:
            one = np.ones(1)
            slope = slopes(utility, ceiling * one, sharpness * one, anchor * one, touch * one)[0]
            assert slope == pytest.approx(math.exp(log_slope), rel=1e-6)


def envelope_values(utility: str, users: Envelopes, i: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return value and slope of user i's envelope at the fractions y."""
    curve = [np.full(len(y), c[i]) for c in (users.ceiling, users.sharpness, users.anchor)]
    at_x = values(utility, *[c[:1] for c in curve], users.start[i : i + 1])[0]
    tangent = math.exp(users.steepness[i]) * users.cache[i]
    below = y < users.touch[i]
    value = np.where(below, at_x + tangent * (y - users.start[i]), values(utility, *curve, y))
    return value, np.where(below, tangent, slopes(utility, *curve, y))


def linear_optimum(
    utility: str, users: Envelopes, first: np.ndarray, end: np.ndarray, carried: np.ndarray
) -> float:
    """Return the optimum of the plan's programme by linear programming, from above: 400 tangents a user."""
    n, m = len(first), len(carried)
    rows, limits = [], []
    for i in range(n):
        points = np.linspace(users.start[i], 1.0, 400)
        for p, v, s in zip(points, *envelope_values(utility, users, i, points), strict=True):
            row = np.zeros(n + n * m)
            row[i] = 1.0
            row[n + i * m : n + (i + 1) * m] = -s
            rows.append(row)
            limits.append(v + s * (users.start[i] - p))
    for t in range(m):
        row = np.zeros(n + n * m)
        row[n + t :: m] = users.cache / users.cache[0]
        rows.append(row)
        limits.append(carried[t] / users.cache[0])
    for i in range(n):
        row = np.zeros(n + n * m)
        row[n + i * m : n + (i + 1) * m] = 1.0
        rows.append(row)
        limits.append(1.0 - users.start[i])
    upper = [None] * n + [None if first[i] <= t < end[i] else 0.0 for i in range(n) for t in range(m)]
    bounds = [(None if k < n else 0.0, u) for k, u in enumerate(upper)]
    found = linprog(-(np.arange(n + n * m) < n).astype(float), np.array(rows), limits, bounds=bounds)
    return -float(found.fun)


@pytest.mark.parametrize("utility", UTILITIES)
def test_plan_is_the_optimum_on_the_envelopes(utility: str, counted: Callable[[int], int]) -> None:
    """The plan's fractions are schedulable, and worth what linear programming finds, on random windows."""
    rng = np.random.default_rng(2)
    for _ in range(counted(40)):
        n, m = int(rng.integers(2, 7)), int(rng.integers(1, 6))
        first = rng.integers(0, m, n)
        end = first + 1 + rng.integers(0, m, n) % (m - first)
        cache, ceiling = 10 ** rng.uniform(9, 10, n), rng.uniform(0.3, 1.0, n)
        anchor, start = rng.uniform(0.05, 0.5, n), rng.uniform(0, 0.6, n) * rng.integers(0, 2, n)
        carried = rng.uniform(0.05, 1.5, m) * cache.mean()
        users = envelopes(CODES[utility], cache, start, ceiling, 10 ** rng.uniform(0.5, 1.5, n), anchor)
        y = plan(CODES[utility], users, first, end, carried)
        amount = cache * (y - start)
        assert np.all(amount >= 0)
        assert np.all(y <= 1.0)
        for a in range(m):
            for b in range(a + 1, m + 1):
                inside = (first >= a) & (end <= b)
                assert amount[inside].sum() <= carried[a:b].sum() * (1 + 1e-11)
        worth = sum(envelope_values(utility, users, i, y[i : i + 1])[0][0] for i in range(n))
        best = linear_optimum(utility, users, first, end, carried)
        assert best - 5e-4 <= worth <= best + 1e-7


def least_in_first_slot(wanted: np.ndarray, left: np.ndarray, capacity: float) -> float:
    """Return by linear programming the least of a first slot with which everything wanted can be sent."""
    n, m = len(wanted), int(left.max())
    cost = np.repeat(np.arange(m) == 0, n).astype(float)
    slots = np.kron(np.eye(m), np.ones((1, n)))
    users = np.kron(np.ones((1, m)), np.eye(n))
    bounds = [(0.0, None if t < left[i] else 0.0) for t in range(m) for i in range(n)]
    limits = np.full(m, capacity)
    found = linprog(cost, slots, limits, users, wanted, bounds=bounds)
    assert found.status == 0
    return float(found.fun)


def test_what_cannot_wait_is_the_least_of_the_first_slot(counted: Callable[[int], int]) -> None:
    """Linear programming finds no schedule that sends less in the first slot, and the rest fits after it."""
    rng = np.random.default_rng(6)
    for _ in range(counted(60)):
        n = int(rng.integers(1, 7))
        left, share = rng.integers(1, 6, n), rng.uniform(0, 1, n)
        wanted = share / max(share[left <= d].sum() / d for d in range(int(left.min()), 6))
        wanted *= rng.uniform(0.3, 1.0)
        due = urgent(wanted, left, 1.0)
        assert due == pytest.approx(least_in_first_slot(wanted, left, 1.0), abs=1e-9)
        bits = earliest_first(wanted, left, due)
        assert bits.sum() == pytest.approx(due, abs=1e-12)
        assert np.all((bits >= 0) & (bits <= wanted))
        assert urgent(wanted - bits, left, 1.0) <= 1e-12


def test_coming_slots_are_left_to_others_in_equal_steps() -> None:
    """A segment has the sum of its slots, each a W-th less than the slot before it."""
    for window in (1, 5, 12):
        for known in (0, 3):
            ends = np.unique(np.random.default_rng(window).integers(1, known + window + 1, 4))
            edges = np.concatenate(([0], ends))
            slots = [1.0 - max(0, t - known) / window for t in range(int(edges[-1]))]
            sums = [math.fsum(slots[a:b]) for a, b in pairwise(edges)]
            assert unclaimed(edges, known, window, 7.0) == pytest.approx([7.0 * v for v in sums])


@pytest.mark.parametrize("slots", [0, 1, 3, 4, 9, 19, 200])
def test_expected_users_add_up_to_the_rate(slots: int) -> None:
    """The expected users weigh the rate times the slots, in slots to come, and by type as those seen."""
    column = random_trace(np.random.default_rng(7), 50, 5.0).users
    one, first = np.ones(50), np.zeros(50, np.int64)
    curve = (column.ceiling.copy(), column.sharpness.copy(), column.anchor.copy())
    curves = envelopes(CODES["algebraic"], column.cache_bits.copy(), 0 * one, *curve)
    user, after, weight = expected(horizon_of(curves, first, first + 5), np.arange(50), slots, 0.4)
    assert weight.sum() == pytest.approx(0.4 * slots)
    assert np.all((after >= 1) & (after <= max(1, slots)))
    assert (weight @ after) == pytest.approx(0.4 * slots * (slots + 1) / 2, rel=0.1)
    for cache in set(column.cache_bits.tolist()):
        share = weight[curves.cache[user] == cache].sum()
        assert share == pytest.approx(0.4 * slots * np.mean(column.cache_bits == cache))


@pytest.mark.parametrize("options", VERSIONS)
def test_policy_does_not_see_later_users(options: dict[str, Any]) -> None:
    """What is sent before a slot is the same, to the bit, without the users who arrive later."""
    trace = random_trace(np.random.default_rng(3), 80, 8.0)
    whole = schedule_of(trace, options)
    first, _ = trace.windows()
    for cut in (10, 33, 60):
        early = int(np.searchsorted(first, first[cut]))
        users = {key: getattr(trace.users, key)[:early] for key in trace.users.__dataclass_fields__}
        link = (trace.slot_s, trace.window_slots, trace.bandwidth_bps, trace.horizon_s)
        part = schedule_of(HandoverTrace("part", trace.utility, *link, HandoverUsers(**users)), options)
        before, same = whole.slot < first[cut], part.slot < first[cut]
        for key in ("user", "slot", "bits"):
            assert getattr(whole, key)[before].tolist() == getattr(part, key)[same].tolist()


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("options", VERSIONS)
def test_schedule_is_feasible_and_worth_its_claim(utility: str, options: dict[str, Any]) -> None:
    """The evaluator accepts each schedule and finds its claim, for any windows."""
    rng = np.random.default_rng(4)
    for window in (5, 1, None, np.arange(1, 41) % 7 + 1):
        trace = random_trace(rng, 40, 4.0, utility, window)
        result = solve_receding_horizon(trace, limits=Limits(), **options)
        assert isinstance(result.decision, Schedule)
        verdict = evaluate_horizon(trace, result.decision)
        assert verdict.feasible, verdict.message
        assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-13)
        assert result.status is Status.FEASIBLE


def gains(rate: float, seeds: range, options: dict[str, Any], **settings: float) -> tuple[float, float]:
    """Return what the policy gains on water-filling, and what the bound leaves to gain, summed over seeds."""
    won, gap = 0.0, 0.0
    for seed in seeds:
        trace = generate("importance", seed=seed, settings={"rate_per_s": rate, **settings})
        assert isinstance(trace, HandoverTrace)
        base = water_filling(trace, limits=Limits()).objective or 0.0
        won += (solve_receding_horizon(trace, limits=Limits(), **options).objective or 0.0) - base
        gap += (solve_clairvoyant(trace, limits=Limits(), gap=1e-4).bound or 0.0) - base
    return won, gap


def test_nothing_is_lost_at_a_low_load(counted: Callable[[int], int]) -> None:
    """At ρ = 1 the policy is worth at least what water-filling is, summed over 30 traces."""
    won, gap = gains(1.0, range(counted(30)), {})
    assert 0.0 <= won <= gap


MEAN: dict[str, Any] = {"arrivals": "mean", "rate_per_s": 8.0}


@pytest.mark.parametrize(("options", "share"), [({}, 0.45), (MEAN, 0.75)])
@pytest.mark.parametrize("window_s", [0.2, 0.5, 1.0])
def test_gap_is_closed_by_a_share(options: dict[str, Any], share: float, window_s: float) -> None:
    """At ρ = 8 the plan closes much of water-filling's gap to the bound, more with the rate of arrivals."""
    won, gap = gains(8.0, range(4), options, window_s=window_s)
    assert share * gap <= won <= gap


@pytest.mark.full
@pytest.mark.parametrize(("options", "share"), [({}, 0.45), (MEAN, 0.8)])
@pytest.mark.parametrize(
    "settings", [{}, {"window_s": 0.2}, {"window_s": 1.0}, {"window_s": 2.0}, {"bandwidth_bps": 3e10}]
)
def test_promised_share_of_the_gap_is_closed(
    options: dict[str, Any], share: float, settings: dict[str, float]
) -> None:
    """Over 30 traces of 100 s at ρ = 8 at least 45 % of the gap is closed, 80 % with the mean rate."""
    won, gap = gains(8.0, range(30), options, **settings)
    assert share * gap <= won <= gap


@pytest.mark.full
@pytest.mark.parametrize(("options", "share"), [({}, 0.45), (MEAN, 0.75)])
def test_mean_rate_closes_less_on_a_narrow_link(options: dict[str, Any], share: float) -> None:
    """At 10 Gbps at least 45 % of the gap is closed, 75 % with the mean rate."""
    won, gap = gains(8.0, range(30), options, bandwidth_bps=1e10)
    assert share * gap <= won <= gap


@pytest.mark.parametrize("options", VERSIONS)
def test_horizon_without_users_is_empty(options: dict[str, Any]) -> None:
    """A horizon without users gives an empty schedule worth 0."""
    empty = np.empty(0)
    users = HandoverUsers(empty, empty.astype(np.int64), empty, empty, empty, empty)
    trace = HandoverTrace("none", "algebraic", 0.1, 5, 2e10, 10.0, users)
    assert len(schedule_of(trace, options).user) == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"arrivals": "oracle"}, "arrivals: found oracle, expected one of none, learned, mean"),
        ({"arrivals": "mean"}, "rate_per_s: found nothing, expected a rate with arrivals = mean"),
        ({"rate_per_s": 4}, "rate_per_s: found a rate with arrivals = none, expected"),
        ({"arrivals": "mean", "rate_per_s": -1}, "rate_per_s: found -1, expected 0 to"),
        ({"depth": 3}, "set.depth: unknown for receding-horizon"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], text: str) -> None:
    """An unknown option or option value is refused by name."""
    with pytest.raises(InputError, match=text):
        solve_receding_horizon(random_trace(np.random.default_rng(5), 3, 1.0), limits=Limits(), **options)
