"""JSON as strangers' files need it: no duplicated keys, NaN, overflow, endless nesting or numbers."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from instances.errors import InputError, shown

__all__ = ["parse"]

MAX_DEPTH = 50
MAX_NUMBER_LENGTH = 400
# An unclosed string runs to the end; if it had to close, each of its quotes would begin another search.
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[][{}]', re.DOTALL)


def parse(text: str, *, finite: bool = True, one_line: bool = False) -> Any:
    """Return the value of a JSON text.

    With ``finite=False`` a NaN, an infinity and a number that overflows arrive as floats, for a reader whose
    own checks refuse them by the name of their field. ``one_line`` is for JSON Lines: the caller says which.

    Raises
    ------
    InputError
        For malformed JSON (with its line), duplicated keys, NaN and infinities, numbers that overflow or
        are longer than 400 characters, and nesting deeper than 50.
    """
    _check_depth(text)
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant if finite else float,
            parse_float=_finite if finite else _bounded_float,
            parse_int=_short_int if finite else _bounded_int,
        )
    except json.JSONDecodeError as error:
        line = "" if one_line else f"line {error.lineno}: "
        raise InputError(f"{line}found malformed JSON ({error.msg}), expected JSON") from None


def _check_depth(text: str) -> None:
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        token = match.group()
        if token in ("[", "{"):
            depth += 1
            if depth > MAX_DEPTH:
                raise InputError(f"nesting: found more than {MAX_DEPTH} levels, expected fewer")
        elif token in ("]", "}"):
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise InputError(f"{shown(twice)}: found twice, expected once")
    return result


def _no_constant(literal: str) -> Any:
    raise InputError(f"number: found {literal}, expected a finite number")


def _finite(literal: str) -> float:
    value = _bounded_float(literal)
    if not math.isfinite(value):
        raise InputError(f"number: found {shown(literal)}, expected a number that fits a double")
    return value


def _short_int(literal: str) -> int:
    if len(literal) > MAX_NUMBER_LENGTH:
        raise InputError(f"number: found {len(literal)} digits, expected at most {MAX_NUMBER_LENGTH}")
    return int(literal)


def _bounded_float(literal: str) -> float:
    return float(literal) if len(literal) <= MAX_NUMBER_LENGTH else math.inf


def _bounded_int(literal: str) -> float:
    return int(literal) if len(literal) <= MAX_NUMBER_LENGTH else math.inf
