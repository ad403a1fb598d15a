"""HEU and the core beam search."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from formulations.mmkp.core.branch import ENTERED, FOUND, NO_LOG, VALUE, WAY, advance, new_log, new_tree
from formulations.mmkp.core.fixing import root_of, surviving_groups
from formulations.mmkp.core.prices import best_prices
from formulations.mmkp.core.subproblem import core_of
from formulations.mmkp.core.two_lists import TwoLists
from formulations.mmkp.evaluate import evaluate_mmkp
from formulations.mmkp.exact.lp_bound import solve_lp_bound
from formulations.mmkp.exact.milp import solve_milp
from formulations.mmkp.heuristics.core_beam import solve_core_beam
from formulations.mmkp.heuristics.greedy import solve_greedy
from formulations.mmkp.heuristics.heu import solve_heu
from formulations.mmkp.integers import in_integers
from formulations.result import Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.errors import InputError
from instances.generate import generate
from instances.importers.khan import read_khan, read_khan_solutions
from instances.importers.mmkp_text import read_mmkp
from instances.mmkp import MmkpInstance
from tests.formulations.mmkp.random_instances import random_instance
from tests.instances.importers.sample_files import public

HEURISTICS: tuple[Callable[..., Result], ...] = (solve_heu, solve_core_beam)


@pytest.mark.parametrize("solve", HEURISTICS)
@pytest.mark.parametrize("seed", range(20))
def test_never_above_the_optimum(seed: int, solve: Callable[..., Result]) -> None:
    """A feasible answer is worth what it claims, at most the optimum; without one nothing is claimed."""
    instance = random_instance(seed, groups=6, digits=seed % 3)
    optimum, result = solve_milp(instance, limits=Limits()), solve(instance, limits=Limits())
    if result.decision is None:
        assert result.status in (Status.UNKNOWN, Status.BOUND_ONLY)
        assert result.objective is None
        return
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert (verdict.feasible, verdict.objective) == (True, result.objective)
    assert optimum.objective is not None
    assert verdict.objective <= optimum.objective
    assert result.bound is None or result.bound >= optimum.objective


@pytest.mark.parametrize("seed", range(10))
def test_beam_finds_small_optima(seed: int) -> None:
    """Where everything fits one core and the beam, the value found is the optimum."""
    instance = random_instance(seed, groups=6)
    optimum = solve_milp(instance, limits=Limits())
    assert solve_core_beam(instance, limits=Limits()).objective == optimum.objective


@pytest.mark.parametrize("solve", HEURISTICS)
def test_steps_are_deterministic(solve: Callable[..., Result]) -> None:
    """Two runs of so many steps are the same."""
    instance = generate("mmkp-strongly", users=30, seed=2)
    first, second = (solve(instance, limits=Limits(steps=4), seed=5) for _ in range(2))
    assert first.counters == second.counters
    assert first.objective == second.objective
    assert (first.decision is None) == (second.decision is None)


def test_heu_in_the_files() -> None:
    """HEU finds its authors' solutions of three public files, and others within 2 % on average."""
    ratios = []
    for k in range(1, 14):
        path = public(f"mmkp/khan/I{k:02d}")
        listed = next(s for s in read_khan_solutions(path).solutions if s.label == "HEU")
        result = solve_heu(read_khan(path), limits=Limits())
        assert result.objective is not None
        assert isinstance(result.decision, Choice)
        ratios.append(result.objective / listed.objective)
        assert k not in (2, 5, 6) or result.decision.item.tolist() == listed.choice.item.tolist()
    assert 0.98 <= np.mean(ratios) <= 1.02


def test_beam_beats_the_greedy_heuristic() -> None:
    """A few rounds are worth more than the greedy heuristic and HEU on a large public instance."""
    instance = read_khan(public("mmkp/khan/I07"))
    result = solve_core_beam(instance, limits=Limits(steps=4))
    assert result.objective is not None
    for other in (solve_greedy, solve_heu):
        value = other(instance, limits=Limits()).objective
        assert value is not None
        assert result.objective > value
    values = [value for _, value in result.incumbents]
    assert values == sorted(values)
    assert values[-1] == result.objective


@pytest.mark.parametrize("name", ["khan/I07", "lib/mmkp_c_23.txt", "lib/mmkp_b_13.txt"])
def test_newton_bound_is_the_lp_bound(name: str) -> None:
    """The Lagrangian dual's minimum is the LP bound: without an LP solver it is met within 10⁻⁴ of itself."""
    instance = read_mmkp(public(f"mmkp/{name}"))
    problem = in_integers(instance)
    _, root = root_of(problem)
    certified = solve_lp_bound(instance, limits=Limits()).bound
    assert certified is not None
    found = float(problem.value_unit) * root.bound / root.fraction
    assert certified - 1e-6 <= found <= certified * (1 + 1e-4)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_better_is_removed(seed: int) -> None:
    """Reduced costs keep every item of some optimum above a smaller value."""
    instance = random_instance(seed, groups=6)
    optimum = solve_milp(instance, limits=Limits())
    if optimum.objective is None:
        return
    problem = in_integers(instance)
    _, root = root_of(problem)
    units = round(optimum.objective / float(problem.value_unit))
    groups = surviving_groups(problem, root, units - 1)
    assert all(len(group) for group in groups)
    core = core_of(problem, groups, problem.capacities)
    tree = new_tree(core, best_prices(core)[0], units - 1)
    assert advance(core, tree, 10**6, NO_LOG)
    assert tree.counts[FOUND]
    assert tree.counts[VALUE] == units


@pytest.mark.parametrize("seed", range(20))
def test_joined_lists_find_small_optima(seed: int) -> None:
    """Where the lists hold everything within the gap, joining them finds the optimum, and nothing above."""
    instance = random_instance(seed, groups=5 + seed % 4, digits=seed % 2)
    optimum = solve_milp(instance, limits=Limits())
    if optimum.objective is None:
        return
    problem = in_integers(instance)
    _, root = root_of(problem)
    lists, rng = TwoLists(problem, root), np.random.default_rng(seed)
    units = round(optimum.objective / float(problem.value_unit))
    chosen = lists.search(max(units // 2, units - 50), rng, math.inf)
    assert chosen is not None
    assert int(problem.values[chosen].sum()) == units
    verdict = evaluate_mmkp(instance, Choice(chosen - problem.group_start[:-1]))
    assert (verdict.feasible, verdict.objective) == (True, optimum.objective)
    assert lists.search(units, rng, math.inf) is None


@pytest.mark.parametrize("name", ["khan/I07", "lib/mmkp_c_22.txt", "lib/mmkp_b_14.txt"])
def test_joined_lists_find_better_choices(name: str) -> None:
    """Where lists hold little of what is within the gap, a pair that is found is a better choice."""
    instance = read_mmkp(public(f"mmkp/{name}"))
    problem = in_integers(instance)
    _, root = root_of(problem)
    lists, rng = TwoLists(problem, root), np.random.default_rng(0)
    value, found = root.whole - root.whole // 100, 0
    for _ in range(6):
        chosen = lists.search(value, rng, math.inf)
        if chosen is not None:
            verdict = evaluate_mmkp(instance, Choice(chosen - problem.group_start[:-1]))
            assert verdict.feasible
            assert verdict.objective > problem.value(value)
            value, found = int(problem.values[chosen].sum()), found + 1
    assert found


def test_late_prices_still_bound() -> None:
    """Prices that are out of time from the start give a bound, if a worse one."""
    instance = generate("mmkp-weakly", users=40, seed=1)
    assert isinstance(instance, MmkpInstance)
    problem = in_integers(instance)
    late, whole = root_of(problem, until=0.0)[1], root_of(problem)[1]
    certified = solve_lp_bound(instance, limits=Limits()).bound
    assert certified is not None
    assert late.bound > whole.bound
    assert float(problem.value_unit) * late.bound / late.fraction >= certified - 1e-6


def test_search_resumes() -> None:
    """A search in slices and with a log visits the nodes of one without either."""
    instance = generate("mmkp-weakly", users=8, seed=3)
    assert isinstance(instance, MmkpInstance)
    problem = in_integers(instance)
    core, root = root_of(problem)
    whole, sliced = (new_tree(core, root.prices, -1) for _ in range(2))
    assert advance(core, whole, 10**7, NO_LOG)
    log, done, cut_off = new_log(sliced, 7), False, 0
    while not done:
        done = advance(core, sliced, 7, log)
        assert log.rows[WAY] <= 7
        cut_off += int((log.way[: log.rows[WAY]] != ENTERED).sum())
        log.rows[:] = 0
    assert cut_off > 100
    assert np.array_equal(whole.counts, sliced.counts)
    assert np.array_equal(whole.best, sliced.best)


def test_time_limit_keeps_what_was_found() -> None:
    """Out of time at once, the start is the answer, with its bound."""
    result = solve_core_beam(generate("mmkp-strongly", users=30, seed=2), limits=Limits(time_s=0.0))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert result.counters["rounds"] == 0
    assert result.bound is not None


def test_bad_options() -> None:
    """Width and rounds are positive integers."""
    instance = generate("mmkp-strongly", users=3, seed=2)
    for option in ("width", "rounds"):
        with pytest.raises(InputError, match=rf"{option}: found 0, expected"):
            solve_core_beam(instance, limits=Limits(), **{option: 0})


@pytest.mark.full
def test_mean_gap_of_the_large_instances() -> None:
    """Within 60 rounds the mean gap to the LP bound on I07 to I13 is below .05 %."""
    gaps = []
    for k in range(7, 14):
        instance = read_khan(public(f"mmkp/khan/I{k:02d}"))
        result = solve_core_beam(instance, limits=Limits(steps=60))
        bound = solve_lp_bound(instance, limits=Limits()).bound
        assert result.objective is not None
        assert bound is not None
        gaps.append(1 - result.objective / bound)
    assert np.mean(gaps) < 5e-4
