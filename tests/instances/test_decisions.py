"""Decisions: modes, ranges, no pair twice, frozen."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from instances.decisions import MODES, Allocation, Assignment, Choice, Schedule
from instances.errors import InputError
from tests.instances.documents import assert_frozen, assert_same

DECISIONS = [
    Assignment(MODES, 0.5),
    Allocation(np.array([0.0, 1.0])),
    Schedule(np.array([0, 1]), np.array([3, 3]), np.array([1.5, 2.0])),
    Choice(np.array([0, 4])),
]


@pytest.mark.parametrize("decision", DECISIONS, ids=lambda decision: type(decision).__name__)
def test_pickling(decision: Any) -> None:
    """A decision that went through a pickle is the same, and still frozen."""
    again = pickle.loads(pickle.dumps(decision))
    assert_same(again, decision)
    assert_frozen(again)


@pytest.mark.parametrize("mode", ["AD", "", "both", 1, None, True, ["ad"]])
def test_unknown_mode(mode: Any) -> None:
    """A mode is one of none, ad and sd."""
    with pytest.raises(InputError, match=r"^mode\[1\]: found .*, expected one of none, ad, sd$"):
        Assignment(("ad", mode), 0.5)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan"), True, "0.5", None])
def test_compute_share_is_a_share(share: Any) -> None:
    """The compute share is a number from 0 to 1."""
    with pytest.raises(InputError, match=r"^compute_share: found .*, expected (a number|a finite|0 to 1)"):
        Assignment(("ad",), share)


def test_modes_become_a_tuple() -> None:
    """A list of modes is copied, so that it cannot be changed later."""
    modes = ["ad", "sd"]
    assignment = Assignment(modes, 1)  # type: ignore[arg-type]
    modes[0] = "none"
    assert assignment.mode == ("ad", "sd")


@pytest.mark.parametrize("fraction", [-1e-12, 1 + 1e-12, float("inf")])
def test_fraction_is_a_fraction(fraction: float) -> None:
    """A fraction below 0 or above 1 is refused, by however little."""
    with pytest.raises(InputError, match=r"^fraction\[1\]: found .*, expected (0 to 1|a finite number)$"):
        Allocation(np.array([0.5, fraction]))


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
def test_pair_listed_twice(order: list[int]) -> None:
    """A user's slot that is listed twice is refused wherever its entries stand."""
    user, slot, bits = np.array([7, 0, 7]), np.array([2, 2, 2]), np.array([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match=r"^schedule: user 7 in slot 2 is listed twice, expected once$"):
        Schedule(user[order], slot[order], bits[order])


def test_pairs_that_share_a_part() -> None:
    """A user in several slots and a slot of several users are no duplicates, and keep their order."""
    schedule = Schedule(np.array([1, 0, 1, 0]), np.array([0, 1, 1, 0]), np.array([4.0, 3.0, 2.0, 1.0]))
    assert schedule.bits.tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize(
    ("user", "slot", "bits", "message"),
    [
        ([-1], [0], [1.0], r"^user\[0\]: found -1, expected 0 to 1e\+09$"),
        ([0.5], [0], [1.0], r"^user\[0\]: found 0\.5, expected an integer$"),
        ([0], [-1], [1.0], r"^slot\[0\]: found -1, expected 0 to 2e\+07$"),
        ([0], [0], [-1.0], r"^bits\[0\]: found -1\.0, expected 0 to 1e\+30$"),
        ([0], [0], [1e31], r"^bits\[0\]: found 1e\+31, expected 0 to 1e\+30$"),
        ([0, 1], [0, 1], [1.0], "^bits: found 1 entries, expected 2 as in user$"),
    ],
)
def test_schedule_refuses(user: Any, slot: Any, bits: Any, message: str) -> None:
    """Negative, fractional, endless and missing entries are refused by field and index."""
    with pytest.raises(InputError, match=message):
        Schedule(np.array(user), np.array(slot), np.array(bits))


def test_item_is_counted_from_zero() -> None:
    """There is no item before the first."""
    with pytest.raises(InputError, match=r"^item\[1\]: found -1, expected 0 to 1e\+07$"):
        Choice(np.array([0, -1]))
