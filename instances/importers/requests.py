"""Requests to a language model as a public trace records them, and samples of consecutive ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import InputError, frozen_array, integer, matching_lengths
from instances.origin import Origin

__all__ = ["RequestTrace", "sample_requests"]

MAX_TOKENS = 10**9


@dataclass(frozen=True, eq=False)
class RequestTrace:
    """Requests in order of their arrival; several may arrive at one instant."""

    arrival_s: NDArray[np.float64]  # (R,) s since the trace's first request
    prompt_tokens: NDArray[np.int64]  # (R,) token, at least 1
    output_tokens: NDArray[np.int64]  # (R,) token, at least 1
    origin: Origin | None = field(default=None)
    dropped: int = 0  # requests of the file without prompt or without output

    def __post_init__(self) -> None:
        limits: dict[str, dict[str, Any]] = {
            "arrival_s": {"low": 0, "high": 1e9},
            "prompt_tokens": {"low": 1, "high": MAX_TOKENS, "whole": True},
            "output_tokens": {"low": 1, "high": MAX_TOKENS, "whole": True},
        }
        arrays = {key: frozen_array(key, getattr(self, key), **limit) for key, limit in limits.items()}
        matching_lengths(arrays)
        backward = np.flatnonzero(np.diff(arrays["arrival_s"]) < 0)
        if backward.size:
            i = backward[0] + 1
            found, before = arrays["arrival_s"][i], arrays["arrival_s"][i - 1]
            raise InputError(f"arrival_s[{i}]: found {found}, expected at least {before}, the one before")
        for key, array in arrays.items():
            object.__setattr__(self, key, array)

    def __len__(self) -> int:
        return len(self.arrival_s)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)


def sample_requests(
    trace: RequestTrace,
    count: int,
    seed: int,
    max_prompt: int | None = None,
    max_output: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return prompts and outputs, (count,) token each, of a random window of consecutive requests.

    Requests above the caps are taken out first; the window's start is then uniform among those that fit.

    Raises
    ------
    InputError
        When fewer than ``count`` requests are within the caps.
    """
    count = integer("count", count, low=1, high=10**7)
    seed = integer("seed", seed, low=0, high=2**53)
    kept = np.ones(len(trace), dtype=bool)
    if max_prompt is not None:
        kept &= trace.prompt_tokens <= max_prompt
    if max_output is not None:
        kept &= trace.output_tokens <= max_output
    within = np.flatnonzero(kept)
    if len(within) < count:
        raise InputError(f"count: found {count}, expected at most the {len(within)} requests within the caps")
    generator = np.random.Generator(np.random.PCG64(seed))
    start = int(generator.integers(0, len(within) - count + 1))
    window = within[start : start + count]
    return trace.prompt_tokens[window], trace.output_tokens[window]
