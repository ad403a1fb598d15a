"""NP-hardness: PARTITION reduces to P1, against brute force over the subsets of small integers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest

from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact.branch_and_bound import solve_exact
from formulations.balance.exact.exhaustive import solve_exhaustive
from formulations.result import Limits, Status
from instances.decisions import Assignment
from instances.witnesses import partition_instance

NO_LIMITS = Limits()


def half_of(numbers: list[int]) -> tuple[int, ...] | None:
    """Return the places of numbers that sum to exactly half of all, None if there are none."""
    total = sum(numbers)
    for size in range(len(numbers) + 1):
        for chosen in combinations(range(len(numbers)), size):
            if 2 * sum(numbers[i] for i in chosen) == total:
                return chosen
    return None


def random_numbers(count: int) -> list[list[int]]:
    """Return lists of 1 to 5 integers, with even and odd sums."""
    rng = np.random.Generator(np.random.PCG64(7))
    return [rng.integers(1, 13, 1 + i % 5).tolist() for i in range(count)]


def test_everybody_is_served_exactly_if_the_numbers_split(counted: Callable[[int], int]) -> None:
    """The optimum is all 2n + 2 users for yes-instances and less for no-instances, by two exact methods."""
    answers = set()
    for numbers in [[3, 1, 2], [5, 3], [1, 1, 1], *random_numbers(counted(300))]:
        instance, splits = partition_instance(numbers), half_of(numbers) is not None
        for solve in (solve_exhaustive, solve_exact):
            result = solve(instance, limits=NO_LIMITS)
            assert result.status is Status.OPTIMAL
            assert (result.objective == instance.n_users) is splits, numbers
        answers.add(splits)
    assert answers == {False, True}


@pytest.mark.parametrize(
    "numbers",
    [[3, 1, 2], [7, 5, 4, 3, 2, 1], [8, 7, 6, 5, 4], [40, 30, 20, 10, 60, 2, 2]],
)
def test_a_split_is_a_decision(numbers: list[int]) -> None:
    """Numbers in one half go to AD with as many idle users as make n, the rest to SD: all are in time."""
    chosen = half_of(numbers)
    assert chosen is not None
    n = len(numbers)
    mode = ["ad" if i in chosen else "sd" for i in range(n)]
    mode += ["ad"] * (n - len(chosen)) + ["sd"] * len(chosen) + ["ad", "sd"]
    verdict = evaluate_balance(partition_instance(numbers), Assignment(tuple(mode), 0.5))
    assert (verdict.feasible, verdict.objective) == (True, 2 * n + 2), verdict.message


def test_one_token_too_many_is_late() -> None:
    """Moving a single token's worth from SD to AD breaks AD's deadline, and back SD's."""
    instance = partition_instance([3, 2, 1, 2])  # 3 + 1 = 2 + 2
    for ad, late in (((0, 1), "ad"), ((1, 2), "sd")):
        mode = tuple("ad" if i in ad else "sd" for i in range(4))
        decision = Assignment((*mode, "ad", "ad", "sd", "sd", "ad", "sd"), 0.5)
        verdict = evaluate_balance(instance, decision)
        assert not verdict.feasible
        assert f"({late}) is" in verdict.message
