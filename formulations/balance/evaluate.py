"""The checker of BALANCE: latency and memory of an assignment in rationals, straight from the paper's sums.

It repeats the mathematics of ``costs.py`` on purpose and imports no method: a mistake made once cannot hide.
"""

from __future__ import annotations

from fractions import Fraction

from formulations.evaluation import Evaluation
from instances.balance import BalanceInstance, LanguageModel
from instances.decisions import Assignment

__all__ = ["autoregressive_seconds", "evaluate_balance", "memory_bytes", "speculative_seconds"]

LATENCY_SLACK = Fraction(1, 10**9)  # s
MEMORY_SLACK = Fraction(1, 10**9)  # relative


def evaluate_balance(instance: BalanceInstance, assignment: Assignment) -> Evaluation:
    """Return users served and the largest violation, of seconds over a deadline or of relative memory.

    Feasible means latency at most T_k + 10⁻⁹ s and memory at most Q (1 + 10⁻⁹), decided in rationals; a
    number means the decimal that it prints as.
    """
    if len(assignment.mode) != instance.n_users:
        return _refused(f"mode: found {len(assignment.mode)} entries, expected {instance.n_users}")
    if assignment.compute_share not in instance.server.compute_shares:
        return _refused(f"compute_share: {assignment.compute_share} is not one of the server's shares")
    share = _decimal(assignment.compute_share)
    groups = {m: [k for k, mode in enumerate(assignment.mode) if mode == m] for m in ("ad", "sd")}
    served = len(groups["ad"]) + len(groups["sd"])
    if (groups["ad"] and share == 0) or (groups["sd"] and share == 1):
        return _refused("compute_share: a mode without compute serves users", served)
    seconds = {
        "ad": autoregressive_seconds(instance, groups["ad"], share),
        "sd": speculative_seconds(instance, groups["sd"], 1 - share),
    }
    worst, message = _worst_delay(instance, groups, seconds)
    feasible = worst <= LATENCY_SLACK
    capacity = _decimal(instance.server.memory_bytes)
    memory = memory_bytes(instance, groups["ad"], groups["sd"], share)
    excess = (memory - capacity) / capacity if capacity else Fraction(memory > 0)
    if memory > capacity * (1 + MEMORY_SLACK):
        feasible = False
        message = message or f"memory: {float(memory):.12g} B is more than {float(capacity):.12g} B"
    violation = max(worst, excess, Fraction(0))
    details = {
        "seconds_ad": float(seconds["ad"]),
        "seconds_sd": float(seconds["sd"]),
        "memory_bytes": float(memory),
    }
    return Evaluation(float(served), feasible, float(violation), "" if feasible else message, details)


def _refused(message: str, served: int = 0) -> Evaluation:
    return Evaluation(float(served), False, float("inf"), message)


def _worst_delay(
    instance: BalanceInstance, groups: dict[str, list[int]], seconds: dict[str, Fraction]
) -> tuple[Fraction, str]:
    worst, message = Fraction(0), ""
    for mode, members in groups.items():
        for k in members:
            deadline = _decimal(instance.users.deadline_s[k])
            late = seconds[mode] + _decimal(instance.users.download_s[k]) - deadline
            if late > worst:
                worst = late
                message = (
                    f"deadline: user {k} ({mode}) is {float(late):.6g} s late" if late > LATENCY_SLACK else ""
                )
    return worst, message


def _decimal(value: float) -> Fraction:
    return Fraction(repr(float(value)))


def _context_flops(model: LanguageModel, tokens: int, contexts: Fraction) -> Fraction:
    """Return Γ for ``tokens`` tokens whose context lengths add up to ``contexts``."""
    attention = model.head_dim * model.heads
    each = 8 * model.hidden * attention + 4 * model.hidden * model.ffn
    return model.layers * (tokens * each + 4 * contexts * attention)


def _prefill_flops(model: LanguageModel, tokens: int) -> Fraction:
    return _context_flops(model, tokens, Fraction(tokens * tokens))


def autoregressive_seconds(instance: BalanceInstance, members: list[int], share: Fraction) -> Fraction:
    """Return t_AD of (17) with the upload (1): the batch's seconds, 0 for nobody."""
    if not members:
        return Fraction(0)
    users, llm = instance.users, instance.llm
    longest = max(int(users.input_tokens[k]) for k in members)
    outputs = [int(users.output_tokens[k]) for k in members]
    flops = _prefill_flops(llm, longest) * len(members)
    for output in outputs:  # steps l = 1 … O_k − 1, (6)
        steps = output - 1
        contexts = sum(range(longest + 1, longest + steps + 1))
        flops += _context_flops(llm, steps, Fraction(contexts))
    upload = max(_decimal(users.upload_s[k]) for k in members)
    passes = 1 + max(outputs) - 1
    return upload + _decimal(llm.seconds_per_flop) * flops / share + passes * _decimal(llm.seconds_per_pass)


def _accepted(instance: BalanceInstance, k: int) -> Fraction:
    rate = _decimal(instance.users.acceptance[k])
    return sum((rate**i for i in range(1, instance.draft_tokens + 1)), Fraction(0))


def _rounds(instance: BalanceInstance, k: int) -> int:
    tokens = Fraction(int(instance.users.output_tokens[k])) / (_accepted(instance, k) + 1)
    return -(-tokens.numerator // tokens.denominator)


def _prefix(longest: int, accepted: Fraction, i: int) -> Fraction:
    """Return P_i of (10)."""
    return Fraction(longest) if i == 1 else longest + (i - 2) * (accepted + 1) + accepted


def speculative_seconds(instance: BalanceInstance, members: list[int], share: Fraction) -> Fraction:
    """Return t_SD of (19) with the upload (2): the batch's seconds, 0 for nobody."""
    if not members:
        return Fraction(0)
    llm, slm, draft = instance.llm, instance.slm, instance.draft_tokens
    longest = max(int(instance.users.input_tokens[k]) for k in members)
    accepted = max(_accepted(instance, k) for k in members)
    rounds = [_rounds(instance, k) for k in members]
    flops_l = _prefill_flops(llm, longest) * len(members)
    flops_s = _prefill_flops(slm, longest) * len(members)
    for last in rounds:
        first = Fraction(longest)  # iteration 1: D − 1 drafts, D tokens verified
        flops_s += _drafts(slm, first, draft - 1)
        flops_l += _drafts(llm, first, draft)
        prefixes = _prefix_sum(longest, accepted, last)
        later = last - 1  # iterations 2 … N_k: D drafts, D + 1 tokens verified
        flops_s += _context_flops(slm, later * draft, draft * prefixes + later * (draft * (draft + 1) // 2))
        verified = draft + 1
        pairs = later * (verified * (verified + 1) // 2)
        flops_l += _context_flops(llm, later * verified, verified * prefixes + pairs)
    most = max(rounds)
    upload = max(_decimal(instance.users.upload_s[k]) for k in members)
    waits = (most + 1) * _decimal(llm.seconds_per_pass)
    waits += (1 + draft - 1 + (most - 1) * draft) * _decimal(slm.seconds_per_pass)
    work = _decimal(llm.seconds_per_flop) * flops_l + _decimal(slm.seconds_per_flop) * flops_s
    return upload + waits + work / share


def _drafts(model: LanguageModel, prefix: Fraction, tokens: int) -> Fraction:
    """Return the FLOPs of ``tokens`` tokens in contexts prefix + 1, prefix + 2 and so on."""
    return _context_flops(model, tokens, tokens * prefix + tokens * (tokens + 1) // 2)


def _prefix_sum(longest: int, accepted: Fraction, last: int) -> Fraction:
    """Return Σ P_i for i = 2 … last, an arithmetic progression."""
    if last < 2:
        return Fraction(0)
    return (last - 1) * (_prefix(longest, accepted, 2) + _prefix(longest, accepted, last)) / 2


def memory_bytes(
    instance: BalanceInstance, ad_members: list[int], sd_members: list[int], share: Fraction
) -> Fraction:
    """Return the left side of (21d): weights, and the caches (15) and (16)."""
    theta, users, draft = _decimal(instance.server.bytes_per_value), instance.users, instance.draft_tokens
    cache_l, cache_s = (m.layers * theta * 2 * m.head_dim * m.heads for m in (instance.llm, instance.slm))
    total = _weights(instance.llm, theta) + (_weights(instance.slm, theta) if share < 1 else 0)
    if ad_members:
        longest = max(int(users.input_tokens[k]) for k in ad_members)
        tokens = sum(longest + int(users.output_tokens[k]) for k in ad_members)
        total += tokens * cache_l
    if sd_members:
        longest = max(int(users.input_tokens[k]) for k in sd_members)
        accepted = max(_accepted(instance, k) for k in sd_members)
        for k in sd_members:
            prefix = _prefix(longest, accepted, _rounds(instance, k))
            total += (prefix + draft) * cache_s + (prefix + draft + 1) * cache_l
    return Fraction(total)


def _weights(model: LanguageModel, theta: Fraction) -> Fraction:
    attention = 4 * model.hidden * model.head_dim * model.heads
    return model.layers * theta * (attention + 2 * model.hidden * model.ffn)
