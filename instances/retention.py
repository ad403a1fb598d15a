"""Measured accuracies of partial caches: what a utility is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, frozen_array, matching_lengths, name
from instances.origin import Origin

__all__ = ["RetentionCurve"]

MIN_FRACTIONS = 3  # as many as a utility has constants
MAX_ACCURACY = 1e6


@dataclass(frozen=True, eq=False)
class RetentionCurve:
    """Measured points of one curve, accuracy against the kept or received fraction of the cache.

    Raises
    ------
    InputError
        For fewer than three different fractions, numbers out of range, or accuracies that are all 0.
    """

    name: str
    kept: NDArray[np.float64]  # (n,) y, fraction of the cache in [0, 1]
    accuracy: NDArray[np.float64]  # (n,) in any unit, at least 0
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        name("name", self.name)
        arrays = {
            "kept": frozen_array("kept", self.kept, low=0, high=1),
            "accuracy": frozen_array("accuracy", self.accuracy, low=0, high=MAX_ACCURACY),
        }
        matching_lengths(arrays)
        different = len(np.unique(arrays["kept"]))
        if different < MIN_FRACTIONS:
            raise InputError(
                f"kept: found {different} different fractions, expected at least {MIN_FRACTIONS}"
            )
        if not np.any(arrays["accuracy"] > 0):
            raise InputError("accuracy: found none above 0, expected some")
        for key, array in arrays.items():
            object.__setattr__(self, key, array)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)

    @property
    def n_points(self) -> int:
        """Number of points n."""
        return len(self.kept)
