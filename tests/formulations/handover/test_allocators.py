"""Claims about the other ways to a slot's price, and about water-filling beside them."""

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from numba import njit

from formulations.handover.evaluate import evaluate_slot
from formulations.handover.slot.bisection import solve_bisection
from formulations.handover.slot.convex import solve_convex
from formulations.handover.slot.references import (
    log_bisection,
    root_of_scipy,
    sixty_digits,
    sorted_breakpoints,
)
from formulations.handover.slot.water_filling import solve_water_filling
from formulations.result import Limits, Result
from instances.decisions import Allocation
from instances.errors import InputError
from instances.generate import generate
from instances.handover import UTILITIES, SlotInstance, SlotUsers
from tests.formulations.handover.cases import SLOTS, class_slot, random_slot, slot_of

REFERENCES = (log_bisection, root_of_scipy, sorted_breakpoints)
ANSWERED = [name for name, case in SLOTS.items() if "fraction" in case["answer"]]
# Prices so flat that half a double's digits of log θ are left for the fractions.
FLAT = ("k_1e-3_almost_linear",)


def fraction_of(result: Result) -> np.ndarray:
    """Return the fractions of a slot's result."""
    assert isinstance(result.decision, Allocation)
    return result.decision.fraction


@pytest.mark.parametrize("method", REFERENCES)
@pytest.mark.parametrize("name", ANSWERED)
def test_references_meet_the_stored_answers(method: Callable[..., Result], name: str) -> None:
    """Each reference agrees with the stored 60-digit answer to 10⁻¹⁴, on almost linear utilities to 10⁻⁸."""
    found = fraction_of(method(slot_of(SLOTS[name]["instance"]), limits=Limits()))
    tolerance = 1e-8 if name in FLAT else 1e-14
    assert np.allclose(found, SLOTS[name]["answer"]["fraction"], rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", [n for n in ANSWERED if SLOTS[n]["instance"]["utility"] == "algebraic"])
def test_sixty_digits_are_the_stored_answers(name: str) -> None:
    """The 200-bit bisection gives the stored answers to a double's rounding."""
    found = fraction_of(sixty_digits(slot_of(SLOTS[name]["instance"]), limits=Limits()))
    assert np.allclose(found, SLOTS[name]["answer"]["fraction"], rtol=2e-16, atol=1e-16)


@pytest.mark.parametrize("utility", UTILITIES)
def test_water_filling_agrees_with_each_reference(utility: str, counted: Callable[[int], int]) -> None:
    """On random feasible slots every reference is worth what water-filling is, within 10⁻⁶."""
    rng = np.random.default_rng(11)
    for _ in range(counted(200)):
        instance = random_slot(rng, utility)
        best = solve_water_filling(instance, limits=Limits()).objective or 0.0
        for method in (*REFERENCES, solve_bisection):
            assert math.isclose(method(instance, limits=Limits()).objective or 0.0, best, rel_tol=1e-6)


@pytest.mark.parametrize("utility", UTILITIES)
def test_references_bracket_the_price_of_flat_slots(utility: str) -> None:
    """Where rounding moves the price of a floor, each reference is worth what water-filling is."""
    rng = np.random.default_rng(12)
    for _ in range(40):
        cache, received, anchor = 10.0 ** rng.uniform(6, 10), rng.uniform(0.2, 0.9), rng.uniform(0.0, 0.2)
        columns = [cache, received, rng.uniform(0.1, 1.0), 10.0 ** rng.uniform(-6, -5), anchor]
        users = SlotUsers(*(np.array([x]) for x in columns))
        instance = SlotInstance("flat", utility, 1.0, 1e-5 * cache, users)
        best = solve_water_filling(instance, limits=Limits()).objective or 0.0
        for method in REFERENCES:
            assert math.isclose(method(instance, limits=Limits()).objective or 0.0, best, rel_tol=1e-6)


@pytest.mark.parametrize("name", ANSWERED)
def test_relative_tolerance_finds_the_price(name: str) -> None:
    """Algorithm 1 with a relative tolerance is worth the optimum within 10⁻⁸, and fits."""
    instance = slot_of(SLOTS[name]["instance"])
    result = solve_bisection(instance, limits=Limits())
    assert isinstance(result.decision, Allocation)
    assert evaluate_slot(instance, result.decision).feasible
    assert result.objective == pytest.approx(SLOTS[name]["answer"]["objective"], abs=1e-8)


def test_absolute_tolerance_falls_short() -> None:
    """With an absolute tolerance above λ̄ Algorithm 1 sends C_min alone; one of 10⁻¹² also costs accuracy."""
    one = class_slot("short", [0, 1, 2], [0.0, 0.0, 0.0], 2e10)
    instance = SlotInstance("short", one.utility, 0.1, 2e11, one.users)
    whole = solve_bisection(instance, limits=Limits()).objective or 0.0
    short = solve_bisection(instance, limits=Limits(), tolerance="absolute", epsilon=1e-9)
    assert np.allclose(fraction_of(short), instance.users.anchor, rtol=1e-12)
    assert (short.objective or 0.0) < whole - 1.0
    finer = solve_bisection(instance, limits=Limits(), tolerance="absolute", epsilon=1e-12).objective or 0.0
    assert finer < whole - 1e-4


def test_infeasible_slot_gets_equalised_bytes() -> None:
    """Where not every user fits at its anchor, Algorithm 1 equalises bytes (its line 4)."""
    instance = class_slot("tight", [0, 1, 2], [0.0, 0.0, 0.0], 1e9)
    sent = fraction_of(solve_bisection(instance, limits=Limits())) * instance.users.cache_bits
    assert np.allclose(sent, 1e9 / 3, rtol=1e-12)


@pytest.mark.parametrize("name", ANSWERED)
def test_convex_programme_confirms_the_optimum(name: str) -> None:
    """The refined linear programmes end within 3·10⁻⁹ a user of the stored optimum, from below."""
    pytest.importorskip("cvxpy")
    instance = slot_of(SLOTS[name]["instance"])
    result = solve_convex(instance, limits=Limits())
    answer = SLOTS[name]["answer"]["objective"]
    assert answer - 3e-9 * len(instance.users) <= (result.objective or 0.0) <= answer + 1e-12
    assert (result.objective or 0.0) + result.certificate["gap"] >= answer - 1e-9
    assert isinstance(result.decision, Allocation)
    assert evaluate_slot(instance, result.decision).feasible


@pytest.mark.parametrize("method", [*REFERENCES, solve_convex])
def test_infeasible_slot_is_refused(method: Callable[..., Result]) -> None:
    """The methods for problem (4) refuse a slot that cannot lift everybody."""
    pytest.importorskip("cvxpy")
    with pytest.raises(InputError, match=r"found a slot of|found 1e\+09 bits"):
        method(class_slot("tight", [0, 1, 2], [0.0, 0.0, 0.0], 1e9), limits=Limits())


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tolerance": "tight"}, "tolerance: found tight, expected one of relative, absolute"),
        ({"epsilon": 0}, "epsilon: found 0, expected"),
        ({"steps": 9}, "set.steps: unknown for water-filling-bisection"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], text: str) -> None:
    """An unknown option or option value is refused by name."""
    with pytest.raises(InputError, match=text):
        solve_bisection(class_slot("one", [1], [0.0], 1e9), limits=Limits(), **options)


@njit
def plain_demand(
    cache: np.ndarray,
    floor: np.ndarray,
    ceiling: np.ndarray,
    sharpness: np.ndarray,
    anchor: np.ndarray,
    price: float,
) -> float:
    """Return the aggregate demand g at a price as (12) is printed."""
    total = 0.0
    for i in range(len(cache)):
        ratio = ceiling[i] * sharpness[i] / (2.0 * cache[i] * price)
        y = anchor[i] + math.sqrt(ratio ** (2.0 / 3.0) - 1.0) / sharpness[i] if ratio > 1.0 else floor[i]
        total += cache[i] * (min(1.0, max(floor[i], y)) - floor[i])
    return total


def spread_slot(n: int, rng: np.random.Generator) -> SlotInstance:
    """Return a slot of ``n`` users who all differ, with a third of what they need beyond their anchors."""
    drawn = generate("slot-importance", users=n, seed=1)
    assert isinstance(drawn, SlotInstance)
    sharpness = drawn.users.sharpness * rng.uniform(0.7, 1.4, n)
    anchor = drawn.users.anchor * rng.uniform(0.8, 1.2, n)
    users = replace(drawn.users, sharpness=sharpness, anchor=anchor)
    floor = np.maximum(users.received, anchor)
    bits = float(np.sum(users.cache_bits * (0.7 * floor + 0.3 - users.received)))
    return replace(drawn, slot_s=1.0, bandwidth_bps=bits, users=users)


def cpu_seconds(function: Callable[[], Any], rounds: int) -> float:
    """Return the least processor time of a call."""
    function()
    times = []
    for _ in range(rounds):
        begun = time.process_time_ns()
        function()
        times.append((time.process_time_ns() - begun) * 1e-9)
    return min(times)


def test_time_is_a_few_demands_and_grows_linearly() -> None:
    """An answer with price and gap takes at most 12 demands as printed, 10³ … 10⁵ users, and grows linearly.

    Where the machine is disturbed, a quiet round of three decides.
    """
    rng = np.random.default_rng(3)

    def measured() -> tuple[float, float]:
        ratios, seconds = [], []
        for n in (1000, 10_000, 100_000):
            instance = spread_slot(n, rng)
            users = instance.users
            floor = np.maximum(users.received, users.anchor)
            curve = (users.cache_bits, floor, users.ceiling, users.sharpness, users.anchor)
            price = solve_water_filling(instance, limits=Limits()).certificate["price_per_bit"]
            whole = cpu_seconds(partial(solve_water_filling, instance, limits=Limits()), 7)
            once = cpu_seconds(partial(plain_demand, *curve, price), 7)
            ratios.append(whole / once)
            seconds.append(whole)
        return max(ratios), math.log(seconds[2] / seconds[0]) / math.log(100.0)

    rounds = [measured() for _ in range(3)]
    assert min(ratio for ratio, _ in rounds) <= 12.0
    assert statistics.median_low([growth for _, growth in rounds]) <= 1.15
