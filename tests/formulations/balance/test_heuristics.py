"""What BALANCE's heuristics promise: who is never below whom, and how far from the optimum they can be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest

from formulations.balance.costs import problem_of
from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact.exhaustive import solve_exhaustive
from formulations.balance.heuristics.batches import NOBODY
from formulations.balance.heuristics.best_order import solve_best_order, solve_sd_first
from formulations.balance.heuristics.equal_split import solve_ecra, solve_ecrma, solve_ema
from formulations.balance.heuristics.hybrid import solve_hybrid, solve_hybrid_own
from formulations.balance.heuristics.hybrid_literal import LiteralMode
from formulations.balance.heuristics.refined import solve_refined
from formulations.balance.heuristics.single_mode import solve_ad_only, solve_ad_only_own, solve_sd_only
from formulations.result import Limits, Result, Status, Stopped
from instances.balance import BalanceInstance, BalanceUsers
from instances.generate import generate
from tests.formulations.balance.cases import random_instances, tied_instances

NO_LIMITS = Limits()
HEURISTICS = {
    "hybrid": solve_hybrid,
    "hybrid-own": solve_hybrid_own,
    "sd-first": solve_sd_first,
    "best-order": solve_best_order,
    "refined": solve_refined,
    "ad-only": solve_ad_only,
    "ad-only-own": solve_ad_only_own,
    "sd-only": solve_sd_only,
    "ecra": solve_ecra,
    "ema": solve_ema,
    "ecrma": solve_ecrma,
}


def served(solve: Callable[..., Result], instance: BalanceInstance) -> int:
    """Return the claimed number of users served."""
    result = solve(instance, limits=NO_LIMITS)
    assert result.objective is not None
    return int(result.objective)


def checked(instance: BalanceInstance) -> dict[str, int]:
    """Return by heuristic how many users it serves, as the checker counts them."""
    values = {}
    for name, solve in HEURISTICS.items():
        result = solve(instance, limits=NO_LIMITS)
        if result.status is Status.SKIPPED:
            continue
        verdict = evaluate_balance(instance, result.decision)
        assert verdict.feasible, (name, instance.name, verdict.message)
        assert verdict.objective == result.objective, (name, instance.name)
        values[name] = int(verdict.objective)
    return values


def test_relations_and_guarantees(counted: Callable[[int], int]) -> None:
    """Every answer is feasible and as claimed, and no heuristic is below what it promises.

    AD's own memory: half of the optimum and either mode alone; padded memory: a third; ``best-order`` equals
    the better order, ``refined`` is at least that, and an equal split at most Algorithm 3.
    """
    for instance in chain(random_instances(counted(3000), 7), tied_instances(counted(1000), 7)):
        best = solve_exhaustive(instance, limits=NO_LIMITS)
        if best.status is Status.INFEASIBLE:
            continue
        assert best.objective is not None
        value = checked(instance)
        alone = max(value["ad-only-own"], value["sd-only"])
        assert value["best-order"] == max(value["hybrid-own"], value["sd-first"]), instance.name
        assert best.objective >= value["refined"] >= value["best-order"], instance.name
        assert min(value["hybrid-own"], value["sd-first"]) >= alone >= best.objective / 2, instance.name
        assert value["hybrid"] >= max(value["ad-only"], best.objective / 3), instance.name
        assert value["hybrid"] >= max(value.get(name, 0) for name in ("ecra", "ema", "ecrma")), instance.name


@pytest.mark.parametrize(
    ("split", "shares"),
    [
        (solve_ecra, ("compute_shares",)),
        (solve_ema, ("memory_shares",)),
        (solve_ecrma, ("compute_shares", "memory_shares")),
    ],
)
def test_equal_split_is_what_three_shares_add_to_single_modes(
    split: Callable[..., Result], shares: tuple[str, ...], counted: Callable[[int], int]
) -> None:
    """With shares 0, ½ and 1, Algorithm 3 is the best of the equal split, AD alone and SD alone."""
    for instance in random_instances(counted(1000), 8):
        coarse = replace(instance, server=replace(instance.server, **dict.fromkeys(shares, (0.0, 0.5, 1.0))))
        if solve_hybrid(coarse, limits=NO_LIMITS).status is Status.INFEASIBLE:
            continue
        parts = [served(solve, coarse) for solve in (split, solve_ad_only, solve_sd_only)]
        assert served(solve_hybrid, coarse) == max(parts), instance.name


def test_equal_split_of_compute_needs_the_share() -> None:
    """A server without z = ½ skips ECRA and ECRMA with the reason; λ = ½ is EMA's own, in the set or not."""
    instance = generate("physical-fig4", users=6, seed=4)
    thirds = (0.0, 0.3, 0.6, 1.0)
    other = replace(instance, server=replace(instance.server, compute_shares=thirds, memory_shares=thirds))
    for solve in (solve_ecra, solve_ecrma):
        result = solve(other, limits=NO_LIMITS)
        assert (result.status, result.stopped) == (Status.SKIPPED, Stopped.UNSUPPORTED)
        assert "compute share of 0.5" in result.message
    assert evaluate_balance(other, solve_ema(other, limits=NO_LIMITS).decision).feasible


def test_sd_first_is_the_enumeration_with_stages_exchanged(counted: Callable[[int], int]) -> None:
    """The number served by SD first equals that of the literal enumerations, SD before AD."""
    for instance in random_instances(counted(600), 6):
        problem, best = problem_of(instance), 0
        if problem.cache_bytes(1.0) < 0.0:
            continue
        ads, sds = (LiteralMode(problem, mode, padded=False, relief=0.0) for mode in ("ad", "sd"))
        for share in problem.compute_shares:
            room = problem.cache_bytes(share)
            for part in problem.memory_shares:
                sd = sds.solve(1.0 - share, (1.0 - part) * room, part < 1.0, NOBODY)
                ad = ads.solve(share, part * room, part > 0.0, sd)
                best = max(best, len(ad) + len(sd))
        assert served(solve_sd_first, instance) == best, instance.name


def relabelled(instance: BalanceInstance, seed: int) -> BalanceInstance:
    """Return the instance with its users in another order."""
    order = np.random.Generator(np.random.PCG64(seed)).permutation(instance.n_users)
    users = {k: getattr(instance.users, k)[order] for k in instance.users.__dataclass_fields__}
    return replace(instance, users=BalanceUsers(**users))


def without_ties(instances: Iterator[BalanceInstance]) -> Iterator[BalanceInstance]:
    """Yield the instances in which no two users have as many tokens or iterations to generate."""
    for instance in instances:
        problem = problem_of(instance)
        if all(len(set(s)) == instance.n_users for s in (problem.ad_steps, problem.sd_steps)):
            yield instance


def test_relabelling_users_changes_no_objective(counted: Callable[[int], int]) -> None:
    """Where no two users tie in the order of Algorithms 1 and 2, nobody's index matters."""
    tried = 0
    for seed, instance in enumerate(without_ties(random_instances(counted(1000), 12))):
        tried += 1
        moved = relabelled(instance, seed)
        for name, solve in HEURISTICS.items():
            one, other = (solve(i, limits=NO_LIMITS).objective for i in (instance, moved))
            assert one == other, (name, instance.name)
    assert tried >= counted(1000) // 4


def test_refined_stops_at_its_limits() -> None:
    """Without time or steps for more, the answer is that of ``best-order`` and says which limit it met."""
    instance = generate("physical-fig4", users=30, seed=106)
    floor = served(solve_best_order, instance)
    assert served(solve_refined, instance) > floor
    for limits, stopped in ((Limits(time_s=0.0), Stopped.TIME), (Limits(steps=0), Stopped.NODES)):
        result = solve_refined(instance, limits=limits)
        assert (result.status, result.stopped, result.objective) == (Status.FEASIBLE, stopped, floor)


def test_refined_keeps_to_its_share_of_the_work() -> None:
    """It sweeps at most ``WORK`` times as often as ``best-order``, and one attempt more."""
    for users in (16, 40, 120):
        instance = generate("physical-fig5", users=users, seed=7)
        first = solve_best_order(instance, limits=NO_LIMITS).counters["sweeps"]
        assert solve_refined(instance, limits=NO_LIMITS).counters["sweeps"] <= 6 * first


@pytest.mark.full
@pytest.mark.parametrize("users", [30, 50, 70])
def test_refined_is_near_the_optimum(users: int) -> None:
    """Over ten seeds it misses at most half a per cent of the proved optimum."""
    from formulations.balance.exact.branch_and_bound import solve_exact

    gaps = []
    for seed in range(10):
        instance = generate("physical-fig4", users=users, seed=seed)
        optimum = solve_exact(instance, limits=NO_LIMITS)
        assert optimum.status is Status.OPTIMAL
        assert optimum.objective is not None
        gaps.append(1.0 - served(solve_refined, instance) / optimum.objective)
    assert float(np.mean(gaps)) <= 0.005
