"""Claims about the policies of one slot."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from formulations.handover.evaluate import evaluate_slot
from formulations.handover.slot.shares import solve_equal, solve_proportional_fair, solve_winner_take_all
from formulations.handover.slot.water_filling import (
    solve_no_admission,
    solve_water_filling,
    solve_water_filling_drop_lowest,
    solve_water_filling_wta,
)
from formulations.handover.utility import log_slopes
from formulations.handover.verify import verified_slot_bound
from formulations.result import Limits, Result, Status
from instances.decimals import as_decimal
from instances.decisions import Allocation
from instances.errors import InputError
from instances.handover import UTILITIES, SlotInstance, SlotUsers
from tests.formulations.handover.cases import SLOTS, class_slot, random_slot, slot_of, stored

POLICY_CASES = stored("policy_cases.json")["cases"]
METHODS: dict[str, tuple[Callable[..., Result], dict[str, Any]]] = {
    "ours_eb": (solve_water_filling, {}),
    "ours_wta": (solve_water_filling_wta, {}),
    "ours_drop": (solve_water_filling_drop_lowest, {}),
    "noadm_bisect": (solve_no_admission, {}),
    "noadm_scale": (solve_no_admission, {"reading": "scaled"}),
    "ea": (solve_equal, {}),
    "ea_redist": (solve_equal, {"redistribute": True}),
    "wta": (solve_winner_take_all, {}),
    "pf": (solve_proportional_fair, {}),
}
FURTHER = {
    "arrival-order": (solve_no_admission, {"reading": "arrival-order"}),
    "equal-bytes": (solve_no_admission, {"reading": "equal-bytes"}),
    "nothing": (solve_no_admission, {"reading": "nothing"}),
}
ALL = METHODS | FURTHER


def run(key: str, instance: SlotInstance) -> Result:
    """Run a method of ``ALL``."""
    method, options = ALL[key]
    return method(instance, limits=Limits(), **options)


def fraction_of(result: Result) -> np.ndarray:
    """Return the fractions of a slot's result."""
    assert isinstance(result.decision, Allocation)
    return result.decision.fraction


def bits_of(result: Result, instance: SlotInstance) -> np.ndarray:
    """Return the bits that a slot's result sends, by user."""
    return (fraction_of(result) - instance.users.received) * instance.users.cache_bits


@pytest.mark.parametrize("name", [name for name, case in SLOTS.items() if "fraction" in case["answer"]])
def test_water_filling_meets_the_reference(name: str) -> None:
    """Water-filling agrees with the 60-digit reference to 10⁻¹⁴ in fractions and objective."""
    instance, answer = slot_of(SLOTS[name]["instance"]), SLOTS[name]["answer"]
    result = run("ours_eb", instance)
    assert np.allclose(fraction_of(result), answer["fraction"], rtol=0, atol=1e-14)
    assert math.isclose(result.objective or 0.0, answer["objective"], rel_tol=1e-14)
    if "price_per_bit" in answer:
        assert math.isclose(result.certificate["price_per_bit"], answer["price_per_bit"], rel_tol=1e-12)


def test_equalised_bytes_are_capped_and_redistributed() -> None:
    """In an infeasible slot a small cache is filled and its share goes to the other users."""
    case = SLOTS["eb-cap"]
    instance = slot_of(case["instance"])
    assert np.allclose(bits_of(run("ours_eb", instance), instance), case["answer"]["bits"], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "policy"), [(name, policy) for name, case in POLICY_CASES.items() for policy in case["bits"]]
)
def test_policy_gives_the_stored_bits(name: str, policy: str) -> None:
    """Each policy gives the bits of the case file within 10⁻¹² of the capacity."""
    case = POLICY_CASES[name]
    instance = class_slot(name, case["cls"], case["x"], case["C"])
    found = bits_of(run(policy, instance), instance)
    assert np.allclose(found, case["bits"][policy], rtol=0, atol=1e-12 * case["C"])


@pytest.mark.parametrize("utility", UTILITIES)
def test_water_filling_satisfies_the_optimality_conditions(utility: str) -> None:
    """One price: interior users have slope θ L_i, those at their floor less, those at 1 more (Theorem 1)."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        instance = random_slot(rng, utility)
        result, users = run("ours_eb", instance), instance.users
        y, price = fraction_of(result), result.certificate["price_per_bit"]
        verdict = evaluate_slot(instance, Allocation(y))
        assert verdict.feasible, verdict.message
        assert verdict.details["lifted"]
        assert 0 <= result.certificate["gap"] <= 1e-9 * len(users)
        if price == 0:
            continue
        used = math.fsum(bits_of(result, instance))
        assert math.isclose(used, instance.capacity_bits, rel_tol=1e-9)
        floor = np.maximum(users.received, users.anchor)
        slope = log_slopes(utility, users.ceiling, users.sharpness, users.anchor, y)
        slope -= np.log(users.cache_bits) + math.log(price)
        # How far the slope moves within the rounding of y.
        loose = 1e-9 + 1e-6 * (users.sharpness > 1e3)
        assert np.all(slope[y > floor] >= -loose[y > floor])
        assert np.all(slope[y < 1] <= loose[y < 1])


@pytest.mark.parametrize("utility", UTILITIES)
def test_gap_is_at_least_what_the_verifier_finds(utility: str, counted: Callable[[int], int]) -> None:
    """The price proves no more than the claimed gap above the decision's value, up to these two roundings."""
    rng = np.random.default_rng(13)
    for _ in range(counted(200)):
        instance = random_slot(rng, utility)
        result = run("ours_eb", instance)
        assert isinstance(result.decision, Allocation)
        worth = evaluate_slot(instance, result.decision).objective
        bound = verified_slot_bound(instance, as_decimal(result.certificate["price_per_bit"]))
        assert bound - worth <= result.certificate["gap"] + 4e-16 * bound


@pytest.mark.parametrize("utility", UTILITIES)
def test_no_random_allocation_beats_water_filling(utility: str) -> None:
    """No allocation that lifts everybody within the budget is worth more than water-filling."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        instance = random_slot(rng, utility)
        users, best = instance.users, run("ours_eb", instance).objective or 0.0
        floor = np.maximum(users.received, users.anchor)
        spare = instance.capacity_bits - float(np.sum(users.cache_bits * (floor - users.received)))
        for _ in range(20):
            share = rng.dirichlet(np.ones(len(users))) * max(0.0, spare) * (1 - 1e-12)
            y = np.clip(floor + share / users.cache_bits, floor, 1.0)
            verdict = evaluate_slot(instance, Allocation(y))
            assert verdict.feasible
            assert verdict.objective <= best + 1e-12


def test_almost_linear_utilities_use_the_budget() -> None:
    """With k = 10⁻⁶ the budget is used up to rounding, whichever sizes the caches have."""
    cache = np.array([1e10, 2e10, 3e10])
    users = SlotUsers(cache, np.zeros(3), np.full(3, 0.9), np.full(3, 1e-6), np.array([0.05, 0.1, 0.2]))
    for capacity in (9e9, 2e10, 4.7e10):
        instance = SlotInstance("linear", "algebraic", 1.0, capacity, users)
        result = run("ours_eb", instance)
        assert math.isclose(math.fsum(bits_of(result, instance)), capacity, rel_tol=1e-14)
        assert result.certificate["gap"] <= 1e-15


def test_steepness_beyond_doubles_is_no_trap() -> None:
    """Where the ratio of two users' slopes is no double, the steeper one is served first, to its end."""
    for utility in UTILITIES:
        columns = [[1e-20, 1e20], [0.0, 0.0], [0.9, 1e-250], [40.0, 1e5], [0.1, 0.0]]
        users = SlotUsers(*(np.array(column) for column in columns))
        instance = SlotInstance("far", utility, 1.0, 5e19, users)
        y = fraction_of(run("ours_eb", instance))
        assert y.tolist() == pytest.approx([1.0, 0.5], rel=1e-12)


@pytest.mark.parametrize("key", ALL)
def test_claims_are_what_the_evaluator_finds(key: str) -> None:
    """Each policy's decision is feasible and worth what it claims, for every family and load."""
    rng = np.random.default_rng(9)
    for utility in UTILITIES:
        for _ in range(15):
            n = int(rng.integers(1, 7))
            received = (rng.uniform(0, 1, n) * rng.integers(0, 2, n)).tolist()
            classes, capacity = rng.integers(0, 3, n).tolist(), float(10 ** rng.uniform(6, 10.5))
            instance = class_slot("load", classes, received, capacity, utility)
            result = run(key, instance)
            assert isinstance(result.decision, Allocation)
            verdict = evaluate_slot(instance, result.decision)
            assert verdict.feasible, verdict.message
            assert math.isclose(verdict.objective, result.objective or 0.0, rel_tol=1e-13)
            assert result.status is Status.FEASIBLE
            assert result.bound is None


@pytest.mark.parametrize("key", ALL)
def test_slot_without_users_is_empty(key: str) -> None:
    """A slot without users gives an empty allocation worth 0."""
    empty = np.empty(0)
    instance = SlotInstance("none", "algebraic", 1.0, 1e9, SlotUsers(empty, empty, empty, empty, empty))
    result = run(key, instance)
    assert len(fraction_of(result)) == 0
    assert result.objective == 0


@pytest.mark.parametrize(
    "key", sorted(set(ALL) - {"nothing", "noadm_bisect", "noadm_scale", "arrival-order"})
)
def test_one_user_gets_everything(key: str) -> None:
    """A single user gets the whole slot, or what it still needs, whether the slot is feasible or not."""
    for capacity, expected in ((1e8, 1e8), (2e9, 2e9), (1e11, 9663676416.0)):
        instance = class_slot("one", [1], [0.0], capacity)
        assert math.isclose(float(bits_of(run(key, instance), instance)[0]), expected, rel_tol=1e-14)


@pytest.mark.parametrize("key", ALL)
def test_equal_users_that_have_finished_get_nothing(key: str) -> None:
    """Finished users keep their fraction exactly."""
    instance = class_slot("done", [0, 0, 1], [1.0, 1.0, 0.2], 1e9)
    assert fraction_of(run(key, instance))[:2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("key", sorted(set(ALL) - {"arrival-order"}))
def test_relabelling_users_permutes_the_answer(key: str) -> None:
    """Users in another order get the same bits, where no two of them are alike."""
    rng = np.random.default_rng(10)
    for capacity in (1e9, 2e9, 8e9):
        received, order = rng.uniform(0, 0.1, 6), rng.permutation(6)
        classes = np.array([0, 1, 2, 0, 1, 2])
        first = class_slot("a", classes.tolist(), received.tolist(), capacity)
        second = class_slot("b", classes[order].tolist(), received[order].tolist(), capacity)
        if key == "ours_drop" and capacity < 3e9:
            continue  # users of one class tie there
        y = fraction_of(run(key, first))
        assert np.allclose(fraction_of(run(key, second)), y[order], rtol=0, atol=1e-14)


@pytest.mark.parametrize("key", ALL)
def test_unit_of_bits_is_immaterial(key: str) -> None:
    """Caches and capacity in units of 2³⁰ bits give the same fractions."""
    for capacity in (2.0**30, 2.0**33):
        one = class_slot("a", [0, 1, 2], [0.0, 0.01, 0.2], capacity)
        columns = {name: getattr(one.users, name) for name in one.users.__dataclass_fields__}
        users = SlotUsers(**(columns | {"cache_bits": columns["cache_bits"] / 2.0**30}))
        other = SlotInstance("b", "algebraic", 1.0, capacity / 2.0**30, users)
        assert np.allclose(fraction_of(run(key, other)), fraction_of(run(key, one)), rtol=0, atol=1e-14)


def test_drop_lowest_leaves_out_the_last_of_equal_users() -> None:
    """Of equal users the last index is left out first."""
    instance = class_slot("ties", [1, 1, 1], [0.0, 0.0, 0.0], 1.4e9)
    assert bits_of(run("ours_drop", instance), instance).tolist() == pytest.approx([7e8, 7e8, 0.0])


@pytest.mark.parametrize("key", ["ours_eb", "ours_drop"])
@pytest.mark.parametrize("lifted", [0, 1, 2])
def test_user_lifted_to_its_anchor_is_not_below_it(key: str, lifted: int) -> None:
    """A user that rounding left a unit short of its anchor is treated as one at the anchor."""
    for capacity in (5e8, 1e9, 2e9, 4e9, 8e9):
        fresh = class_slot("tight", [0, 1, 2], [0.0, 0.0, 0.0], capacity)
        anchor = float(fresh.users.anchor[lifted])
        sent = []
        for x in (anchor, float(np.nextafter(anchor, 0))):
            received = [x if i == lifted else 0.0 for i in range(3)]
            instance = class_slot("tight", [0, 1, 2], received, capacity)
            sent.append(bits_of(run(key, instance), instance))
        assert np.allclose(*sent, rtol=1e-9, atol=1e-3)


def test_winner_take_all_prefers_the_first_of_equal_users() -> None:
    """Of equal users the first index wins."""
    instance = class_slot("ties", [2, 2], [0.0, 0.0], 2e9)
    assert bits_of(run("wta", instance), instance).tolist() == pytest.approx([2e9, 0.0])


@pytest.mark.parametrize(
    ("method", "options", "text"),
    [
        (
            solve_water_filling,
            {"fallback": "none"},
            "fallback: found none, expected one of eb, wta, drop-lowest, exact",
        ),
        (solve_no_admission, {"reading": 3}, "reading: found 3, expected one of bisect, scaled"),
        (solve_equal, {"redistribute": "maybe"}, "redistribute: found maybe, expected true or false"),
        (solve_proportional_fair, {"level": 1}, "set.level: unknown for proportional-fair, expected none"),
    ],
)
def test_unknown_options_are_refused(
    method: Callable[..., Result], options: dict[str, Any], text: str
) -> None:
    """An unknown option or option value is refused by name."""
    with pytest.raises(InputError, match=text):
        method(class_slot("one", [1], [0.0], 1e9), limits=Limits(), **options)
