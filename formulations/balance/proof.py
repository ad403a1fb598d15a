"""Writes the proof of a BALANCE bound: for each case of ``verify.py`` the tree that closes it.

The search closes nodes in doubles. Each tree is verified before it is written, and one that fails by rounding
is replaced, so that a margin of the search never reaches a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.balance.costs import problem_of
from formulations.balance.exact.nodes import NO_SPLIT, Question, deepened, empty_nodes, push_root
from formulations.balance.exact.tightening import users_of
from formulations.balance.exact.tree import CLOSED, FOUND, FULL, Log, empty_log, explore
from formulations.balance.exact_tree import exact_tree
from formulations.balance.verify import Case, cases
from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.proof_files import ProofError, as_rational

__all__ = ["prove_balance"]

CHUNK = 1024  # nodes written at a time
DEPTH = 256
FINENESS = 2**34  # multipliers are rounded to this denominator, far below what a node is closed by


def prove_balance(
    instance: BalanceInstance, bound: float | None, certificate: dict[str, Any]
) -> tuple[Fraction, Iterator[dict[str, Any]]]:
    """Return the bound and the records of its proof, which are found while they are read.

    Raises
    ------
    InputError
        Without a bound.
    ProofError
        While reading, when a decision above the bound turns up: the claim is wrong.
    """
    if bound is None:
        raise InputError("--proof: found a run without a bound, expected one with a bound")
    return Fraction(bound), _records(instance, int(bound) + 1)


def _records(instance: BalanceInstance, wanted: int) -> Iterator[dict[str, Any]]:
    problem, users = problem_of(instance), users_of(problem_of(instance))
    for case in cases(instance, wanted):
        sizes = np.array(case.sizes, dtype=np.int64)
        question = Question(case.share, problem.cache_bytes(case.share), sizes)
        yield case.record
        yield from _sound(case, list(_tree(users, question, instance.n_users)))


def _sound(case: Case, records: list[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    """Return the search's tree if it holds in integers, else one that is built in integers."""
    try:
        case.verify(iter(records))
    except ProofError:
        return exact_tree(case)
    return records


def _tree(users: Any, question: Question, k: int) -> Iterator[dict[str, Any]]:
    stack, log = empty_nodes(k, DEPTH), empty_log(CHUNK)
    counts, mode = np.zeros(2, dtype=np.int64), np.empty(k, dtype=np.int64)
    open_nodes, code = push_root(stack, users, question), FULL
    while code != CLOSED:
        code, open_nodes, done = explore(stack, open_nodes, users, question, counts, CHUNK, mode, log)
        if code == FOUND:
            raise ProofError(f"a decision of {question.sizes.sum()} users turned up, above the bound")
        yield from (_record(log, i) for i in range(done))
        if code == FULL:
            stack = deepened(stack, open_nodes)


def _record(log: Log, i: int) -> dict[str, Any]:
    record: dict[str, Any] = {}
    if log.rounds[i]:
        record["multipliers"] = [
            [as_rational(Fraction(round(value * FINENESS), FINENESS)) for value in row]
            for row in log.multipliers[i, : log.rounds[i]]
        ]
    if log.split[i, 0] != NO_SPLIT:
        record["split"] = [int(part) for part in log.split[i]]
    return record
