"""Claims about the independent evaluators."""

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from formulations.evaluation import Evaluation
from formulations.handover.evaluate import evaluate_horizon, evaluate_slot
from formulations.handover.simulate import solve_policy
from formulations.handover.utility import values
from formulations.result import Limits
from instances.decisions import Allocation, Schedule
from instances.handover import (
    UTILITIES,
    HandoverTrace,
    HandoverUsers,
    SlotInstance,
    SlotUsers,
    as_decimal,
)
from tests.formulations.handover.cases import class_slot, random_trace

LENGTH = 9663676416.0  # bits of an 8192-token cache


def check(y: list[float], received: list[float], capacity: float) -> Evaluation:
    """Evaluate an allocation of 8192-token users."""
    return evaluate_slot(class_slot("a", [1] * len(received), received, capacity), Allocation(np.array(y)))


def horizon(n: int = 2) -> HandoverTrace:
    """Return a horizon of 8192-token users who arrive at 0, with slots of 10⁹ bits and windows of 3 slots."""
    users = HandoverUsers(
        np.zeros(n),
        np.full(n, 8192),
        np.full(n, LENGTH),
        np.full(n, 0.9),
        np.full(n, 34.0),
        np.full(n, 0.066),
    )
    return HandoverTrace("a", "algebraic", 0.1, 3, 1e10, 1.0, users)


def sent(*entries: tuple[int, int, float]) -> Schedule:
    """Return a schedule of (user, slot, bits)."""
    user, slot, bits = zip(*entries, strict=True) if entries else ((), (), ())
    return Schedule(np.array(user, dtype=int), np.array(slot, dtype=int), np.array(bits, dtype=float))


@pytest.mark.parametrize("utility", UTILITIES)
def test_objective_agrees_with_the_methods_formula(utility: str) -> None:
    """Both witnesses of A agree within rounding, and the evaluator's ball is far narrower than a double."""
    rng = np.random.default_rng(1)
    n = 50
    users = SlotUsers(
        np.full(n, 1e9), np.zeros(n), rng.uniform(0, 1, n), 10 ** rng.uniform(-6, 4, n), rng.uniform(0, 1, n)
    )
    y = rng.uniform(0, 1, n)
    verdict = evaluate_slot(SlotInstance("a", utility, 1.0, 1e12, users), Allocation(y))
    total = math.fsum(values(utility, users.ceiling, users.sharpness, users.anchor, y))
    assert math.isclose(verdict.objective, total, rel_tol=1e-14)
    assert verdict.details["radius"] < 1e-40


def test_slot_over_budget_by_a_billionth_is_refused() -> None:
    """A budget exceeded by 10⁻⁹ is refused and the row named; 10⁻¹³ is not."""
    y = [0.2, 0.3]
    exact = 0.5 * LENGTH
    refused = check(y, [0.0, 0.0], exact * (1 - 1e-9))
    assert not refused.feasible
    assert refused.message.startswith("budget: ")
    assert refused.violation == pytest.approx(1e-9, rel=1e-6)
    assert check(y, [0.0, 0.0], exact * (1 - 1e-13)).feasible


def test_slot_budget_may_round_by_an_ulp_of_each_fraction() -> None:
    """With a budget of one bit, fractions that round up by an ulp are accepted."""
    exact = Fraction("0.2") + 1 / Fraction(LENGTH)
    y = float(exact)
    above = y if as_decimal(y) >= exact else math.nextafter(y, 1.0)
    assert check([above], [0.2], 1.0).feasible
    assert not check([above + 1e-15], [0.2], 1.0).feasible


def test_slot_fraction_below_received_is_refused() -> None:
    """A fraction below what was received is refused."""
    verdict = check([0.1, 0.3], [0.0, 0.3000001], 1e12)
    assert not verdict.feasible
    assert verdict.message == "user 1: fraction 0.3 is below the received 0.3000001"


def test_lifted_says_whether_all_reach_their_anchor() -> None:
    """``lifted`` is reported beside the verdict and doesn't change it."""
    assert check([0.066], [0.0], 1e10).details["lifted"]
    below = check([0.0659999], [0.0], 1e10)
    assert below.feasible
    assert not below.details["lifted"]


def test_allocation_of_wrong_length_is_infeasible() -> None:
    """An allocation of the wrong length is infeasible, not an exception."""
    verdict = check([0.1], [0.0, 0.0], 1e10)
    assert not verdict.feasible
    assert verdict.message == "fraction: found 1 entries, expected 2, one a user"


def test_empty_schedule_counts_every_user_at_zero() -> None:
    """Users who are sent nothing count A(0)."""
    verdict = evaluate_horizon(horizon(3), sent())
    assert verdict.feasible
    assert verdict.objective == pytest.approx(3 * 0.45 * (1 - 2.244 / math.sqrt(1 + 2.244**2)), rel=1e-13)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([(0, 0, 1e8)], "user 0: slot 0 is outside its window of slots 1 to 3"),
        ([(1, 4, 1e8)], "user 1: slot 4 is outside its window of slots 1 to 3"),
        ([(0, 1, 6e8), (1, 1, 4.00000001e8)], "slot 1: 1000000001.0 bits sent, 1000000000.0 carried"),
    ],
)
def test_infeasible_schedule_is_refused(entries: list[tuple[int, int, float]], text: str) -> None:
    """Bits outside a window and a slot over its budget by 10⁻⁹ are refused with their row."""
    verdict = evaluate_horizon(horizon(), sent(*entries))
    assert not verdict.feasible
    assert verdict.message == text
    assert verdict.violation > 0


def test_slot_within_rounding_is_accepted() -> None:
    """A slot over its budget by 10⁻¹³ is accepted, and the excess still reported."""
    verdict = evaluate_horizon(horizon(), sent((0, 1, 6e8), (1, 1, 4e8 + 1e-4)))
    assert verdict.feasible
    assert verdict.violation == pytest.approx(1e-13, rel=1e-3)


def test_more_than_the_cache_is_refused() -> None:
    """A user who is sent more than its cache is refused, and counts A(1) only."""
    users = horizon(1).users
    small = {key: getattr(users, key) for key in users.__dataclass_fields__} | {"cache_bits": [1.5e9]}
    instance = HandoverTrace("a", "algebraic", 0.1, 3, 1e10, 1.0, HandoverUsers(**small))
    verdict = evaluate_horizon(instance, sent((0, 1, 1e9), (0, 2, 5.00000002e8)))
    assert not verdict.feasible
    assert verdict.message == "user 0: 1500000002.0 bits sent, its cache has 1500000000.0"
    full = evaluate_horizon(instance, sent((0, 1, 1e9), (0, 2, 5e8)))
    assert full.feasible
    assert verdict.objective == full.objective


def test_unknown_user_is_infeasible() -> None:
    """A schedule that names a user who does not exist is infeasible, not an exception."""
    verdict = evaluate_horizon(horizon(2), sent((2, 1, 1.0)))
    assert not verdict.feasible
    assert verdict.message == "schedule: found user 2, expected 0 to 1"


def test_decimals_are_exact() -> None:
    """Ten times 0.1 of the capacity fill the slot exactly, although doubles add up to less."""
    instance = horizon(10)
    verdict = evaluate_horizon(instance, sent(*((i, 1, 1e8) for i in range(10))))
    assert verdict.violation == 0.0


def test_evaluator_imports_no_method() -> None:
    """Importing the evaluator and the verifier loads neither numba, a solver nor a method."""
    code = (
        "import sys, formulations.handover.evaluate, formulations.handover.verify;"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('numba', 'pulp', 'highspy', 'networkx')"
        " or m.startswith(('formulations.handover.slot', 'formulations.handover.horizon'))"
        " or m == 'formulations.handover.utility']; assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_methods_import_no_evaluator() -> None:
    """Importing the policies loads neither a solver nor the evaluator."""
    code = (
        "import sys, formulations.handover.simulate;"
        "bad = [m for m in sys.modules if m.split('.')[0] in ('pulp', 'highspy', 'flint', 'cvxpy')"
        " or m in ('formulations.handover.evaluate', 'formulations.handover.verify')]; assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_large_schedule_is_checked_whole() -> None:
    """In a schedule of 800 users a single entry that is too large is found."""
    instance = random_trace(np.random.default_rng(2), 800, 100.0)
    schedule = solve_policy(instance, limits=Limits(), policy="equal").decision
    assert isinstance(schedule, Schedule)
    assert evaluate_horizon(instance, schedule).feasible
    bits = schedule.bits.copy()
    bits[-1] += 2e9
    assert not evaluate_horizon(instance, Schedule(schedule.user, schedule.slot, bits)).feasible
