"""The multi-dimensional multiple-choice knapsack problem's data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, frozen_array, name
from instances.origin import Origin

__all__ = ["MmkpInstance"]


@dataclass(frozen=True, eq=False)
class MmkpInstance:
    """One MMKP: take exactly one item of each group within the capacities, at the largest total value.

    Items of all groups stand one after the other; group g owns items group_start[g] to group_start[g+1] - 1.
    Numbers mean the decimals that they print as, so fractional values stay exact.
    """

    name: str
    capacities: NDArray[np.float64]  # (m,) one a resource
    group_start: NDArray[np.int64]  # (n+1,) first item of each group, then the number of items
    values: NDArray[np.float64]  # (items,)
    weights: NDArray[np.float64]  # (items, m)
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        name("name", self.name)
        capacities = frozen_array("capacities", self.capacities, low=0, high=1e15)
        values = frozen_array("values", self.values, low=0, high=1e15)
        start = frozen_array("group_start", self.group_start, low=0, high=10**7, whole=True)
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (len(values), len(capacities)):
            expected = (len(values), len(capacities))
            raise InputError(f"weights: found shape {weights.shape}, expected {expected}")
        frozen_array("weights", weights.reshape(-1), low=0, high=1e15)
        weights.setflags(write=False)
        if len(start) < 1 or start[0] != 0 or start[-1] != len(values):
            raise InputError(f"group_start: expected 0 first and the number of items, {len(values)}, last")
        empty = np.flatnonzero(np.diff(start) < 1)
        if empty.size:
            raise InputError(f"group_start[{empty[0] + 1}]: group {empty[0] + 1} is empty, expected an item")
        for key, array in (("capacities", capacities), ("values", values), ("group_start", start)):
            object.__setattr__(self, key, array)
        object.__setattr__(self, "weights", weights)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)

    @property
    def n_groups(self) -> int:
        """Number of groups n."""
        return len(self.group_start) - 1

    @property
    def n_resources(self) -> int:
        """Number of resources m."""
        return len(self.capacities)
