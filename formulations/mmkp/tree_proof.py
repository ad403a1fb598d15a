"""Writes the proof of an MMKP bound as the tree of ``verify_tree.py``, by the closing search once more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.mmkp.core.branch import FOUND, PRICES, WAY, Log, advance, new_log, new_tree
from formulations.mmkp.core.fixing import Root, root_of
from formulations.mmkp.core.prices import best_prices
from formulations.mmkp.core.subproblem import core_of, fits_integers
from formulations.mmkp.exact.branch_and_bound import closing_groups
from formulations.mmkp.integers import IntegerMmkp, in_integers, whole_units
from instances.errors import InputError
from instances.mmkp import MmkpInstance
from instances.proof_files import ProofError, as_rational

__all__ = ["prove_exact"]

SLICE = 50_000  # nodes written at a time


def prove_exact(
    instance: MmkpInstance, bound: float | None, certificate: dict[str, Any]
) -> tuple[Fraction, Iterator[dict[str, Any]]]:
    """Return the bound in whole value units, and the records of its proof, found while they are read.

    No bound claims that no choice fits: that none is worth more than −1 unit.

    Raises
    ------
    InputError
        When totals do not fit 64-bit integers.
    ProofError
        While reading, when a choice above the bound turns up: the claim is wrong.
    """
    problem = in_integers(instance)
    if problem.n_groups and not fits_integers(problem):
        raise InputError("values, weights: found totals above 2**60 units, expected smaller ones")
    value = -1
    if bound is not None:
        nearest = Fraction(bound) + Fraction(math.ulp(bound)) / 2  # the bound was rounded to a double
        value = math.floor(nearest / problem.value_unit)
    return value * problem.value_unit, _records(instance, problem, value)


def _records(instance: MmkpInstance, problem: IntegerMmkp, value: int) -> Iterator[dict[str, Any]]:
    if problem.n_groups == 0:
        none = [0] * instance.n_resources
        yield {"unit": [as_rational(Fraction(1))] * len(none), "prices": none}
        return
    _, root = root_of(problem)
    units = [as_rational(unit) for unit in _price_units(instance, problem, root)]
    yield {"unit": units, "prices": root.prices.tolist()}
    groups = closing_groups(problem, root, value)
    if groups is not None:
        yield {"order": [int(problem.group[group[0]]) for group in groups]}
        yield from _tree(problem, root, groups, value)


def _price_units(instance: MmkpInstance, problem: IntegerMmkp, root: Root) -> list[Fraction]:
    """Return what the price 1 of each resource stands for, in value for a unit of weight."""
    units = []
    for k in range(instance.n_resources):
        row = np.append(instance.weights[:, k], instance.capacities[k])
        weight_unit = whole_units(f"weights of resource {k + 1}", row, instance.n_groups)[1]
        units.append(problem.value_unit / (weight_unit * root.fraction))
    return units


def _tree(
    problem: IntegerMmkp, root: Root, groups: list[np.ndarray[Any, np.dtype[np.int64]]], value: int
) -> Iterator[dict[str, Any]]:
    core = core_of(problem, groups, problem.capacities, root.fraction)
    tree = new_tree(core, best_prices(core)[0], value)
    log, done = new_log(tree, SLICE), False
    while not done:
        done = advance(core, tree, SLICE, log)
        if tree.counts[FOUND]:
            raise ProofError("a choice turned up that is worth more than the bound")
        yield from _written(log)
        log.rows[:] = 0


def _written(log: Log) -> Iterator[dict[str, Any]]:
    """Yield the log in stretches; where one begins with the first use of prices, they come with it."""
    nodes = log.way[: log.rows[WAY]].tolist()
    begin = 0
    stretch: dict[str, Any] = {}
    for at, *prices in log.prices[: log.rows[PRICES]].tolist():
        if at > begin:
            yield stretch | {"nodes": nodes[begin:at]}
        begin, stretch = at, {"prices": prices}
    if nodes:
        yield stretch | {"nodes": nodes[begin:]}
