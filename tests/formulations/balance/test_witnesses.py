"""Exact methods as each other's witnesses, on small instances of every kind and on larger ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from bench.registry import METHODS, resolve
from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact import cp_sat
from formulations.result import Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.generate import generate
from tests.formulations.balance.cases import random_instances

WITNESSES = ("exhaustive", "exhaustive-naive", "exact", "milp", "milp-highs")
NO_LIMITS = Limits()


def solved(method: str, instance: BalanceInstance, limits: Limits = NO_LIMITS) -> Result:
    """Return a registered method's claim."""
    result: Result = resolve(METHODS["balance", method].function)(instance, limits=limits, seed=0)
    return result


def assert_agree(instance: BalanceInstance, methods: tuple[str, ...]) -> Result:
    """Assert that all prove the same optimum, each with a decision that the checker accepts."""
    results = {method: solved(method, instance) for method in methods}
    assert len({(r.status, r.objective, r.bound) for r in results.values()}) == 1, (instance.name, results)
    for method, result in results.items():
        if result.status is Status.INFEASIBLE:
            continue
        assert result.status is Status.OPTIMAL
        verdict = evaluate_balance(instance, result.decision)
        assert verdict.feasible, (instance.name, method, verdict.message)
        assert verdict.objective == result.objective == result.bound
    return results[methods[0]]


def with_users(instance: BalanceInstance, **columns: np.ndarray) -> BalanceInstance:
    """Return the instance with some of its users' columns changed."""
    return replace(instance, users=replace(instance.users, **columns))


def tied(seed: int) -> BalanceInstance:
    """Return users with few different token counts, acceptances and deadlines, so that all sums tie."""
    instance = generate("physical-fig4-q14" if seed % 2 else "calibrated-fig4", users=8, seed=seed)
    users, half = instance.users, np.arange(8) % 2
    return with_users(
        instance,
        input_tokens=np.where(half, 100, 300),
        output_tokens=np.where(np.arange(8) % 3, 40, 80),
        deadline_s=np.where(half, 2.0, 3.5),
        acceptance=np.where(half, 0.6, 0.8),
        upload_s=np.full(8, float(users.upload_s[0])),
        download_s=np.zeros(8),
    )


def alike(seed: int) -> BalanceInstance:
    """Return users that are all the first one."""
    instance = generate("physical-fig4" if seed % 2 else "calibrated-fig4", users=7, seed=seed)
    columns = {key: np.repeat(getattr(instance.users, key)[:1], 7) for key in vars(instance.users)}
    return with_users(instance, **columns)


def hopeless(seed: int) -> BalanceInstance:
    """Return users of whom nobody can be served: not even one alone is in time."""
    instance = generate("calibrated-fig4", users=6, seed=seed)
    return with_users(instance, deadline_s=0.03 * np.arange(6) / 6)


def easy(seed: int) -> BalanceInstance:
    """Return users with time enough for all."""
    instance = generate("calibrated-fig4", users=6, seed=seed)
    return with_users(instance, deadline_s=np.full(6, 60.0))


def alone(seed: int) -> BalanceInstance:
    """Return one user."""
    return generate(("unit-random", "physical-fig4-q12.6", "calibrated-upload")[seed % 3], users=1, seed=seed)


SPECIAL: dict[str, Callable[[int], BalanceInstance]] = {
    "tied": tied,
    "alike": alike,
    "hopeless": hopeless,
    "easy": easy,
    "alone": alone,
}


def small_instances(count: int) -> Iterator[BalanceInstance]:
    """Yield ``count`` instances of at most 9 users: families and unit networks, and in turn a special one."""
    kinds = list(SPECIAL.values())
    ordinary = random_instances(count, 9)
    for i in range(count):
        yield kinds[(i // 4) % len(kinds)](i) if i % 4 == 3 else next(ordinary)


def test_exact_methods_agree(counted: Callable[[int], int]) -> None:
    """All exact methods prove the same optimum, on instances of every kind."""
    for instance in small_instances(counted(240)):
        assert_agree(instance, WITNESSES)


@pytest.mark.parametrize("kind", SPECIAL)
def test_special_instances_are_what_they_are_called(kind: str) -> None:
    """Nobody of the hopeless is served and everybody of the easy; of users alike, some but not all."""
    instance = SPECIAL[kind](2)
    served = assert_agree(instance, ("exhaustive", "milp-highs")).objective
    expected = {"hopeless": 0, "easy": instance.n_users, "alone": served}
    if kind in expected:
        assert served == expected[kind]
    else:
        assert served is not None
        assert 0 < served < instance.n_users


def installed(*methods: str) -> tuple[str, ...]:
    """Return the methods if all of them can run, else skip the test."""
    tiny = generate("unit-random", users=2)
    for method in methods:
        if solved(method, tiny).status is Status.SKIPPED:
            pytest.skip(f"{method} cannot run here")
    return methods


LARGER = [("calibrated-fig4", 30, seed) for seed in range(10)]
LARGER += [("physical-fig4", 14, seed) for seed in range(10)]


@pytest.mark.full
@pytest.mark.parametrize(("family", "users", "seed"), LARGER)
def test_larger_optima_have_two_witnesses(family: str, users: int, seed: int) -> None:
    """Branch and bound and CP-SAT prove the same optimum where enumeration cannot go."""
    assert_agree(generate(family, users=users, seed=seed), installed("exact", "cp-sat"))


def test_cp_sat_agrees_on_small_instances(counted: Callable[[int], int]) -> None:
    """CP-SAT proves the optimum of the enumeration on instances of every kind."""
    methods = ("exhaustive", *installed("cp-sat"))
    for instance in small_instances(counted(240)):
        assert_agree(instance, methods)


@pytest.mark.parametrize("units", [2**12, 2**20, 2**30])
def test_cp_sat_is_right_whatever_its_units(units: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Coarse units are repaired, and fine ones are not beyond what its presolve bears."""
    methods = installed("exact", "cp-sat")
    monkeypatch.setattr(cp_sat, "UNITS", units)
    for family, users, seed in (
        ("calibrated-fig4", 30, 0),
        ("calibrated-fig4", 30, 1),
        ("unit-random", 8, 3),
    ):
        assert_agree(generate(family, users=users, seed=seed), methods)


def test_cp_sat_that_is_missing_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-Tools the run is skipped, and the message says how to install it."""
    monkeypatch.setitem(sys.modules, "ortools", None)
    monkeypatch.setitem(sys.modules, "ortools.sat.python.cp_model", None)
    result = solved("cp-sat", generate("unit-random", users=3))
    assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
    assert "pip install ortools" in result.message


@pytest.mark.parametrize("method", ["milp", "milp-highs", "cp-sat"])
def test_node_limit_leaves_a_valid_bound(method: str) -> None:
    """Stopped by nodes, twice alike, a solver claims a decision below a bound that the optimum keeps."""
    installed(method)
    instance = generate("physical-fig4-q14", users=9, seed=4)
    optimum = solved("exhaustive", instance).objective
    first, second = (solved(method, instance, Limits(nodes=1)) for _ in range(2))
    assert (first.status, first.objective, first.bound) == (second.status, second.objective, second.bound)
    assert first.objective is not None
    assert first.bound is not None
    assert optimum is not None
    assert first.objective <= optimum <= first.bound
    assert first.status is Status.OPTIMAL or first.stopped is Stopped.NODES


@pytest.mark.parametrize(
    ("method", "n"), [("milp-highs", 2), ("milp-highs", 10), ("exact", 5), ("exact", 20)]
)
def test_algorithm_3_serves_half_of_the_tie_break_proof_family(method: str, n: int) -> None:
    """Algorithm 3 serves n + 1 of the optimal 2n + 1 users, however ties are broken."""
    assert_half_is_served(method, n)


@pytest.mark.full
@pytest.mark.parametrize("n", range(1, 51))
def test_algorithm_3_serves_half_at_every_n(n: int) -> None:
    """Likewise for every n up to 50, with the optimum of branch and bound."""
    assert_half_is_served("exact", n)


def assert_half_is_served(method: str, n: int) -> None:
    """Assert the family's two values."""
    instance = generate("tie-proof", users=2 * n + 1)
    assert assert_agree(instance, (method,)).objective == 2 * n + 1
    for heuristic in ("hybrid", "hybrid-own"):
        assert solved(heuristic, instance).objective == n + 1
