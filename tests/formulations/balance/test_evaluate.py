"""The checker's own sums against published and hand-computed numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from formulations.balance.costs import iterations, problem_of
from formulations.balance.evaluate import evaluate_balance, memory_bytes
from instances.balance import BalanceInstance, BalanceUsers, Server
from instances.decisions import Assignment
from instances.presets import BALANCE_CONSTANTS, TENTHS
from tests.formulations.balance.cases import instance_of, known, random_instances


def three_users() -> BalanceInstance:
    """Return the three users whose times and memory are known."""
    zeros = np.zeros(3)
    users = BalanceUsers(
        np.array([300, 120, 50]),
        np.array([100, 40, 1]),
        np.full(3, 100.0),
        np.array([0.7, 0.6, 0.8]),
        np.array([0.001, 0.002, 0.003]),
        zeros,
    )
    llm, slm = BALANCE_CONSTANTS["calibrated"]
    return BalanceInstance("three", Server(24e9, 2, TENTHS, TENTHS), llm, slm, 1, users)


@pytest.mark.parametrize(
    ("mode", "share", "seconds_ad", "seconds_sd", "memory"),
    [
        ("aaa", 1.0, 5.4067044736, 0.0, 10_612_113_408),
        ("sss", 0.0, 0.0, 4.3061556512, 12_559_872_819.2),
        ("ass", 0.4, 5.3558267886, 1.8837779684, 12_230_534_758.4),
    ],
)
def test_golden_values_of_three_users(
    mode: str, share: float, seconds_ad: float, seconds_sd: float, memory: float
) -> None:
    """Latency and memory of three users equal the independently computed ones to ten digits."""
    decision = Assignment(tuple({"a": "ad", "s": "sd"}[m] for m in mode), share)
    details = evaluate_balance(three_users(), decision).details
    assert details["seconds_ad"] == pytest.approx(seconds_ad, abs=5e-11)
    assert details["seconds_sd"] == pytest.approx(seconds_sd, abs=5e-11)
    assert details["memory_bytes"] == memory


def test_golden_weights_and_caches() -> None:
    """Weights and cache per token of Llama-2-7B and TinyLlama-1.1B are the known ones."""
    problem = problem_of(three_users())
    assert problem.llm_bytes == 10_066_329_600
    assert problem.slm_bytes == 1_753_219_072
    assert problem.llm_token_bytes == 524_288
    assert problem.sd.bytes_input - problem.llm_token_bytes == 180_224


def test_golden_workloads() -> None:
    """FLOPs of prefill, one token and verification are the known ones."""
    llm, slm = BALANCE_CONSTANTS["calibrated"]
    ad, alpha = problem_of(three_users()).ad, llm.seconds_per_flop
    assert (ad.base_1 * 300 + ad.base_2 * 300**2) / alpha == pytest.approx(3_067_084_800_000, rel=1e-14)
    assert (ad.base_1 + ad.base_2 * 301) / alpha == pytest.approx(10_224_140_288, rel=1e-14)
    verified = 2 * ad.base_1 + ad.base_2 * (301 + 302)
    assert verified / alpha == pytest.approx(20_448_804_864, rel=1e-14)
    swapped = problem_of(replace(three_users(), llm=slm)).ad
    alpha = slm.seconds_per_flop
    assert (swapped.base_1 * 300 + swapped.base_2 * 300**2) / alpha == pytest.approx(
        542_185_881_600, rel=1e-14
    )
    assert (swapped.base_1 + swapped.base_2 * 301) / alpha == pytest.approx(1_807_466_496, rel=1e-14)


def test_iterations_are_exact() -> None:
    """N_k is the exact ceiling: A = .57, O = 157, D = 1 gives 100, not 101."""
    users = replace(
        three_users().users, acceptance=np.array([0.57] * 3), output_tokens=np.array([157, 1, 100])
    )
    accepted, rounds = iterations(replace(three_users(), users=users))
    assert accepted[0] == 0.57
    assert rounds.tolist() == [100, 1, 64]


def test_certain_acceptance_accepts_the_whole_draft() -> None:
    """A_k = 1 accepts D tokens, and A_k = 0 none."""
    users = replace(three_users().users, acceptance=np.array([1.0, 0.0, 1.0]))
    accepted, rounds = iterations(replace(three_users(), users=users, draft_tokens=3))
    assert accepted.tolist() == [3.0, 0.0, 3.0]
    assert rounds.tolist() == [25, 40, 1]


@pytest.mark.parametrize("case", known("cases.json"), ids=lambda case: case["name"])
def test_known_decisions(case: dict) -> None:
    """The optimal decision of each case file has the known times and memory, and is feasible."""
    answer = case["answer"]
    verdict = evaluate_balance(
        instance_of(case["instance"]), Assignment(answer["mode"], answer["compute_share"])
    )
    assert verdict.feasible
    assert verdict.objective == answer["optimum"]
    assert verdict.details["seconds_ad"] == pytest.approx(answer["seconds_ad"], rel=1e-14)
    assert verdict.details["seconds_sd"] == pytest.approx(answer["seconds_sd"], rel=1e-14)
    assert verdict.details["memory_bytes"] == pytest.approx(answer["memory_bytes"], rel=1e-14)


def test_checker_equals_the_definition_step_by_step() -> None:
    """The checker's closed sums equal sums over every decoding step and iteration."""
    for instance in random_instances(30, 5):
        members = list(range(instance.n_users))
        share = Fraction(1, 2)
        mode = tuple("ad" if k % 2 else "sd" for k in members)
        details = evaluate_balance(instance, Assignment(mode, 0.5)).details
        ad, sd = [k for k in members if k % 2], [k for k in members if k % 2 == 0]
        assert details["seconds_ad"] == pytest.approx(float(slow_ad(instance, ad, share)), rel=1e-14)
        assert details["seconds_sd"] == pytest.approx(float(slow_sd(instance, sd, share)), rel=1e-14)


def gamma(model: object, context: Fraction) -> Fraction:
    """Return Γa of one token in a context, written out."""
    width = model.head_dim * model.heads
    return model.layers * (8 * model.hidden * width + 4 * context * width + 4 * model.hidden * model.ffn)


def slow_ad(instance: BalanceInstance, members: list[int], share: Fraction) -> Fraction:
    """Return t_AD as a loop over the decoding steps of (17)."""
    if not members:
        return Fraction(0)
    users, llm = instance.users, instance.llm
    alpha, beta = Fraction(repr(llm.seconds_per_flop)), Fraction(repr(llm.seconds_per_pass))
    longest = max(int(users.input_tokens[k]) for k in members)
    prefill = sum(gamma(llm, Fraction(longest)) for _ in range(longest))
    total = max(Fraction(repr(float(users.upload_s[k]))) for k in members)
    total += alpha * prefill * len(members) / share + beta
    for step in range(1, max(int(users.output_tokens[k]) for k in members)):
        active = sum(step <= int(users.output_tokens[k]) - 1 for k in members)
        total += alpha * gamma(llm, Fraction(longest + step)) * active / share + beta
    return total


def slow_sd(instance: BalanceInstance, members: list[int], share: Fraction) -> Fraction:
    """Return t_SD as a loop over the iterations of (19), with N_k and a_k from their definitions."""
    users, llm, slm, draft = instance.users, instance.llm, instance.slm, instance.draft_tokens
    alpha_l, beta_l = Fraction(repr(llm.seconds_per_flop)), Fraction(repr(llm.seconds_per_pass))
    alpha_s, beta_s = Fraction(repr(slm.seconds_per_flop)), Fraction(repr(slm.seconds_per_pass))
    rate = [Fraction(repr(float(a))) for a in users.acceptance]
    accepted = [sum(r**i for i in range(1, draft + 1)) for r in rate]
    rounds = [-(-int(o) // (a + 1)) for o, a in zip(users.output_tokens, accepted, strict=True)]
    longest, most = max(int(users.input_tokens[k]) for k in members), max(accepted[k] for k in members)
    total = max(Fraction(repr(float(users.upload_s[k]))) for k in members)
    for model, alpha, beta in ((llm, alpha_l, beta_l), (slm, alpha_s, beta_s)):
        prefill = sum(gamma(model, Fraction(longest)) for _ in range(longest))
        total += alpha * prefill * len(members) / share + beta
    for i in range(1, max(rounds[k] for k in members) + 1):
        active = sum(i <= rounds[k] for k in members)
        prefix = Fraction(longest) if i == 1 else longest + (i - 2) * (most + 1) + most
        for step in range(1, draft if i == 1 else draft + 1):
            total += alpha_s * gamma(slm, prefix + step) * active / share + beta_s
        verified = draft if i == 1 else draft + 1
        work = sum(gamma(llm, prefix + step) for step in range(1, verified + 1))
        total += alpha_l * work * active / share + beta_l
    return total


def test_late_user_is_named() -> None:
    """A missed deadline makes the decision infeasible, and the message names the user and the delay."""
    instance = three_users()
    late = replace(instance, users=replace(instance.users, deadline_s=np.array([100.0, 5.4, 100.0])))
    verdict = evaluate_balance(late, Assignment(("ad", "ad", "ad"), 1.0))
    assert not verdict.feasible
    assert verdict.violation == pytest.approx(0.0067044736, abs=1e-10)
    assert "user 1 (ad)" in verdict.message


@pytest.mark.parametrize(("extra", "feasible"), [(0.0, True), (9e-10, True), (1.1e-9, False)])
def test_latency_slack_is_one_nanosecond(extra: float, feasible: bool) -> None:
    """A deadline may be missed by 10⁻⁹ s and no more, decided in rationals."""
    instance = three_users()
    seconds = Fraction("0.001") + 3  # one user in AD that takes exactly this long
    llm = replace(instance.llm, seconds_per_flop=0.0, seconds_per_pass=0.03)
    users = replace(instance.users, deadline_s=np.array([float(seconds) - extra, 100.0, 100.0]))
    verdict = evaluate_balance(
        replace(instance, llm=llm, users=users), Assignment(("ad", "none", "none"), 1.0)
    )
    assert verdict.feasible is feasible


def test_memory_beyond_its_slack_is_refused() -> None:
    """Memory is checked with a relative slack of 10⁻⁹, and the message gives both sides."""
    instance = three_users()
    needed = float(memory_bytes(instance, [0, 1, 2], [], Fraction(1)))
    for factor, feasible in ((1.0, True), (1 - 9e-10, True), (1 - 1.1e-9, False)):
        server = replace(instance.server, memory_bytes=needed * factor)
        verdict = evaluate_balance(replace(instance, server=server), Assignment(("ad",) * 3, 1.0))
        assert verdict.feasible is feasible
        assert feasible or "memory: 1.0612113408e+10" in verdict.message or "memory:" in verdict.message


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Assignment(("ad", "ad"), 1.0), "mode: found 2 entries, expected 3"),
        (Assignment(("ad", "ad", "ad"), 0.05), "compute_share: 0.05 is not one of the server's shares"),
        (Assignment(("ad", "none", "none"), 0.0), "compute_share: a mode without compute serves users"),
        (Assignment(("none", "sd", "none"), 1.0), "compute_share: a mode without compute serves users"),
    ],
)
def test_decision_for_something_else_is_refused(decision: Assignment, message: str) -> None:
    """A decision of another length, share or mode is infeasible with a reason, not an exception."""
    verdict = evaluate_balance(three_users(), decision)
    assert not verdict.feasible
    assert verdict.message == message


def test_idle_slm_still_takes_memory() -> None:
    """The SLM's weights count whenever z < 1, even if nobody is in SD."""
    instance = three_users()
    alone = memory_bytes(instance, [0], [], Fraction(1))
    assert memory_bytes(instance, [0], [], Fraction(9, 10)) - alone == 1_753_219_072
