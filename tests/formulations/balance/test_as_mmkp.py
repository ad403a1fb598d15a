"""BALANCE at fixed thresholds as an MMKP."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from formulations.balance.as_mmkp import Thresholds, as_mmkp, assignment_of, thresholds_from, thresholds_of
from formulations.balance.evaluate import evaluate_balance
from formulations.balance.exact.exhaustive import solve_exhaustive
from formulations.mmkp.exact.branch_and_bound import solve_exact
from formulations.result import Limits, Status
from instances.balance import BalanceInstance
from instances.decisions import MODES, Assignment, Choice
from instances.errors import InputError
from instances.generate import generate

SHARES = (0.0, 0.4, 1.0)
FAMILIES = ("calibrated-fig4", "physical-fig4", "unit-random")


def small(family: str, seed: int) -> BalanceInstance:
    """Return three users and few shares, so that all thresholds can be tried."""
    instance = generate(family, users=3, seed=seed)
    assert isinstance(instance, BalanceInstance)
    return replace(instance, server=replace(instance.server, compute_shares=SHARES))


def all_thresholds(instance: BalanceInstance) -> Iterator[Thresholds]:
    """Yield the thresholds of every assignment, each once."""
    every = itertools.product(MODES, repeat=instance.n_users)
    found = {
        repr(t): t
        for mode in every
        for share in SHARES
        for t in [thresholds_of(instance, Assignment(mode, share))]
    }
    yield from found.values()


@pytest.mark.parametrize("family", FAMILIES)
def test_best_over_thresholds_is_the_optimum(family: str, counted: Callable[[int], int]) -> None:
    """The best MMKP over all thresholds serves as many users as P1's optimum, and P1 allows its choices."""
    for seed in range(counted(20)):
        instance = small(family, seed)
        best = 0.0
        for thresholds in all_thresholds(instance):
            try:
                mmkp = as_mmkp(instance, thresholds)
            except InputError:  # the weights do not fit at this share
                continue
            result = solve_exact(mmkp, limits=Limits())
            assert result.status is Status.OPTIMAL
            assert isinstance(result.decision, Choice)
            assignment = assignment_of(result.decision, thresholds.compute_share)
            verdict = evaluate_balance(instance, assignment)
            assert (verdict.feasible, verdict.objective) == (True, result.objective)
            best = max(best, verdict.objective)
        assert best == solve_exhaustive(instance, limits=Limits()).objective


@pytest.mark.parametrize("family", FAMILIES)
def test_an_optimum_keeps_to_its_own_extremes(family: str) -> None:
    """P1's optimum is a choice of the MMKP at its thresholds, also where it fits by a fraction of a byte."""
    for seed in range(20):
        instance = small(family, seed)
        assignment = solve_exhaustive(instance, limits=Limits()).decision
        assert isinstance(assignment, Assignment)
        mmkp = as_mmkp(instance, thresholds_of(instance, assignment))
        items = np.array([MODES.index(mode) for mode in assignment.mode])
        assert np.all(mmkp.weights[mmkp.group_start[:-1] + items].sum(axis=0) <= mmkp.capacities)


def test_groups_and_rows() -> None:
    """A group a user of none, AD and SD; AD uses the first row, SD the second, both the memory."""
    instance = small("calibrated-fig4", 1)
    modes = ("ad", "sd", "none")
    mmkp = as_mmkp(instance, thresholds_of(instance, Assignment(modes, 0.4)))
    assert mmkp.group_start.tolist() == [0, 3, 6, 9]
    assert mmkp.values.tolist() == [0, 1, 1] * 3
    weights = mmkp.weights.reshape(3, 3, 3)
    assert not weights[:, 0].any()
    assert not weights[:, 1, 1].any()
    assert not weights[:, 2, 0].any()


def test_a_mode_without_thresholds_is_barred() -> None:
    """Every item of a mode that is null exceeds its row."""
    instance = small("calibrated-fig4", 1)
    thresholds = thresholds_of(instance, Assignment(("ad",) * 3, 0.4))
    assert thresholds.sd is None
    mmkp = as_mmkp(instance, thresholds)
    assert np.all(mmkp.weights[2::3, 1] > mmkp.capacities[1])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1], r"thresholds: found \[1\], expected the keys compute_share, ad and sd"),
        ({"compute_share": 2, "ad": None, "sd": None}, "thresholds.compute_share: found 2, expected 0 to 1"),
        (
            {"compute_share": 0, "ad": {"steps": 1}, "sd": None},
            "thresholds.ad: found .* expected the keys inp",
        ),
    ],
)
def test_bad_thresholds(values: object, message: str) -> None:
    """Thresholds are refused by the key that is wrong."""
    with pytest.raises(InputError, match=message):
        thresholds_from(values)


def test_share_of_another_server() -> None:
    """A share that the server does not have is refused."""
    with pytest.raises(InputError, match=r"compute_share: found 0.35, expected one of the server's shares"):
        as_mmkp(small("calibrated-fig4", 1), Thresholds(0.35, None, None))
