"""Proofs of MMKP optima: every one holds, and none survives being tampered with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations.mmkp.exact.branch_and_bound import solve_exact
from formulations.mmkp.exact.highs import solve_milp_highs
from formulations.mmkp.tree_proof import prove_exact
from formulations.mmkp.verify_proofs import verify_mmkp
from formulations.result import Limits, Result, Status, Stopped
from instances.errors import InputError
from instances.generate import generate
from instances.importers.khan import read_khan
from instances.mmkp import MmkpInstance
from instances.proof_files import Header, ProofError, read_proof, write_proof
from tests.formulations.mmkp.random_instances import brute_force, random_instance
from tests.instances.importers.sample_files import public

Record = dict[str, Any]
Proof = tuple[Fraction, list[Record]]
REFUSED = (ProofError, InputError)


def generated(family: str, groups: int, seed: int) -> MmkpInstance:
    """Return a generated instance."""
    instance = generate(family, users=groups, seed=seed)
    assert isinstance(instance, MmkpInstance)
    return instance


TRIED = generated("mmkp-weakly", 7, 2)


def proof_of(instance: MmkpInstance, bound: float | None) -> Proof:
    """Return a bound and the records that prove it."""
    exact, records = prove_exact(instance, bound, {})
    return exact, list(records)


def verified(instance: MmkpInstance, bound: Fraction, records: list[Record]) -> Fraction:
    """Return what the verifier returns."""
    return verify_mmkp(instance, Header("mmkp", "", "exact", bound, None), iter(records))


def optimum(solve: Callable[..., Result], instance: MmkpInstance) -> float:
    """Return the largest total value."""
    value = solve(instance, limits=Limits()).objective
    assert value is not None
    return value


@pytest.fixture(scope="module")
def tried() -> Proof:
    """Return the proof of an optimum that takes a tree."""
    return proof_of(TRIED, optimum(solve_exact, TRIED))


def test_every_optimum_has_a_proof(counted: Callable[[int], int]) -> None:
    """What brute force finds is proved to the last decimal, nothing less can be, nor that nothing fits."""
    for seed in range(counted(1000)):
        instance = random_instance(seed, groups=2 + seed % 4, digits=seed % 3)
        best = brute_force(instance)
        bound, records = proof_of(instance, None if best is None else float(best))
        assert verified(instance, bound, records) == bound
        if best is None:
            assert bound < 0
            continue
        assert bound == best
        for claim in (None, float(best) - 1) if best >= 1 else (None,):
            with pytest.raises(ProofError, match="turned up that is worth more than the bound"):
                proof_of(instance, claim)


@pytest.mark.parametrize("correlation", ["uncorrelated", "weakly", "strongly", "inversely"])
@pytest.mark.parametrize("shape", ["", "irregular-"])
def test_optima_of_another_solver_have_proofs(correlation: str, shape: str) -> None:
    """What HiGHS finds on generated instances of every class is verified in integers."""
    instance = generated(f"mmkp-{shape}{correlation}", 8, 0)
    best = optimum(solve_milp_highs, instance)
    assert verified(instance, *proof_of(instance, best)) == Fraction(repr(best))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("I01", 173.0),
        ("I02", 364.0),
        pytest.param("I03", 1602.0, marks=pytest.mark.full),
        pytest.param("I04", 3597.0, marks=pytest.mark.full),
        ("I05", 3905.7),
        ("I06", 4799.3),
    ],
)
def test_public_optima_have_proofs(name: str, value: float) -> None:
    """The optima of Khan's small instances are verified in integers."""
    instance = read_khan(public(f"mmkp/khan/{name}"))
    bound, records = prove_exact(instance, value, {})
    assert verify_mmkp(instance, Header("mmkp", "", "exact", bound, None), records) == Fraction(str(value))


def test_bound_of_a_stopped_search_has_a_proof() -> None:
    """Where a limit ended the search, the root's prices alone prove the bound."""
    instance = generated("mmkp-strongly", 12, 1)
    result = solve_exact(instance, limits=Limits(nodes=100))
    assert (result.status, result.stopped) == (Status.FEASIBLE, Stopped.NODES)
    bound, records = proof_of(instance, result.bound)
    assert result.objective is not None
    assert bound > result.objective
    assert len(records) == 1
    assert verified(instance, bound, records) == bound


def test_without_groups_or_resources() -> None:
    """The empty choice's 0, and the best items' total where there is no resource, have proofs."""
    empty = MmkpInstance("empty", np.ones(1), np.array([0]), np.array([]), np.empty((0, 1)))
    free = MmkpInstance("free", np.array([]), np.array([0, 2, 3]), np.array([1, 2, 0.5]), np.empty((3, 0)))
    assert verified(empty, *proof_of(empty, 0.0)) == 0
    assert verified(free, *proof_of(free, 2.5)) == Fraction(5, 2)


def test_totals_beyond_integers() -> None:
    """An instance whose totals 64-bit integers do not hold is refused by the prover."""
    weights = np.array([[1e15], [1e-9], [0.5]])
    huge = MmkpInstance("huge", np.array([1e15]), np.array([0, 2, 3]), np.array([9.0, 1.0, 1.0]), weights)
    with pytest.raises(InputError, match="values, weights: found totals above"):
        proof_of(huge, 2.0)


def test_proofs_pass_through_files(tried: Proof, tmp_path: Any) -> None:
    """What is written is read and verified, and written twice it is the same to the last byte."""
    paths = [tmp_path / name for name in ("a", "b")]
    for path in paths:
        bound, records = prove_exact(TRIED, float(tried[0]), {})
        write_proof(path, Header("mmkp", "", "exact", bound, None), records)
    header, read = read_proof(paths[0])
    assert verify_mmkp(TRIED, header, read) == tried[0]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_lower_bound_is_refused(tried: Proof) -> None:
    """The proof of an optimum proves nothing that is less, but any bound up to the next total."""
    bound, records = tried
    assert verified(TRIED, bound + Fraction(99, 100), records) > bound
    for less in (Fraction(1, 10**9), Fraction(1)):
        with pytest.raises(REFUSED):
            verified(TRIED, bound - less, records)


def test_other_instance_is_refused(tried: Proof) -> None:
    """A proof holds neither with more of a resource, nor with a more valued item, nor without a resource."""
    more = replace(TRIED, capacities=TRIED.capacities + 20)
    assert optimum(solve_exact, more) > tried[0]
    values = TRIED.values.copy()
    values += 1
    fewer = replace(TRIED, capacities=TRIED.capacities[:-1], weights=TRIED.weights[:, :-1])
    for other in (more, replace(TRIED, values=values), fewer):
        with pytest.raises(REFUSED):
            verified(other, *tried)


def test_any_missing_record_is_refused(tried: Proof) -> None:
    """A proof without one of its records, or with one of them twice, does not hold."""
    bound, records = tried
    assert len(records) > 10
    for i in range(len(records)):
        with pytest.raises(REFUSED):
            verified(TRIED, bound, records[:i] + records[i + 1 :])
        with pytest.raises(REFUSED):
            verified(TRIED, bound, [*records[: i + 1], *records[i:]])


def test_every_node_is_needed(tried: Proof) -> None:
    """A proof without one of its nodes, or that does not enter one which it enters, does not hold."""
    bound, records = tried
    for i, record in enumerate(records[2:], 2):
        nodes = record["nodes"]
        for j in range(0, len(nodes), 7):
            shorter, cut = nodes[:j] + nodes[j + 1 :], [*nodes[:j], 0, *nodes[j + 1 :]]
            for changed in (shorter, cut) if nodes[j] == -1 else (shorter,):
                with pytest.raises(REFUSED):
                    verified(TRIED, bound, [*records[:i], record | {"nodes": changed}, *records[i + 1 :]])


def test_prices_are_needed(tried: Proof) -> None:
    """Without prices, or with any of a node's halved, a node stays open; a negative one is refused."""
    bound, records = tried
    for i, record in enumerate(records[2:], 2):
        if "prices" not in record:
            continue
        bare = {"nodes": record["nodes"]}
        halved = record | {"prices": [price // 2 for price in record["prices"]]}
        for changed in (bare, halved):
            with pytest.raises(ProofError, match=r"node \d+, depth \d: not cut off"):
                verified(TRIED, bound, [*records[:i], changed, *records[i + 1 :]])
        negative = record | {"prices": [-1, *record["prices"][1:]]}
        with pytest.raises(ProofError, match="expected integers from 0"):
            verified(TRIED, bound, [*records[:i], negative, *records[i + 1 :]])


def test_what_the_root_strikes_out_is_recomputed(tried: Proof) -> None:
    """A tree does not fit the items that other prices of the root, or other units, leave over."""
    bound, (root, *tree) = tried
    for prices in ([0] * len(root["prices"]), [2 * price for price in root["prices"]]):
        with pytest.raises(REFUSED):
            verified(TRIED, bound, [root | {"prices": prices}, *tree])
    with pytest.raises(REFUSED):
        verified(TRIED, bound, [root | {"unit": [["1", "1"]] * len(root["unit"])}, *tree])
    with pytest.raises(ProofError, match="expected integers from 0"):
        verified(TRIED, bound, [root | {"prices": [-1, *root["prices"][1:]]}, *tree])
    with pytest.raises(ProofError, match="not positive"):
        verified(TRIED, bound, [root | {"unit": [["-1", "1"], *root["unit"][1:]]}, *tree])


def test_order_of_groups_is_needed(tried: Proof) -> None:
    """A tree does not hold for any two groups exchanged, and not every group once is refused by name."""
    bound, (root, order, *tree) = tried
    groups = order["order"]
    for i in range(len(groups) - 1):
        changed = [*groups[:i], groups[i + 1], groups[i], *groups[i + 2 :]]
        with pytest.raises(REFUSED):
            verified(TRIED, bound, [root, {"order": changed}, *tree])
    for changed in (groups[:-1], [*groups, groups[0]], [groups[1], *groups[1:]], [*groups[:-1], 99]):
        with pytest.raises(ProofError, match="expected each of 7 groups once"):
            verified(TRIED, bound, [root, {"order": changed}, *tree])


def test_nothing_false_is_verified(counted: Callable[[int], int]) -> None:
    """However the proof of an optimum is changed at random, it proves no bound below the optimum."""
    rng = np.random.Generator(np.random.PCG64(11))
    for seed in range(counted(500)):
        instance = random_instance(seed, groups=4 + seed % 3)
        best = brute_force(instance)
        if best is None:
            continue
        bound, records = proof_of(instance, float(best))
        for _ in range(20):
            with pytest.raises(REFUSED):
                verified(instance, bound - 1, changed_at_random(records, rng))


def changed_at_random(records: list[Record], rng: np.random.Generator) -> list[Record]:
    """Return records with some of their integers replaced by others."""
    changed = []
    for record in records:
        copy = dict(record)
        for key in {"prices", "nodes"} & set(record):
            spread = 3 if key == "nodes" else max(record[key]) // 4 + 2
            moved = [x + int(rng.integers(-spread, spread)) for x in record[key]]
            low = -1 if key == "nodes" else 0
            copy[key] = [
                x if rng.random() < 0.7 else max(y, low) for x, y in zip(record[key], moved, strict=True)
            ]
        changed.append(copy)
    return changed


@pytest.mark.parametrize(
    ("place", "change", "message"),
    [
        (0, {"unit": [["1", "0"]] * 5}, "denominator positive"),
        (0, {"unit": [["1", "1" * 1001]] * 5}, "at most 1000 digits"),
        (0, {"unit": [[str(i), str(10**900 + i)] for i in range(1, 6)]}, "common denominator above"),
        (0, {"unit": []}, "unit: found .*, expected 5 rationals"),
        (0, {"prices": [1.5] * 5}, "prices: found .*, expected 5 integers"),
        (0, {"prices": [2**63] * 5}, "expected integers from 0 to"),
        (0, {"remark": 1}, "expected the root's unit and prices"),
        (1, {"order": "all"}, "expected the order of groups"),
        (1, {"order": [True] * 7}, "expected the order of groups"),
        (2, {"nodes": []}, "expected nodes"),
        (2, {"nodes": [True]}, "nodes: found .*, expected integers from -1 to 1023"),
        (2, {"nodes": [-2]}, "nodes: found .*, expected integers from -1 to 1023"),
        (2, {"nodes": [1024]}, "nodes: found .*, expected integers from -1 to 1023"),
        (2, {"nodes": [-1], "prices": [0] * 5}, "expected a first node that its prices cut off"),
        (2, {"nodes": [0], "prices": [0] * 4}, "expected 5 integers"),
        (2, {"remark": 1}, "expected nodes, and prices of the first one"),
    ],
)
def test_malformed_record_is_refused(tried: Proof, place: int, change: Record, message: str) -> None:
    """A record of another form is refused with what was expected."""
    bound, records = tried
    with pytest.raises(REFUSED, match=message):
        verified(TRIED, bound, [*records[:place], records[place] | change, *records[place + 1 :]])


def test_truncated_and_lengthened_trees_are_refused(tried: Proof) -> None:
    """A proof that ends early, or goes on behind its end, is refused."""
    bound, records = tried
    with pytest.raises(ProofError, match="not cut off"):
        verified(TRIED, bound, records[:-1])
    with pytest.raises(ProofError, match="but more follow"):
        verified(TRIED, bound, [*records, {"nodes": [0]}])
    root = generated("mmkp-irregular-inversely", 10, 1)
    closed, alone = proof_of(root, optimum(solve_exact, root))
    assert len(alone) == 1
    with pytest.raises(ProofError, match="behind the last step"):
        verified(root, closed, [*alone, {"nodes": [0]}])
