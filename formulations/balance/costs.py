"""Time and memory of a batch of users, as the methods compute them (paper, Sections III-D to III-F).

Both modes have one shape. A user needs m more steps after the first: m = O_k - 1 tokens in AD and m = N_k - 1
iterations in SD. With I the batch's longest input and a its largest accepted length, a batch of n users takes

    max u_k + wait + wait_step · max m_k + (n · base(I) + S1 · step(I, a) + S2 · growth(a)) / share  seconds,
    n · bytes_user(I) + S1 · bytes_step(a) − n2 · bytes_late                                       bytes,

where S1 = Σ m_k, S2 = Σ m_k², and n2 counts users with m_k ≥ 1. All coefficients grow with I and a.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from instances.balance import BalanceInstance, LanguageModel
from instances.decimals import as_decimal
from instances.decisions import Assignment

__all__ = [
    "LATENCY_SLACK_S",
    "MEMORY_SLACK",
    "ModeCosts",
    "Problem",
    "batch_bytes",
    "batch_seconds",
    "is_feasible",
    "iterations",
    "problem_of",
]

LATENCY_SLACK_S = 1e-9  # part of the problem's definition, for every method alike
MEMORY_SLACK = 1e-9  # relative, likewise


class ModeCosts(NamedTuple):
    """Coefficients of one mode; seconds at share 1."""

    base_0: float  # base(I) = base_0 + base_1 I + base_2 I²
    base_1: float
    base_2: float
    step_0: float  # step(I, a) = step_0 + step_input I + step_accept a
    step_input: float
    step_accept: float
    growth_0: float  # growth(a) = growth_0 + growth_accept a
    growth_accept: float
    wait: float  # s, whatever the share
    wait_step: float  # s for each step
    bytes_user: float  # bytes_user(I) = bytes_user + bytes_input I
    bytes_input: float
    bytes_step: float  # bytes_step(a) = bytes_step + bytes_accept a
    bytes_accept: float
    bytes_late: float


@dataclass(frozen=True, eq=False)
class Problem:
    """An instance as the methods see it: users' numbers and the two modes' coefficients."""

    input_tokens: NDArray[np.float64]  # (K,) I_k
    budget_s: NDArray[np.float64]  # (K,) T'_k = T_k - d_k
    upload_s: NDArray[np.float64]  # (K,) u_k
    accepted: NDArray[np.float64]  # (K,) a_k, token
    ad_steps: NDArray[np.int64]  # (K,) O_k - 1
    sd_steps: NDArray[np.int64]  # (K,) N_k - 1
    ad: ModeCosts
    sd: ModeCosts
    llm_token_bytes: float  # the LLM's cache of one token
    llm_bytes: float  # q^L
    slm_bytes: float  # q^S
    memory_bytes: float  # Q with its slack
    compute_shares: tuple[float, ...]  # Z
    memory_shares: tuple[float, ...]  # Λ

    def cache_bytes(self, share: float) -> float:
        """Return the bytes left for caches beside the weights, negative if the weights do not fit."""
        return self.memory_bytes - self.llm_bytes - (self.slm_bytes if share < 1.0 else 0.0)


def problem_of(instance: BalanceInstance) -> Problem:
    """Return the instance's costs."""
    users, theta = instance.users, instance.server.bytes_per_value
    accepted, rounds = iterations(instance)
    cache_l = instance.llm.layers * theta * 2.0 * instance.llm.head_dim * instance.llm.heads
    cache_s = instance.slm.layers * theta * 2.0 * instance.slm.head_dim * instance.slm.heads
    return Problem(
        input_tokens=users.input_tokens.astype(np.float64),
        budget_s=users.deadline_s - users.download_s,
        upload_s=users.upload_s,
        accepted=accepted,
        ad_steps=users.output_tokens - 1,
        sd_steps=rounds - 1,
        ad=_ad_costs(instance.llm, cache_l),
        sd=_sd_costs(instance, cache_l, cache_s),
        llm_token_bytes=cache_l,
        llm_bytes=_weight_bytes(instance.llm, theta),
        slm_bytes=_weight_bytes(instance.slm, theta),
        memory_bytes=instance.server.memory_bytes * (1.0 + MEMORY_SLACK),
        compute_shares=instance.server.compute_shares,
        memory_shares=instance.server.memory_shares,
    )


def iterations(instance: BalanceInstance) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return accepted tokens a_k = A_k(1 − A_k^D)/(1 − A_k) and iterations N_k = ⌈O_k/(a_k + 1)⌉, (K,) each.

    The ceiling is exact: in floats it is wrong for some users, such as A = .57, O = 157, D = 1.
    """
    accepted = np.empty(instance.n_users)
    rounds = np.empty(instance.n_users, dtype=np.int64)
    for k, acceptance in enumerate(instance.users.acceptance):
        exact = _accepted(as_decimal(acceptance), instance.draft_tokens)
        accepted[k] = float(exact)
        numerator = int(instance.users.output_tokens[k]) * exact.denominator
        rounds[k] = -(-numerator // (exact.numerator + exact.denominator))
    return accepted, rounds


def _accepted(acceptance: Fraction, draft: int) -> Fraction:
    if acceptance == 1:
        return Fraction(draft)
    return acceptance * (1 - acceptance**draft) / (1 - acceptance)


def _weight_bytes(model: LanguageModel, theta: float) -> float:
    attention = 4.0 * model.hidden * model.head_dim * model.heads
    return model.layers * theta * (attention + 2.0 * model.hidden * model.ffn)


def _token_flops(model: LanguageModel) -> tuple[float, float]:
    """Return (p, q): one token in context c takes p + q c FLOPs, a prefill of I tokens p I + q I²."""
    width = float(model.head_dim * model.heads)
    plain = model.layers * (8.0 * model.hidden * width + 4.0 * model.hidden * model.ffn)
    return plain, model.layers * 4.0 * width


def _ad_costs(llm: LanguageModel, cache: float) -> ModeCosts:
    plain, context = (llm.seconds_per_flop * flops for flops in _token_flops(llm))
    return ModeCosts(
        base_0=0.0,
        base_1=plain,
        base_2=context,
        step_0=plain + 0.5 * context,
        step_input=context,
        step_accept=0.0,
        growth_0=0.5 * context,
        growth_accept=0.0,
        wait=llm.seconds_per_pass,
        wait_step=llm.seconds_per_pass,
        bytes_user=cache,
        bytes_input=cache,
        bytes_step=cache,
        bytes_accept=0.0,
        bytes_late=0.0,
    )


def _sd_costs(instance: BalanceInstance, cache_l: float, cache_s: float) -> ModeCosts:
    draft = float(instance.draft_tokens)
    llm, slm = instance.llm, instance.slm
    plain_l, context_l = (llm.seconds_per_flop * flops for flops in _token_flops(llm))
    plain_s, context_s = (slm.seconds_per_flop * flops for flops in _token_flops(slm))
    verify = (draft + 1.0) * plain_l + 0.5 * (draft + 1.0) * (draft + 2.0) * context_l
    propose = draft * plain_s + 0.5 * draft * (draft + 1.0) * context_s
    prefix = (draft + 1.0) * context_l + draft * context_s  # s for each token of prefix in one iteration
    first_l = draft * plain_l + 0.5 * draft * (draft + 1.0) * context_l
    first_s = (draft - 1.0) * plain_s + 0.5 * draft * (draft - 1.0) * context_s
    wait_step = llm.seconds_per_pass + draft * slm.seconds_per_pass
    return ModeCosts(
        base_0=first_l + first_s,
        base_1=plain_l + plain_s + draft * context_l + (draft - 1.0) * context_s,
        base_2=context_l + context_s,
        # Σ_{i=2..N} P_i = m (I + a) + (a + 1) m (m − 1) / 2 with m = N − 1, by (10)
        step_0=verify + propose - 0.5 * prefix,
        step_input=prefix,
        step_accept=0.5 * prefix,
        growth_0=0.5 * prefix,
        growth_accept=0.5 * prefix,
        wait=llm.seconds_per_pass + wait_step,
        wait_step=wait_step,
        bytes_user=draft * (cache_l + cache_s) + cache_l,
        bytes_input=cache_l + cache_s,
        bytes_step=cache_l + cache_s,
        bytes_accept=cache_l + cache_s,
        bytes_late=cache_l + cache_s,
    )


@numba.njit(cache=True)
def batch_seconds(
    costs: ModeCosts,
    share: float,
    longest_input: float,
    accepted: float,
    n: int,
    s1: float,
    s2: float,
    last: float,
    upload: float,
) -> float:
    """Return the seconds until a batch's end: eq. (17) or (19) with (1) or (2)."""
    base = costs.base_0 + (costs.base_1 + costs.base_2 * longest_input) * longest_input
    step = costs.step_0 + costs.step_input * longest_input + costs.step_accept * accepted
    growth = costs.growth_0 + costs.growth_accept * accepted
    return upload + costs.wait + costs.wait_step * last + (n * base + s1 * step + s2 * growth) / share


@numba.njit(cache=True)
def batch_bytes(
    costs: ModeCosts, longest_input: float, accepted: float, n: int, s1: float, late: int
) -> float:
    """Return the cache bytes of a batch: eq. (15) or (16)."""
    user = costs.bytes_user + costs.bytes_input * longest_input
    return n * user + s1 * (costs.bytes_step + costs.bytes_accept * accepted) - late * costs.bytes_late


def is_feasible(problem: Problem, assignment: Assignment) -> bool:
    """Return whether the assignment meets every deadline and the memory, in doubles."""
    share = assignment.compute_share
    used = 0.0
    sides = (
        ("ad", problem.ad, share, problem.ad_steps, np.zeros_like(problem.accepted)),
        ("sd", problem.sd, 1.0 - share, problem.sd_steps, problem.accepted),
    )
    for mode, costs, portion, steps, accepted in sides:
        chosen = np.array([m == mode for m in assignment.mode], dtype=bool)
        if not chosen.any():
            continue
        if portion == 0.0:
            return False
        m, longest, most = steps[chosen], problem.input_tokens[chosen].max(), accepted[chosen].max()
        size, s1 = len(m), int(m.sum())
        upload = problem.upload_s[chosen].max()
        seconds = batch_seconds(
            costs, portion, longest, most, size, s1, int((m * m).sum()), int(m.max()), upload
        )
        if seconds > problem.budget_s[chosen].min() + LATENCY_SLACK_S:
            return False
        used += batch_bytes(costs, longest, most, size, s1, int((m >= 1).sum()))
    return used <= problem.cache_bytes(share)
