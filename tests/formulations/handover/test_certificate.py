"""Claims about slot prices as bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest

from formulations.handover.horizon.certificate import price_bound
from formulations.handover.simulate import POLICIES, solve_policy
from formulations.handover.utility import values
from formulations.handover.verify import verified_bound, verified_slot_bound
from formulations.result import Limits
from instances.errors import InputError
from instances.handover import UTILITIES, HandoverTrace, SlotInstance, SlotUsers
from tests.formulations.handover.cases import TRACES, random_trace, trace_of


def random_prices(rng: np.random.Generator, slots: int) -> dict[int | str, float]:
    """Return prices of some slots over the whole range that matters, zeros among them."""
    prices = 10.0 ** rng.uniform(-16, -8) * rng.uniform(0, 2, slots) * (rng.uniform(0, 1, slots) > 0.1)
    return {int(slot): float(prices[slot]) for slot in range(slots) if rng.uniform() > 0.05}


def by_grid(instance: HandoverTrace, prices: dict[int | str, float]) -> float:
    """Return the dual function with its inner maxima over a grid: a lower estimate of the bound."""
    users, (first, end) = instance.users, instance.windows()
    grid = np.linspace(0.0, 1.0, 20001)
    total = instance.capacity_bits * math.fsum(prices.values())
    for i in range(len(users)):
        lowest = min(prices.get(t, 0.0) for t in range(first[i], end[i]))
        curve = [np.full(len(grid), column[i]) for column in (users.ceiling, users.sharpness, users.anchor)]
        gains = values(instance.utility, *curve, grid)
        total += float(np.max(gains - users.cache_bits[i] * lowest * grid))
    return total


@pytest.mark.parametrize("utility", UTILITIES)
def test_bound_is_the_dual_function(utility: str) -> None:
    """The bound is at least the dual function on a grid, and above it by the grid's width at most."""
    rng = np.random.default_rng(1)
    for _ in range(15):
        instance = random_trace(rng, 6, 1.0, utility)
        prices = random_prices(rng, 20)
        found, grid = price_bound(instance, prices), by_grid(instance, prices)
        assert grid - 1e-12 * grid <= found <= grid + 1e-5


@pytest.mark.parametrize("utility", UTILITIES)
def test_verified_bound_is_just_above_the_float_one(utility: str) -> None:
    """The verified bound is at least the float one up to rounding, and no more than rounding above it."""
    rng = np.random.default_rng(2)
    for window in (5, None, 1):
        for _ in range(8):
            instance = random_trace(rng, 12, 2.0, utility, window)
            prices = random_prices(rng, 30)
            found, verified = price_bound(instance, prices), verified_bound(instance, prices)
            assert math.isclose(verified, found, rel_tol=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_beats_any_prices(policy: str) -> None:
    """Whatever the prices, no policy's schedule is worth more than the verified bound."""
    rng = np.random.default_rng(3)
    for utility in UTILITIES:
        instance = random_trace(rng, 30, 3.0, utility)
        objective = solve_policy(instance, limits=Limits(), policy=policy).objective or 0.0
        for _ in range(4):
            assert verified_bound(instance, random_prices(rng, 40)) >= objective


def test_without_prices_the_bound_is_the_ceiling() -> None:
    """Free slots bound the sum by Σ A_i(1)."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    users = instance.users
    ceiling = math.fsum(
        values("algebraic", users.ceiling, users.sharpness, users.anchor, np.ones(len(users)))
    )
    assert price_bound(instance, {}) == pytest.approx(ceiling, rel=1e-15)
    assert ceiling <= verified_bound(instance, {}) <= ceiling * (1 + 1e-14)


def test_slots_may_be_written_as_text() -> None:
    """Prices read back from JSON, with text keys, give the same bounds."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    prices: dict[int | str, float] = {t: 1e-12 for t in range(100)}
    text: dict[int | str, float] = {str(t): 1e-12 for t in range(100)}
    assert price_bound(instance, text) == price_bound(instance, prices)
    assert verified_bound(instance, text) == verified_bound(instance, prices)


def test_price_at_the_steepest_slope_is_accepted() -> None:
    """A price equal to a user's largest slope, where the stationary point meets the anchor, is no trap."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    users = instance.users
    price = float(users.ceiling[0] * users.sharpness[0] / 2 / users.cache_bits[0])
    for factor in (1 - 1e-15, 1.0, 1 + 1e-15):
        prices: dict[int | str, float] = {t: price * factor for t in range(110)}
        assert math.isclose(verified_bound(instance, prices), price_bound(instance, prices), rel_tol=1e-12)


@pytest.mark.parametrize(("utility", "divisor"), [("algebraic", 2), ("logistic", 4)])
def test_price_of_a_peak_to_the_last_digit_bounds_the_slot(utility: str, divisor: int) -> None:
    """At a price that is exactly the largest slope the best fraction is the anchor: θ C + A(τ) − θ L τ."""
    users = SlotUsers(*(np.array([x]) for x in (1e9, 0.0, 0.9, 50.0, 0.25)))
    instance = SlotInstance("peak", utility, 1.0, 3e8, users)
    price = Fraction(45, divisor) / 10**9
    exact = price * 3 * 10**8 + Fraction(45, 100) - price * 25 * 10**7
    assert exact <= verified_slot_bound(instance, price) <= float(exact) * (1 + 1e-15)


@pytest.mark.parametrize("bound", [price_bound, verified_bound])
@pytest.mark.parametrize(
    ("prices", "text"),
    [
        ({3: -1e-12}, r"prices\[3\]: found -1e-12, expected at least 0"),
        ({3: math.nan}, r"prices\[3\]: found nan, expected a finite number"),
    ],
)
def test_prices_below_zero_are_refused(bound: object, prices: dict[int | str, float], text: str) -> None:
    """A negative price, or one that is no number, proves nothing and is refused."""
    assert callable(bound)
    with pytest.raises(InputError, match=text):
        bound(trace_of(TRACES["rho2-importance"]["instance"]), prices)


def test_slot_that_is_no_integer_is_refused() -> None:
    """A slot that is no integer, or is listed as number and text, is refused."""
    instance = trace_of(TRACES["rho2-importance"]["instance"])
    with pytest.raises(InputError, match="prices: found slot 'a', expected an integer"):
        verified_bound(instance, {"a": 1e-12})
    with pytest.raises(InputError, match="prices: slot 3 is listed twice, expected once"):
        verified_bound(instance, {3: 1e-12, "3": 1e-12})
