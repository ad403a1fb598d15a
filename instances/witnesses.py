"""Small BALANCE instances that decide a published claim; all are unit networks (every dimension is 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from instances.balance import BalanceInstance, BalanceUsers, LanguageModel, Server
from instances.errors import InputError

__all__ = ["WITNESSES", "partition_instance", "unit_instance"]

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
    """Return n slow users, who fill AD at z = .5, and n + 1 fast ones, who fill SD with what is left.

    The fast ones are more and fit into AD, so an algorithm that fills AD first puts them there, and then no
    slow one can be served: in the fast ones' batch nobody is in time, and in SD not even one slow user alone.
    A slow user takes ``flops`` in AD; inputs grow with n to keep n + 1 fast users in time in SD.
    """
    tokens = max(100, 10 * n)
    flops = 4 * tokens**2 + 24 * tokens + 60
    slow, fast = round(2 * n * flops / 1000 * 1.001, 10), round(0.9 * flops / 1000, 10)
    return unit_instance(
        [tokens] * n + [1] * (n + 1),
        [4] * (2 * n + 1),
        [slow] * n + [fast] * (n + 1),
        [0.1] * n + [0.9] * (n + 1),
        1e5,
        (0.001, 0.0),
        (round(0.0022 * n, 10), 0.0),
    )


def partition_instance(numbers: Sequence[int]) -> BalanceInstance:
    """Return users that can all be served exactly if the numbers split into two parts of equal sum.

    PARTITION reduces to P1: for each of the n numbers c a user with 1 + c output tokens and one with a single
    token, and two more users, one whose deadline only AD meets and one whose deadline only SD meets, so that
    all are served at z = .5 only. The inputs are so long that a prefill outweighs all decoding, hence n of
    the 2n users are in each mode; and a token of one user outweighs what the squares of the token counts add,
    so either deadline holds exactly if its mode's numbers sum to at most half of all.

    Parameters
    ----------
    numbers : sequence of int
        At least one, each positive.
    """
    n, half = len(numbers), sum(numbers) // 2
    squares = sum(c * c for c in numbers)
    tokens = 4 * (squares + 1)  # input of every user
    ad_steps, sd_rounds = (
        max(numbers) + 1,
        max(numbers) + 4,
    )  # of the two further users: longest in their mode
    prefill = 12 * tokens + 4 * tokens**2
    ad_step, sd_step = 14 + 4 * tokens, 36 + 8 * tokens  # FLOPs; m steps add 2 m² and 8 m² more
    ad_flops = (n + 1) * prefill + (half + ad_steps) * ad_step + 2 * (squares + ad_steps**2)
    late = sd_rounds - 1
    sd_flops = (n + 1) * (prefill + 16 + 4 * tokens) + (half + late) * sd_step + 8 * (squares + late**2)
    alpha = float(f"{0.25 / max(ad_flops, sd_flops):.1e}")  # batches compute for about half a second
    deadline_ad = 2 * (ad_steps + 1) + 2 * alpha * ad_flops
    deadline_sd = 2 + 3 * sd_rounds + 2 * alpha * sd_flops
    longest = max(deadline_ad, deadline_sd)
    return unit_instance(
        [tokens] * (2 * n + 2),
        [1 + c for c in numbers] + [1] * n + [ad_steps + 1, 2 * sd_rounds],
        [longest] * (2 * n) + [deadline_ad, deadline_sd],
        [0.0] * (2 * n + 1) + [1.0],
        1e3 * n * tokens * sd_rounds,
        (alpha, 2.0),
        (0.0, 1.0),
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
