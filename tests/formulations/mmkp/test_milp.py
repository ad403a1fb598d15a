"""The mixed-integer programme."""

from __future__ import annotations

import highspy
import numpy as np
import pulp
import pytest

from formulations.mmkp.evaluate import evaluate_mmkp
from formulations.mmkp.exact.milp import solve_milp
from formulations.result import BoundKind, Limits, Status, Stopped
from instances.decisions import Choice
from instances.errors import InputError
from instances.importers.khan import read_khan
from instances.mmkp import MmkpInstance
from tests.formulations.mmkp.random_instances import brute_force, random_instance
from tests.instances.importers.sample_files import own, public

OPTIMA = {"I01": 173.0, "I02": 364.0, "I03": 1602.0, "I05": 3905.7, "I06": 4799.3}
SEEDS = range(30)


def small(values: list[float], weights: list[float], capacity: float, start: list[int]) -> MmkpInstance:
    """Return an instance with one resource."""
    return MmkpInstance(
        "small", np.array([capacity]), np.array(start), np.array(values), np.array(weights)[:, None]
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_equals_brute_force(seed: int) -> None:
    """On tiny instances, with whole numbers or decimals, the optimum is that of trying every choice."""
    instance = random_instance(seed, digits=seed % 3)
    best = brute_force(instance)
    result = solve_milp(instance, limits=Limits())
    if best is None:
        assert result.status is Status.INFEASIBLE
        assert result.decision is None
        return
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == float(best)
    assert result.bound_kind is BoundKind.MILP_DUAL
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert (verdict.feasible, verdict.objective) == (True, float(best))


def test_brute_force_covers_both_cases() -> None:
    """The random instances hold feasible and infeasible ones."""
    infeasible = sum(brute_force(random_instance(seed, digits=seed % 3)) is None for seed in SEEDS)
    assert 3 <= infeasible <= 15


@pytest.mark.parametrize("name", OPTIMA)
def test_public_optima(name: str) -> None:
    """The public instances' optima are proved, to the last decimal."""
    result = solve_milp(read_khan(public(f"mmkp/khan/{name}")), limits=Limits())
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == OPTIMA[name]


def test_no_point_in_time_is_not_infeasible() -> None:
    """Stopped by time without a point the status is unknown, not infeasible."""
    result = solve_milp(read_khan(own("mmkp/tiny")), limits=Limits(time_s=0))
    assert (result.status, result.stopped) == (Status.UNKNOWN, Stopped.TIME)
    assert result.decision is None


def test_node_limit_with_a_point_is_feasible() -> None:
    """Stopped by nodes with a point the status is feasible, with a bound above the value."""
    instance = random_instance(4, groups=12, largest=8, resources=6)
    result = solve_milp(instance, limits=Limits(nodes=1))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.NODES)
    assert result.objective is not None
    assert result.bound is not None
    assert result.objective < result.bound
    assert isinstance(result.decision, Choice)
    assert evaluate_mmkp(instance, result.decision).objective == result.objective


def test_bound_is_a_multiple_of_the_granularity() -> None:
    """A bound is rounded down to what values can sum to, here to halves."""
    instance = random_instance(4, groups=12, largest=8, resources=6)
    halves = MmkpInstance(
        "halves", instance.capacities, instance.group_start, instance.values / 2, instance.weights
    )
    bound = solve_milp(halves, limits=Limits(nodes=1)).bound
    assert bound is not None
    assert (2 * bound).is_integer()


def test_tiny_weights_are_not_within_a_tolerance() -> None:
    """Weights below the solver's feasibility tolerance still count."""
    instance = small([1, 2, 1, 2], [0, 4e-8, 0, 4e-8], 7e-8, [0, 2, 4])
    result = solve_milp(instance, limits=Limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, 3.0)


def test_tiny_values_are_not_within_the_gap() -> None:
    """Differences of value below the solver's gap still count."""
    result = solve_milp(small([1e-9, 2e-9, 1.0], [1, 1, 1], 2, [0, 2, 3]), limits=Limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, 1.000000002)


def test_unsafe_rounding_claims_no_optimum() -> None:
    """Where doubles cannot tell totals apart, the point is called feasible and the bound holds."""
    result = solve_milp(small([1e15, 1e-3, 0.1 + 0.2], [1e-9, 1, 0.1], 1, [0, 2, 3]), limits=Limits())
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.GAP)
    assert result.bound is not None
    assert result.objective is not None
    assert result.bound >= result.objective


def test_wide_decimals_are_rechecked() -> None:
    """A point that exceeds a capacity by less than a double can tell is not claimed to be feasible."""
    result = solve_milp(small([5, 7], [1e15 - 0.5, 1e-9], 1e15 - 0.5, [0, 1, 2]), limits=Limits())
    assert (result.status, result.decision) == (Status.UNKNOWN, None)
    assert result.message == "the solver's point exceeds a capacity when re-checked in integers"


def test_wide_decimals_keep_feasible_points() -> None:
    """A resource whose units no double counts loses no feasible point."""
    instance = small([5, 7, 1], [1e15, 1e14 + 0.25, 1e-9], 1e14 + 0.5, [0, 2, 3])
    assert solve_milp(instance, limits=Limits()).objective == 8


def test_no_groups_and_no_resources() -> None:
    """Without groups the empty choice is optimal, without resources the best items are."""
    empty = MmkpInstance("empty", np.ones(1), np.array([0]), np.array([]), np.empty((0, 1)))
    assert solve_milp(empty, limits=Limits()).status is Status.OPTIMAL
    free = MmkpInstance("free", np.array([]), np.array([0, 2]), np.array([1.0, 2.0]), np.empty((2, 0)))
    assert solve_milp(free, limits=Limits()).objective == 2


def test_values_of_zero() -> None:
    """An optimum of 0 is an optimum."""
    result = solve_milp(small([0, 0], [1, 0], 0, [0, 2]), limits=Limits())
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0.0, 0.0)


def test_relabelling_groups_changes_nothing() -> None:
    """The optimum does not depend on the order of the groups."""
    instance = random_instance(3, groups=8, largest=5)
    sizes = np.diff(instance.group_start)
    order = np.arange(instance.n_groups)[::-1]
    items = np.concatenate([np.arange(instance.group_start[g], instance.group_start[g + 1]) for g in order])
    start = np.concatenate(([0], np.cumsum(sizes[order])))
    turned = MmkpInstance(
        "turned", instance.capacities, start, instance.values[items], instance.weights[items]
    )
    first, second = (solve_milp(i, limits=Limits()) for i in (instance, turned))
    assert first.status is Status.OPTIMAL
    assert (first.status, first.objective) == (second.status, second.objective)


def test_earlier_threads_do_not_disturb() -> None:
    """A solve with more threads earlier in the process leaves this one as it is."""
    problem = pulp.LpProblem("other", pulp.LpMaximize)
    rng = np.random.Generator(np.random.PCG64(1))
    x = [problem.add_variable(f"x{i}", cat=pulp.LpBinary) for i in range(30)]
    problem += pulp.lpSum(int(c) * v for c, v in zip(rng.integers(1, 50, 30), x, strict=True))
    for _ in range(5):
        problem += pulp.lpSum(int(c) * v for c, v in zip(rng.integers(1, 50, 30), x, strict=True)) <= 300
    highspy.Highs.resetGlobalScheduler(True)
    problem.solve(pulp.HiGHS(msg=False, threads=2))
    assert solve_milp(read_khan(own("mmkp/tiny")), limits=Limits()).objective == 11


@pytest.mark.filterwarnings("ignore:PULP_CBC_CMD is deprecated")
@pytest.mark.parametrize("seed", range(5))
def test_another_solver_agrees(seed: int) -> None:
    """PuLP's CBC, where it is installed, finds the same optimum or infeasibility."""
    if not pulp.getSolver("PULP_CBC_CMD", msg=False).available():
        pytest.skip("PuLP brings no CBC on this platform")
    instance = random_instance(seed, digits=1)
    first, second = (solve_milp(instance, limits=Limits(), solver=name) for name in ("HiGHS", "PULP_CBC_CMD"))
    assert (first.status, first.objective, first.bound) == (second.status, second.objective, second.bound)


def test_solver_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A solver that PuLP knows but does not find is skipped, with how to install it."""
    monkeypatch.setattr("pulp.SCIP_CMD.available", lambda self: False)
    result = solve_milp(read_khan(own("mmkp/tiny")), limits=Limits(), solver="SCIP_CMD")
    assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
    assert "SCIP_CMD is not installed: install" in result.message


def test_unknown_solver() -> None:
    """A solver that PuLP does not know is an input error."""
    with pytest.raises(InputError, match=r"solver: found SKIP, expected one of .*HiGHS"):
        solve_milp(read_khan(own("mmkp/tiny")), limits=Limits(), solver="SKIP")
