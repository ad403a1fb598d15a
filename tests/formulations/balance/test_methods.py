"""Heuristics and exact methods of BALANCE against case files, each other, and their guarantees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from formulations.balance.costs import is_feasible, problem_of
from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact.exhaustive import solve_exhaustive, solve_exhaustive_naive
from formulations.balance.exact.milp import solve_milp
from formulations.balance.exact.milp_highs import solve_milp_highs
from formulations.balance.heuristics.best_order import solve_best_order, solve_sd_first
from formulations.balance.heuristics.equal_split import solve_ecra, solve_ecrma, solve_ema
from formulations.balance.heuristics.hybrid import solve_hybrid, solve_hybrid_own
from formulations.balance.heuristics.hybrid_literal import solve_hybrid_literal
from formulations.balance.heuristics.refined import solve_refined
from formulations.balance.heuristics.single_mode import solve_ad_only, solve_ad_only_own, solve_sd_only
from formulations.result import Limits, Result, Status, Stopped
from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.generate import generate
from tests.formulations.balance.cases import instance_of, known, random_instances, tied_instances

NO_LIMITS = Limits()
GRIDS = {"ends": (0.0, 1.0), "coarse": (0.0, 0.5, 1.0), "fine": tuple(i / 20 for i in range(21))}


def served(result: Result) -> int:
    """Return the claimed number of users served."""
    assert result.objective is not None
    return int(result.objective)


def assert_checked(instance: BalanceInstance, result: Result) -> None:
    """Assert that the checker accepts the decision and finds the claimed value."""
    verdict = evaluate_balance(instance, result.decision)
    assert verdict.feasible, verdict.message
    assert verdict.objective == result.objective


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("case", known("cases.json"), ids=lambda case: case["name"])
def test_audit_cases(case: dict, grid: str) -> None:
    """Optimum and both readings of Algorithm 3 equal the known values on three memory grids."""
    instance = instance_of(case["instance"], memory_shares=GRIDS[grid])
    answer = case["answer"]
    results = [
        (solve_exhaustive(instance, limits=NO_LIMITS), answer["optimum"]),
        (solve_exhaustive_naive(instance, limits=NO_LIMITS), answer["optimum"]),
        (solve_milp(instance, limits=NO_LIMITS), answer["optimum"]),
        (solve_milp_highs(instance, limits=NO_LIMITS), answer["optimum"]),
        (solve_hybrid(instance, limits=NO_LIMITS), answer["padded"][grid]),
        (solve_hybrid_own(instance, limits=NO_LIMITS), answer["own"][grid]),
    ]
    for result, expected in results:
        assert served(result) == expected
        assert_checked(instance, result)


@pytest.mark.parametrize("case", known("small.json"), ids=lambda case: case["instance"]["name"])
def test_small_cases(case: dict) -> None:
    """Optimum, both readings of Algorithm 3 and the single modes equal the known values."""
    instance, answer = instance_of(case["instance"]), case["answer"]
    results = {
        "hybrid_padded": solve_hybrid(instance, limits=NO_LIMITS),
        "hybrid_own": solve_hybrid_own(instance, limits=NO_LIMITS),
        "ad_only": solve_ad_only(instance, limits=NO_LIMITS),
        "ad_only_own": solve_ad_only_own(instance, limits=NO_LIMITS),
        "sd_only": solve_sd_only(instance, limits=NO_LIMITS),
    }
    for key, result in results.items():
        assert (key, served(result)) == (key, answer[key])
        assert_checked(instance, result)
    for solve in (solve_exhaustive, solve_exhaustive_naive, solve_milp, solve_milp_highs):
        result = solve(instance, limits=NO_LIMITS)
        assert (result.status, served(result), result.bound) == (
            Status.OPTIMAL,
            answer["optimum"],
            answer["optimum"],
        )
        assert_checked(instance, result)


@pytest.mark.parametrize("family", [random_instances, tied_instances], ids=lambda family: family.__name__)
def test_fast_algorithm_3_is_the_literal_one(
    family: Callable[[int, int], Iterator[BalanceInstance]], counted: Callable[[int], int]
) -> None:
    """Objective and assignment of fast and literal Algorithm 3 agree, for both readings of the memory."""
    for instance in family(counted(2400), 7):
        for memory, solve in (("padded", solve_hybrid), ("own", solve_hybrid_own)):
            fast = solve(instance, limits=NO_LIMITS)
            literal = solve_hybrid_literal(instance, limits=NO_LIMITS, memory=memory)
            assert fast.objective == literal.objective, instance.name
            assert fast.decision == literal.decision, instance.name
            assert fast.decision is None or is_feasible(problem_of(instance), fast.decision)


@pytest.mark.full
def test_fast_algorithm_3_is_the_literal_one_with_more_users() -> None:
    """They also agree at 8 to 12 users."""
    for instance in random_instances(240, 12):
        if instance.n_users >= 8:
            fast, literal = (s(instance, limits=NO_LIMITS) for s in (solve_hybrid, solve_hybrid_literal))
            assert fast.decision == literal.decision, instance.name


def test_printed_memory_of_equation_31_admits_an_infeasible_point() -> None:
    """Algorithm 2 with (31) as printed serves two users for whom (16) needs 32 of 28 bytes."""
    instance = generate("equation-31")
    result = solve_hybrid_literal(instance, limits=NO_LIMITS, memory="printed")
    assert served(result) == 2
    verdict = evaluate_balance(instance, result.decision)
    assert not verdict.feasible
    assert verdict.details["memory_bytes"] == 32


def test_unknown_memory_reading_is_refused() -> None:
    """A reading that does not exist is refused by name."""
    with pytest.raises(InputError, match="memory: found 'none', expected one of padded, own, printed"):
        solve_hybrid_literal(generate("equation-31"), limits=NO_LIMITS, memory="none")


def test_split_of_the_optimum_must_be_on_the_grid() -> None:
    """Proposition 2's witness loses a user on {0, .5, 1} and not when .3 is in the grid."""
    instance = generate("proposition-2")
    assert served(solve_hybrid_own(instance, limits=NO_LIMITS)) == 1
    finer = replace(instance, server=replace(instance.server, memory_shares=(0.0, 0.3, 1.0)))
    assert served(solve_hybrid_own(finer, limits=NO_LIMITS)) == 2


SOLVERS = [
    solve_hybrid,
    solve_hybrid_own,
    solve_hybrid_literal,
    solve_sd_first,
    solve_best_order,
    solve_refined,
    solve_ecra,
    solve_ema,
    solve_ecrma,
    solve_ad_only,
    solve_ad_only_own,
    solve_sd_only,
    solve_exhaustive,
    solve_exhaustive_naive,
    solve_milp,
    solve_milp_highs,
]


@pytest.mark.parametrize("solve", SOLVERS, ids=lambda solve: solve.__name__)
class TestEdges:
    """Instances at the edge of what is allowed."""

    def test_no_users(self, solve: Callable[..., Result]) -> None:
        """Nobody asks: nobody is served, and the decision is feasible."""
        instance = generate("physical-fig4", users=0)
        result = solve(instance, limits=NO_LIMITS)
        assert served(result) == 0
        assert_checked(instance, result)

    def test_nobody_can_be_served(self, solve: Callable[..., Result]) -> None:
        """Deadlines of zero: nobody is served, and the decision is feasible."""
        instance = generate("calibrated-fig4", users=4, seed=3)
        impossible = replace(instance, users=replace(instance.users, deadline_s=np.zeros(4)))
        result = solve(impossible, limits=NO_LIMITS)
        assert served(result) == 0
        assert_checked(impossible, result)

    def test_weights_that_fit_only_without_the_slm(self, solve: Callable[..., Result]) -> None:
        """Memory for the LLM alone: every decision is at z = 1, and feasible."""
        instance = generate("calibrated-fig4", users=4, seed=3)
        tight = replace(instance, server=replace(instance.server, memory_bytes=10_066_329_600.0))
        result = solve(tight, limits=NO_LIMITS)
        assert served(result) == 0
        assert_checked(tight, result)

    def test_weights_that_do_not_fit(self, solve: Callable[..., Result]) -> None:
        """Memory below the LLM's weights: there is no feasible decision, not even to serve nobody."""
        instance = generate("calibrated-fig4", users=4, seed=3)
        none = replace(instance, server=replace(instance.server, memory_bytes=1e9))
        result = solve(none, limits=NO_LIMITS)
        assert (result.status, result.decision) == (Status.INFEASIBLE, None)

    def test_equal_users(self, solve: Callable[..., Result]) -> None:
        """Users that are all alike are ties everywhere: the decision is feasible and as claimed."""
        instance = generate("physical-fig4", users=5, seed=2)
        alike = {k: np.repeat(getattr(instance.users, k)[:1], 5) for k in instance.users.__dataclass_fields__}
        same = replace(instance, users=replace(instance.users, **alike))
        assert_checked(same, solve(same, limits=NO_LIMITS))

    def test_relabelling_users_changes_nothing(self, solve: Callable[..., Result]) -> None:
        """The number served does not depend on the users' order."""
        instance = generate("physical-fig4-q14", users=6, seed=5)
        order = np.random.Generator(np.random.PCG64(1)).permutation(6)
        moved = {k: getattr(instance.users, k)[order] for k in instance.users.__dataclass_fields__}
        permuted = replace(instance, users=replace(instance.users, **moved))
        assert served(solve(permuted, limits=NO_LIMITS)) == served(solve(instance, limits=NO_LIMITS))

    def test_scaling_units_changes_nothing(self, solve: Callable[..., Result]) -> None:
        """Seconds in units of 1024 s and bytes in units of 1 KiB leave the decision as it is."""
        instance = generate("unit-random", users=5, seed=8)
        users = instance.users
        seconds = {k: getattr(users, k) / 1024 for k in ("deadline_s", "upload_s", "download_s")}
        slower = {}
        for key in ("llm", "slm"):
            model = getattr(instance, key)
            alpha, beta = model.seconds_per_flop / 1024, model.seconds_per_pass / 1024
            slower[key] = replace(model, seconds_per_flop=alpha, seconds_per_pass=beta)
        scaled = replace(instance, users=replace(users, **seconds), **slower)
        assert solve(scaled, limits=NO_LIMITS).objective == solve(instance, limits=NO_LIMITS).objective


@pytest.mark.parametrize("solve", [solve_exhaustive, solve_exhaustive_naive])
def test_enumeration_knows_its_limit(solve: Callable[..., Result]) -> None:
    """Too many users are refused with the largest number that can be enumerated."""
    result = solve(generate("physical-fig4", users=30), limits=NO_LIMITS)
    assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
    assert "this instance has 30" in result.message


def test_milp_keeps_its_time_limit() -> None:
    """Stopped by time, the MILP claims a feasible decision and a bound above it, not an optimum."""
    instance = generate("physical-fig4", users=25, seed=1)
    result = solve_milp(instance, limits=Limits(time_s=0.5))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.TIME)
    assert result.bound is not None
    assert result.bound > served(result)
    assert_checked(instance, result)


def test_milp_says_which_solver_is_missing() -> None:
    """A solver of PuLP's that isn't installed is skipped, and one it doesn't know is refused."""
    instance = generate("theorem-1")
    result = solve_milp(instance, limits=NO_LIMITS, solver="MIPCL_CMD")
    assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
    assert "MIPCL_CMD is not installed: install" in result.message
    with pytest.raises(InputError, match=r"solver: found BEST, expected one of .*HiGHS"):
        solve_milp(instance, limits=NO_LIMITS, solver="BEST")


def test_boundary_of_the_printed_decimals() -> None:
    """A decision that meets its memory exactly in decimals is feasible for every method."""
    instance = generate("proposition-2")
    for solve in (solve_exhaustive, solve_exhaustive_naive, solve_milp, solve_milp_highs):
        result = solve(instance, limits=NO_LIMITS)
        assert served(result) == 2
        assert evaluate_balance(instance, result.decision).details["memory_bytes"] == 32
