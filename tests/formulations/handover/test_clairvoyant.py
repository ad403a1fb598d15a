"""Claims about the clairvoyant optimum by decomposition."""

import copy
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.horizon.branching import Group, grow
from formulations.handover.horizon.decomposition import solve_clairvoyant
from formulations.handover.horizon.envelope import Curves, envelopes
from formulations.handover.horizon.groups import cheapest_borders
from formulations.handover.horizon.price_blocks import most_violated
from formulations.handover.horizon.segments import horizon_of
from formulations.handover.horizon.tangent import solve_tangent
from formulations.handover.horizon.tight_unions import most_violated_union
from formulations.handover.simulate import POLICIES, solve_policy
from formulations.handover.utility import CODES, values
from formulations.handover.verify import verified_bound
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Schedule
from instances.errors import InputError
from instances.generate import generate
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover.cases import TRACES, random_trace, renamed, trace_of

Counted = Callable[[int], int]


def checked(instance: HandoverTrace, result: Result) -> float:
    """Return the evaluated objective of a result whose schedule, claim and proof must hold."""
    assert isinstance(result.decision, Schedule)
    verdict = evaluate_horizon(instance, result.decision)
    assert verdict.feasible, verdict.message
    assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-12)
    proved = verified_bound(instance, result.certificate["prices"], result.certificate.get("groups", ()))
    assert verdict.objective <= proved + 1e-12
    assert proved <= (result.bound or 0.0) + 1e-11 * len(instance.users)
    return verdict.objective


def drawn(family: str, seed: int = 3, **settings: float) -> HandoverTrace:
    """Return a generated horizon."""
    instance = generate(family, users=None, seed=seed, settings=settings)
    assert isinstance(instance, HandoverTrace)
    return instance


def points_apart(instance: HandoverTrace, result: Result) -> float:
    """Return the gap in percentage points of the mean accuracy, of a result that holds."""
    return 100.0 * ((result.bound or 0.0) - checked(instance, result)) / instance.n_users


@pytest.mark.parametrize("utility", UTILITIES)
def test_envelope_is_above_the_utility_and_touches_it(utility: str) -> None:
    """On any interval chord and curve lie above A, meet it at both ends, and have falling slopes."""
    rng = np.random.default_rng(1)
    for _ in range(60):
        curve = [
            np.array([x]) for x in (1e9, rng.uniform(0.1, 1), 10 ** rng.uniform(-3, 3), rng.uniform(0, 1))
        ]
        low, high = np.sort(rng.uniform(0, 1, 2)) if rng.uniform() < 0.7 else (0.0, 1.0)
        shape = envelopes(CODES[utility], Curves(*curve), np.array([low]), np.array([high]))
        grid = np.linspace(low, high, 2001)
        columns = [np.full(len(grid), x[0]) for x in curve[1:]]
        knee, at = float(shape.knee[0]), values(utility, *columns, grid)
        chord = values(utility, *curve[1:], np.array([low])) + 1e9 * np.exp(shape.slope[0]) * (grid - low)
        above = np.where(grid <= knee, chord, at)
        assert low <= knee <= high
        assert np.all(above >= at - 1e-12)
        assert np.all(np.diff(above, 2) <= 1e-11)


def test_most_violated_union_is_the_quadratic_one() -> None:
    """The linear-time union has the excess of the one found by looking at all intervals."""
    rng = np.random.default_rng(2)
    for _ in range(300):
        m, n = int(rng.integers(1, 12)), int(rng.integers(0, 15))
        first = rng.integers(0, m, n)
        end = np.array([rng.integers(a + 1, m + 1) for a in first], dtype=np.int64)
        order = np.argsort(end, kind="stable")
        first, end = first[order], end[order]
        amount, carried = rng.uniform(0, 1.5, n) * rng.integers(0, 2, n), rng.uniform(0.2, 1, m)
        excess, union = most_violated_union(amount, first, end, carried)
        position = np.concatenate(([0], np.cumsum(union)))
        inside = position[end] - position[first] == end - first
        assert excess == pytest.approx(most_violated(amount, first, end, carried)[0], abs=1e-12)
        assert amount[inside].sum() - carried[union].sum() == pytest.approx(excess, abs=1e-12)


@pytest.mark.parametrize("name", TRACES)
def test_optimum_lies_in_the_certified_interval(name: str) -> None:
    """Schedule and verified bound meet within 10⁻⁹ a user, inside the interval of the case file."""
    instance, answer = trace_of(TRACES[name]["instance"]), TRACES[name]["answer"]
    result = solve_clairvoyant(instance, limits=Limits())
    objective = checked(instance, result)
    assert (result.status, result.stopped) == (Status.OPTIMAL, Stopped.DONE)
    assert (result.bound or 0.0) - objective <= 1e-9 * instance.n_users
    assert answer["lower"] - 1e-9 <= (result.bound or 0.0)
    assert objective <= answer["upper"] + 1e-9


@pytest.mark.parametrize("utility", UTILITIES)
def test_tangent_programmes_find_the_same_optimum(utility: str, counted: Counted) -> None:
    """Decomposition and tangent programmes agree, within what the solver leaves, for any anchors."""
    rng = np.random.default_rng(4)
    for _ in range(counted(10)):
        instance = random_trace(rng, 8, 1.0, utility, rng.integers(1, 9, 8))
        users = replace(
            instance.users, anchor=rng.uniform(0, 0.8, 8), sharpness=10 ** rng.uniform(0.3, 1.5, 8)
        )
        instance = replace(instance, users=users)
        found, other = (solve(instance, limits=Limits()) for solve in (solve_clairvoyant, solve_tangent))
        assert checked(instance, found) <= (other.bound or 0.0) + 1e-8
        assert (other.objective or 0.0) <= (found.bound or 0.0) + 1e-9
        assert (found.bound or 0.0) - (found.objective or 0.0) <= 1e-6


@pytest.mark.parametrize("utility", UTILITIES)
def test_bound_is_above_every_policy_and_below_the_ceiling(utility: str) -> None:
    """No simulated policy exceeds the bound, and the bound does not exceed Σ A_i(1)."""
    instance = random_trace(np.random.default_rng(5), 60, 5.0, utility)
    result = solve_clairvoyant(instance, limits=Limits())
    objective, users = checked(instance, result), instance.users
    ceiling = values(utility, users.ceiling, users.sharpness, users.anchor, np.ones(len(users))).sum()
    assert objective - 1e-12 <= (result.bound or 0.0) <= ceiling + 1e-9
    for policy in POLICIES:
        assert (solve_policy(instance, limits=Limits(), policy=policy).objective or 0.0) <= objective + 1e-9


@pytest.mark.parametrize(
    ("family", "settings", "points"),
    [
        ("importance", {"rate_per_s": 1.0}, 1e-6),
        ("importance", {"rate_per_s": 4.0}, 1e-6),
        ("importance", {"rate_per_s": 8.0}, 1e-6),
        ("importance", {"rate_per_s": 12.0}, 1e-2),
        ("importance", {"rate_per_s": 8.0, "bandwidth_bps": 1e10}, 0.1),
    ],
)
def test_gap_on_the_papers_settings(family: str, settings: dict[str, float], points: float) -> None:
    """A trace of 100 s is certified to within the points that its setting allows."""
    instance = drawn(family, **settings)
    assert points_apart(instance, solve_clairvoyant(instance, limits=Limits())) <= points


def test_gap_with_random_ordering() -> None:
    """With random ordering at eight users a second a trace of 20 s is certified to a hundredth of a point."""
    instance = drawn("random-ordering", rate_per_s=8.0, horizon_s=20.0)
    assert points_apart(instance, solve_clairvoyant(instance, limits=Limits())) <= 0.01


@pytest.mark.full
@pytest.mark.parametrize("seed", range(10))
def test_gap_with_random_ordering_on_the_papers_horizon(seed: int) -> None:
    """On 100 s it is a tenth of a point, whatever the seed."""
    instance = drawn("random-ordering", seed, rate_per_s=8.0)
    assert points_apart(instance, solve_clairvoyant(instance, limits=Limits())) <= 0.1


def test_unequal_windows_are_solved() -> None:
    """Windows of 1 to 20 slots at eight users a second are certified to a thousandth of a point."""
    instance = drawn("importance", rate_per_s=8.0)
    window = np.random.default_rng(6).integers(1, 21, instance.n_users)
    instance = replace(instance, window_slots=window)
    assert points_apart(instance, solve_clairvoyant(instance, limits=Limits())) <= 1e-3


def test_no_deadline_is_solved() -> None:
    """Without deadlines everybody gets everything, and free slots prove it."""
    instance = random_trace(np.random.default_rng(7), 30, 2.0, window=None)
    result = solve_clairvoyant(instance, limits=Limits())
    assert (result.status, result.certificate["prices"]) == (Status.OPTIMAL, {})
    assert checked(instance, result) == pytest.approx(verified_bound(instance, {}), rel=1e-12)


def test_relabelling_users_changes_nothing() -> None:
    """Users in another order have the same optimum."""
    instance = random_trace(np.random.default_rng(8), 60, 5.0)
    other = renamed(instance, np.random.default_rng(9).permutation(60))
    first, second = (solve_clairvoyant(x, limits=Limits()).objective for x in (instance, other))
    assert second == pytest.approx(first, abs=6e-8)


def test_unit_of_bits_is_immaterial() -> None:
    """Caches and bandwidth in units of 2³⁰ bits have the same optimum."""
    instance = random_trace(np.random.default_rng(10), 60, 5.0)
    users = replace(instance.users, cache_bits=instance.users.cache_bits / 2.0**30)
    other = replace(instance, users=users, bandwidth_bps=instance.bandwidth_bps / 2.0**30)
    first, second = (solve_clairvoyant(x, limits=Limits()).objective for x in (instance, other))
    assert second == pytest.approx(first, abs=6e-8)


def test_horizon_without_users_is_optimal() -> None:
    """A horizon without users is solved: worth 0, bound 0."""
    empty = np.empty(0)
    users = HandoverUsers(empty, empty.astype(np.int64), empty, empty, empty, empty)
    instance = HandoverTrace("none", "algebraic", 0.1, 5, 2e10, 1.0, users)
    result = solve_clairvoyant(instance, limits=Limits())
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0.0, 0.0)


@pytest.mark.parametrize("anchor", [0.0, 1.0])
@pytest.mark.parametrize("sharpness", [1e-6, 5.0, 2000.0])
@pytest.mark.parametrize("utility", UTILITIES)
def test_extreme_curves_are_solved(utility: str, sharpness: float, anchor: float) -> None:
    """Curves concave or convex throughout, almost linear or almost steps, are solved to a closed gap."""
    instance = random_trace(np.random.default_rng(11), 12, 1.0, utility)
    users = replace(instance.users, anchor=np.full(12, anchor), sharpness=np.full(12, sharpness))
    instance = replace(instance, users=users)
    result = solve_clairvoyant(instance, limits=Limits())
    assert (result.bound or 0.0) - checked(instance, result) <= 1e-7


def test_no_time_still_gives_schedule_and_bound() -> None:
    """With no time at all the answer is a feasible schedule, a valid bound and the status of a limit."""
    name = "rho4-random-ordering"
    instance = trace_of(TRACES[name]["instance"])
    result = solve_clairvoyant(instance, limits=Limits(time_s=0.0))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert checked(instance, result) > 10
    assert (result.bound or 0.0) >= TRACES[name]["answer"]["lower"]


def test_node_limit_stops_deterministically() -> None:
    """A limit on nodes stops at the same answer each time, with no more nodes than allowed."""
    instance = trace_of(TRACES["rho4-random-ordering"]["instance"])
    first, second = (solve_clairvoyant(instance, limits=Limits(nodes=100)) for _ in range(2))
    assert first.stopped is Stopped.NODES
    assert first.counters["nodes"] <= 100
    assert (first.objective, first.bound, first.counters) == (second.objective, second.bound, second.counters)


def test_wider_target_gap_needs_less() -> None:
    """With a target gap the search ends once that is reached, and says that it is done."""
    instance = trace_of(TRACES["rho4-random-ordering"]["instance"])
    exact, rough = (solve_clairvoyant(instance, limits=Limits(), gap=gap) for gap in (1e-9, 1e-2))
    assert rough.counters["nodes"] < exact.counters["nodes"]
    assert (rough.status, rough.stopped) == (Status.FEASIBLE, Stopped.DONE)
    assert (rough.bound or 0.0) - checked(instance, rough) <= 1e-2 * instance.n_users


@pytest.mark.parametrize("solve", [solve_clairvoyant, solve_tangent])
def test_bound_is_not_below_its_own_schedule(solve: Callable[..., Result]) -> None:
    """Where bound and schedule meet, the bound is not below the checked value by its rounding either."""
    for seed in range(3):
        for rate in (1.0, 2.0, 4.0):
            settings = {"rate_per_s": rate, "horizon_s": 10.0}
            instance = generate("importance", seed=seed, settings=settings)
            assert isinstance(instance, HandoverTrace)
            result = solve(instance, limits=Limits())
            assert result.status is Status.OPTIMAL
            assert checked(instance, result) <= (result.bound or 0.0)


def test_options_are_checked() -> None:
    """An unknown option and a target gap below zero are refused by name."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    with pytest.raises(InputError, match=r"set\.rounds: unknown for clairvoyant"):
        solve_clairvoyant(instance, limits=Limits(), rounds=3)
    with pytest.raises(InputError, match="gap: found -1"):
        solve_clairvoyant(instance, limits=Limits(), gap=-1.0)


def test_prices_prove_that_floors_do_not_fit() -> None:
    """A node whose users cannot all be lifted is closed by prices at which its bound is below any value."""
    instance = random_trace(np.random.default_rng(12), 10, 0.1, window=2)
    horizon = horizon_of(instance)
    group = Group(horizon.curves, horizon.windows, np.zeros(len(horizon.slots)), np.zeros(10, dtype=np.bool_))
    tree = grow(horizon.family, group, np.full(10, 0.5), np.ones(10), 0.0, 0.0, 1)
    assert tree.bound < 0
    lowest = np.array([tree.price[0, a:b].min() for a, b in zip(*horizon.windows[:2], strict=True)])
    gained = [
        values(instance.utility, *horizon.curves[1:], np.full(10, y)) - horizon.curves.cache * y * lowest
        for y in np.linspace(0.5, 1, 501)
    ]
    assert (tree.price[0] * horizon.windows.carried).sum() + np.max(gained, axis=0).sum() < 0


@pytest.fixture(scope="module")
def branched() -> tuple[HandoverTrace, Result]:
    """Return a trace whose optimum needs branching, and its result."""
    instance = trace_of(TRACES["rho4-random-ordering"]["instance"])
    return instance, solve_clairvoyant(instance, limits=Limits())


def test_groups_prove_what_prices_alone_do_not(branched: tuple[HandoverTrace, Result]) -> None:
    """The trees lower the verified bound from more than a unit above the optimum to the optimum."""
    instance, result = branched
    assert result.bound_kind is BoundKind.TREE
    prices, groups = result.certificate["prices"], result.certificate["groups"]
    assert verified_bound(instance, prices) > (result.objective or 0.0) + 1.0
    assert verified_bound(instance, prices, groups) <= (result.objective or 0.0) + 1e-7


def test_no_change_of_a_tree_proves_less_than_the_optimum(branched: tuple[HandoverTrace, Result]) -> None:
    """Whatever the prices and split points, what slots and trees prove is at least a schedule's value."""
    instance, result = branched
    rng = np.random.default_rng(13)
    for _ in range(5):
        prices = {
            slot: price * rng.choice([0.5, 1.0, 2.0]) for slot, price in result.certificate["prices"].items()
        }
        groups = copy.deepcopy(result.certificate["groups"])
        for group in groups:
            for node in group["nodes"]:
                if "prices" in node:
                    node["prices"] = [p * rng.choice([0.0, 0.5, 1.0, 1.0, 2.0]) for p in node["prices"]]
                elif rng.uniform() < 0.2:
                    node["at"] = float(rng.uniform())
        assert verified_bound(instance, prices, groups) >= (result.objective or 0.0) - 1e-9


def test_groups_prove_less_without_their_floors(branched: tuple[HandoverTrace, Result]) -> None:
    """Groups share slots, and without the slots' own prices each of them may use all of these."""
    instance, result = branched
    prices, groups = result.certificate["prices"], result.certificate["groups"]
    slots = [
        slot
        for group in groups
        for slot in {first + k for first, count in group["runs"] for k in range(count)}
    ]
    shared = {slot for slot in slots if slots.count(slot) > 1}
    assert {int(slot) for slot in prices} & shared
    unpaid = {slot: price for slot, price in prices.items() if int(slot) not in shared}
    assert verified_bound(instance, unpaid, groups) > verified_bound(instance, prices, groups) + 1e-3


def test_borders_cost_least() -> None:
    """No other choice of borders, within how far groups may reach, costs less."""
    rng = np.random.default_rng(14)
    for _ in range(50):
        n = int(rng.integers(1, 9))
        cost = np.append(rng.integers(0, 5, n), 0)
        furthest = np.maximum.accumulate(rng.integers(0, 9, n + 1))
        chosen = [
            (0, *inner, n)
            for count in range(n)
            for inner in itertools.combinations(range(1, n), count)
            if all(a >= min(furthest[b], b - 1) for a, b in itertools.pairwise((0, *inner, n)))
        ]
        least = min(sum(int(cost[b]) for b in borders[1:]) for borders in chosen)
        assert cost[cheapest_borders(cost, furthest)[1:]].sum() == least


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda g: g.append(g[0]), r"groups\[\d+\].users: found a user a second time"),
        (lambda g: g[0]["runs"].append(g[0]["runs"][0]), "entries, expected"),
        (lambda g: g[0]["users"].append(10**6), "users: found 1000000"),
        (lambda g: g[0]["nodes"].pop(), r"nodes\[\d+\]: found child"),
        (lambda g: g[0]["nodes"].append(g[0]["nodes"][-1]), "found no tree"),
        (lambda g: g[0]["nodes"].clear(), "found no tree"),
        (lambda g: g[0]["nodes"][0].update(user=10**6), "expected one of the group's users"),
        (lambda g: g[0]["nodes"][0].update(at=2.0), "at: found 2.0"),
        (lambda g: g[0]["nodes"][0].update(below=0), "found child 0"),
        (lambda g: g[0]["nodes"][-1].update(prices=[-1.0] * len(g[0]["runs"])), "prices: found -1"),
        (lambda g: g[0].pop("runs"), "expected users, runs, nodes"),
        (lambda g: g[0]["runs"][0].append(1), "expected a first slot and a number of slots"),
        (lambda g: g[0]["runs"][0].__setitem__(1, 10**7), "runs"),
    ],
)
def test_groups_that_are_no_proof_are_refused(
    branched: tuple[HandoverTrace, Result], spoil: Callable[[Any], Any], message: str
) -> None:
    """A proof with users or slots twice, or nodes that are no tree, is refused by name."""
    instance, result = branched
    groups = copy.deepcopy(result.certificate["groups"])
    spoil(groups)
    with pytest.raises(InputError, match=message):
        verified_bound(instance, result.certificate["prices"], groups)
