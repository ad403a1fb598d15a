"""Small random MMKPs, and their optima by trying every choice."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from instances.mmkp import MmkpInstance


def random_instance(
    seed: int, *, groups: int = 4, largest: int = 4, resources: int = 3, digits: int = 0
) -> MmkpInstance:
    """Return an instance with uneven groups; about one in four is infeasible.

    Numbers have ``digits`` decimals.
    """
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = rng.integers(1, largest + 1, groups)
    items = int(sizes.sum())
    start = np.concatenate(([0], np.cumsum(sizes)))
    scale = 10**digits
    values = rng.integers(0, 50, items) / scale
    weights = rng.integers(0, 10, (items, resources)) / scale
    capacities = rng.integers(3 * groups, 7 * groups, resources) / scale
    return MmkpInstance(f"random-{seed}", capacities, start, values, weights)


def brute_force(instance: MmkpInstance) -> Fraction | None:
    """Return the exact optimum, or None where no choice is feasible."""
    start = instance.group_start.tolist()
    groups = [range(start[g], start[g + 1]) for g in range(instance.n_groups)]
    values = [exact(v) for v in instance.values]
    weights = [[exact(w) for w in row] for row in instance.weights]
    capacities = [exact(c) for c in instance.capacities]
    best: Fraction | None = None
    for chosen in itertools.product(*groups):
        used = [sum((weights[j][k] for j in chosen), Fraction(0)) for k in range(len(capacities))]
        if all(u <= c for u, c in zip(used, capacities, strict=True)):
            value = sum((values[j] for j in chosen), Fraction(0))
            best = value if best is None else max(best, value)
    return best


def exact(number: float) -> Fraction:
    """Return the decimal that a number prints as."""
    return Fraction(repr(float(number)))
