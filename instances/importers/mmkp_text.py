"""The public text formats of MMKP instances, told apart by content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from os import PathLike

import numpy as np

from instances.errors import InputError, integer, shown
from instances.importers import hiremath_hill, irregular, khan
from instances.importers.text import TextFile, read
from instances.importers.tokens import first_tokens
from instances.mmkp import MmkpInstance

__all__ = [
    "MMKP_FORMATS",
    "format_of",
    "instance_of",
    "problem_count",
    "read_mmkp",
    "without_padding",
    "write_mmkp",
]

MMKP_FORMATS = ("khan", "irregular", "hiremath-hill")
_BY_COUNT = {3: "khan", 2: "irregular", 4: "hiremath-hill"}  # integers on the first line
SEPARATORS = ("blank", "dash")


def format_of(text: str) -> str | None:
    """Return which of MMKP_FORMATS a text has, by the number of integers on its first line, or None."""
    return _BY_COUNT.get(len(first_tokens(text)))


def read_mmkp(
    path: str | PathLike[str], *, item: int | None = None, separator: str = "blank"
) -> MmkpInstance:
    """Read an MMKP file of any of the formats, plain or .gz.

    Parameters
    ----------
    path
        The file.
    item : int, optional
        Which problem of a file that holds several, counted from 1.
    separator : str
        ``dash`` for files that part their numbers by dashes, as older copies of the irregular set do. It is
        never guessed: a dash is else a sign, and negative numbers are refused.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    file = read(path)
    if separator not in SEPARATORS:
        raise InputError(f"separator: found {shown(separator)}, expected one of {', '.join(SEPARATORS)}")
    if separator == "dash":
        file = replace(file, text=file.text.replace("-", " "))
    if format_of(file.text) is None:
        first = next(i for i, line in enumerate(file.lines) if line.strip())
        expected = "n l m, n m or the problem's number and n l m"
        raise file.error(first + 1, "sizes", file.lines[first].strip(), expected)
    return instance_of(file, item)


def problem_count(path: str | PathLike[str]) -> int:
    """Return how many problems a file holds: 1 unless it is one of Hiremath and Hill's."""
    file = read(path)
    return len(hiremath_hill.instances_of(file)) if format_of(file.text) == "hiremath-hill" else 1


def instance_of(file: TextFile, item: int | None = None) -> MmkpInstance:
    """Return the instance in a file that was read already; raises as ``read_mmkp`` does."""
    if format_of(file.text) == "hiremath-hill":
        return _chosen(file, hiremath_hill.instances_of(file), item)
    one = khan.instance_of(file) if format_of(file.text) == "khan" else irregular.instance_of(file)
    return _chosen(file, [one], item)


def _chosen(file: TextFile, problems: list[MmkpInstance], item: int | None) -> MmkpInstance:
    if item is None and len(problems) > 1:
        expected = f"a choice of one of them, item 1 to {len(problems)} (--item N)"
        raise file.error(None, "item", f"{len(problems)} problems", expected)
    try:
        return problems[integer("item", 1 if item is None else item, low=1, high=len(problems)) - 1]
    except InputError as error:
        raise error.within(file.path) from None


def write_mmkp(instances: Sequence[MmkpInstance], format_name: str | None = None) -> str:
    """Return instances in a format; without one, Khan's where groups are of one size, else the irregular.

    Raises
    ------
    InputError
        For an unknown format, one that has no words for the instance, and several instances in a format for
        one.
    """
    if format_name is None:
        even = len(instances) == 1 and len(set(np.diff(instances[0].group_start).tolist())) == 1
        format_name = "hiremath-hill" if len(instances) > 1 else "khan" if even else "irregular"
    if format_name not in MMKP_FORMATS:
        raise InputError(f"format: found {shown(format_name)}, expected one of {', '.join(MMKP_FORMATS)}")
    if format_name == "hiremath-hill":
        return hiremath_hill.write_hiremath_hill(instances)
    if len(instances) != 1:
        raise InputError(f"format: found {len(instances)} problems, expected one for {format_name}")
    write = khan.write_khan if format_name == "khan" else irregular.write_irregular
    return write(instances[0])


def without_padding(instance: MmkpInstance) -> MmkpInstance:
    """Return the instance without the items that only fill groups up to one size.

    Such an item is worth 0, exceeds every capacity by itself and stands after all others of its group, so
    no feasible choice takes it and the others keep their numbers. A group keeps at least one item.
    """
    useless = (instance.values == 0) & np.all(instance.weights > instance.capacities, axis=1)
    useless &= instance.n_resources > 0
    keep = np.ones(len(useless), dtype=bool)
    for first, end in pairwise(instance.group_start.tolist()):
        last = end - 1
        while last > first and useless[last]:
            keep[last] = False
            last -= 1
    kept = np.add.reduceat(keep, instance.group_start[:-1]) if len(keep) else np.zeros(0, dtype=np.int64)
    start = np.concatenate(([0], np.cumsum(kept)))
    return replace(instance, group_start=start, values=instance.values[keep], weights=instance.weights[keep])
