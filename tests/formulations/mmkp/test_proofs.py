"""Proofs of MMKP bounds: prices in rationals, and refusals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from formulations.mmkp.exact.lp_bound import solve_lp_bound
from formulations.mmkp.proof import prove_lp_bound
from formulations.mmkp.verify_proofs import verify_lp_bound
from formulations.result import Limits
from instances.errors import InputError
from instances.generate import generate
from instances.proof_files import Header, ProofError

INSTANCE = generate("mmkp-weakly", users=10, seed=4)


def proof() -> tuple[Fraction, list[dict[str, Any]]]:
    """Return the LP bound and the records of its proof."""
    result = solve_lp_bound(INSTANCE, limits=Limits())
    bound, records = prove_lp_bound(INSTANCE, result.bound, result.certificate)
    return bound, list(records)


def verified(bound: Fraction, records: list[dict[str, Any]]) -> Fraction:
    """Return what the verifier returns."""
    return verify_lp_bound(INSTANCE, Header("", "", "", bound, None), iter(records))


def test_lp_bound_has_a_proof() -> None:
    """The proof holds for its bound exactly, and for nothing less."""
    bound, records = proof()
    assert verified(bound, records) == bound
    with pytest.raises(ProofError, match=r"the prices prove .* only"):
        verified(bound - Fraction(1, 10**12), records)


def test_every_price_is_needed() -> None:
    """Without one of its prices, or with one of them twice, the proof does not hold."""
    bound, records = proof()
    assert records
    for i in range(len(records)):
        with pytest.raises(ProofError, match="only"):
            verified(bound, records[:i] + records[i + 1 :])
        with pytest.raises(ProofError, match="two prices"):
            verified(bound, [*records, records[i]])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"resource": 99, "price": ["1", "2"]}, "resource: found 99"),
        ({"resource": 0, "price": ["1", "3"]}, "expected a decimal"),
        ({"resource": 0, "price": ["-1", "2"]}, "at least 0"),
        ({"resource": 0}, "expected a resource and its price"),
        ({"resource": 0, "price": ["1", "0"]}, "denominator positive"),
    ],
)
def test_malformed_record_is_refused(record: dict[str, Any], message: str) -> None:
    """A record of another form is refused with what was expected."""
    bound, _ = proof()
    with pytest.raises(InputError, match=message):
        verified(bound, [record])
