"""The exact methods and bounds beside PuLP's MILP: each against another, and against trying every choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.mmkp.evaluate import evaluate_mmkp
from formulations.mmkp.exact.branch_and_bound import solve_exact
from formulations.mmkp.exact.highs import solve_milp_highs
from formulations.mmkp.exact.lp_bound import dual_bound, solve_lp_bound
from formulations.mmkp.exact.milp import solve_milp
from formulations.mmkp.verify import exact_bound, verified_bound
from formulations.result import BoundKind, Limits, Result, Status, Stopped
from instances.decisions import Choice
from instances.errors import InputError
from instances.generate import generate
from instances.importers.hiremath_hill import read_hiremath_hill
from instances.importers.khan import read_khan
from instances.importers.mmkp_text import read_mmkp
from instances.importers.published_values import Standing, read_published_values
from instances.mmkp import MmkpInstance
from tests.formulations.mmkp.random_instances import brute_force, random_instance
from tests.instances.importers.sample_files import own, public

EXACT: tuple[Callable[..., Result], ...] = (solve_exact, solve_milp_highs)
OPTIMA = {"I01": 173.0, "I02": 364.0, "I03": 1602.0, "I05": 3905.7, "I06": 4799.3}
SETS = ("TestSet1.5GP10IT5KP", "TestSet4.5GP10IT10KP", "TestSet5.10GP10IT10KP", "TestSet7.5GP10IT25KP")


@pytest.mark.parametrize("solve", EXACT)
@pytest.mark.parametrize("seed", range(30))
def test_equals_brute_force(seed: int, solve: Callable[..., Result]) -> None:
    """On tiny instances, whole numbers or decimals, the optimum is that of trying every choice."""
    instance = random_instance(seed, digits=seed % 3)
    best = brute_force(instance)
    result = solve(instance, limits=Limits())
    if best is None:
        assert (result.status, result.decision) == (Status.INFEASIBLE, None)
        return
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == float(best)
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert (verdict.feasible, verdict.objective) == (True, float(best))


@pytest.mark.parametrize("correlation", ["uncorrelated", "weakly", "strongly", "inversely"])
@pytest.mark.parametrize("shape", ["", "irregular-"])
def test_two_exact_methods_agree(correlation: str, shape: str) -> None:
    """On generated instances of every class, branch and bound and HiGHS prove the same optimum."""
    for seed in range(3):
        instance = generate(f"mmkp-{shape}{correlation}", users=7, seed=seed)
        first, second = (solve(instance, limits=Limits()) for solve in EXACT)
        assert first.status is second.status is Status.OPTIMAL
        assert first.objective == second.objective


@pytest.mark.parametrize("name", OPTIMA)
def test_public_optima(name: str) -> None:
    """Branch and bound proves Khan's small instances, to the last decimal."""
    result = solve_exact(read_khan(public(f"mmkp/khan/{name}")), limits=Limits())
    assert result.status is Status.OPTIMAL
    assert result.objective == result.bound == OPTIMA[name]


@pytest.mark.full
def test_the_hardest_small_instance() -> None:
    """Branch and bound proves I04, within thirty million nodes."""
    result = solve_exact(read_khan(public("mmkp/khan/I04")), limits=Limits(nodes=3 * 10**7))
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 3597.0, 3597.0)


@pytest.mark.parametrize("name", SETS)
def test_reported_optima_of_many_problems(name: str, counted: Callable[[int], int]) -> None:
    """Hiremath and Hill's reported optima of the small sets are optimal."""
    problems = read_hiremath_hill(public(f"mmkp/hiremath_hill/{name}.txt.gz"))
    table = read_published_values(public("mmkp/hiremath_hill_optima.csv"))
    reported = {v.instance: v for v in table}
    for instance in problems[: counted(30)]:
        result = solve_exact(instance, limits=Limits())
        assert result.status is Status.OPTIMAL
        assert result.objective == reported[instance.name].value


@pytest.mark.parametrize(
    ("name", "item", "reported", "optimum"),
    [("TestSet.150GP10IT10KP", 2, 11392, 11393), ("TestSet.300GP10IT10KP", 1, 20661, 20662)],
)
def test_reported_optima_that_are_not(name: str, item: int, reported: float, optimum: float) -> None:
    """Two reported optima are not optimal: a checked choice is worth one more, which the bound meets."""
    table = read_published_values(public("mmkp/hiremath_hill_optima.csv"))
    assert {v.instance: v.value for v in table}[f"{name}-{item}"] == reported
    instance = read_mmkp(public(f"mmkp/hiremath_hill/{name}.txt.gz"), item=item)
    result = solve_exact(instance, limits=Limits())
    assert result.status is Status.OPTIMAL
    assert isinstance(result.decision, Choice)
    verdict = evaluate_mmkp(instance, result.decision)
    assert (verdict.feasible, verdict.objective) == (True, optimum)


@pytest.mark.full
def test_all_reported_optima() -> None:
    """Each of the 310 reported optima is met or exceeded by an optimum proved in 6·10⁶ nodes."""
    folder = public("mmkp/hiremath_hill_optima.csv").parent / "hiremath_hill"
    table = read_published_values(public("mmkp/hiremath_hill_optima.csv"))
    reported = {v.instance: v.value for v in table}
    for path in sorted(folder.glob("*.gz")):
        for instance in read_hiremath_hill(path):
            result = solve_exact(instance, limits=Limits(nodes=6 * 10**6))
            assert result.objective is not None
            assert result.status is Status.OPTIMAL, instance.name
            assert result.objective >= reported[instance.name]


@pytest.mark.full
def test_no_reported_value_exceeds_a_certified_bound() -> None:
    """No value of a public table, whatever it claims to be, is above the verified LP bound."""
    table = read_published_values(public("mmkp/best_known.csv"))
    for value in table:
        folder = "khan/" if value.instance.startswith("I0") or value.instance[:2] == "I1" else "lib/"
        if value.standing is Standing.BOUND or folder == "lib/":
            continue
        instance = read_mmkp(public(f"mmkp/{folder}{value.instance}"))
        result = solve_lp_bound(instance, limits=Limits())
        assert verified_bound(instance, result.certificate["prices"]) >= value.value


@pytest.mark.parametrize("solve", EXACT)
def test_no_point_in_time_is_not_infeasible(solve: Callable[..., Result]) -> None:
    """Stopped by time at once, nothing is claimed to be infeasible or optimal."""
    instance = generate("mmkp-strongly", users=15, seed=1)
    result = solve(instance, limits=Limits(time_s=0.0))
    assert result.status in (Status.UNKNOWN, Status.FEASIBLE, Status.BOUND_ONLY)
    assert result.stopped is Stopped.TIME


@pytest.mark.parametrize("solve", EXACT)
def test_no_groups(solve: Callable[..., Result]) -> None:
    """Without groups the empty choice is optimal."""
    empty = MmkpInstance("empty", np.ones(1), np.array([0]), np.array([]), np.empty((0, 1)))
    assert solve(empty, limits=Limits()).status is Status.OPTIMAL


@pytest.mark.parametrize("solve", EXACT)
def test_no_resources(solve: Callable[..., Result]) -> None:
    """Without resources each group's best item is taken."""
    free = MmkpInstance(
        "free", np.array([]), np.array([0, 2, 3]), np.array([1.0, 2.0, 0.5]), np.empty((3, 0))
    )
    assert solve(free, limits=Limits()).objective == 2.5


def test_node_limit_is_deterministic() -> None:
    """Two searches of so many nodes are the same, and stopped by nodes they claim no optimum."""
    instance = read_khan(public("mmkp/khan/I04"))
    first, second = (solve_exact(instance, limits=Limits(nodes=20_000)) for _ in range(2))
    assert (first.status, first.stopped) == (Status.FEASIBLE, Stopped.NODES)
    assert first.counters == second.counters
    assert first.objective == second.objective
    assert first.objective is not None
    assert first.bound is not None
    assert first.objective < 3598 <= first.bound + 1


def test_totals_beyond_integers() -> None:
    """Branch and bound refuses totals that 64-bit integers do not hold; the MILP claims nothing false."""
    values = np.array([9.0, 1.0, 1.0])
    weights = np.array([[1e15], [1e-9], [0.5]])
    instance = MmkpInstance("huge", np.array([1e15]), np.array([0, 2, 3]), values, weights)
    with pytest.raises(InputError, match="values, weights: found totals above"):
        solve_exact(instance, limits=Limits())
    result = solve_milp_highs(instance, limits=Limits())
    assert result.objective in (None, 2.0)
    assert result.bound is not None
    assert result.bound >= 2


def test_infeasible_relaxation_is_no_limit() -> None:
    """Without a point in the relaxation the LP bound's status is infeasible; only a limit is one."""
    weights = np.array([[3.0], [4.0], [2.0]])
    instance = MmkpInstance("tight", np.array([4.0]), np.array([0, 2, 3]), np.ones(3), weights)
    assert brute_force(instance) is None
    result = solve_lp_bound(instance, limits=Limits(time_s=60.0))
    assert (result.status, result.stopped, result.bound) == (Status.INFEASIBLE, Stopped.DONE, None)
    large = generate("mmkp-strongly", users=1000, seed=1)
    result = solve_lp_bound(large, limits=Limits(time_s=0.0))
    assert (result.status, result.stopped) == (Status.UNKNOWN, Stopped.TIME)


@pytest.mark.parametrize("seed", range(20))
def test_lp_bound_is_a_bound_and_verified(seed: int) -> None:
    """The LP bound is at least the optimum, and two computations of it in rationals agree exactly."""
    instance = random_instance(seed, groups=6, digits=seed % 3)
    optimum, result = solve_milp(instance, limits=Limits()), solve_lp_bound(instance, limits=Limits())
    if result.status is not Status.BOUND_ONLY:
        assert result.status is optimum.status is Status.INFEASIBLE
        return
    prices = {int(k): p for k, p in result.certificate["prices"].items()}
    assert dual_bound(instance, prices) == exact_bound(instance, prices)
    assert result.bound == verified_bound(instance, prices)
    assert result.bound_kind is BoundKind.LP
    if optimum.objective is not None:
        assert optimum.objective <= result.bound


@pytest.mark.parametrize("seed", range(10))
def test_any_prices_bound(seed: int) -> None:
    """Prices that nobody optimised still bound every feasible choice."""
    instance = random_instance(seed, digits=1)
    rng = np.random.Generator(np.random.PCG64(seed))
    prices = {k: float(round(p, 3)) for k, p in enumerate(rng.random(instance.n_resources) * 20)}
    best = brute_force(instance)
    assert best is None or best <= exact_bound(instance, prices)


def test_bound_is_that_of_the_file() -> None:
    """On the public instances the certified bound is the stated upper bound, to its printed digits."""
    for name in ("I01", "I07"):
        result = solve_lp_bound(read_khan(public(f"mmkp/khan/{name}")), limits=Limits())
        assert result.bound is not None
        assert round(result.bound, 2) == {"I01": 182.71, "I07": 24607.95}[name]


def test_a_wrong_bound_is_caught() -> None:
    """A result whose bound is below what its prices prove is a lie."""
    from bench.jobs.job import Job
    from bench.jobs.run import blank_record
    from bench.jobs.sources import Generated
    from bench.jobs.verdict import enter_claim, enter_verdict

    instance = generate("mmkp-uncorrelated", users=4, seed=1)
    assert isinstance(instance, MmkpInstance)
    honest = solve_lp_bound(instance, limits=Limits())
    assert honest.bound is not None
    for bound, expected in ((honest.bound, "bound_only"), (honest.bound - 1, "inconsistent")):
        record = blank_record(Job("x", "mmkp", Generated("mmkp-uncorrelated", 4, 1), "lp-bound"))
        result = replace(honest, bound=bound)
        enter_claim(record, result)
        enter_verdict(record, instance, result)
        assert record.status == expected


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        ({2: 1.0}, "prices: found resource '2', expected 0 to 1"),
        ({"x": 1.0}, "prices: found resource 'x', expected 0 to 1"),
        ({0: -1.0}, r"prices\[0\]: found -1.0, expected at least 0"),
        ({"0": 1.0, 0: 1.0}, "prices: resource 0 is listed twice, expected once"),
    ],
)
def test_bad_prices(prices: dict[int | str, float], message: str) -> None:
    """Prices that prove nothing are refused by name."""
    with pytest.raises(InputError, match=message):
        verified_bound(read_khan(own("mmkp/tiny")), prices)


def test_bound_by_hand() -> None:
    """With prices 1 and 1/2 the small instance's bound is 6 + 5/2 + 2 + 2."""
    instance = read_khan(own("mmkp/tiny"))
    # surpluses: 1.5−1, 4−3, 6.25−5.5 and 2, 3−1.5, 7−5.5
    assert exact_bound(instance, {0: 1.0, 1: 0.5}) == Fraction(17, 2) + 1 + 2
