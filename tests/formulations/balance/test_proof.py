"""Proofs of BALANCE bounds: every one holds, and none survives being tampered with."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.balance import proof
from formulations.balance.evaluate import autoregressive_seconds, memory_bytes, speculative_seconds
from formulations.balance.exact.branch_and_bound import solve_exact
from formulations.balance.exact_costs import exact_sides, exact_users
from formulations.balance.exact_tree import exact_tree
from formulations.balance.proof import prove_balance
from formulations.balance.verify import cases, verify_balance
from formulations.result import Limits, Status
from instances.balance import BalanceInstance
from instances.decimals import as_decimal
from instances.errors import InputError
from instances.generate import generate
from instances.proof_files import Header, ProofError
from tests.formulations.balance.cases import SEEDED, random_instances

Record = dict[str, Any]
_TWENTY = generate("physical-fig5", users=20, seed=1)
TRIED = replace(_TWENTY, server=replace(_TWENTY.server, compute_shares=(0.0, 0.5, 1.0)))


def proof_of(instance: BalanceInstance, bound: float) -> list[Record]:
    """Return the records that prove a bound."""
    return list(prove_balance(instance, bound, {})[1])


def verified(instance: BalanceInstance, bound: float, records: list[Record]) -> Fraction:
    """Return what the verifier returns."""
    return verify_balance(instance, Header("balance", "", "exact", Fraction(bound), None), iter(records))


def optimum(instance: BalanceInstance) -> float:
    """Return the most users that can be served."""
    value = solve_exact(instance, limits=Limits()).objective
    assert value is not None
    return value


def test_every_optimum_has_a_proof(counted: Callable[[int], int]) -> None:
    """The proofs of random optima of every family hold, and none of one user less can be written."""
    instances = list(random_instances(counted(300), 9))
    instances += [generate(family, users=14, seed=seed) for family in SEEDED for seed in range(counted(10))]
    for instance in instances:
        result = solve_exact(instance, limits=Limits())
        if result.status is Status.INFEASIBLE or result.bound is None:
            continue
        assert verified(instance, result.bound, proof_of(instance, result.bound)) == result.bound
        if result.bound > 0:
            with pytest.raises(ProofError, match="turned up, above the bound"):
                proof_of(instance, result.bound - 1)


@pytest.mark.parametrize("size", [30, 50, pytest.param(70, marks=pytest.mark.full)])
def test_larger_optima_have_proofs(size: int) -> None:
    """Optima far beyond enumeration are verified in integers."""
    instance = generate("physical-fig4", users=size, seed=1)
    bound = optimum(instance)
    assert verified(instance, bound, proof_of(instance, bound)) == bound


def test_costs_in_integers_are_the_checkers() -> None:
    """Seconds and bytes of random batches equal those of the paper's sums, for every family."""
    rng = np.random.default_rng(5)
    for family in (*SEEDED, "unit-random"):
        instance = generate(family, users=8, seed=3)
        users, share = exact_users(instance), Fraction(3, 10)
        ad, sd, room = exact_sides(instance, users, share)
        for side, seconds, portion in (
            (ad, autoregressive_seconds, share),
            (sd, speculative_seconds, 1 - share),
        ):
            assert side is not None
            members = [int(k) for k in np.flatnonzero(rng.random(8) < 0.6)] or [0]
            at = [max(row[k] for k in members) for row in side.values]
            steps = [side.values[2][k] for k in members]
            work = sum(steps) * side.step_at(at[0], at[1]) + sum(m * m for m in steps) * side.growth_at(at[1])
            late = work - side.spare(at, len(members))
            latest = min(-users.deadlines[k] for k in members)
            exact = seconds(instance, members, portion) - latest - Fraction(1, 10**9)
            unit = side.slack * 10**9
            assert Fraction(late, unit) == exact
            used = side.bytes_of(at[0], at[1], len(members), sum(steps), sum(m > 0 for m in steps))
            batch = (members, []) if side is ad else ([], members)
            weights = memory_bytes(instance, [], [], share)
            free = as_decimal(instance.server.memory_bytes) * (1 + Fraction(1, 10**9)) - weights
            part = (memory_bytes(instance, *batch, share) - weights) / free
            assert abs(Fraction(used, room) - part) < Fraction(1, 10**9)  # the room is rounded down to a unit


def test_trees_in_integers_hold_too(counted: Callable[[int], int]) -> None:
    """A case whose tree from the search fails gets one that is built in integers, and it holds."""
    for instance in (TRIED, *random_instances(counted(100), 8)):
        result = solve_exact(instance, limits=Limits())
        if result.bound is None:
            continue
        records = [
            r for case in cases(instance, int(result.bound) + 1) for r in (case.record, *exact_tree(case))
        ]
        assert verified(instance, result.bound, records) == result.bound
        if result.bound > 0:
            with pytest.raises(ProofError, match="turned up, above the bound"):
                list(itertools.chain.from_iterable(map(exact_tree, cases(instance, int(result.bound)))))


def test_failed_tree_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that forgets its splits still leads to a proof that holds."""
    monkeypatch.setattr(proof, "_record", lambda log, i: {})
    best = optimum(TRIED)
    assert verified(TRIED, best, proof_of(TRIED, best)) == best


def test_lower_bound_is_refused() -> None:
    """The proof of a bound does not prove one user less."""
    best = optimum(TRIED)
    records = proof_of(TRIED, best)
    with pytest.raises(ProofError):
        verified(TRIED, best - 1, records)


def test_other_instance_is_refused() -> None:
    """A proof does not hold for users with more time."""
    best = optimum(TRIED)
    later = TRIED.users.deadline_s + 1.0
    other = replace(TRIED, users=replace(TRIED.users, deadline_s=later))
    assert optimum(other) > best
    with pytest.raises(ProofError, match="still open"):
        verified(other, best, proof_of(TRIED, best))


def test_any_missing_record_is_refused() -> None:
    """A proof without one of its records, or with one of them twice, does not hold."""
    best = optimum(TRIED)
    records = proof_of(TRIED, best)
    for i in range(len(records)):
        with pytest.raises((ProofError, InputError)):
            verified(TRIED, best, records[:i] + records[i + 1 :])
        with pytest.raises((ProofError, InputError)):
            verified(TRIED, best, [*records[: i + 1], *records[i:]])


def test_every_split_is_needed() -> None:
    """A node that was split does not close once its children are cut off."""
    best = optimum(TRIED)
    records = proof_of(TRIED, best)
    cut = 0
    for i, record in enumerate(records):
        if "split" in record:
            end, open_nodes = i, 1
            while open_nodes:
                open_nodes += 1 if "split" in records[end] else -1
                end += 1
            leaf = {key: value for key, value in record.items() if key != "split"}
            with pytest.raises(ProofError, match="still open, and neither bounded nor split"):
                verified(TRIED, best, [*records[:i], leaf, *records[end:]])
            cut += 1
    assert cut > 5


def test_multipliers_are_needed() -> None:
    """Without its multipliers the tree leaves a node open, and a negative one is refused."""
    instance = generate("physical-fig4-q14", users=40, seed=0)
    best = optimum(instance)
    records = proof_of(instance, best)
    bare = [{key: value for key, value in record.items() if key != "multipliers"} for record in records]
    with pytest.raises(ProofError, match="still open, and neither bounded nor split"):
        verified(instance, best, bare)
    negative = copy.deepcopy(records)
    next(r for r in negative if "multipliers" in r)["multipliers"][0][0] = ["-1", "2"]
    with pytest.raises(ProofError, match="not five numbers of at least 0"):
        verified(instance, best, negative)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"split": [0, 0, 20]}, r"split\[2\]: found 20"),
        ({"split": [3, 0, 0]}, r"split\[0\]: found 3"),
        ({"split": [0, 5, 0]}, r"split\[1\]: found 5"),
        ({"split": [0, 0]}, "expected three integers"),
        ({"multipliers": [[["1", "0"]] * 5]}, "denominator positive"),
        ({"multipliers": [[["1" * 1001, "1"]] * 5]}, "at most 1000 digits"),
        ({"multipliers": [[["1", "1"]] * 4]}, "not five numbers"),
        ({"multipliers": [[[["1", "1"]] * 5] * 101]}, "expected"),
        ({"multipliers": 7}, "expected at most 100 rounds"),
        ({"remark": 1}, "expected multipliers and split"),
    ],
)
def test_malformed_record_is_refused(change: Record, message: str) -> None:
    """A record of another form is refused with its case and node."""
    best = optimum(TRIED)
    records = proof_of(TRIED, best)
    i = next(i for i, record in enumerate(records) if "split" in record)
    with pytest.raises((InputError, ProofError), match=message) as caught:
        verified(TRIED, best, [*records[:i], records[i] | change, *records[i + 1 :]])
    assert "share" in str(caught.value) and "node" in str(caught.value)
