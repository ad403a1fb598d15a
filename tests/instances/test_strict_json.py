"""JSON from strangers."""

from __future__ import annotations

import json
import time

import pytest

from instances.errors import InputError
from instances.strict_json import parse


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "-1.5e-7",
        '"a"',
        "[]",
        "{}",
        "null",
        "true",
        '{"a": [1, 2.0, {"b": null}], "c": "é"}',
        "\n [1,\r\n 2]\n",
        pytest.param("1" * 400, id="400 digits"),
    ],
)
def test_reads_what_json_reads(text: str) -> None:
    """A sound text has the value that the standard reader gives it."""
    assert parse(text) == json.loads(text)


@pytest.mark.parametrize("text", ["1", "1.0"])
def test_keeps_the_type_of_numbers(text: str) -> None:
    """An integer stays an integer and a decimal a float."""
    assert type(parse(text)) is type(json.loads(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 1}', "^a: found twice, expected once$"),
        ('{"b": {"a": 1, "c": 2, "a": 3}}', "^a: found twice, expected once$"),
        ('[{"\\u0061": 1, "a": 2}]', "^a: found twice, expected once$"),
        ('{"a\\nb": 1, "a\\nb": 2}', r"^a\?b: found twice, expected once$"),
        ("NaN", "^number: found NaN, expected a finite number$"),
        ('{"a": [Infinity]}', "^number: found Infinity, expected a finite number$"),
        ("-Infinity", "^number: found -Infinity, expected a finite number$"),
        ("1e999", "^number: found 1e999, expected a number that fits a double$"),
        ("[-1e400]", "^number: found -1e400, expected a number that fits a double$"),
        pytest.param("9" * 5000, "^number: found 5000 digits, expected at most 400$", id="5000 digits"),
        pytest.param(
            "0." + "1" * 5000, r"^number: found 0\.1+\.\.\., expected a number that", id="5000 places"
        ),
    ],
)
def test_refuses(text: str, message: str) -> None:
    """Duplicated keys, NaN, infinities, overflow and endless numbers are refused in one line."""
    with pytest.raises(InputError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "literal", ["NaN", "Infinity", "-Infinity", "1e999", pytest.param("9" * 5000, id="5000 digits")]
)
def test_leaves_numbers_to_the_reader(literal: str) -> None:
    """With ``finite=False`` an unfit number arrives as a float that is not finite."""
    value = parse(literal, finite=False)
    assert isinstance(value, float)
    assert not abs(value) < float("inf")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": [1,\n 2', 2),
        ('{"a":\n\n "never closed', 3),
        ("{", 1),
        ("", 1),
        ("[1]\n]", 2),
        ("{'a': 1}", 1),
        ('["a\tb"]', 1),
        ("[1,\n 2,\n]", 3),
        ("01", 1),
        ("[tru]", 1),
    ],
)
def test_malformed_names_its_line(text: str, line: int) -> None:
    """Malformed or cut JSON is refused with the line where it breaks."""
    with pytest.raises(InputError, match=rf"^line {line}: found malformed JSON \(.*\), expected JSON$"):
        parse(text)


def test_fifty_levels_are_read() -> None:
    """Fifty levels are read."""
    assert parse("[" * 50 + "]" * 50) == json.loads("[" * 50 + "]" * 50)


@pytest.mark.parametrize(
    "text",
    ["[" * 51 + "]" * 51, "[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000],
    ids=["51", "open lists", "open objects", "closed lists"],
)
def test_deeper_is_refused(text: str) -> None:
    """Deeper nesting is refused, at whatever depth, and not by a RecursionError."""
    with pytest.raises(InputError, match=r"^nesting: found more than 50 levels, expected fewer$"):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        '"' + "[" * 100 + '"',
        '["\\"' + "{[" * 100 + '"]',
        '["\\\\", "' + "[" * 100 + '\\\\"]',
        '{"' + "[{" * 100 + '": 1}',
    ],
    ids=["plain", "escaped quote", "escaped backslash", "key"],
)
def test_brackets_in_strings(text: str) -> None:
    """Brackets in strings are no nesting, also behind escaped quotes and backslashes."""
    assert parse(text) == json.loads(text)


def test_brackets_between_strings() -> None:
    """Brackets behind a string that ends with an escaped backslash are nesting."""
    with pytest.raises(InputError, match=r"^nesting: found more than 50 levels"):
        parse('["\\\\", ' + "[" * 60 + "]" * 60 + "]")


def test_unclosed_string_is_quick() -> None:
    """An unclosed string full of escaped quotes is read once, not once a quote."""
    begin = time.perf_counter()
    with pytest.raises(InputError, match=r"^line 1: found malformed JSON"):
        parse('"' + '\\"' * 50_000)
    assert time.perf_counter() - begin < 5
