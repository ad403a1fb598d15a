"""Instances own their arrays: copied, read-only, also in a worker that got them by pickle."""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest

from instances.errors import InputError
from instances.files import content_hash, load_instance
from instances.generate import generate
from instances.handover import HandoverTrace
from instances.mmkp import MmkpInstance
from tests.instances.documents import FOLDER, assert_frozen, assert_same

INSTANCES = [
    load_instance(FOLDER / "balance.json"),
    load_instance(FOLDER / "slot.json"),
    load_instance(FOLDER / "handover.json"),
    replace(load_instance(FOLDER / "handover.json"), window_slots=np.array([1, 2, 3])),  # type: ignore[arg-type]
    generate("mmkp-weakly", users=2),
]
TABLE: dict[str, Any] = {
    "name": "m",
    "capacities": np.array([1.0]),
    "group_start": np.array([0, 1, 2]),
    "values": np.array([1.0, 2.0]),
    "weights": np.array([[1.0], [0.5]]),
}
each_instance = pytest.mark.parametrize("instance", INSTANCES, ids=["balance", "slot", "one", "list", "mmkp"])


def owners(item: Any) -> list[Any]:
    """Return the item and the objects inside it that hold arrays."""
    inner = [getattr(item, field.name) for field in fields(item)]
    return [item, *[value for value in inner if is_dataclass(value)]]


@each_instance
def test_frozen(instance: Any) -> None:
    """No array can be written to."""
    assert_frozen(instance)


@each_instance
def test_pickled(instance: Any) -> None:
    """An unpickled instance is the same bit for bit, has the same hash, and is frozen."""
    again = pickle.loads(pickle.dumps(instance))
    assert_same(again, instance)
    assert content_hash(again) == content_hash(instance)
    assert_frozen(again)


@each_instance
def test_copies(instance: Any) -> None:
    """An instance that is built of writable arrays does not follow them."""
    for owner in owners(instance):
        values = {field.name: getattr(owner, field.name) for field in fields(owner)}
        sources = {key: value.copy() for key, value in values.items() if isinstance(value, np.ndarray)}
        built = type(owner)(**(values | sources))
        for source in sources.values():
            source[...] = 0
        assert_same(built, owner)


@each_instance
def test_fields_cannot_be_set(instance: Any) -> None:
    """A field cannot be set; a variant is made by replace."""
    with pytest.raises(AttributeError, match="cannot assign to field 'name'"):
        instance.name = "other"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacities": [-1.0]}, r"^capacities\[0\]: found -1\.0, expected 0 to 1e\+15$"),
        ({"values": [1.0, -2.0]}, r"^values\[1\]: found -2\.0, expected 0 to 1e\+15$"),
        ({"values": [1.0, float("nan")]}, r"^values\[1\]: found nan, expected a finite number$"),
        ({"weights": np.zeros((2, 2))}, r"^weights: found shape \(2, 2\), expected \(2, 1\)$"),
        ({"weights": np.array([[1.0], [-1.0]])}, r"^weights\[1\]: found -1\.0, expected 0 to 1e\+15$"),
        ({"group_start": [0, 1]}, "^group_start: expected 0 first and the number of items, 2, last$"),
        ({"group_start": [1, 2]}, "^group_start: expected 0 first and the number of items, 2, last$"),
        ({"group_start": []}, "^group_start: expected 0 first and the number of items, 2, last$"),
        ({"group_start": [0, 1, 1, 2]}, r"^group_start\[2\]: group 2 is empty, expected an item$"),
        ({"group_start": [0, 2, 1, 2]}, r"^group_start\[2\]: group 2 is empty, expected an item$"),
        ({"name": "a/b"}, "^name: found 'a/b', expected 1 to 100 of"),
    ],
)
def test_mmkp_refuses(change: dict[str, Any], message: str) -> None:
    """A table that does not fit together is refused by field."""
    with pytest.raises(InputError, match=message):
        MmkpInstance(**(TABLE | change))


def test_mmkp_sizes() -> None:
    """Groups and resources are counted."""
    instance = MmkpInstance(**TABLE)
    assert (instance.n_groups, instance.n_resources) == (2, 1)


def test_capacity_is_of_the_decimals() -> None:
    """A slot of 0.1 s at 20 Gbit/s carries 2·10⁹ bits, and one at 3 bit/s three tenths of a bit."""
    trace = load_instance(FOLDER / "handover.json")
    assert isinstance(trace, HandoverTrace)
    assert trace.capacity_bits == 2e9
    assert replace(trace, bandwidth_bps=3).capacity_bits == 0.3
