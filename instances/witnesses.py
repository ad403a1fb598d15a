"""Small BALANCE instances that decide a published claim; all are unit networks (every dimension is 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from instances.balance import BalanceInstance, BalanceUsers, LanguageModel, Server
from instances.errors import InputError

__all__ = ["WITNESSES", "unit_instance"]

HALVES = (0.0, 0.5, 1.0)


def unit_instance(
    inputs: Sequence[int],
    outputs: Sequence[int],
    deadlines: Sequence[float],
    acceptance: Sequence[float],
    memory: float,
    llm: tuple[float, float],
    slm: tuple[float, float],
    compute_shares: tuple[float, ...] = HALVES,
    memory_shares: tuple[float, ...] = HALVES,
) -> BalanceInstance:
    """Return a unit network: weights 6 B and cache 2 B a token each, draft 1, no upload or download time.

    ``llm`` and ``slm`` are (seconds per FLOP, seconds per pass).
    """
    zeros = np.zeros(len(inputs))
    users = BalanceUsers(
        np.asarray(inputs), np.asarray(outputs), np.asarray(deadlines), np.asarray(acceptance), zeros, zeros
    )
    server = Server(memory, 1, compute_shares, memory_shares)
    models = (LanguageModel(1, 1, 1, 1, 1, *llm), LanguageModel(1, 1, 1, 1, 1, *slm))
    return BalanceInstance("witness", server, *models, 1, users)


def _theorem_1() -> BalanceInstance:
    return unit_instance(
        [30, 30, 1], [6, 22, 5], [23.0, 23.0, 5.5], [0.1, 0.1, 0.9], 210, (1e-6, 1.0), (0.005, 0.0)
    )


def _half_is_tight() -> BalanceInstance:
    return unit_instance([5, 2], [2, 2], [21.0, 17.0], [0.3, 0.7], 53, (0.05, 0.5), (0.001, 0.1))


def _proposition_2() -> BalanceInstance:
    shares = (0.0, 0.7, 1.0)
    return unit_instance([2, 2], [1, 1], [4.0, 20.0], [0.1, 0.1], 32, (0.05, 1.0), (0.001, 1.0), shares)


def _proposition_4() -> BalanceInstance:
    return unit_instance([1, 1], [1, 3], [1.0, 1.0], [0.5, 0.5], 18, (1e-6, 0.0), (1e-6, 0.0))


def _equation_31() -> BalanceInstance:
    return unit_instance([1, 1], [1, 1], [1.0, 1.0], [0.5, 0.5], 28, (1e-6, 0.0), (1e-6, 0.0))


def _tie_proof(n: int) -> BalanceInstance:
    factor = 42.46
    slow, fast = round(2 * n * factor * 1.001, 10), round(0.9 * factor, 10)
    return unit_instance(
        [100] * n + [1] * (n + 1),
        [4] * (2 * n + 1),
        [slow] * n + [fast] * (n + 1),
        [0.1] * n + [0.9] * (n + 1),
        1e5,
        (0.001, 0.0),
        (round(0.0022 * n, 10), 0.0),
    )


def _fixed(make: Callable[[], BalanceInstance]) -> Any:
    def build(size: int | None, seed: int, settings: Mapping[str, float]) -> BalanceInstance:
        instance = make()
        if size not in (None, instance.n_users):
            raise InputError(f"users: found {size}, expected {instance.n_users}, the witness's own number")
        return instance

    return build


def _tie_proof_family(size: int | None, seed: int, settings: Mapping[str, float]) -> BalanceInstance:
    count = 3 if size is None else size
    if count < 3 or count % 2 == 0:
        raise InputError(f"users: found {count}, expected an odd number 2n + 1 of at least 3")
    return _tie_proof((count - 1) // 2)


WITNESSES: dict[str, tuple[str, Any]] = {
    "theorem-1": ("Algorithm 3 with padded memory serves a third of the optimum", _fixed(_theorem_1)),
    "half-is-tight": ("Algorithm 3 with own memory serves half of the optimum", _fixed(_half_is_tight)),
    "proposition-2": ("a coarse memory grid loses a user", _fixed(_proposition_2)),
    "proposition-4": ("Algorithm 1 with padded memory is not optimal for AD", _fixed(_proposition_4)),
    "equation-31": ("memory as printed in (31) admits an infeasible point", _fixed(_equation_31)),
    "tie-proof": ("Algorithm 3 serves n + 1 of 2n + 1 users however ties are broken", _tie_proof_family),
}
