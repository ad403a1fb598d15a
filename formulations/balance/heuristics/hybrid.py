"""Algorithm 3 of BALANCE: AD first, then SD for who is left, over all pairs of compute and memory share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from formulations.balance.costs import Problem, problem_of
from formulations.balance.heuristics.batches import Batch, ModeView
from formulations.balance.heuristics.claim import claim
from formulations.result import Limits, Result
from instances.balance import BalanceInstance

__all__ = ["algorithm_3", "solve_hybrid", "solve_hybrid_own"]


def solve_hybrid(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 as published: Algorithm 1 charges padded memory, eq. (27).

    Serves at least a third of the optimum (not half, as Theorem 1 says). Same objective and AD set as the
    enumeration in ``hybrid_literal.py``; about O(K² log K) for each pair of shares in practice.
    """
    return _solve(instance, padded=True)


def solve_hybrid_own(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Algorithm 3 with each AD user charged its own memory, eq. (15): serves at least half of the optimum."""
    return _solve(instance, padded=False)


def _solve(instance: BalanceInstance, padded: bool) -> Result:
    problem = problem_of(instance)
    ad, sd, share, sweeps = algorithm_3(problem, padded, problem.compute_shares, problem.memory_shares)
    counters = {"sweeps": sweeps, "steps": sweeps * instance.n_users}
    return claim(problem, ad, sd, share, counters)


class _SharedBatches:
    """Batches at one compute share, found once and reused for every memory share in which they fit.

    A batch that is first under some room is still first under less room as long as it fits.
    """

    def __init__(self, view: ModeView, share: float, padded: bool) -> None:
        self.view, self.share, self.padded = view, share, padded
        self.found: list[tuple[bytes, float, Batch]] = []
        self.sweeps = 0

    def get(self, room: float, closed: Batch | None = None) -> Batch:
        key = b"" if closed is None else closed.members.tobytes()
        for known, upper, batch in self.found:
            if known == key and batch.bytes <= room <= upper:
                return batch
        batch = self.view.solve(self.share, room, self.padded, None if closed is None else closed.members)
        self.sweeps += batch.sweeps
        self.found.append((key, room, batch))
        return batch


def algorithm_3(
    problem: Problem, padded: bool, compute_shares: Sequence[float], memory_shares: Sequence[float]
) -> tuple[Batch, Batch, float, int]:
    """Return (AD batch, SD batch, compute share, sweeps) of the first pair of shares that serves most users.

    Pairs (z outside, λ inside, both ascending) are visited in order of an upper bound: the AD batch's size
    plus the largest SD batch with nobody excluded.
    """
    nobody = Batch(np.empty(0, dtype=np.int64), 0.0, 0)
    ad_view, sd_view = ModeView(problem, "ad"), ModeView(problem, "sd")
    pairs, sources = [], []
    for i, share in enumerate(compute_shares):
        ads, sds = _SharedBatches(ad_view, share, padded), _SharedBatches(sd_view, 1.0 - share, False)
        sources.append((ads, sds))
        room = problem.cache_bytes(share)
        sds.get((1.0 - memory_shares[0]) * room)  # the largest room first: smaller ones reuse it
        for j in reversed(range(len(memory_shares))):
            memory_share = memory_shares[j]
            ad = ads.get(memory_share * room) if memory_share > 0.0 else nobody
            free = sds.get((1.0 - memory_share) * room) if memory_share < 1.0 else nobody
            bound = min(len(ad) + len(free), len(problem.ad_steps))
            pairs.append((-bound, i, j, ad))
    best = (0, len(compute_shares), 0)
    result = (nobody, nobody, 1.0)
    for negative_bound, i, j, ad in sorted(pairs, key=lambda pair: pair[:3]):
        if (negative_bound, i, j) > best:
            break
        room = (1.0 - memory_shares[j]) * problem.cache_bytes(compute_shares[i])
        sd = sources[i][1].get(room, ad) if memory_shares[j] < 1.0 else nobody
        found = (-len(ad) - len(sd), i, j)
        if found < best:
            best, result = found, (ad, sd, compute_shares[i])
    sweeps = sum(ads.sweeps + sds.sweeps for ads, sds in sources)
    return *result, sweeps
