"""Claims about the clairvoyant optimum by tangent programmes."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pulp
import pytest

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.horizon.busy_periods import busy_periods
from formulations.handover.horizon.certificate import price_bound
from formulations.handover.horizon.earliest_deadline import earliest_deadline_first
from formulations.handover.horizon.price_blocks import block_optimum
from formulations.handover.horizon.tangent import solve_tangent
from formulations.handover.simulate import POLICIES, solve_policy
from formulations.handover.utility import CODES, values
from formulations.handover.verify import verified_bound
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.errors import InputError
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover.cases import TRACES, random_trace, renamed, trace_of


def checked(instance: HandoverTrace, result: Result) -> float:
    """Return the evaluated objective of a result that must be feasible and worth its claim."""
    assert isinstance(result.decision, Schedule)
    verdict = evaluate_horizon(instance, result.decision)
    assert verdict.feasible, verdict.message
    assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-13)
    assert result.bound is not None
    assert verdict.objective <= result.bound + 1e-12
    return verdict.objective


def tiny(rng: np.random.Generator, utility: str) -> HandoverTrace:
    """Return 3 users over 4 slots, whose anchors may lie anywhere."""
    users = HandoverUsers(
        np.round(rng.uniform(0, 0.2, 3), 3),
        np.array([4096, 8192, 8192]),
        rng.uniform(1e9, 6e9, 3),
        rng.uniform(0.5, 1.0, 3),
        10 ** rng.uniform(0, 1.5, 3),
        rng.uniform(0.05, 0.8, 3),
    )
    return HandoverTrace("tiny", utility, 0.1, rng.integers(1, 4, 3), 2e10, 0.2, users)


def best_on_grid(instance: HandoverTrace, steps: int) -> float:
    """Return the best Σ A_i(y_i) over schedulable fractions on a grid."""
    users, (first, end) = instance.users, instance.windows()
    edges = sorted({*first.tolist(), *end.tolist()})
    intervals = [(a, b) for a in edges for b in edges if a < b]
    best = -math.inf
    for point in itertools.product(range(steps + 1), repeat=len(users)):
        y = np.array(point) / steps
        bits = users.cache_bits * y
        inside = ((b - a, bits[(first >= a) & (end <= b)].sum()) for a, b in intervals)
        if all(total <= slots * instance.capacity_bits for slots, total in inside):
            gained = values(instance.utility, users.ceiling, users.sharpness, users.anchor, y)
            best = max(best, float(gained.sum()))
    return best


@pytest.mark.parametrize("name", TRACES)
def test_optimum_lies_in_the_certified_interval(name: str) -> None:
    """Schedule and bound meet within 10⁻⁹ a user, inside the interval of the case file."""
    instance, answer = trace_of(TRACES[name]["instance"]), TRACES[name]["answer"]
    result = solve_tangent(instance, limits=Limits())
    objective = checked(instance, result)
    assert result.status is Status.OPTIMAL
    assert result.stopped is Stopped.DONE
    assert (result.bound or 0.0) - objective <= 1e-9 * instance.n_users
    assert answer["lower"] - 1e-9 <= (result.bound or 0.0)
    assert objective <= answer["upper"] + 1e-9
    assert verified_bound(instance, result.certificate["prices"]) >= objective


@pytest.mark.parametrize("name", ["rho2-importance", "rho8-importance"])
def test_prices_prove_the_optimum_with_importance_ordering(name: str) -> None:
    """With importance ordering the prices alone, verified from scratch, prove the bound."""
    instance = trace_of(TRACES[name]["instance"])
    result = solve_tangent(instance, limits=Limits())
    assert result.bound_kind is BoundKind.PRICES
    assert verified_bound(instance, result.certificate["prices"]) <= (result.objective or 0.0) + 1e-9
    assert price_bound(instance, result.certificate["prices"]) == pytest.approx(result.bound, rel=1e-14)


@pytest.mark.parametrize("utility", UTILITIES)
def test_bound_is_above_a_grid_and_schedule_at_least_as_good(utility: str) -> None:
    """On 3 users × 4 slots no schedulable grid point exceeds the bound, nor the schedule by the gap."""
    rng = np.random.default_rng(12)
    for _ in range(4):
        instance = tiny(rng, utility)
        result = solve_tangent(instance, limits=Limits())
        grid = best_on_grid(instance, 24)
        assert grid <= (result.bound or 0.0) + 1e-9
        assert grid <= checked(instance, result) + 1e-6
        assert (result.bound or 0.0) - (result.objective or 0.0) <= 1e-6


@pytest.mark.parametrize("utility", UTILITIES)
def test_bound_is_above_every_policy(utility: str) -> None:
    """No simulated policy exceeds the clairvoyant bound or schedule."""
    instance = random_trace(np.random.default_rng(13), 40, 4.0, utility)
    result = solve_tangent(instance, limits=Limits())
    objective = checked(instance, result)
    for policy in POLICIES:
        assert (solve_policy(instance, limits=Limits(), policy=policy).objective or 0.0) <= objective + 1e-9


def test_relabelling_users_changes_nothing() -> None:
    """Users in another order have the same optimum."""
    instance = random_trace(np.random.default_rng(14), 40, 5.0)
    other = renamed(instance, np.random.default_rng(15).permutation(40))
    first, second = (solve_tangent(x, limits=Limits()).objective for x in (instance, other))
    assert second == pytest.approx(first, abs=1e-8)


def test_unit_of_bits_is_immaterial() -> None:
    """Caches and bandwidth in units of 2³⁰ bits have the same optimum."""
    instance = random_trace(np.random.default_rng(16), 30, 4.0)
    users = replace(instance.users, cache_bits=instance.users.cache_bits / 2.0**30)
    other = replace(instance, users=users, bandwidth_bps=instance.bandwidth_bps / 2.0**30)
    first, second = (solve_tangent(x, limits=Limits()).objective for x in (instance, other))
    assert second == pytest.approx(first, abs=1e-8)


def test_horizon_without_users_is_optimal() -> None:
    """A horizon without users is solved: worth 0, bound 0."""
    empty = np.empty(0)
    users = HandoverUsers(empty, empty.astype(np.int64), empty, empty, empty, empty)
    result = solve_tangent(HandoverTrace("none", "algebraic", 0.1, 5, 2e10, 1.0, users), limits=Limits())
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0.0, 0.0)


@pytest.mark.parametrize("anchor", [0.0, 1.0])
def test_anchors_at_the_ends_are_solved(anchor: float) -> None:
    """Curves that are concave throughout, or convex throughout, are solved to a closed gap."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    users = replace(instance.users, anchor=np.full(instance.n_users, anchor))
    changed = replace(instance, users=users)
    result = solve_tangent(changed, limits=Limits())
    assert (result.bound or 0.0) - checked(changed, result) <= 1e-7


def test_no_deadline_is_solved() -> None:
    """Without deadlines everybody gets everything, and free slots prove it."""
    instance = random_trace(np.random.default_rng(17), 10, 2.0, window=None)
    result = solve_tangent(instance, limits=Limits())
    assert result.status is Status.OPTIMAL
    assert checked(instance, result) == pytest.approx(price_bound(instance, {}), rel=1e-12)


def test_no_time_still_gives_schedule_and_bound() -> None:
    """With no time at all the answer is a feasible schedule, a valid bound and the status of a limit."""
    instance = trace_of(TRACES["rho4-random-ordering"]["instance"])
    result = solve_tangent(instance, limits=Limits(time_s=0.0))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert checked(instance, result) > 10
    assert (result.bound or 0.0) >= TRACES["rho4-random-ordering"]["answer"]["lower"]


def test_node_limit_stops_deterministically() -> None:
    """A limit on nodes stops at the same answer each time."""
    instance = trace_of(TRACES["rho4-random-ordering"]["instance"])
    first, second = (solve_tangent(instance, limits=Limits(nodes=5)) for _ in range(2))
    assert first.stopped is Stopped.NODES
    assert (first.objective, first.bound, first.counters) == (second.objective, second.bound, second.counters)


def test_unknown_option_is_refused() -> None:
    """An option that the method does not have is refused by name."""
    with pytest.raises(InputError, match=r"set\.rounds: unknown for clairvoyant-tangent"):
        solve_tangent(trace_of(TRACES["rho2-importance"]["instance"]), limits=Limits(), rounds=3)


def test_solver_that_is_not_installed_is_skipped() -> None:
    """A solver that isn't installed gives a skipped result that says so."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    missing = "MIPCL_CMD"
    if pulp.getSolver(missing, msg=False).available():
        pytest.skip(f"{missing} is installed")
    result = solve_tangent(instance, limits=Limits(), solver=missing)
    assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
    assert f"{missing} is not installed" in result.message


@pytest.mark.skipif(not pulp.getSolver("PULP_CBC_CMD", msg=False).available(), reason="CBC is not installed")
def test_another_solver_agrees() -> None:
    """CBC through PuLP finds the optimum that HiGHS finds, and its prices prove it."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    result = solve_tangent(instance, limits=Limits(), solver="PULP_CBC_CMD")
    assert (result.status, result.bound_kind) == (Status.OPTIMAL, BoundKind.PRICES)
    assert checked(instance, result) == pytest.approx(TRACES["rho2-importance"]["answer"]["lower"], abs=1e-7)


def test_busy_periods_share_no_slot() -> None:
    """Each user is in one busy period, and no two of them have a slot in common."""
    instance = random_trace(np.random.default_rng(18), 60, 20.0)
    periods = busy_periods(instance)
    assert sorted(i for period in periods for i in period.user.tolist()) == list(range(60))
    spans = [(int(p.start[0]), int(p.start[-1] + p.slots[-1])) for p in periods]
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def test_earliest_deadline_first_sends_what_fits() -> None:
    """Amounts that fill every slot of nested windows are sent completely and inside their windows."""
    amount, first, end = np.array([2.0, 1.0, 1.0]), np.array([0, 1, 2]), np.array([4, 2, 3])
    user, slot, bits = earliest_deadline_first(amount, first, end, 1.0)
    assert np.bincount(user, weights=bits).tolist() == [2.0, 1.0, 1.0]
    assert np.all((slot >= first[user]) & (slot < end[user]))
    assert np.bincount(slot, weights=bits).max() <= 1.0


def test_block_prices_prove_the_concave_optimum() -> None:
    """Concave curves: the blocks' prices bound the sum at exactly what the blocks' fractions are worth."""
    rng = np.random.default_rng(19)
    instance = random_trace(rng, 40, 2.0)
    instance = replace(instance, users=replace(instance.users, anchor=np.zeros(40)))
    users, total, prices = instance.users, 0.0, dict[int | str, float]()
    for period in busy_periods(instance):
        chosen, n = period.user, len(period.user)
        curve = (
            users.cache_bits[chosen],
            users.ceiling[chosen],
            users.sharpness[chosen],
            users.anchor[chosen],
        )
        y, price = block_optimum(
            CODES["algebraic"],
            curve,
            np.zeros(n),
            np.zeros(n, dtype=bool),
            (period.first, period.end),
            period.slots * instance.capacity_bits,
        )
        total += math.fsum(values("algebraic", *curve[1:], y))
        for start, count, p in zip(period.start, period.slots, price, strict=True):
            prices |= {int(t): float(p) for t in range(start, start + count)}
    assert verified_bound(instance, prices) == pytest.approx(total, rel=1e-12)
