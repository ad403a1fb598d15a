"""The text format of MMKP instances whose groups may differ in size (the public sets a, b, c and d)."""

from __future__ import annotations

from itertools import pairwise
from os import PathLike

import numpy as np

from instances.errors import InputError
from instances.importers.text import TextFile, read, safe_name
from instances.importers.tokens import Tokens, first_tokens, row_text
from instances.mmkp import MmkpInstance
from instances.origin import Origin

__all__ = ["instance_of", "is_irregular", "read_irregular", "write_irregular"]


def is_irregular(text: str) -> bool:
    """Tell whether the first line that is not blank holds two integers, n m."""
    return len(first_tokens(text)) == 2


def read_irregular(path: str | PathLike[str]) -> MmkpInstance:
    """Read ``n m``, m capacities, then n groups: its number of items, and each item, value first.

    Line breaks count as blanks and fractional values are kept. What a header says must fit the file exactly,
    so that a file of Khan's format, whose groups begin with their number, is not read by mistake.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    return instance_of(read(path))


def instance_of(file: TextFile) -> MmkpInstance:
    """Return the instance in a file that was read already; raises as ``read_irregular`` does."""
    if not is_irregular(file.text):
        first = next(i for i, line in enumerate(file.lines) if line.strip())
        raise file.error(first + 1, "n m", file.lines[first].strip(), "two integers: groups, resources")
    tokens = Tokens(file)
    n, m = tokens.count("n"), tokens.count("m")
    tokens.sizes_fit("n m", 0, 2 + m + n * (2 + m))
    capacities = [tokens.number(f"capacity {k}") for k in range(1, m + 1)]
    groups = []
    for group in range(1, n + 1):
        begun = tokens.next
        size = tokens.count(f"group {group}, number of items")
        needed = begun + 1 + size * (1 + m) + (n - group) * (2 + m)
        tokens.sizes_fit(f"group {group}, number of items", begun, needed)
        groups.append(np.empty((size, 1 + m)))
        tokens.items(groups[-1], f"group {group}")
    if not tokens.done:
        raise tokens.error("end", f"nothing after the {n} groups")
    start = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
    table = np.concatenate(groups)
    origin = Origin(source=f"irregular {file.file_name}", sha256=file.sha256)
    name = safe_name(file.path, "irregular")
    try:
        return MmkpInstance(name, np.array(capacities), start, table[:, 0], table[:, 1:], origin)
    except InputError as error:
        raise error.within(file.path) from None


def write_irregular(instance: MmkpInstance) -> str:
    """Return the instance in the irregular format, numbers as their shortest decimals.

    Raises
    ------
    InputError
        Without groups or resources, which the format has no words for.
    """
    if instance.n_groups == 0 or instance.n_resources == 0:
        found = f"{instance.n_groups} groups and {instance.n_resources} resources"
        raise InputError(f"mmkp: found {found}, expected at least one of each to write")
    lines = [f"{instance.n_groups} {instance.n_resources}", row_text(instance.capacities)]
    table = np.column_stack((instance.values, instance.weights))
    start = instance.group_start.tolist()
    for first, end in pairwise(start):
        lines.append(str(end - first))
        lines.extend(row_text(item) for item in table[first:end])
    return "\n".join(lines) + "\n"
