"""Claims about the exact one-slot optimum of S-shaped curves."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_slot
from formulations.handover.horizon.tangent import solve_tangent
from formulations.handover.slot.columns import columns
from formulations.handover.slot.envelope import bits_at, envelopes, filled
from formulations.handover.slot.shares import solve_equal, solve_winner_take_all
from formulations.handover.slot.slot_exact import solve_slot_exact
from formulations.handover.slot.water_filling import solve_no_admission, solve_water_filling
from formulations.handover.utility import CODES, values
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Allocation
from instances.errors import InputError
from instances.generate import generate
from instances.handover import UTILITIES, HandoverTrace, HandoverUsers, SlotInstance, SlotUsers
from tests.formulations.handover.cases import SLOTS, class_slot, random_slot, slot_of

GRID = 600


def solved(instance: SlotInstance, **limits: Any) -> Result:
    """Return the exact method's result."""
    return solve_slot_exact(instance, limits=Limits(**limits))


def tight_slot(rng: np.random.Generator, utility: str, n: int) -> SlotInstance:
    """Return a slot that lifts some of its users at best, all parameters random."""
    cache, anchor = 10.0 ** rng.uniform(9, 10, n), rng.uniform(0.05, 0.8, n)
    received = rng.uniform(0, 0.5, n) * rng.integers(0, 2, n)
    users = SlotUsers(cache, received, rng.uniform(0.3, 1, n), rng.uniform(4, 60, n), anchor)
    return SlotInstance("tight", utility, 1.0, float(cache.sum() * rng.uniform(0.05, 0.6)), users)


def best_on_a_grid(instance: SlotInstance) -> float:
    """Return the best sum with each user's bits a multiple of C/GRID, by dynamic programming."""
    users = instance.users
    best = np.zeros(GRID + 1)
    step = instance.capacity_bits / GRID
    for i in range(len(users)):
        y = np.minimum(1.0, users.received[i] + np.arange(GRID + 1) * step / users.cache_bits[i])
        curve = [np.full(GRID + 1, c[i]) for c in (users.ceiling, users.sharpness, users.anchor)]
        gain = values(instance.utility, *curve, y)
        best = np.array([np.max(best[: b + 1] + gain[b::-1]) for b in range(GRID + 1)])
    return float(best[GRID])


@pytest.mark.parametrize("utility", UTILITIES)
def test_optimum_is_at_least_the_grids_and_hardly_more(utility: str, counted: Callable[[int], int]) -> None:
    """Dynamic programming over a grid of bits never beats the optimum, and comes close to it."""
    rng = np.random.default_rng(1)
    for _ in range(counted(150)):
        instance = tight_slot(rng, utility, int(rng.integers(1, 6)))
        result, grid = solved(instance), best_on_a_grid(instance)
        assert result.status is Status.OPTIMAL
        assert isinstance(result.decision, Allocation)
        assert grid <= (result.objective or 0.0) + 1e-12
        assert (result.bound or 0.0) <= grid + 0.04
        assert 0 <= (result.bound or 0.0) - (result.objective or 0.0) <= 1e-9 * len(instance.users)
        verdict = evaluate_slot(instance, result.decision)
        assert verdict.feasible, verdict.message
        assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-13, abs_tol=1e-40)


@pytest.mark.parametrize("family", ["slot-importance", "slot-random-ordering"])
def test_optimum_is_that_of_a_horizon_of_one_slot(family: str) -> None:
    """Where nothing was received, the tangent programme of a one-slot horizon has the same optimum."""
    for seed in range(4):
        slot = generate(family, users=7, seed=seed)
        assert isinstance(slot, SlotInstance)
        columns = {c: getattr(slot.users, c) for c in ("cache_bits", "ceiling", "sharpness", "anchor")}
        fresh = SlotUsers(received=np.zeros(7), **columns)
        users = HandoverUsers(np.zeros(7), np.full(7, 4096), **columns)
        trace = HandoverTrace("one", slot.utility, slot.slot_s, 1, slot.bandwidth_bps, 0.0, users)
        one = SlotInstance("one", slot.utility, slot.slot_s, slot.bandwidth_bps, fresh)
        tangent, exact = solve_tangent(trace, limits=Limits()), solved(one)
        assert (exact.objective or 0.0) <= (tangent.bound or 0.0) + 1e-8
        assert (tangent.objective or 0.0) <= (exact.bound or 0.0) + 1e-8


@pytest.mark.parametrize("utility", UTILITIES)
def test_no_policy_beats_the_bound(utility: str) -> None:
    """Water-filling, its readings, equal shares and winner-take-all are at most the optimum."""
    rng = np.random.default_rng(2)
    for make in (lambda: tight_slot(rng, utility, 6), lambda: random_slot(rng, utility)):
        for _ in range(10):
            instance = make()
            bound = solved(instance).bound or 0.0
            for policy in (solve_water_filling, solve_no_admission, solve_equal, solve_winner_take_all):
                assert (policy(instance, limits=Limits()).objective or 0.0) <= bound + 1e-12


@pytest.mark.parametrize("name", list(SLOTS))
def test_stored_cases_are_solved_at_least_as_well(name: str) -> None:
    """On every stored slot the optimum without the anchors' floor is at least the answer with it."""
    instance = slot_of(SLOTS[name]["instance"])
    result = solved(instance)
    assert result.status is Status.OPTIMAL
    if "objective" in SLOTS[name]["answer"]:
        assert (result.objective or 0.0) >= SLOTS[name]["answer"]["objective"] - 1e-12


@pytest.mark.parametrize("utility", ["logistic", "arctan"])
def test_budget_that_ends_at_a_split_is_closed(utility: str) -> None:
    """Where a split leaves bits for exactly the part below it, the gap closes."""
    users = SlotUsers(
        np.array([8567820635.77205, 1452829881.3326907]),
        np.array([0.0, 0.14729070533407157]),
        np.array([0.5534112405722492, 0.5022832736753102]),
        np.array([44.32062267546415, 11.44273658575736]),
        np.array([0.6665113952418693, 0.6318868158737938]),
    )
    result = solved(SlotInstance("split", utility, 1.0, 3163951500.20622, users))
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("utility", UTILITIES)
def test_price_is_at_most_the_slope_of_who_entered_last(utility: str) -> None:
    """With a budget that ends at the flattest user's touching point, the price is at most its slope."""
    rng, family = np.random.default_rng(5), CODES[utility]
    for _ in range(50):
        slot = columns(tight_slot(rng, utility, 4))
        slot.received[3], slot.ceiling[3] = 0.0, 1e-8
        users = envelopes(*slot[:-1])
        order = np.argsort(-users.steepness)
        slope = math.exp(users.steepness[order[3]])
        needed = bits_at(family, users, order, users.steepness[order[3]])
        for budget in needed * (1.0 + np.array([-2e-16, 0.0, 2e-16, 1e-13])):
            y, price = filled(family, users, np.arange(4), float(budget))
            assert y[order[3]] == pytest.approx(users.touch[order[3]], rel=1e-9)
            assert price <= slope * (1.0 + 1e-12)


def test_equal_users_do_not_multiply_the_nodes() -> None:
    """Forty equal users of whom some fit take few nodes, as equal ones are told apart by index alone."""
    result = solved(class_slot("equal", [1] * 40, [0.0] * 40, 9e9), nodes=500)
    assert result.status is Status.OPTIMAL
    assert result.counters["nodes"] < 200


def test_relabelling_users_changes_nothing() -> None:
    """Users in another order give the same optimum within the gap."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        one = tight_slot(rng, "algebraic", 6)
        order = rng.permutation(6)
        columns = {key: getattr(one.users, key)[order] for key in one.users.__dataclass_fields__}
        other = SlotInstance("b", one.utility, one.slot_s, one.bandwidth_bps, SlotUsers(**columns))
        assert solved(other).objective == pytest.approx(solved(one).objective, abs=1.2e-8)


def test_limit_leaves_a_bound_and_a_decision() -> None:
    """After one node there is a decision and a bound above it, and the same run gives the same."""
    instance = tight_slot(np.random.default_rng(4), "algebraic", 7)
    first, second = solved(instance, nodes=1), solved(instance, nodes=1)
    assert (first.status, first.stopped, first.bound_kind) == (Status.FEASIBLE, Stopped.NODES, BoundKind.TREE)
    assert (first.bound or 0.0) > (first.objective or 0.0)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    assert (first.bound or 0.0) >= (solved(instance).objective or 0.0)


def test_time_limit_is_honoured() -> None:
    """Without any time nothing is proved, and it is said that time ended the run."""
    result = solved(tight_slot(np.random.default_rng(4), "algebraic", 40), time_s=0.0)
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert result.bound is None


def test_slot_without_users_is_optimal() -> None:
    """A slot without users is worth 0, proved."""
    empty = np.empty(0)
    result = solved(SlotInstance("none", "erf", 1.0, 1e9, SlotUsers(empty, empty, empty, empty, empty)))
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0.0, 0.0)


def test_unknown_option_is_refused() -> None:
    """An unknown option is refused by name."""
    with pytest.raises(InputError, match=r"set\.depth: unknown for slot-exact"):
        solve_slot_exact(class_slot("one", [1], [0.0], 1e9), limits=Limits(), depth=3)
