"""JSON as strangers' files need it: no duplicated keys, NaN, overflow, endless nesting or numbers."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from instances.errors import InputError, shown

__all__ = ["parse"]

MAX_DEPTH = 50
MAX_NUMBER_LENGTH = 400
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[][{}]', re.DOTALL)


def parse(text: str) -> Any:
    """Return the value of a JSON text.

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
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_short_int,
        )
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}: found malformed JSON ({error.msg}), expected JSON") from None


def _check_depth(text: str) -> None:
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
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InputError(f"{shown(key)}: found twice, expected once")
        result[key] = value
    return result


def _no_constant(literal: str) -> Any:
    raise InputError(f"number: found {literal}, expected a finite number")


def _finite(literal: str) -> float:
    value = float(literal) if len(literal) <= MAX_NUMBER_LENGTH else math.inf
    if not math.isfinite(value):
        raise InputError(f"number: found {shown(literal)}, expected a number that fits a double")
    return value


def _short_int(literal: str) -> int:
    if len(literal) > MAX_NUMBER_LENGTH:
        raise InputError(f"number: found {len(literal)} digits, expected at most {MAX_NUMBER_LENGTH}")
    return int(literal)
