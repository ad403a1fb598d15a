"""Random changes of an instance: small ones of its numbers, and steps up to the edge of what is feasible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.judging.hunting.trial import Trial
from formulations.balance.evaluate import evaluate_balance
from instances.balance import BalanceInstance, BalanceUsers, LanguageModel
from instances.decisions import Assignment
from instances.errors import InputError

__all__ = [
    "COUNTS",
    "DIGITS",
    "MOST_USERS",
    "SPEEDS",
    "changed",
    "columns",
    "disturbed",
    "planted",
    "short",
    "with_speeds",
    "with_users",
]

Rng = np.random.Generator
FEWEST_USERS, MOST_USERS = 3, 8
MOST_CHANGES = 2  # at once
TIGHTEN = 0.8  # probability that a change ends at the edge of what is feasible
DIGITS = 6  # significant, so that a witness's file stays short
COUNTS = ("input_tokens", "output_tokens")
SPEEDS = ("seconds_per_flop", "seconds_per_pass")


def changed(trial: Trial, rng: Rng) -> BalanceInstance:
    """Return a changed copy of a trial's instance: a few changes at once, mostly tightened afterwards."""
    instance = trial.instance
    for _ in range(int(rng.integers(1, MOST_CHANGES + 1))):
        instance = _attempt(CHANGES[int(rng.integers(len(CHANGES)))], instance, trial, rng)
    if rng.random() < TIGHTEN:
        instance = _attempt(_tighten_all, instance, trial, rng)
    return instance


def disturbed(instance: BalanceInstance, rng: Rng, by: float) -> BalanceInstance:
    """Return the instance with every number multiplied by a factor in [1 - by, 1 + by] of its own.

    Model dimensions and draft length stay. Counts are rounded to at least 1, probabilities are cut at 1, and
    shares other than 0 and 1 stay below 1.
    """

    def near(values: Any) -> NDArray[np.float64]:
        array = np.asarray(values, dtype=np.float64)
        return array * rng.uniform(1.0 - by, 1.0 + by, array.shape)

    def near_shares(shares: tuple[float, ...]) -> tuple[float, ...]:
        return (0.0, *sorted({short(min(float(share), 0.99)) for share in near(shares[1:-1])}), 1.0)

    users = {key: near(column) for key, column in columns(instance).items()}
    for key in COUNTS:
        users[key] = np.maximum(np.rint(users[key]), 1.0)
    users["acceptance"] = np.minimum(users["acceptance"], 1.0)
    server = replace(
        instance.server,
        memory_bytes=short(float(near(instance.server.memory_bytes))),
        bytes_per_value=short(float(near(instance.server.bytes_per_value))),
        compute_shares=near_shares(instance.server.compute_shares),
        memory_shares=near_shares(instance.server.memory_shares),
    )
    llm, slm = (
        with_speeds(model, {key: short(float(near(getattr(model, key)))) for key in SPEEDS})
        for model in (instance.llm, instance.slm)
    )
    return with_users(replace(instance, server=server, llm=llm, slm=slm), users)


def planted(instance: BalanceInstance, rng: Rng) -> BalanceInstance:
    """Return the instance with limits just above what a random assignment of all users needs."""
    shares = instance.server.compute_shares
    share = shares[int(rng.integers(1, max(len(shares) - 1, 2)))]
    modes = tuple(str(mode) for mode in rng.choice(["ad", "sd"], instance.n_users))
    return _tight(instance, Assignment(modes, share), _room(rng), times=True, memory=True)


def short(value: float, digits: int = DIGITS) -> float:
    """Return ``value`` with a few significant digits."""
    return float(f"{value:.{digits - 1}e}")


def columns(instance: BalanceInstance) -> dict[str, Any]:
    """Return copies of the users' arrays by name, (K,) each."""
    return {key: getattr(instance.users, key).copy() for key in BalanceUsers.__dataclass_fields__}


def with_users(instance: BalanceInstance, values: dict[str, Any]) -> BalanceInstance:
    """Return the instance with other users, whose numbers are shortened."""
    rounded = {
        key: column if key in COUNTS else np.array([short(float(value)) for value in column])
        for key, column in values.items()
    }
    return replace(instance, users=BalanceUsers(**rounded))


def with_speeds(model: LanguageModel, speeds: dict[str, Any]) -> LanguageModel:
    """Return the model with other speeds."""
    return replace(model, **speeds)


Change = Callable[[BalanceInstance, Trial, Rng], BalanceInstance]


def _attempt(change: Change, instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    try:
        return change(instance, trial, rng)
    except InputError:  # out of the model's range: leave it as it was
        return instance


def _tight(
    instance: BalanceInstance, target: Assignment, room: float, *, times: bool, memory: bool
) -> BalanceInstance:
    """Return the instance with limits at ``room`` times what the target needs, for those whom it serves."""
    needs = evaluate_balance(instance, target).details
    if not needs:
        return instance
    if times:
        users = columns(instance)
        for k, mode in enumerate(target.mode):
            if mode != "none":
                users["deadline_s"][k] = needs[f"seconds_{mode}"] * room + users["download_s"][k]
        instance = with_users(instance, users)
    if memory:
        server = replace(instance.server, memory_bytes=short(needs["memory_bytes"] * room))
        instance = replace(instance, server=server)
    return instance


def _room(rng: Rng) -> float:
    return float(1.0 + 10.0 ** rng.uniform(-4.0, -0.3))


def _target(instance: BalanceInstance, trial: Trial, rng: Rng) -> Assignment:
    """Return the optimal assignment, sometimes with the others served too, or one user moved."""
    shares, target = instance.server.compute_shares, trial.target
    if target is None or len(target.mode) != instance.n_users or target.compute_share not in shares:
        share = shares[int(rng.integers(len(shares)))]
        modes = [str(mode) for mode in rng.choice(["ad", "sd", "none"], instance.n_users)]
    else:
        share, modes = target.compute_share, list(target.mode)
    if rng.random() < 0.5:
        modes = [str(rng.choice(["ad", "sd"])) if mode == "none" else mode for mode in modes]
    if rng.random() < 0.3:
        modes[int(rng.integers(len(modes)))] = str(rng.choice(["ad", "sd", "none"]))
        if rng.random() < 0.3:
            share = shares[int(rng.integers(len(shares)))]
    return Assignment(tuple(modes), share)


def _tighten_times(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    return _tight(instance, _target(instance, trial, rng), _room(rng), times=True, memory=False)


def _tighten_memory(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    return _tight(instance, _target(instance, trial, rng), _room(rng), times=False, memory=True)


def _tighten_all(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    return _tight(instance, _target(instance, trial, rng), _room(rng), times=True, memory=True)


USER_NUMBERS = ("input_tokens", "output_tokens", "deadline_s", "acceptance", "upload_s", "download_s")
HOW_OFTEN = (0.25, 0.25, 0.2, 0.2, 0.05, 0.05)


def _one_number(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    """Change one number of one user."""
    users = columns(instance)
    key, k = str(rng.choice(USER_NUMBERS, p=HOW_OFTEN)), int(rng.integers(instance.n_users))
    factor = float(np.exp(rng.normal(0.0, 0.5)))
    if key == "acceptance":
        users[key][k] = rng.uniform(0.05, 0.95)
    elif key in COUNTS and rng.random() < 0.5:
        users[key][k] = max(users[key][k] + int(rng.integers(-3, 4)), 1)
    elif key in COUNTS:
        users[key][k] = max(round(users[key][k] * factor), 1)
    else:
        users[key][k] *= factor
    return with_users(instance, users)


def _memory(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    memory = short(instance.server.memory_bytes * float(np.exp(rng.normal(0.0, 0.2))))
    return replace(instance, server=replace(instance.server, memory_bytes=memory))


def _one_speed(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    """Change a speed of one model, sometimes to 0."""
    key, of_llm = SPEEDS[int(rng.integers(2))], bool(rng.random() < 0.5)
    model = instance.llm if of_llm else instance.slm
    factor = float(np.exp(rng.normal(0.0, 0.7)))
    value = getattr(model, key) * factor or 10.0 ** rng.uniform(-4.0, 0.0)
    other = with_speeds(model, {key: 0.0 if rng.random() < 0.1 else short(value)})
    return replace(instance, llm=other) if of_llm else replace(instance, slm=other)


def _all_slightly(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    return disturbed(instance, rng, 0.05)


def _copy_number(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    """Give one user a number of another, or let them swap it."""
    users = columns(instance)
    column = users[str(rng.choice(USER_NUMBERS[:4]))]
    a, b = (int(k) for k in rng.integers(0, instance.n_users, 2))
    column[a], column[b] = column[b], column[a] if rng.random() < 0.5 else column[b]
    return with_users(instance, users)


def _duplicate_user(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    if instance.n_users >= MOST_USERS:
        return instance
    kept = [*range(instance.n_users), int(rng.integers(instance.n_users))]
    return with_users(instance, {key: column[kept] for key, column in columns(instance).items()})


def _drop_user(instance: BalanceInstance, trial: Trial, rng: Rng) -> BalanceInstance:
    if instance.n_users <= FEWEST_USERS:
        return instance
    kept = np.delete(np.arange(instance.n_users), int(rng.integers(instance.n_users)))
    return with_users(instance, {key: column[kept] for key, column in columns(instance).items()})


CHANGES: tuple[Change, ...] = (
    *(_one_number,) * 3,
    _memory,
    *(_one_speed,) * 2,
    _all_slightly,
    _copy_number,
    _duplicate_user,
    _drop_user,
    *(_tighten_times,) * 2,
    _tighten_memory,
    _tighten_all,
)
