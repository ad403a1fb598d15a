"""Claims about policies simulated over a horizon."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.simulate import (
    POLICIES,
    no_admission,
    share_equally,
    share_proportionally_fair,
    solve_policy,
    summarise,
    water_filling,
    water_filling_bisection,
    water_filling_drop_lowest,
    water_filling_wta,
    winner_takes_all,
)
from formulations.result import Limits
from instances.decisions import Schedule
from instances.errors import InputError
from instances.generate import generate
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover import plain_policies
from tests.formulations.handover.cases import TRACES, random_trace, renamed, trace_of

NAMED = {
    "water-filling": water_filling,
    "water-filling-bisection": water_filling_bisection,
    "water-filling+wta": water_filling_wta,
    "water-filling+drop-lowest": water_filling_drop_lowest,
    "no-admission": no_admission,
    "equal": share_equally,
    "winner-take-all": winner_takes_all,
    "proportional-fair": share_proportionally_fair,
}


@pytest.mark.parametrize(
    ("name", "policy"),
    [(name, policy) for name, case in TRACES.items() for policy in case["answer"]["policies"]],
)
def test_policy_meets_the_stored_sum(name: str, policy: str) -> None:
    """Each policy's sum over users agrees with the case file within 10⁻¹⁰."""
    result = solve_policy(trace_of(TRACES[name]["instance"]), limits=Limits(), policy=policy)
    assert result.objective == pytest.approx(TRACES[name]["answer"]["policies"][policy], abs=1e-10)


@pytest.mark.parametrize("policy", POLICIES)
def test_plain_reference_has_the_same_fractions(policy: str, counted: Callable[[int], int]) -> None:
    """A plain Python simulator of every policy agrees within 10⁻⁹ in every user's fraction."""
    for rate in (2.0, 6.0, 12.0):
        for seed in range(counted(20)):
            trace = generate("importance", seed=seed, settings={"rate_per_s": rate, "horizon_s": 12.0})
            assert isinstance(trace, HandoverTrace)
            decision = solve_policy(trace, limits=Limits(), policy=policy).decision
            assert isinstance(decision, Schedule)
            sent = np.bincount(decision.user, weights=decision.bits, minlength=len(trace.users))
            found = sent / trace.users.cache_bits
            assert np.allclose(found, plain_policies.simulate(trace, policy), rtol=0, atol=1e-9)


def test_exact_fallback_is_the_best_of_one_slot() -> None:
    """In a horizon of one slot the exact fallback is worth at least what every other one is."""
    for seed in range(6):
        trace = generate("importance", users=8, seed=seed, settings={"horizon_s": 0.05, "window_s": 0.1})
        worth = [
            water_filling(trace, limits=Limits(), fallback=fallback).objective or 0.0
            for fallback in ("exact", "eb", "wta", "drop-lowest")
        ]
        assert worth[0] >= max(worth[1:]) - 1e-9


def test_deadline_cuts_the_last_slot() -> None:
    """With a deadline inside the last slot, only its share of that slot's bits arrives."""
    users = HandoverUsers(
        np.array([0.03]),
        np.array([8192]),
        np.array([1e12]),
        np.array([0.9]),
        np.array([34.0]),
        np.array([0.066]),
    )
    trace = HandoverTrace("cut", "algebraic", 0.1, 5, 2e10, 1.0, users)
    whole, cut, late = (
        solve_policy(trace, limits=Limits(), policy="equal", deadline_s=seconds).decision
        for seconds in (None, 0.5, 5.0)
    )
    assert isinstance(whole, Schedule)
    assert isinstance(cut, Schedule)
    assert isinstance(late, Schedule)
    # The deadline .53 s is three tenths into slot 5, the last of slots 1 to 5.
    assert cut.bits.tolist() == pytest.approx([2e9] * 4 + [0.6e9], rel=1e-12)
    assert whole.bits.tolist() == late.bits.tolist() == [2e9] * 5


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("utility", UTILITIES)
def test_schedule_is_feasible_and_worth_its_claim(policy: str, utility: str) -> None:
    """The evaluator accepts each schedule, finds its claim, and every listed amount is positive."""
    rng = np.random.default_rng(3)
    for window in (5, None, np.arange(1, 61) % 7 + 1):
        instance = random_trace(rng, 60, 5.0, utility, window)
        result = solve_policy(instance, limits=Limits(), policy=policy)
        assert isinstance(result.decision, Schedule)
        verdict = evaluate_horizon(instance, result.decision)
        assert verdict.feasible, verdict.message
        assert verdict.violation <= 1e-13
        assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-13)
        assert np.all(result.decision.bits > 0)


def test_absolute_tolerance_costs_accuracy_over_a_horizon() -> None:
    """Algorithm 1 with an absolute ε of 10⁻⁹ lifts users to their anchors and sends no more."""
    instance = trace_of(TRACES["rho8-importance"]["instance"])
    relative = water_filling_bisection(instance, limits=Limits()).objective or 0.0
    absolute = water_filling_bisection(instance, limits=Limits(), tolerance="absolute", epsilon=1e-9)
    assert (absolute.objective or 0.0) < relative - 0.1 * len(instance.users)


@pytest.mark.parametrize("policy", POLICIES)
def test_named_function_is_the_policy(policy: str) -> None:
    """Each policy's own function gives what ``solve_policy`` gives by name."""
    instance = trace_of(TRACES["rho8-importance"]["instance"])
    by_name = solve_policy(instance, limits=Limits(), policy=policy)
    assert NAMED[policy](instance, limits=Limits()).objective == by_name.objective


@pytest.mark.parametrize("policy", POLICIES)
def test_horizon_without_users_is_empty(policy: str) -> None:
    """A horizon without users gives an empty schedule worth 0."""
    empty = np.empty(0)
    users = HandoverUsers(empty, empty.astype(np.int64), empty, empty, empty, empty)
    instance = HandoverTrace("none", "algebraic", 0.1, 5, 2e10, 10.0, users)
    result = solve_policy(instance, limits=Limits(), policy=policy)
    assert isinstance(result.decision, Schedule)
    assert len(result.decision.user) == 0
    assert result.objective == 0
    assert summarise(instance, result.decision) == {"mean_accuracy": 0.0, "starved": 0.0}


@pytest.mark.parametrize("policy", POLICIES)
def test_without_a_deadline_everybody_finishes(policy: str) -> None:
    """With no deadline every user gets its whole cache, except under no admission."""
    instance = random_trace(np.random.default_rng(4), 12, 2.0, window=None)
    result = solve_policy(instance, limits=Limits(), policy=policy)
    assert isinstance(result.decision, Schedule)
    sent = np.bincount(result.decision.user, weights=result.decision.bits, minlength=12)
    if policy != "no-admission":
        assert np.allclose(sent, instance.users.cache_bits, rtol=1e-11)


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"water-filling+drop-lowest", "winner-take-all"}))
def test_relabelling_users_changes_nothing(policy: str) -> None:
    """Users in another order give the same sum, for the policies that break no ties."""
    instance = random_trace(np.random.default_rng(5), 40, 5.0)
    order = np.random.default_rng(6).permutation(40)
    first = solve_policy(instance, limits=Limits(), policy=policy).objective
    second = solve_policy(renamed(instance, order), limits=Limits(), policy=policy).objective
    assert second == pytest.approx(first, rel=1e-12)


def test_arrival_order_follows_arrivals_not_indices() -> None:
    """The reading by arrival order doesn't depend on the order in which the users are listed."""
    instance = random_trace(np.random.default_rng(5), 60, 3.0)
    order = np.random.default_rng(6).permutation(60)
    first = no_admission(instance, limits=Limits(), reading="arrival-order").objective
    second = no_admission(renamed(instance, order), limits=Limits(), reading="arrival-order").objective
    assert second == pytest.approx(first, rel=1e-12)


def test_readings_of_no_admission_differ_under_load() -> None:
    """The five readings give five sums under load."""
    instance = random_trace(np.random.default_rng(11), 120, 8.0)
    readings = ("bisect", "scaled", "arrival-order", "equal-bytes", "nothing")
    found = {no_admission(instance, limits=Limits(), reading=reading).objective for reading in readings}
    assert len(found) == 5


def test_steps_are_deterministic() -> None:
    """Two runs call the policy in the same number of slots and decide the same."""
    instance = trace_of(TRACES["rho8-importance"]["instance"])
    first, second = (water_filling(instance, limits=Limits()) for _ in range(2))
    assert first.counters == second.counters
    assert isinstance(first.decision, Schedule)
    assert isinstance(second.decision, Schedule)
    assert first.decision.bits.tolist() == second.decision.bits.tolist()


def test_starved_counts_users_below_their_anchor() -> None:
    """Without any transmission all users are starved, and the mean is that of A(0)."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    nothing = Schedule(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    found = summarise(instance, nothing)
    assert found["starved"] == 1.0
    assert 0 < found["mean_accuracy"] < 0.1


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"policy": "best"}, "policy: found best, expected one of water-filling"),
        ({"policy": "equal", "fallback": "eb"}, "set.fallback: unknown for equal"),
        ({"policy": "water-filling", "fallback": "x"}, "fallback: found x, expected one of eb"),
        ({"policy": "water-filling+wta", "fallback": "eb"}, "set.fallback: unknown for water-filling\\+wta"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, str], text: str) -> None:
    """An unknown policy, option or option value is refused by name."""
    with pytest.raises(InputError, match=text):
        solve_policy(trace_of(TRACES["rho2-importance"]["instance"]), limits=Limits(), **options)
