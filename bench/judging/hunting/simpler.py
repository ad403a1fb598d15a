"""Shrink a witness: fewer users, shorter numbers, plainer grids, and still as bad a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from bench.judging.hunting.changes import COUNTS, DIGITS, SPEEDS, columns, short, with_speeds, with_users
from bench.judging.hunting.trial import Judge, Trial
from instances.balance import BalanceInstance, BalanceUsers
from instances.errors import InputError

__all__ = ["shrunk"]

MOST_TRIALS = 2000
SERVER_NUMBERS, MODELS = ("memory_bytes", "bytes_per_value"), ("llm", "slm")
GRIDS = ((0.0, 1.0), (0.0, 0.5, 1.0))
Edit = Callable[[BalanceInstance], BalanceInstance]  # returns its argument where there is nothing to do


def shrunk(trial: Trial, judge: Judge) -> Trial:
    """Return a simpler trial that is at least as bad; every step is judged anew."""
    last = judge.count + MOST_TRIALS
    while True:
        before = trial
        for edit in _edits(trial.instance):
            try:
                candidate = edit(trial.instance)
            except InputError:  # out of the model's range
                continue
            if candidate is trial.instance:
                continue
            if judge.count >= last:
                return trial
            new = judge.judge(candidate)
            trial = new if new.as_bad_as(trial) else trial
        if trial is before:
            return trial


def _edits(instance: BalanceInstance) -> Iterator[Edit]:
    """Yield simplifications, the largest ones first, and of a number the shortest forms first."""
    users, every = range(instance.n_users), tuple(BalanceUsers.__dataclass_fields__)
    yield from (partial(_drop_user, k=k) for k in reversed(users))
    yield _single_draft
    for key in ("compute_shares", "memory_shares"):
        yield from (partial(_grid, key=key, grid=grid) for grid in GRIDS)
        yield from (
            partial(_drop_share, key=key, i=i) for i in reversed(range(len(instance.server.memory_shares)))
        )
        yield from (partial(_round_grid, key=key, digits=digits) for digits in (1, 2, 3))
    for digits in range(DIGITS):
        yield from (partial(_round_column, key=key, digits=digits) for key in every)
    for digits in range(DIGITS):
        yield from (
            partial(_round_server, key=key, digits=digits) for key in ("memory_bytes", "bytes_per_value")
        )
        yield from (partial(_round_model, name=n, key=k, digits=digits) for n in MODELS for k in SPEEDS)
        yield from (partial(_round_entry, key=key, k=k, digits=digits) for key in every for k in users)


def _drop_user(instance: BalanceInstance, k: int) -> BalanceInstance:
    if k >= instance.n_users or instance.n_users == 1:
        return instance
    kept = [i for i in range(instance.n_users) if i != k]
    return with_users(instance, {key: column[kept] for key, column in columns(instance).items()})


def _single_draft(instance: BalanceInstance) -> BalanceInstance:
    return replace(instance, draft_tokens=1) if instance.draft_tokens > 1 else instance


def _grid(instance: BalanceInstance, key: str, grid: tuple[float, ...]) -> BalanceInstance:
    shorter = len(grid) < len(getattr(instance.server, key))
    return _with_server(instance, key, grid) if shorter else instance


def _drop_share(instance: BalanceInstance, key: str, i: int) -> BalanceInstance:
    shares = getattr(instance.server, key)
    inner = 0 < i < len(shares) - 1
    return _with_server(instance, key, (*shares[:i], *shares[i + 1 :])) if inner else instance


def _with_server(instance: BalanceInstance, key: str, value: Any) -> BalanceInstance:
    return replace(instance, server=replace(instance.server, **{key: value}))


def _round_grid(instance: BalanceInstance, key: str, digits: int) -> BalanceInstance:
    shares = getattr(instance.server, key)
    rounded = tuple(sorted({short(share, digits) for share in shares}))
    return instance if rounded == shares else _with_server(instance, key, rounded)


def _round_server(instance: BalanceInstance, key: str, digits: int) -> BalanceInstance:
    value = getattr(instance.server, key)
    rounded = _cut(value, digits, key)
    return instance if rounded == value else _with_server(instance, key, rounded)


def _round_model(instance: BalanceInstance, name: str, key: str, digits: int) -> BalanceInstance:
    model = getattr(instance, name)
    value = getattr(model, key)
    rounded = _cut(value, digits, key)
    if rounded == value:
        return instance
    plainer = with_speeds(model, {key: rounded})
    return replace(instance, llm=plainer) if name == "llm" else replace(instance, slm=plainer)


def _round_column(instance: BalanceInstance, key: str, digits: int) -> BalanceInstance:
    """Round one number of all users at once."""
    values = columns(instance)[key].tolist()
    rounded = [_cut(value, digits, key) for value in values]
    return instance if rounded == values else with_users(instance, columns(instance) | {key: rounded})


def _round_entry(instance: BalanceInstance, key: str, k: int, digits: int) -> BalanceInstance:
    values = columns(instance)[key].tolist()
    if k >= len(values) or _cut(values[k], digits, key) == values[k]:
        return instance
    values[k] = _cut(values[k], digits, key)
    return with_users(instance, columns(instance) | {key: values})


def _cut(value: float, digits: int, key: str) -> float:
    """Return a number with so many significant digits; without any it is 0, or 1 for a count."""
    if digits == 0:
        return 1 if key in COUNTS else 0.0
    return int(short(value, digits)) if key in COUNTS else short(value, digits)
