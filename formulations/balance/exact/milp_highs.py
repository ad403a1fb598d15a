"""P1 as one mixed-integer programme for each compute share, handed to HiGHS as sparse arrays.

The programme is (1)–(15) of ``milp.py``, built block by block; the numbers below are its lines. Where
``milp.py`` switches a level's row off by a large constant, here the rows of the levels above the picked one
stay in force as far as they hold (``_at_least``), which leaves far fewer nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.balance.costs import LATENCY_SLACK_S, ModeCosts, Problem
from formulations.balance.exact.share_search import HIGHS_OPTIONS, search_over_shares
from formulations.balance.exact.weights import (
    ad_bytes,
    ad_seconds,
    sd_accepted_bytes,
    sd_accepted_seconds,
    sd_input_bytes,
    sd_input_seconds,
)
from formulations.highs import Answer, SparseRows, solve_sparse
from formulations.result import Limits, Result
from instances.balance import BalanceInstance
from instances.decisions import Assignment

__all__ = ["solve_milp_highs"]

Floats = NDArray[np.float64]
Columns = NDArray[np.int64]


def solve_milp_highs(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Solve P1 by a mixed-integer programme for each compute share; optimal when every one is proved.

    ``seed`` is HiGHS's random seed, and ``limits.nodes`` a deterministic limit on its nodes over all shares.
    """

    def build(problem: Problem, share: float, at_least: int) -> _Programme:
        return _build(problem, share, at_least, seed % 2**31)

    return search_over_shares(instance, build, limits)


@dataclass(eq=False)
class _Programme:
    """The programme at one share; columns are numbered in the order in which they are added."""

    x: Columns
    y: Columns
    seed: int
    rows: SparseRows = field(default_factory=SparseRows)
    upper: list[Floats] = field(default_factory=list)
    whole: list[NDArray[np.bool_]] = field(default_factory=list)
    point: Floats = field(default_factory=lambda: np.empty(0))

    def columns(self, count: int, upper: float, *, whole: bool) -> Columns:
        """Add columns from 0 to ``upper`` and return their numbers."""
        first = sum(map(len, self.upper))
        self.upper.append(np.full(count, upper))
        self.whole.append(np.full(count, whole))
        return np.arange(first, first + count)

    def solve(self, time_s: float | None, nodes: int | None) -> Answer:
        """Maximise (1)."""
        upper = np.concatenate(self.upper)
        objective = np.zeros(len(upper))
        objective[np.concatenate([self.x, self.y])] = 1.0
        limit = {} if nodes is None else {"mip_max_nodes": min(nodes, 2**31 - 1)}
        options = HIGHS_OPTIONS | {"random_seed": self.seed} | limit
        bounds, whole = (np.zeros(len(upper)), upper), np.concatenate(self.whole)
        solved = solve_sparse(objective, bounds, whole, self.rows, time_s=time_s, options=options)
        self.point = solved.point
        return solved.answer

    def assignment(self, share: float) -> Assignment:
        """Return the decision at the point found."""
        ad, sd = self.point[self.x] > 0.5, self.point[self.y] > 0.5
        mode = np.where(ad, "ad", np.where(sd, "sd", "none"))
        return Assignment(tuple(mode.tolist()), share)

    def forbid(self, decision: Assignment) -> None:
        """Cut off the assignment and every one that contains it."""
        mode = np.array(decision.mode)
        chosen = np.concatenate([self.x[mode == "ad"], self.y[mode == "sd"]])
        self.rows.add(1, (chosen, 1.0), upper=len(chosen) - 1.0)


def _build(problem: Problem, share: float, at_least: int, seed: int) -> _Programme:
    users = len(problem.ad_steps)
    programme = _Programme(np.empty(0, np.int64), np.empty(0, np.int64), seed)
    programme.x = programme.columns(users, float(share > 0.0), whole=True)
    programme.y = programme.columns(users, float(share < 1.0), whole=True)
    x, y, rows = programme.x, programme.y, programme.rows
    rows.add(1, (x, 1.0), (y, 1.0), lower=at_least)
    rows.add(users, (x, np.eye(users)), (y, np.eye(users)), upper=1.0)  # (2)
    room = problem.cache_bytes(share)
    unit = max(room, 1e-6 * problem.memory_bytes)  # keeps the rows' coefficients near 1
    used = [
        *(_add_ad(programme, problem, share, unit) if share > 0.0 else ()),
        *(_add_sd(programme, problem, 1.0 - share, unit) if share < 1.0 else ()),
    ]
    rows.add(1, *((column, 1.0) for column in used), upper=room / unit)  # (15)
    return programme


@dataclass(frozen=True, eq=False)
class _Levels:
    """The values that a batch's maximum can have, and the binaries that pick one of them."""

    values: Floats  # (J,) increasing
    reached: NDArray[np.bool_]  # (J, K) whether a level is at least the user's value
    picks: Columns  # (J,)


def _add_ad(programme: _Programme, problem: Problem, share: float, unit: float) -> list[Columns]:
    """Add the rows of AD; return the column of its memory in ``unit`` bytes."""
    costs, x = problem.ad, programme.x
    longest = _levels(programme, problem.input_tokens, x)  # (3)
    waits = _waits(programme, problem, costs, problem.ad_steps, x)  # (6)
    work = np.array([ad_seconds(problem, length) for length in longest.values]) / share
    seconds = _at_least(programme, work, x, longest, _horizon(problem), waits, costs.wait)  # (7)
    _deadlines(programme, problem, seconds, x)  # (11)
    size = np.array([ad_bytes(problem, length) for length in longest.values]) / unit
    return [_at_least(programme, size, x, longest, problem.cache_bytes(share) / unit)]  # (12)


def _add_sd(programme: _Programme, problem: Problem, share: float, unit: float) -> list[Columns]:
    """Add the rows of SD; return the columns of its memory in ``unit`` bytes."""
    y, costs = programme.y, problem.sd
    longest = _levels(programme, problem.input_tokens, y)  # (4)
    accepted = _levels(programme, problem.accepted, y)  # (5)

    def above(weights: list[Floats], scale: float, levels: _Levels, cap: float) -> Columns:
        return _at_least(programme, np.array(weights) / scale, y, levels, cap)

    horizon, room = _horizon(problem), problem.cache_bytes(1.0 - share) / unit
    by_input = [sd_input_seconds(problem, length) for length in longest.values]
    by_accepted = [sd_accepted_seconds(problem, a) for a in accepted.values]
    parts = (
        above(by_input, share, longest, horizon),
        above(by_accepted, share, accepted, horizon),
    )  # (8), (9)
    waits = _waits(programme, problem, costs, problem.sd_steps, y)  # (6)
    seconds = programme.columns(1, np.inf, whole=False)
    programme.rows.add(
        1, (seconds, 1.0), *((part, -1.0) for part in (waits, *parts)), lower=costs.wait
    )  # (10)
    _deadlines(programme, problem, seconds, y)  # (11)
    return [
        above([sd_input_bytes(problem, length) for length in longest.values], unit, longest, room),  # (13)
        above([sd_accepted_bytes(problem, a) for a in accepted.values], unit, accepted, room),  # (14)
    ]


def _horizon(problem: Problem) -> float:
    """Return the latest that a batch can end."""
    return max(float(problem.budget_s.max(initial=0.0)) + LATENCY_SLACK_S, 0.0)


def _levels(programme: _Programme, values: Floats, chosen: Columns) -> _Levels:
    """Add binaries that pick a level at least as high as the value of every chosen user."""
    levels = np.unique(values)
    picks = programme.columns(len(levels), 1.0, whole=True)
    if len(levels):
        programme.rows.add(1, (picks, 1.0), lower=1.0, upper=1.0)
    reached = levels[:, None] >= values[None, :]
    programme.rows.add(len(values), (chosen, np.eye(len(values))), (picks, -1.0 * reached.T), upper=0.0)
    return _Levels(levels, reached, picks)


def _waits(
    programme: _Programme, problem: Problem, costs: ModeCosts, steps: NDArray[np.int64], chosen: Columns
) -> Columns:
    """Add the batch's upload and last step; return their columns, seconds that no share shortens."""
    waits = programme.columns(2, np.inf, whole=False)
    for column, seconds in zip(waits, (problem.upload_s, costs.wait_step * steps), strict=True):
        programme.rows.add(len(steps), (np.array([column]), 1.0), (chosen, -np.diag(seconds)), lower=0.0)
    return waits


def _at_least(
    programme: _Programme,
    weights: Floats,
    chosen: Columns,
    levels: _Levels,
    cap: float,
    waits: Columns | None = None,
    constant: float = 0.0,
) -> Columns:
    """Add a column that is at least weights[j] · chosen + waits + constant where level j is picked.

    The column's rows of lower levels and its ``cap`` say what row j exceeds it by where a lower level i is
    picked: at most (ρ − 1) cap, ρ being the largest ratio weights[j] / weights[i] of a user that i reaches.
    This much is taken off row j there, so that it holds whatever is picked.
    """
    total = programme.columns(1, np.inf, whole=False)
    count = len(levels.picks)
    if count:
        excess = _excess(weights, levels, cap)
        parts = ((total, 1.0), (chosen, -weights), (levels.picks, excess))
        extra = () if waits is None else ((waits, -1.0),)
        programme.rows.add(count, *parts, *extra, lower=constant)
    return total


def _excess(weights: Floats, levels: _Levels, cap: float) -> Floats:
    """Return by how much the users that level i reaches weigh more in row j than in row i < j, (J, J)."""
    excess = np.zeros((len(weights), len(weights)))
    for i, reached in enumerate(levels.reached):
        here, above = weights[i, reached], weights[i + 1 :, reached]
        most = (above - here).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # a user may weigh nothing in row i
            ratio = np.where(above > here, above / here, 1.0).max(axis=1, initial=1.0)
            excess[i + 1 :, i] = np.fmin((ratio - 1.0) * cap, most)
    return excess


def _deadlines(programme: _Programme, problem: Problem, seconds: Columns, chosen: Columns) -> None:
    """Add seconds ≤ T'_k for everyone chosen; ``seconds`` never needs to exceed the horizon."""
    horizon, budget = _horizon(problem), problem.budget_s + LATENCY_SLACK_S
    late, on_time = chosen[budget < 0.0], chosen[budget >= 0.0]
    programme.rows.add(len(late), (late, np.eye(len(late))), upper=0.0)
    spare = np.diag(horizon - budget[budget >= 0.0])
    programme.rows.add(len(on_time), (seconds, 1.0), (on_time, spare), upper=horizon)
    programme.rows.add(1, (seconds, 1.0), upper=horizon)
