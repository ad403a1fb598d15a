"""Hiremath and Hill's text format: many MMKP problems in one file, exported from a spreadsheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

import numpy as np

from instances.errors import InputError
from instances.importers.text import TextFile, read, safe_name
from instances.importers.tokens import Tokens, first_tokens, row_text
from instances.mmkp import MmkpInstance
from instances.origin import Origin

__all__ = ["instances_of", "is_hiremath_hill", "read_hiremath_hill", "write_hiremath_hill"]


def is_hiremath_hill(text: str) -> bool:
    """Tell whether the first line that is not blank holds four integers, the problem's number and n l m."""
    return len(first_tokens(text)) == 4


def read_hiremath_hill(path: str | PathLike[str]) -> list[MmkpInstance]:
    """Read every problem of a file: ``number n l m``, m capacities, n groups of l items as in Khan's format.

    Problems are numbered from 1. Tabs at either end of a line, and lines that hold nothing else, count as
    blanks.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    return instances_of(read(path))


def instances_of(file: TextFile) -> list[MmkpInstance]:
    """Return the problems in a file that was read already; raises as ``read_hiremath_hill`` does."""
    tokens = Tokens(file)
    name = safe_name(file.path, "hiremath-hill")
    problems: list[MmkpInstance] = []
    while not tokens.done:
        number = len(problems) + 1
        problem = _problem(tokens, number)
        origin = Origin(source=f"hiremath-hill {file.file_name} item {number}", sha256=file.sha256)
        problems.append(replace(problem, name=f"{name[:90]}-{number}", origin=origin))
    return problems


def _problem(tokens: Tokens, number: int) -> MmkpInstance:
    place = f"problem {number}, "
    begun = tokens.next
    tokens.exactly(number, f"{place}number", f"the problem's number {number}, then n l m")
    n, items, m = (tokens.count(f"{place}{field}") for field in ("n", "l", "m"))
    tokens.sizes_fit(f"{place}n l m", begun, begun + 4 + m + n * (1 + items * (1 + m)))
    capacities = [tokens.number(f"{place}capacity {k}") for k in range(1, m + 1)]
    table = np.empty((n * items, 1 + m))
    for group in range(1, n + 1):
        expected = f"the group number {group}; a group has {items} items of {1 + m} numbers"
        tokens.exactly(group, f"{place}group", expected)
        tokens.items(table[(group - 1) * items : group * items], f"{place}group {group}")
    start = np.arange(n + 1) * items
    return MmkpInstance("problem", np.array(capacities), start, table[:, 0], table[:, 1:])


def write_hiremath_hill(instances: Sequence[MmkpInstance]) -> str:
    """Return the problems as one text in the format: tabs, CRLF, a blank line between problems.

    Raises
    ------
    InputError
        When a problem's groups differ in size, or it has none, or no resource.
    """
    blocks = []
    for number, instance in enumerate(instances, start=1):
        sizes = sorted(set(np.diff(instance.group_start).tolist()))
        if len(sizes) != 1 or instance.n_resources == 0:
            found = f"groups of {sizes} items and {instance.n_resources} resources"
            raise InputError(f"problem {number}: found {found}, expected one size and a resource")
        lines = [
            f"{number}\t{instance.n_groups}\t{sizes[0]}\t{instance.n_resources}",
            "\t" + row_text(instance.capacities, "\t"),
        ]
        table = np.column_stack((instance.values, instance.weights))
        for group, start in enumerate(instance.group_start[:-1].tolist(), start=1):
            lines.append(str(group))
            lines.extend(row_text(item, "\t") for item in table[start : start + sizes[0]])
        blocks.append("\r\n".join(lines) + "\r\n")
    return "\r\n".join(blocks)
