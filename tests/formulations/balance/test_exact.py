"""Branch and bound of BALANCE: optima, bounds under limits, and what must not change them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact import branch_and_bound
from formulations.balance.exact.branch_and_bound import solve_exact
from formulations.balance.exact.exhaustive import solve_exhaustive
from formulations.result import Limits, Status, Stopped
from instances.balance import BalanceInstance, BalanceUsers
from instances.errors import InputError
from instances.generate import generate
from instances.presets import BALANCE_CONSTANTS, BALANCE_PRESETS
from tests.formulations.balance.cases import random_instances

NO_LIMITS = Limits()
HARD = generate("physical-fig4", users=70, seed=3)  # tens of thousands of nodes


def reordered(instance: BalanceInstance, order: np.ndarray) -> BalanceInstance:
    """Return the instance with its users in another order."""
    columns = (getattr(instance.users, field)[order] for field in BalanceUsers.__dataclass_fields__)
    return replace(instance, users=BalanceUsers(*columns))


def test_optimum_is_that_of_enumeration(counted: Callable[[int], int]) -> None:
    """On random unit networks with up to 10 users it proves what enumeration finds."""
    for instance in random_instances(counted(1500), 10):
        exact, enumerated = (s(instance, limits=NO_LIMITS) for s in (solve_exact, solve_exhaustive))
        assert (exact.status, exact.objective) == (enumerated.status, enumerated.objective), instance.name
        if exact.decision is not None:
            verdict = evaluate_balance(instance, exact.decision)
            assert (verdict.feasible, verdict.objective) == (True, exact.objective), instance.name


@pytest.mark.parametrize("constants", BALANCE_CONSTANTS)
@pytest.mark.parametrize("preset", BALANCE_PRESETS)
def test_optimum_of_every_family(constants: str, preset: str, counted: Callable[[int], int]) -> None:
    """Every family of published or memory-bound settings gives the enumerated optimum, K = 1 … 12."""
    for seed in range(counted(30)):
        instance = generate(f"{constants}-{preset}", users=1 + (5 * seed + 11) % 12, seed=seed)
        exact, enumerated = (s(instance, limits=NO_LIMITS) for s in (solve_exact, solve_exhaustive))
        assert (exact.status, exact.objective) == (enumerated.status, enumerated.objective), instance.name


def test_order_of_users_does_not_matter() -> None:
    """Relabelling the users leaves the optimum as it is."""
    instance = generate("physical-fig4", users=40, seed=5)
    optimum = solve_exact(instance, limits=NO_LIMITS).objective
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(instance.n_users)
        assert solve_exact(reordered(instance, order), limits=NO_LIMITS).objective == optimum


def test_same_counters_twice() -> None:
    """Nodes and steps are the same in a second run."""
    first, second = (solve_exact(generate("physical-fig4", users=40, seed=1), limits=NO_LIMITS) for _ in "ab")
    assert first.counters == second.counters
    assert first.decision == second.decision


def test_equal_users_are_settled_at_once() -> None:
    """Thirty equal users need no more than the nodes of an easy instance."""
    instance = generate("physical-fig4", users=30, seed=2)
    result = solve_exact(reordered(instance, np.zeros(30, dtype=np.int64)), limits=Limits(nodes=2000))
    assert result.status is Status.OPTIMAL


@pytest.mark.parametrize("limits", [Limits(nodes=500), Limits(steps=5000), Limits(time_s=0.0)])
def test_limit_leaves_a_decision_and_a_bound(limits: Limits) -> None:
    """A search that a limit ends claims a feasible decision and a bound that includes the optimum."""
    optimum = solve_exact(HARD, limits=NO_LIMITS)
    assert optimum.status is Status.OPTIMAL
    result = solve_exact(HARD, limits=limits)
    assert result.status is Status.FEASIBLE
    assert result.stopped is (Stopped.NODES if limits.time_s is None else Stopped.TIME)
    assert result.bound is not None and optimum.objective is not None and result.objective is not None
    assert result.objective <= optimum.objective <= result.bound
    assert result.bound < HARD.n_users
    assert evaluate_balance(HARD, result.decision).feasible


def test_memory_leaves_a_decision_and_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search without room for more nodes claims its best decision and a bound that includes the optimum."""

    def no_room(stack: object, open_nodes: int) -> None:
        raise MemoryError

    monkeypatch.setattr(branch_and_bound, "FIRST_DEPTH", 3)
    monkeypatch.setattr(branch_and_bound, "deepened", no_room)
    result = solve_exact(HARD, limits=NO_LIMITS)
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.MEMORY)
    assert result.objective is not None and result.bound is not None
    assert result.objective <= 35 <= result.bound < HARD.n_users


@pytest.mark.parametrize("gap", [1, 3])
def test_absolute_gap_is_kept(gap: int, counted: Callable[[int], int]) -> None:
    """With an absolute gap g the bound is at most g above the decision and includes the optimum."""
    for seed in range(counted(100)):
        instance = generate("physical-fig4", users=30, seed=seed)
        optimum = solve_exact(instance, limits=NO_LIMITS).objective
        result = solve_exact(instance, limits=NO_LIMITS, absolute_gap=gap)
        assert result.objective is not None and result.bound is not None and optimum is not None
        assert result.objective <= optimum <= result.bound <= result.objective + gap
        assert result.stopped is (Stopped.DONE if result.bound == result.objective else Stopped.GAP)


@pytest.mark.parametrize("shares", [(0.0, 1.0), (0.0, 0.05, 1.0), (0.0, 0.3, 0.95, 1.0)])
def test_any_set_of_shares(shares: tuple[float, ...]) -> None:
    """Other sets of compute shares give their enumerated optimum too."""
    for instance in random_instances(20, 8):
        server = replace(instance.server, compute_shares=shares)
        changed = replace(instance, server=server)
        exact, enumerated = (s(changed, limits=NO_LIMITS) for s in (solve_exact, solve_exhaustive))
        assert (exact.status, exact.objective) == (enumerated.status, enumerated.objective), instance.name


def test_absolute_gap_is_a_number_of_users() -> None:
    """A negative or broken gap is refused with one line."""
    instance = generate("unit-random", users=3, seed=1)
    for wrong in (-1, 0.5):
        with pytest.raises(InputError, match=r"set\.absolute_gap: found "):
            solve_exact(instance, limits=NO_LIMITS, absolute_gap=wrong)  # type: ignore[arg-type]
