"""The BALANCE problem's data: users of an edge LLM server that decodes autoregressively or speculatively."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.errors import frozen_array, increasing_shares, integer, matching_lengths, name, number
from instances.origin import Origin

__all__ = ["BalanceInstance", "BalanceUsers", "LanguageModel", "Server"]

MAX_TOKENS = 10**7
MAX_DRAFT_TOKENS = 1000


@dataclass(frozen=True)
class LanguageModel:
    """A transformer's shape and its speed on the server."""

    layers: int  # M
    hidden: int  # D
    heads: int  # H
    head_dim: int  # D_h
    ffn: int  # D_f
    seconds_per_flop: float  # α, s/FLOP
    seconds_per_pass: float  # β, s for one forward pass

    def __post_init__(self) -> None:
        for key in ("layers", "hidden", "heads", "head_dim", "ffn"):
            object.__setattr__(self, key, integer(key, getattr(self, key), low=1, high=10**7))
        for key in ("seconds_per_flop", "seconds_per_pass"):
            object.__setattr__(self, key, number(key, getattr(self, key), low=0, high=1e6))


@dataclass(frozen=True)
class Server:
    """The edge server's memory, and the grids of compute and memory shares given to AD."""

    memory_bytes: float  # Q, byte
    bytes_per_value: float  # θ, byte
    compute_shares: tuple[float, ...]  # Z, increasing from 0 to 1
    memory_shares: tuple[float, ...]  # Λ, increasing from 0 to 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory_bytes", number("memory_bytes", self.memory_bytes, low=0))
        object.__setattr__(
            self, "bytes_per_value", number("bytes_per_value", self.bytes_per_value, above=0, high=1e6)
        )
        for key in ("compute_shares", "memory_shares"):
            object.__setattr__(self, key, increasing_shares(key, getattr(self, key)))


@dataclass(frozen=True, eq=False)
class BalanceUsers:
    """Users that ask for an answer, one entry each."""

    input_tokens: NDArray[np.int64]  # (K,) I_k, token
    output_tokens: NDArray[np.int64]  # (K,) O_k, token
    deadline_s: NDArray[np.float64]  # (K,) T_k, s
    acceptance: NDArray[np.float64]  # (K,) A_k, probability that a draft token is accepted
    upload_s: NDArray[np.float64]  # (K,) u_k, s
    download_s: NDArray[np.float64]  # (K,) d_k, s

    def __post_init__(self) -> None:
        limits: dict[str, dict[str, Any]] = {
            "input_tokens": {"low": 1, "high": MAX_TOKENS, "whole": True},
            "output_tokens": {"low": 1, "high": MAX_TOKENS, "whole": True},
            "deadline_s": {"low": 0, "high": 1e9},
            "acceptance": {"low": 0, "high": 1},
            "upload_s": {"low": 0, "high": 1e9},
            "download_s": {"low": 0, "high": 1e9},
        }
        arrays = {key: frozen_array(key, getattr(self, key), **limit) for key, limit in limits.items()}
        matching_lengths(arrays)
        for key, array in arrays.items():
            object.__setattr__(self, key, array)

    def __len__(self) -> int:
        return len(self.input_tokens)

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild through the constructor, so that arrays stay read-only after unpickling."""
        return type(self), tuple(getattr(self, key) for key in self.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class BalanceInstance:
    """One BALANCE problem: serve as many users as possible in time and memory (problem P1)."""

    name: str
    server: Server
    llm: LanguageModel
    slm: LanguageModel
    draft_tokens: int  # D
    users: BalanceUsers
    origin: Origin | None = field(default=None)

    def __post_init__(self) -> None:
        name("name", self.name)
        object.__setattr__(
            self, "draft_tokens", integer("draft_tokens", self.draft_tokens, low=1, high=MAX_DRAFT_TOKENS)
        )

    @property
    def n_users(self) -> int:
        """Number of users K."""
        return len(self.users)
