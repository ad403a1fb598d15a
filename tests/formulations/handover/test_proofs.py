"""Proofs of handover bounds: they hold, and tampering is refused."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any

import pytest

from formulations.handover.evaluate import evaluate_horizon, evaluate_slot
from formulations.handover.horizon.decomposition import solve_clairvoyant
from formulations.handover.proof import prove_clairvoyant, prove_water_filling
from formulations.handover.slot.water_filling import solve_water_filling
from formulations.handover.verify_proofs import verify_clairvoyant, verify_water_filling
from formulations.result import Limits
from instances.errors import InputError
from instances.generate import generate
from instances.handover import HandoverTrace, SlotInstance
from instances.proof_files import Header, ProofError

Record = dict[str, Any]
SETTINGS = {"rate_per_s": 10.0, "horizon_s": 5.0}
BRANCHED = generate("random-ordering", seed=2, settings=SETTINGS)
SLOT = generate("slot-importance", users=8, seed=4, settings={"bandwidth_bps": 1e12})


def header(bound: Fraction) -> Header:
    """Return a header that claims a bound."""
    return Header("", "", "", bound, None)


def proof_of(instance: HandoverTrace) -> tuple[Fraction, list[Record]]:
    """Return the clairvoyant bound and the records of its proof."""
    result = solve_clairvoyant(instance, limits=Limits(nodes=60))
    bound, records = prove_clairvoyant(instance, result.bound, result.certificate)
    value = evaluate_horizon(instance, result.decision).objective
    assert value <= bound <= Fraction(result.bound or 0.0) + Fraction(1, 10**6)
    return bound, list(records)


@pytest.mark.parametrize("family", ["importance", "random-ordering"])
def test_clairvoyant_bounds_have_proofs(family: str) -> None:
    """The proofs of horizons of both orderings hold, and not for anything less."""
    for seed in range(2):
        instance = generate(family, seed=seed, settings=SETTINGS)
        bound, records = proof_of(instance)
        assert verify_clairvoyant(instance, header(bound), iter(records)) == bound
        with pytest.raises(ProofError, match=r"the prices prove .* only"):
            verify_clairvoyant(instance, header(bound - Fraction(1, 10**9)), iter(records))


def test_any_missing_record_of_a_tree_is_refused() -> None:
    """A branched proof without one of its tree's records does not hold, nor with one of them twice."""
    bound, records = proof_of(BRANCHED)
    trees = [i for i, record in enumerate(records) if "slot" not in record]
    assert len(trees) > 10
    for i in trees[:25]:
        for changed in (records[:i] + records[i + 1 :], [*records[: i + 1], *records[i:]]):
            with pytest.raises((ProofError, InputError)):
                verify_clairvoyant(BRANCHED, header(bound), iter(changed))


def test_changed_prices_prove_less() -> None:
    """Half the price of any run of a leaf, or of every slot, no longer proves the bound."""
    bound, records = proof_of(BRANCHED)
    cheaper = copy.deepcopy(records)
    for record in cheaper:
        for pair in record.get("prices", [record["price"]] if "slot" in record else []):
            pair[1] = str(2 * int(pair[1]))
    with pytest.raises((ProofError, InputError)):
        verify_clairvoyant(BRANCHED, header(bound), iter(cheaper))


def test_other_horizon_is_refused() -> None:
    """The prices of one horizon do not prove its bound for a faster backhaul."""
    bound, records = proof_of(BRANCHED)
    faster = generate("random-ordering", seed=2, settings=SETTINGS | {"bandwidth_bps": 4e10})
    with pytest.raises(ProofError, match=r"the prices prove .* only"):
        verify_clairvoyant(faster, header(bound), iter(records))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"slot": 1.5, "price": ["1", "2"]}, "slot: found 1.5"),
        ({"slot": 10**7, "price": ["1", "3"]}, "expected a decimal"),
        ({"slot": 10**7, "price": ["-1", "2"]}, "at least 0"),
        ({"slot": 10**7, "price": ["1" * 1001, "1"]}, "at most 1000 digits"),
        ({"slot": 10**7, "price": ["1" + "0" * 400, "1"]}, "more than a double holds"),
        ({"remark": 1}, "expected a slot's price or a group"),
        ({"users": [], "runs": [], "nodes": 0}, "nodes: found 0"),
    ],
)
def test_malformed_record_is_refused(record: Record, message: str) -> None:
    """A record of another form is refused with its field."""
    bound, records = proof_of(BRANCHED)
    with pytest.raises(InputError, match=message):
        verify_clairvoyant(BRANCHED, header(bound), iter([record, *records]))


def test_water_filling_has_a_proof() -> None:
    """A slot's price proves the optimum of (4) within the rounding, and a wrong price does not."""
    assert isinstance(SLOT, SlotInstance)
    result = solve_water_filling(SLOT, limits=Limits())
    bound, records = prove_water_filling(SLOT, None, result.certificate)
    (record,) = records
    value = evaluate_slot(SLOT, result.decision).objective
    assert value <= bound <= value + 1e-9 * SLOT.n_users
    assert verify_water_filling(SLOT, header(bound), iter([record])) == bound
    price = Fraction(*map(int, record["price"])) * 2 + Fraction(1, 10**9)
    wrong = {"price": [str(price.numerator), str(price.denominator)]}
    with pytest.raises(ProofError, match=r"the prices prove .* only"):
        verify_water_filling(SLOT, header(bound), iter([wrong]))
    with pytest.raises(ProofError, match="below 0"):
        verify_water_filling(SLOT, header(bound), iter([{"price": ["-1", "2"]}]))
    with pytest.raises(InputError, match="expected one record with a price"):
        verify_water_filling(SLOT, header(bound), iter([record, record]))


def test_slot_that_cannot_lift_everybody_has_none() -> None:
    """Where a fallback decides there is no price to prove anything by."""
    full = generate("slot-importance", users=8, seed=4, settings={"bandwidth_bps": 1e6})
    result = solve_water_filling(full, limits=Limits())
    with pytest.raises(InputError, match="not everybody reaches its anchor"):
        prove_water_filling(full, None, result.certificate)
