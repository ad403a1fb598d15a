"""Khan's text format of MMKP instances (I01 to I13), with the solutions that files may carry at the end."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from os import PathLike

import numpy as np

from instances.decisions import Choice
from instances.errors import InputError
from instances.importers.text import TextFile, decimal, read, safe_name
from instances.importers.tokens import Tokens, first_tokens, row_text
from instances.mmkp import MmkpInstance
from instances.origin import Origin

__all__ = [
    "KhanSolution",
    "KhanSolutions",
    "instance_of",
    "is_khan",
    "read_khan",
    "read_khan_solutions",
    "write_khan",
]

TOLERANCE = Fraction(1, 10**6)
_COUNT = re.compile(r"[0-9]{1,8}")
_SOLUTION = re.compile(r"[ \t]*Solutions[ \t]+by[ \t]+(\S.*?)[ \t]*")
_BOUND = re.compile(r"[ \t]*Upper[ \t]+bound[ \t]*")


@dataclass(frozen=True)
class KhanSolution:
    """A solution that stands in the file, recomputed."""

    label: str  # who found it, as in the file
    choice: Choice
    objective: float  # as stated


@dataclass(frozen=True)
class KhanSolutions:
    """What follows the data: solutions in the file's order, and an upper bound if there is one."""

    solutions: list[KhanSolution]
    upper_bound: float | None


def is_khan(text: str) -> bool:
    """Tell whether the first line that is not blank holds three integers, n l m."""
    return len(first_tokens(text)) == 3


def read_khan(path: str | PathLike[str]) -> MmkpInstance:
    """Read ``n l m``, m capacities, then n groups: its number and l items, value first, then m weights.

    Line breaks count as blanks, leading blank lines are skipped and fractional values are kept. Solutions at
    the end must recompute (their objective within 1e-6) and be feasible.

    Raises
    ------
    InputError
        ``file:line: field: what was found, what was expected``.
    """
    return instance_of(read(path))


def read_khan_solutions(path: str | PathLike[str]) -> KhanSolutions:
    """Return the solutions and the upper bound at the end of a Khan file; raises as ``read_khan`` does."""
    return _parsed(read(path))[1]


def write_khan(instance: MmkpInstance) -> str:
    """Return the instance in Khan's format, numbers as their shortest decimals, without solutions.

    Raises
    ------
    InputError
        When the groups differ in size or there is nothing to write, which the format has no words for.
    """
    sizes = sorted(set(np.diff(instance.group_start).tolist()))
    if len(sizes) != 1 or instance.n_resources == 0:
        raise InputError(f"group_start: found groups of {sizes} items, expected one size of at least 1")
    lines = [f"{instance.n_groups} {sizes[0]} {instance.n_resources}", row_text(instance.capacities)]
    table = np.column_stack((instance.values, instance.weights))
    for group, start in enumerate(instance.group_start[:-1].tolist(), start=1):
        lines.append(str(group))
        lines.extend(row_text(item) for item in table[start : start + sizes[0]])
    return "\n".join(lines) + "\n"


def instance_of(file: TextFile) -> MmkpInstance:
    """Return the instance in a file that was read already; raises as ``read_khan`` does."""
    return _parsed(file)[0]


def _parsed(file: TextFile) -> tuple[MmkpInstance, KhanSolutions]:
    lines = file.lines
    end = next((i for i, line in enumerate(lines) if line.strip()[:1].isalpha()), len(lines))
    instance = _instance(file, Tokens(file, end))
    return instance, _solutions(file, instance, end)


def _instance(file: TextFile, tokens: Tokens) -> MmkpInstance:
    n, items, m = _sizes(file, tokens)
    capacities = [tokens.number(f"capacity {k}") for k in range(1, m + 1)]
    table = np.empty((n * items, 1 + m))
    for group in range(1, n + 1):
        expected = f"the group number {group}; a group has {items} items of {1 + m} numbers"
        tokens.exactly(group, "group", expected)
        tokens.items(table[(group - 1) * items : group * items], f"group {group}")
    if not tokens.done:
        raise tokens.error("end", f"nothing after the {n} groups but solutions")
    start = np.arange(n + 1) * items
    origin = Origin(source=f"khan {file.file_name}", sha256=file.sha256)
    name = safe_name(file.path, "khan")
    try:
        return MmkpInstance(name, np.array(capacities), start, table[:, 0], table[:, 1:], origin)
    except InputError as error:
        raise error.within(file.path) from None


def _sizes(file: TextFile, tokens: Tokens) -> tuple[int, int, int]:
    if not is_khan(file.text):
        first = next(i for i, line in enumerate(file.lines) if line.strip())
        text = file.lines[first].strip()
        raise file.error(first + 1, "n l m", text, "three integers: groups, items a group, resources")
    n, items, m = tokens.count("n"), tokens.count("l"), tokens.count("m")
    tokens.sizes_fit("n l m", 0, 3 + m + n * (1 + items * (1 + m)))
    return n, items, m


def _solutions(file: TextFile, instance: MmkpInstance, begin: int) -> KhanSolutions:
    """Read the sections of the tail: a heading line, then numbers up to the next heading."""
    lines = file.lines
    solutions: list[KhanSolution] = []
    bound: float | None = None
    line = begin
    while line < len(lines):
        end = line + 1
        while end < len(lines) and not lines[end].strip()[:1].isalpha():
            end += 1
        body = " ".join(lines[line + 1 : end]).split()
        solution = _SOLUTION.fullmatch(lines[line])
        if solution:
            solutions.append(_solution(file, instance, solution.group(1), line + 1, body))
        elif _BOUND.fullmatch(lines[line]):
            bound = _upper_bound(file, line + 1, body, bound)
        else:
            expected = "'Solutions by …', 'Upper bound' or the end"
            raise file.error(line + 1, "heading", lines[line].strip(), expected)
        line = end
    return KhanSolutions(solutions, bound)


def _upper_bound(file: TextFile, line: int, body: list[str], before: float | None) -> float:
    value = decimal(body[0]) if len(body) == 1 else None
    if before is not None:
        raise file.error(line, "Upper bound", "a second one", "one")
    if value is None:
        raise file.error(line, "Upper bound", " ".join(body) or "nothing", "one number")
    return value


def _solution(file: TextFile, instance: MmkpInstance, label: str, line: int, body: list[str]) -> KhanSolution:
    field = f"solution by {label}"
    n = instance.n_groups
    sizes = np.diff(instance.group_start).tolist()
    if len(body) != n + 1:
        raise file.error(line, field, f"{len(body)} numbers", f"{n} items and the objective")
    for group, token in enumerate(body[:-1]):
        if not _COUNT.fullmatch(token) or int(token) >= sizes[group]:
            expected = f"an item from 0 to {sizes[group] - 1} for group {group + 1}"
            raise file.error(line, field, token, expected)
    stated = decimal(body[-1])
    if stated is None:
        raise file.error(line, field, body[-1], "the objective")
    choice = Choice(np.array([int(token) for token in body[:-1]]))
    _recompute(file, instance, choice, stated, line, field)
    return KhanSolution(label, choice, stated)


def _recompute(
    file: TextFile, instance: MmkpInstance, choice: Choice, stated: float, line: int, field: str
) -> None:
    """Refuse a solution whose objective or feasibility does not hold, in exact decimals."""
    chosen = instance.group_start[:-1] + choice.item
    value = sum((_exact(v) for v in instance.values[chosen]), Fraction(0))
    if abs(value - _exact(stated)) > TOLERANCE:
        raise file.error(line, field, stated, f"its objective {float(value)!r}")
    for k in range(instance.n_resources):
        used = sum((_exact(w) for w in instance.weights[chosen, k]), Fraction(0))
        if used > _exact(instance.capacities[k]):
            expected = f"at most the capacity {instance.capacities[k]:g}"
            raise file.error(line, field, f"{float(used):g} of resource {k + 1}", expected)


def _exact(number: float) -> Fraction:
    return Fraction(repr(float(number)))
