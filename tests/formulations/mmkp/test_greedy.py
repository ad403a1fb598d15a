"""The greedy heuristic."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from formulations.mmkp.evaluate import evaluate_mmkp
from formulations.mmkp.exact.milp import solve_milp
from formulations.mmkp.heuristics.greedy import solve_greedy
from formulations.result import Limits, Status, Stopped
from instances.decisions import Choice
from instances.importers.khan import read_khan, read_khan_solutions
from instances.mmkp import MmkpInstance
from tests.formulations.mmkp.random_instances import random_instance
from tests.instances.importers.sample_files import public


@pytest.mark.parametrize("seed", range(20))
def test_never_above_the_optimum(seed: int) -> None:
    """A feasible answer is worth what it claims, and at most the optimum; an infeasible one is unknown."""
    instance = random_instance(seed, groups=6, digits=seed % 3)
    optimum, result = solve_milp(instance, limits=Limits()), solve_greedy(instance, limits=Limits())
    if optimum.status is Status.INFEASIBLE:
        assert result.status is Status.UNKNOWN
    if result.status is Status.UNKNOWN:
        assert (result.decision, result.objective) == (None, None)
        return
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert verdict.feasible
    assert verdict.objective == result.objective
    assert optimum.objective is not None
    assert verdict.objective <= optimum.objective


def test_mostly_finds_a_point() -> None:
    """Where a feasible point exists it is found in nine of ten small instances."""
    instances = [random_instance(seed, groups=6) for seed in range(40)]
    feasible = [i for i in instances if solve_milp(i, limits=Limits()).status is Status.OPTIMAL]
    found = [solve_greedy(i, limits=Limits()).status is Status.FEASIBLE for i in feasible]
    assert len(feasible) >= 20
    assert sum(found) >= 0.9 * len(found)


@pytest.mark.parametrize("name", ["I01", "I06", "I07", "I13"])
def test_public(name: str) -> None:
    """On the public instances a feasible choice of at least four fifths of the upper bound is found."""
    path = public(f"mmkp/khan/{name}")
    instance, bound = read_khan(path), read_khan_solutions(path).upper_bound
    result = solve_greedy(instance, limits=Limits())
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert verdict.feasible
    assert bound is not None
    assert 0.8 * bound <= verdict.objective <= bound


def test_zero_weights_are_guarded() -> None:
    """Items and capacities of zero cause no division by zero, and free value is taken."""
    instance = MmkpInstance(
        "zeros",
        np.zeros(2),
        np.array([0, 3]),
        np.array([0.0, 5.0, 9.0]),
        np.array([[0, 0], [0, 0], [0, 1.0]]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = solve_greedy(instance, limits=Limits())
    assert result.objective == 5


def test_repairs_by_exchanges() -> None:
    """A start that exceeds a capacity is exchanged away."""
    weights = np.array([[3.0, 0.0], [0.0, 4.0], [3.0, 0.0], [4.0, 0.0]])
    instance = MmkpInstance("repair", np.array([5.0, 5.0]), np.array([0, 2, 4]), np.ones(4), weights)
    result = solve_greedy(instance, limits=Limits())
    assert isinstance(result.decision, Choice)
    assert result.decision.item.tolist() == [1, 0]
    assert result.counters["exchanges"] == 1


def test_scaling_changes_nothing() -> None:
    """Another unit of value and of every resource leaves the choice as it is."""
    instance = random_instance(3, groups=8, largest=5)
    scaled = MmkpInstance(
        "scaled", instance.capacities * 64, instance.group_start, instance.values / 8, instance.weights * 64
    )
    first, second = (solve_greedy(i, limits=Limits()).decision for i in (instance, scaled))
    assert isinstance(first, Choice)
    assert isinstance(second, Choice)
    assert np.array_equal(first.item, second.item)


def test_huge_decimals_do_not_overflow() -> None:
    """Decimals beyond 64-bit integers are still summed exactly."""
    weights = np.array([[1e15], [1e-9], [0.5]])
    instance = MmkpInstance("huge", np.array([1e15]), np.array([0, 2, 3]), np.array([9.0, 1.0, 1.0]), weights)
    assert solve_greedy(instance, limits=Limits()).objective == 2


def test_step_limit_keeps_the_best_so_far() -> None:
    """A limit of steps ends it with the feasible point reached by then."""
    instance = random_instance(3, groups=8, largest=5)
    free, limited = (solve_greedy(instance, limits=Limits(steps=s)) for s in (None, 1))
    assert limited.stopped is Stopped.NODES
    assert limited.counters["exchanges"] == 1
    assert limited.objective is not None
    assert free.objective is not None
    assert limited.objective < free.objective


def test_no_groups() -> None:
    """Without groups the empty choice is worth 0."""
    empty = MmkpInstance("empty", np.ones(1), np.array([0]), np.array([]), np.empty((0, 1)))
    assert solve_greedy(empty, limits=Limits()).objective == 0
