"""The witnesses of published claims are the instances that the claims were decided on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.files import document_of
from instances.generate import generate
from instances.witnesses import WITNESSES, unit_instance
from tests.instances.documents import FOLDER

CASES: list[dict[str, Any]] = json.loads((FOLDER / "witnesses.json").read_text(encoding="utf-8"))


def to_nine_digits(value: Any) -> Any:
    """Return a document with every number at 9 significant digits."""
    if isinstance(value, dict):
        return {key: to_nine_digits(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [to_nine_digits(inner) for inner in value]
    return float(f"{value:.8e}")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['family']}-{case['size']}")
def test_equals_the_proved_case(case: dict[str, Any]) -> None:
    """A witness has the numbers of the case whose optimum was proved, to 9 significant digits."""
    document = document_of(generate(case["family"], users=case["size"]))
    for key in ("server", "llm", "slm", "draft_tokens", "users"):
        assert to_nine_digits(document[key]) == to_nine_digits(case[key]), key


@pytest.mark.parametrize("family", WITNESSES)
def test_seed_changes_nothing(family: str) -> None:
    """A witness is one instance, whatever the seed; only its name and origin tell the seed."""
    first, second = (document_of(generate(family, seed=seed)) for seed in (0, 1))
    for key in ("server", "llm", "slm", "draft_tokens", "users"):
        assert first[key] == second[key]


@pytest.mark.parametrize("family", [family for family in WITNESSES if family != "tie-proof"])
def test_size_is_its_own(family: str) -> None:
    """A witness of another size does not exist."""
    with pytest.raises(InputError, match=r"^users: found 1, expected [23], the witness's own number$"):
        generate(family, users=1)


@pytest.mark.parametrize("size", [0, 1, 2, 4])
def test_tie_proof_sizes(size: int) -> None:
    """The tie-proof family has 2n + 1 users."""
    with pytest.raises(
        InputError, match=rf"^users: found {size}, expected an odd number 2n \+ 1 of at least"
    ):
        generate("tie-proof", users=size)


@pytest.mark.parametrize(("size", "tokens"), [(3, 100), (5, 100), (21, 100), (41, 200)])
def test_tie_proof_counts(size: int, tokens: int) -> None:
    """Of 2n + 1 users n have long prompts, which grow with n from n = 10 on."""
    instance = generate("tie-proof", users=size)
    assert isinstance(instance, BalanceInstance)
    assert instance.users.input_tokens.tolist() == [tokens] * (size // 2) + [1] * (size // 2 + 1)


def test_unit_networks() -> None:
    """A unit network's dimensions are all 1, and nothing is sent."""
    instance = unit_instance([1], [1], [1.0], [0.5], 1.0, (0.0, 0.0), (0.0, 0.0))
    shape = [getattr(instance.llm, key) for key in ("layers", "hidden", "heads", "head_dim", "ffn")]
    assert shape == [1] * 5
    assert (instance.users.upload_s[0], instance.users.download_s[0]) == (0, 0)
