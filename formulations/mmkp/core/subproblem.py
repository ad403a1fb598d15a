"""A core: some groups of an MMKP in a chosen order, as the kernels take it.

Prices λ ≥ 0 bound what groups d, d+1, … can add within what is left, r:

    Σ_k λ_k r_k + Σ_{g ≥ d} max_{j ∈ G_g} (v_j − Σ_k λ_k w_jk).                                        (1)

The kernels choose prices in floating point and bound in integers: prices are whole multiples of a fixed
fraction, so (1) is computed without rounding, and a bound cuts off nothing by an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.mmkp.integers import IntegerMmkp

__all__ = ["Core", "core_of", "fits_integers"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PRICE_BITS = 12  # a price of the most valued item for the heaviest is at least so many bits long
_SAFE = 2**60
_HEAVIEST = 2**50


class Core(NamedTuple):
    """Groups in order; their items stand one after the other, as in an instance."""

    start: Ints  # (n+1,)
    values: Ints  # (items,)
    weights: Ints  # (items, m)
    capacities: Ints  # (m,) what these groups may use
    least: Ints  # (n+1, m) what groups d, d+1, … use at least
    values_f: Floats  # (items,) in units of value_scale
    weights_f: Floats  # (items, m) in units of row_scale
    value_scale: float
    row_scale: Floats  # (m,)
    fraction: int  # bounds are counted in 1/fraction of a value unit
    largest_price: Ints  # (m,) in 1/fraction of a value unit for each weight unit


def fits_integers(problem: IntegerMmkp) -> bool:
    """Tell whether totals fit 64-bit integers with room for the kernels' fractions."""
    if problem.values.dtype == object or problem.weights.dtype == object:
        return False
    total = int(problem.values.max(initial=0)) * (problem.n_groups + 1)
    used = int(problem.weights.max(initial=0)) * (problem.n_groups + 1)
    return total < _SAFE and max(used, int(problem.capacities.max(initial=0))) < _HEAVIEST


def core_of(
    problem: IntegerMmkp, groups: Sequence[Ints], capacities: Ints, fraction: int | None = None
) -> Core:
    """Return the core of some groups.

    Parameters
    ----------
    problem
        The whole problem, of which ``fits_integers`` holds.
    groups
        The items that are kept of each group, by their numbers in the problem; at least one a group.
    capacities : (m,)
        What these groups may use, at least 0.
    fraction
        That of a core that holds this one, for common prices; a good one if None.
    """
    kept = np.concatenate(groups)
    start = np.concatenate(([0], np.cumsum([len(group) for group in groups])))
    values, weights = problem.values[kept], np.ascontiguousarray(problem.weights[kept])
    least = np.zeros((len(groups) + 1, weights.shape[1]), dtype=np.int64)
    smallest = np.minimum.reduceat(weights, start[:-1], axis=0)
    least[:-1] = np.cumsum(smallest[::-1], axis=0)[::-1]
    value_scale = float(max(values.max(), 1))
    row_scale = np.maximum(weights.max(axis=0), 1).astype(np.float64)
    used = np.maximum(capacities, weights.max(axis=0) * len(groups)) + 1
    return Core(
        start,
        values,
        weights,
        np.ascontiguousarray(capacities, dtype=np.int64),
        least,
        values / value_scale,
        weights / row_scale,
        value_scale,
        row_scale,
        fraction or _fraction(values, weights, len(groups)),
        _SAFE // (used * max(len(capacities), 1)),
    )


def _fraction(values: Ints, weights: Ints, groups: int) -> int:
    """Return a power of two by which totals may be multiplied and that tells prices finely apart."""
    safe = (_SAFE // (int(values.max()) * groups + 1)).bit_length() - 1
    fine = PRICE_BITS + max(int(weights.max(initial=1)) // max(int(values.max()), 1), 1).bit_length()
    return int(2 ** max(min(safe, max(fine, 16)), 0))
