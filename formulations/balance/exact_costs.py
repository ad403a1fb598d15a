"""Time and memory of a batch in integers, for the verifier: the paper's sums, put in closed form once more.

A user takes m steps after the first (m = O_k − 1 in AD, N_k − 1 in SD). At a longest input L and a largest
accepted length a, eq. (5) to (12) add up to

    AD  α [Γp(L) + Σ_{l=1..m} Γa(L + l)] / z
    SD  [α^L Γp^L(L) + α^S Γp^S(L) + first iteration + Σ_{i=2..m+1} (D drafts and D + 1 verified at P_i)] / s

with Σ_{i=2..m+1} P_i = m (L + a) + (a + 1) m (m − 1)/2: both are base(L) + m step(L, a) + m² growth(a). All
numbers are multiplied by one common denominator, so that comparisons are exact and fast.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from instances.balance import BalanceInstance, LanguageModel
from instances.decimals import as_decimal

__all__ = ["ExactBatch", "ExactUsers", "exact_sides", "exact_users"]

SLACK = Fraction(1, 10**9)  # s over a deadline, and relative memory: part of the problem's definition


@dataclass(frozen=True)
class ExactUsers:
    """Users in rationals; all lists have K entries."""

    inputs: list[int]
    accepted: list[Fraction]
    ad_steps: list[int]
    sd_steps: list[int]
    uploads: list[Fraction]
    deadlines: list[Fraction]  # −T'_k, s


@dataclass(frozen=True)
class ExactBatch:
    """One mode at a compute share, in integers: seconds times ``unit``, bytes times ``byte_unit``.

    ``values`` holds what each user asks of the five thresholds: input, accepted, steps, upload, −T'.
    """

    values: list[list[int]]  # (5, K)
    base: list[int]  # by power of the longest input
    step: list[int]  # constant, per token of input, per accepted token
    growth: list[int]  # constant, per accepted token
    waits: list[int]  # once, per step of the longest
    slack: int
    user_bytes: list[int]  # constant, per token of input
    step_bytes: list[int]  # constant, per accepted token
    late_bytes: int

    def step_at(self, longest: int, accepted: int) -> int:
        """Return the work of one step."""
        return self.step[0] + self.step[1] * longest + self.step[2] * accepted

    def growth_at(self, accepted: int) -> int:
        """Return the work that grows with the square of the steps."""
        return self.growth[0] + self.growth[1] * accepted

    def spare(self, at: list[int], n: int) -> int:
        """Return the seconds that n users at these thresholds leave for their steps, below 0 when late."""
        longest = at[0]
        base = self.base[0] + (self.base[1] + self.base[2] * longest) * longest
        return self.slack - at[4] - at[3] - self.waits[0] - self.waits[1] * at[2] - n * base

    def bytes_of(self, longest: int, accepted: int, n: int, steps: int, late: int) -> int:
        """Return the cache of n users, ``late`` of whom take at least one step."""
        each = self.user_bytes[0] + self.user_bytes[1] * longest
        more = self.step_bytes[0] + self.step_bytes[1] * accepted
        return n * each + steps * more - late * self.late_bytes


def exact_users(instance: BalanceInstance) -> ExactUsers:
    """Return the users' numbers as the decimals that they print as; N_k by an exact ceiling."""
    users, draft = instance.users, instance.draft_tokens
    outputs = [int(o) for o in users.output_tokens]
    rates = [as_decimal(rate) for rate in users.acceptance]
    accepted = [sum((rate**i for i in range(1, draft + 1)), Fraction(0)) for rate in rates]
    return ExactUsers(
        [int(i) for i in users.input_tokens],
        accepted,
        [o - 1 for o in outputs],
        [math.ceil(o / (a + 1)) - 1 for o, a in zip(outputs, accepted, strict=True)],
        [as_decimal(u) for u in users.upload_s],
        [as_decimal(d) - as_decimal(t) for d, t in zip(users.download_s, users.deadline_s, strict=True)],
    )


def exact_sides(
    instance: BalanceInstance, users: ExactUsers, share: Fraction
) -> tuple[ExactBatch | None, ExactBatch | None, int]:
    """Return AD at a compute share, SD at the rest, and the room for caches, all in shared units.

    A mode without compute is None.
    """
    llm, slm, draft = instance.llm, instance.slm, instance.draft_tokens
    theta = as_decimal(instance.server.bytes_per_value)
    pass_l, pass_s = as_decimal(llm.seconds_per_pass), as_decimal(slm.seconds_per_pass)
    cache_l, cache_s = (m.layers * theta * 2 * m.head_dim * m.heads for m in (llm, slm))
    both, nothing = cache_l + cache_s, Fraction(0)
    ad = share > 0 and _Costs(
        *_ad_work(llm, share),
        waits=[pass_l, pass_l],
        user_bytes=[cache_l, cache_l],
        step_bytes=[cache_l, nothing],
        late_bytes=nothing,
    )
    sd = share < 1 and _Costs(
        *_sd_work(llm, slm, draft, 1 - share),
        waits=[2 * pass_l + draft * pass_s, pass_l + draft * pass_s],
        user_bytes=[draft * both + cache_l, both],
        step_bytes=[both, both],
        late_bytes=both,
    )
    room = _room(instance, theta, share)
    tokens = _denominator(users.accepted)
    modes = [costs for costs in (ad, sd) if costs]
    seconds = [SLACK, *users.uploads, *users.deadlines, *(w for costs in modes for w in costs.seconds())]
    memory = [b for costs in modes for b in costs.bytes()]
    units = tokens, tokens * _denominator(seconds), tokens * _denominator(memory)
    none = [nothing] * len(users.inputs)
    return (
        ad.batch(users, none, users.ad_steps, *units) if ad else None,
        sd.batch(users, users.accepted, users.sd_steps, *units) if sd else None,
        math.floor(room * units[2]),
    )


@dataclass(frozen=True)
class _Costs:
    """One mode's coefficients in rationals, in the order that ``ExactBatch`` has them."""

    base: list[Fraction]
    step: list[Fraction]
    growth: list[Fraction]
    waits: list[Fraction]
    user_bytes: list[Fraction]
    step_bytes: list[Fraction]
    late_bytes: Fraction

    def seconds(self) -> list[Fraction]:
        return [*self.base, *self.step, *self.growth, *self.waits]

    def bytes(self) -> list[Fraction]:
        return [*self.user_bytes, *self.step_bytes, self.late_bytes]

    def batch(
        self,
        users: ExactUsers,
        accepted: list[Fraction],
        steps: list[int],
        tokens: int,
        unit: int,
        byte_unit: int,
    ) -> ExactBatch:
        """Return the mode in integers; accepted lengths count in 1/tokens."""
        values = [
            users.inputs,
            [int(a * tokens) for a in accepted],
            steps,
            [int(u * unit) for u in users.uploads],
            [int(d * unit) for d in users.deadlines],
        ]
        step, growth = [int(w * unit) for w in self.step], [int(w * unit) for w in self.growth]
        more = [int(b * byte_unit) for b in self.step_bytes]
        return ExactBatch(
            values,
            [int(w * unit) for w in self.base],
            [step[0], step[1], step[2] // tokens],
            [growth[0], growth[1] // tokens],
            [int(w * unit) for w in self.waits],
            int(SLACK * unit),
            [int(b * byte_unit) for b in self.user_bytes],
            [more[0], more[1] // tokens],
            int(self.late_bytes * byte_unit),
        )


Work = tuple[list[Fraction], list[Fraction], list[Fraction]]


def _denominator(numbers: Iterable[Fraction]) -> int:
    return math.lcm(1, *(number.denominator for number in numbers))


def _token(model: LanguageModel) -> tuple[Fraction, Fraction]:
    """Return (p, c): one token in context x takes p + c x seconds of a whole server."""
    width = model.head_dim * model.heads
    plain = model.layers * (8 * model.hidden * width + 4 * model.hidden * model.ffn)
    rate = as_decimal(model.seconds_per_flop)
    return rate * plain, rate * model.layers * 4 * width


def _tokens_at_prefix(token: tuple[Fraction, Fraction], count: int) -> tuple[Fraction, Fraction]:
    """Return (constant, per token of prefix) of ``count`` tokens in contexts from prefix + 1 on."""
    plain, context = token
    return count * plain + context * (count * (count + 1) // 2), count * context


def _ad_work(llm: LanguageModel, share: Fraction) -> Work:
    plain, context = _token(llm)
    base = [Fraction(0), plain / share, context / share]
    return (
        base,
        [(plain + context / 2) / share, context / share, Fraction(0)],
        [context / 2 / share, Fraction(0)],
    )


def _sd_work(llm: LanguageModel, slm: LanguageModel, draft: int, share: Fraction) -> Work:
    large, small = _token(llm), _token(slm)
    first = [_tokens_at_prefix(large, draft), _tokens_at_prefix(small, draft - 1)]
    later = [_tokens_at_prefix(large, draft + 1), _tokens_at_prefix(small, draft)]
    once, on_first = (sum((part[i] for part in first), Fraction(0)) for i in (0, 1))
    each, on_prefix = (sum((part[i] for part in later), Fraction(0)) for i in (0, 1))
    base = [once, large[0] + small[0] + on_first, large[1] + small[1]]
    step = [each - on_prefix / 2, on_prefix, on_prefix / 2]
    growth = [on_prefix / 2, on_prefix / 2]
    return [w / share for w in base], [w / share for w in step], [w / share for w in growth]


def _room(instance: BalanceInstance, theta: Fraction, share: Fraction) -> Fraction:
    def weights(model: LanguageModel) -> Fraction:
        return (
            model.layers
            * theta
            * (4 * model.hidden * model.head_dim * model.heads + 2 * model.hidden * model.ffn)
        )

    loaded = weights(instance.llm) + (weights(instance.slm) if share < 1 else 0)
    return as_decimal(instance.server.memory_bytes) * (1 + SLACK) - loaded
