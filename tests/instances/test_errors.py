"""Checks of values, and the one-line errors that they raise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from instances.errors import (
    InputError,
    frozen_array,
    increasing_shares,
    integer,
    matching_lengths,
    name,
    number,
    shown,
)
from tests.instances.documents import assert_same


def test_within() -> None:
    """A place is put in front of the message."""
    with pytest.raises(InputError, match=r"^a\.json: x: found 1$"):
        raise InputError("x: found 1").within("a.json")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("two\nlines\x1b[31m\u2028", "two?lines?[31m?"),
        ("x" * 61, "x" * 57 + "..."),
        ([1, "a"], "[1, 'a']"),
        (np.float64(0.7), "0.7"),
        (np.int64(3), "3"),
        pytest.param(10**5000, "a number of thousands of digits", id="endless"),
        ([10**5000], "a number of thousands of digits"),
        pytest.param("\ud800", "?", id="surrogate"),
    ],
)
def test_shown(value: object, text: str) -> None:
    """A value is shown short, in one line, numpy's numbers as numbers."""
    assert shown(value) == text


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int64(1)])
def test_number_is_a_float(value: Any) -> None:
    """A number of any numeric type comes back as Python's float."""
    assert_same(number("x", value, low=0, high=1), float(value))


@pytest.mark.parametrize(
    ("value", "limits", "message"),
    [
        (True, {}, "^x: found True, expected a number$"),
        (np.True_, {}, "^x: found True, expected a number$"),
        ("1", {}, r'^x: found "1" \(text\), expected a number$'),
        (None, {}, "^x: found None, expected a number$"),
        ([1], {}, r"^x: found \[1\], expected a number$"),
        (1j, {}, "^x: found 1j, expected a number$"),
        (math.nan, {}, "^x: found nan, expected a finite number$"),
        (-math.inf, {}, "^x: found -inf, expected a finite number$"),
        pytest.param(10**400, {}, r"^x: found 10+\.\.\., expected a finite number$", id="long"),
        pytest.param(
            10**5000, {}, "^x: found a number of thousands of digits, expected a fini", id="endless"
        ),
        (-1, {"low": 0}, "^x: found -1, expected at least 0$"),
        (3, {"high": 2}, "^x: found 3, expected at most 2$"),
        (np.float64(3), {"low": 0, "high": 2}, r"^x: found 3\.0, expected 0 to 2$"),
        (0, {"above": 0}, "^x: found 0, expected more than 0$"),
    ],
)
def test_number_refuses(value: object, limits: dict[str, float], message: str) -> None:
    """What is no finite number in the range is refused by field, finding and expectation."""
    with pytest.raises(InputError, match=message):
        number("x", value, **limits)


def test_integer_takes_whole_floats() -> None:
    """3.0 counts as 3."""
    assert_same(integer("x", 3.0, low=0, high=9), 3)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3.5, r"^x: found 3\.5, expected an integer$"),
        (False, "^x: found False, expected a number$"),
        (10, "^x: found 10, expected 0 to 9$"),
        pytest.param(10**5000, "^x: found a number of thousands of digits, expected a fini", id="endless"),
    ],
)
def test_integer_refuses(value: object, message: str) -> None:
    """What is no integer in the range is refused."""
    with pytest.raises(InputError, match=message):
        integer("x", value, low=0, high=9)


@pytest.mark.parametrize("value", ["a", "A-b_c.d+e", "0", "x" * 100])
def test_safe_names(value: str) -> None:
    """Names of the safe characters are taken."""
    assert name("name", value) == value


@pytest.mark.parametrize(
    "value", ["", "x" * 101, ".hidden", "..", "a/b", "a\\b", "a b", "a\n", "é", "a:b", "a\0", None, 5, ["a"]]
)
def test_unsafe_names(value: object) -> None:
    """Anything that could be a path, hide a file or break a line is no name."""
    with pytest.raises(InputError, match=r"^name: found .*, expected 1 to 100 of A-Z a-z 0-9 \. _ \+ - with"):
        name("name", value)


@pytest.mark.parametrize("values", [[1, 2], (1, 2.0), np.array([1, 2]), np.array([1, 2], dtype=np.float32)])
@pytest.mark.parametrize("whole", [False, True])
def test_frozen_array_types(values: Any, whole: bool) -> None:
    """Lists and arrays of any numeric type become int64 or float64."""
    expected = np.array([1, 2], dtype=np.int64 if whole else np.float64)
    assert_same(frozen_array("x", values, whole=whole), expected)


def test_frozen_array_is_a_copy() -> None:
    """The array does not follow its source."""
    source = np.array([1.0, 2.0])
    frozen = frozen_array("x", source)
    source[0] = 9
    assert frozen.tolist() == [1, 2]


def test_frozen_array_is_read_only() -> None:
    """The array cannot be written to."""
    with pytest.raises(ValueError, match="read-only"):
        frozen_array("x", [1.0])[0] = 2


@pytest.mark.parametrize("whole", [False, True])
def test_frozen_array_may_be_empty(whole: bool) -> None:
    """No entries are entries too."""
    assert len(frozen_array("x", [], low=0, high=1, whole=whole)) == 0


@pytest.mark.parametrize(
    ("values", "limits", "message"),
    [
        ("12", {}, "^x: found 12, expected a list of numbers$"),
        (b"12", {}, "^x: found b'12', expected a list of numbers$"),
        ({"0": 1}, {}, r"^x: found \{'0': 1\}, expected a list of numbers$"),
        (5, {}, "^x: found 5, expected a list of numbers$"),
        (None, {}, "^x: found None, expected a list of numbers$"),
        (np.zeros((2, 2)), {}, "^x: found 2 dimensions, expected one$"),
        ([[1]], {}, r"^x\[0\]: found \[1\], expected a number$"),
        ([1, True], {}, r"^x\[1\]: found True, expected a number$"),
        (np.array([True]), {}, r"^x\[0\]: found True, expected a number$"),
        (np.array(["1"]), {}, r'^x\[0\]: found "1" \(text\), expected a number$'),
        ([0, math.nan], {}, r"^x\[1\]: found nan, expected a finite number$"),
        (np.array([0, math.inf]), {}, r"^x\[1\]: found inf, expected a finite number$"),
        (np.array([math.nan]), {"low": 0, "high": 1, "whole": True}, r"^x\[0\]: found nan, expected a fin"),
        (np.array([math.inf]), {"low": 0, "high": 1, "whole": True}, r"^x\[0\]: found inf, expected a fin"),
        (np.array([1e300]), {"low": 0, "high": 1, "whole": True}, r"^x\[0\]: found 1e\+300, expected 0 to 1"),
        (
            np.array([2**64 - 1], dtype=np.uint64),
            {"low": 0, "high": 1, "whole": True},
            r"^x\[0\]: found 1844",
        ),
        ([0, 2], {"low": 0, "high": 1}, r"^x\[1\]: found 2, expected 0 to 1$"),
        (np.array([0.5]), {"low": 0, "high": 1, "whole": True}, r"^x\[0\]: found 0\.5, expected an integer$"),
        (np.array([1.0, 0.0]), {"above": 0}, r"^x\[1\]: found 0\.0, expected more than 0$"),
        ([10**5000], {}, r"^x\[0\]: found a number of thousands of digits, expected a finite number$"),
    ],
)
def test_frozen_array_refuses(values: Any, limits: dict[str, Any], message: str) -> None:
    """The first entry that does not fit is named with its index."""
    with pytest.raises(InputError, match=message):
        frozen_array("x", values, **limits)


def test_matching_lengths() -> None:
    """The first array of another length is named."""
    with pytest.raises(InputError, match=r"^b: found 1 entries, expected 2 as in a$"):
        matching_lengths({"a": np.zeros(2), "b": np.zeros(1)})


@pytest.mark.parametrize("values", [[0, 1], (0, 0.5, 1), np.array([0.0, 0.3, 1.0])])
def test_shares(values: Any) -> None:
    """Increasing shares from 0 to 1 become a tuple of floats."""
    assert_same(increasing_shares("x", values), tuple(float(v) for v in values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], r"^x: found \[\], expected shares from 0 to 1, both included$"),
        ([0], r"^x: found \[0\.0\], expected shares from 0 to 1, both included$"),
        ([0.1, 1], r"^x: found \[0\.1, 1\.0\], expected shares from 0 to 1, both included$"),
        ([0, 0.9], r"^x: found \[0\.0, 0\.9\], expected shares from 0 to 1, both included$"),
        ([0, 0.5, 0.5, 1], r"^x\[2\]: found 0\.5, expected more than 0\.5$"),
        ([0, 0.6, 0.5, 1], r"^x\[2\]: found 0\.5, expected more than 0\.6$"),
        ([0, 2, 1], r"^x\[1\]: found 2, expected 0 to 1$"),
        ("01", "^x: found 01, expected a list of numbers$"),
    ],
)
def test_shares_refused(values: Any, message: str) -> None:
    """Shares that do not rise from 0 to 1 are refused."""
    with pytest.raises(InputError, match=message):
        increasing_shares("x", values)
