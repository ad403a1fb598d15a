"""Blank-separated numbers of a text file, taken one by one; an error finds its line."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError
from instances.importers.text import TextFile, decimal

__all__ = ["MAX_COUNT", "Tokens", "first_tokens", "number_text", "row_text"]

MAX_COUNT = 10**7
MAX_NUMBER = 1e15
_COUNT = re.compile(r"[0-9]{1,8}")
_SAFE_LENGTH = 15  # a decimal of so many characters is the one that its double prints as


class Tokens:
    """The tokens of a file's first ``end`` lines; line breaks and tabs count as blanks."""

    def __init__(self, file: TextFile, end: int | None = None) -> None:
        self.file = file
        self.lines = file.lines
        self.end = len(self.lines) if end is None else end
        self.tokens = " ".join(self.lines[: self.end]).split()
        self.next = 0

    @property
    def done(self) -> bool:
        """Whether every token was taken."""
        return self.next >= len(self.tokens)

    def line_of(self, position: int) -> int:
        """Return the line, counted from 1, of a token, or the one after the last."""
        last = 0
        for i, line in enumerate(self.lines[: self.end], start=1):
            last += len(line.split())
            if last > position:
                return i
        return min(self.end + 1, len(self.lines))

    def error(self, field: str, expected: str, position: int | None = None) -> InputError:
        """Return the error at a token, the next one if ``position`` is None."""
        place = self.next if position is None else position
        if place < len(self.tokens):
            found = self.tokens[place]
        elif self.end < len(self.lines):
            found = self.lines[self.end].strip()
        else:
            found = "the end of the file"
        return self.file.error(self.line_of(place), field, found, expected)

    def count(self, field: str) -> int:
        """Take a positive integer."""
        token = "" if self.done else self.tokens[self.next]
        if not _COUNT.fullmatch(token) or not 1 <= int(token) <= MAX_COUNT:
            raise self.error(field, f"an integer from 1 to {MAX_COUNT}")
        self.next += 1
        return int(token)

    def exactly(self, wanted: int, field: str, expected: str) -> None:
        """Take this one integer."""
        token = "" if self.done else self.tokens[self.next]
        if not _COUNT.fullmatch(token) or int(token) != wanted:
            raise self.error(field, expected)
        self.next += 1

    def number(self, field: str) -> float:
        """Take a number of 0 or more that the double nearest to it prints as."""
        token = "" if self.done else self.tokens[self.next]
        value = decimal(token)
        if value is None or not 0 <= value <= MAX_NUMBER:
            raise self.error(field, f"a number from 0 to {MAX_NUMBER:g}")
        if len(token) > _SAFE_LENGTH and Fraction(token) != Fraction(repr(value)):
            raise self.error(field, "a number of at most 15 significant digits, which stays exact")
        self.next += 1
        return value

    def sizes_fit(self, field: str, begun: int, needed: int) -> None:
        """Refuse a header at token ``begun`` that asks for more numbers than the file holds.

        A hostile header must not reserve memory.
        """
        if needed > max(len(self.tokens), 10**6):
            line = self.line_of(begun)
            text = self.lines[line - 1].strip()
            raise self.file.error(line, field, text, "sizes that the file's numbers fill")

    def items(self, table: NDArray[np.float64], place: str) -> None:
        """Take the rows of a group's items into ``table``, (items, 1 + m): the value, then the weights."""
        for i, row in enumerate(table, start=1):
            row[0] = self.number(f"{place}, item {i}, value")
            for k in range(1, len(row)):
                row[k] = self.number(f"{place}, item {i}, weight {k}")


def first_tokens(text: str) -> list[str]:
    """Return the tokens of the first line that is not blank if all are integers, else nothing."""
    first = text.lstrip().split("\n", 1)[0].split()
    return first if all(_COUNT.fullmatch(token) for token in first) else []


def number_text(value: float) -> str:
    """Return the shortest decimal that is read back as ``value``, an integer without its point."""
    return str(int(value)) if value.is_integer() and value < MAX_NUMBER else repr(value)


def row_text(numbers: NDArray[np.float64], separator: str = " ") -> str:
    """Return numbers as one line."""
    return separator.join(number_text(x) for x in numbers.tolist())
