"""Claims about starvation, latencies and the Hybrid baseline."""

import math

import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_horizon
from formulations.handover.horizon.lifted import solve_lifted
from formulations.handover.horizon.tangent import solve_tangent
from formulations.handover.hybrid import PREFILL, REPREFILL_MS, hybrid_latencies
from formulations.handover.outcomes import latencies, outcomes, wanted_fractions
from formulations.handover.simulate import solve_policy, summarise, water_filling
from formulations.handover.utility import values
from formulations.result import Limits
from instances.decisions import Schedule
from instances.generate import generate
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers
from tests.formulations.handover.cases import random_trace


def hybrid_trace(arrivals: list[float], tokens: list[int]) -> HandoverTrace:
    """Return users of the paper's cache sizes on a link of 20 Gbps."""
    n, context = len(arrivals), np.array(tokens)
    cache = 2.0 * 36 * 8 * 128 * 16 * context
    curve = (np.full(n, 0.95), np.full(n, 35.0), np.full(n, 0.07))
    users = HandoverUsers(np.array(arrivals), context, cache, *curve)
    return HandoverTrace("hybrid", "algebraic", 0.1, None, 2e10, max(arrivals), users)


@pytest.mark.parametrize("utility", UTILITIES)
def test_wanted_fraction_has_99_percent_of_the_accuracy(utility: str) -> None:
    """At the wanted fraction the methods' own formula gives .99 of A(1)."""
    users = random_trace(np.random.default_rng(1), 30, 3.0, utility)
    curve = (users.users.ceiling, users.users.sharpness, users.users.anchor)
    found = values(utility, *curve, wanted_fractions(users))
    assert np.allclose(found, 0.99 * values(utility, *curve, np.ones(30)), rtol=1e-9)


def test_latency_ends_with_the_slot() -> None:
    """A user who has enough after its second slot waits from its arrival to that slot's end."""
    users = HandoverUsers(
        np.array([0.03, 0.55]),
        np.array([4096, 8192]),
        np.full(2, 1e9),
        np.full(2, 0.9),
        np.full(2, 40.0),
        np.full(2, 0.1),
    )
    trace = HandoverTrace("two", "algebraic", 0.1, 5, 1e10, 1.0, users)
    sent = Schedule(np.array([0, 0, 1]), np.array([1, 2, 6]), np.array([2e8, 8e8, 1e8]))
    seconds = latencies(trace, sent)
    assert seconds[0] == pytest.approx(0.3 - 0.03, rel=1e-12)
    assert math.isinf(seconds[1])
    found = outcomes(trace, sent)
    assert found["latency"]["4096"][:2] == [1, 1]
    assert found["latency"]["8192"] == [1, 0, 0.0, 0.0]


def test_evaluator_counts_the_starved_of_the_summary() -> None:
    """The evaluator's count of starved users is the simulator's fraction."""
    trace = generate("importance", seed=3, settings={"rate_per_s": 12.0, "horizon_s": 20.0})
    assert isinstance(trace, HandoverTrace)
    for policy in ("water-filling", "winner-take-all", "no-admission"):
        decision = solve_policy(trace, limits=Limits(), policy=policy).decision
        assert isinstance(decision, Schedule)
        counted = evaluate_horizon(trace, decision).details["starved"]
        assert counted == round(summarise(trace, decision)["starved"] * len(trace.users))


def test_prefill_law_goes_through_the_published_times() -> None:
    """The prefill law meets the 4K and 16K times and stays within 3 % of the 8K one."""
    for tokens, within in ((4096, 1e-12), (16384, 1e-12), (8192, 0.03)):
        assert 1000 * PREFILL.seconds(tokens) == pytest.approx(REPREFILL_MS[tokens], rel=within)


def test_lone_hybrid_user_ends_prefill_and_transfer_together() -> None:
    """Alone, the shares of prefill and transfer take the same time, less than either would for everything."""
    seconds = float(hybrid_latencies(hybrid_trace([0.2], [8192]))[0])
    prefilled = (-PREFILL.linear + math.sqrt(PREFILL.linear**2 + 4 * PREFILL.quadratic * seconds)) / (
        2 * PREFILL.quadratic
    )
    assert seconds == pytest.approx((1 - prefilled / 8192) * 9663676416 / 2e10, rel=1e-9)
    assert seconds < min(PREFILL.seconds(8192), 9663676416 / 2e10)


def test_hybrid_link_serves_in_the_order_of_arrival() -> None:
    """A second user waits for the first one's transfer; one who prefills within the wait sends nothing."""
    first, second, small = hybrid_latencies(hybrid_trace([0.0, 0.0, 0.0], [16384, 16384, 4096]))
    assert second > first
    assert small == pytest.approx(PREFILL.seconds(4096), rel=1e-9)


def test_foresight_with_lifted_users_lies_between_policy_and_bound() -> None:
    """With foresight and anchors in the first slot, the value is between water-filling and the bound."""
    for seed in range(4):
        trace = generate("importance", seed=seed, settings={"rate_per_s": 8.0, "horizon_s": 15.0})
        assert isinstance(trace, HandoverTrace)
        lifted = solve_lifted(trace, limits=Limits())
        assert isinstance(lifted.decision, Schedule)
        verdict = evaluate_horizon(trace, lifted.decision)
        assert verdict.feasible, verdict.message
        assert verdict.objective == pytest.approx(lifted.objective, rel=1e-12)
        low = water_filling(trace, limits=Limits()).objective or 0.0
        assert low <= verdict.objective <= (solve_tangent(trace, limits=Limits()).bound or 0.0) + 1e-9
        early = lifted.decision.slot == trace.windows()[0][lifted.decision.user]
        in_first = np.bincount(lifted.decision.user[early], lifted.decision.bits[early], len(trace.users))
        reached = in_first >= trace.users.anchor * trace.users.cache_bits * (1 - 1e-9)
        needed = np.bincount(trace.windows()[0], trace.users.anchor * trace.users.cache_bits)
        assert np.all(reached | (needed[trace.windows()[0]] > trace.capacity_bits))
