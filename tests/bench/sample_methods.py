"""Methods that misbehave, each in one way; the registry gets them in tests only."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any

import numba
import numpy as np

from formulations.balance.exact.branch_and_bound import solve_exact
from formulations.balance.heuristics.hybrid import solve_hybrid_own
from formulations.result import BoundKind, Limits, Result, Status
from instances.balance import BalanceInstance
from instances.decisions import Allocation, Assignment


def honest(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Serve nobody, and say so."""
    return Result(Status.FEASIBLE, decision=Assignment(("none",) * instance.n_users, 1.0), objective=0.0)


def boasts(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Claim one user more than are served."""
    true = solve_hybrid_own(instance, limits=limits)
    return Result(Status.FEASIBLE, decision=true.decision, objective=(true.objective or 0.0) + 1)


def serves_everybody(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Return an infeasible decision."""
    count = instance.n_users
    return Result(Status.FEASIBLE, decision=Assignment(("ad",) * count, 1.0), objective=float(count))


def claims_optimality(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Call optimal what a bound of its own leaves open."""
    nobody = Assignment(("none",) * instance.n_users, 1.0)
    return Result(Status.OPTIMAL, decision=nobody, objective=0.0, bound=3.0, bound_kind=BoundKind.TREE)


def stops_early(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Leave one user out of the optimum and call the rest optimal."""
    true = solve_exact(instance, limits=limits)
    assert isinstance(true.decision, Assignment) and true.objective is not None
    mode, served = list(true.decision.mode), true.objective - 1
    mode[next(k for k, m in enumerate(mode) if m != "none")] = "none"
    decision = Assignment(tuple(mode), true.decision.compute_share)
    return Result(
        Status.OPTIMAL, decision=decision, objective=served, bound=served, bound_kind=BoundKind.TREE
    )


def proves_nothing(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Call optimal what no bound supports."""
    nobody = Assignment(("none",) * instance.n_users, 1.0)
    return Result(Status.OPTIMAL, decision=nobody, objective=0.0)


def counts_nan(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Claim not a number."""
    nobody = Assignment(("none",) * instance.n_users, 1.0)
    return Result(Status.FEASIBLE, decision=nobody, objective=float("nan"))


def forgets_decision(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Claim a value without a decision."""
    return Result(Status.FEASIBLE, objective=2.0)


def bounds_too_low(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Bound the optimum below the own decision's value."""
    true = solve_hybrid_own(instance, limits=limits)
    return Result(
        Status.FEASIBLE,
        decision=true.decision,
        objective=true.objective,
        bound=0.5,
        bound_kind=BoundKind.TREE,
    )


def solves_another(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Return the decision of a smaller instance."""
    return Result(Status.FEASIBLE, decision=Assignment(("none",), 1.0), objective=0.0)


def wrong_kind(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Return a decision of another problem."""
    return Result(Status.FEASIBLE, decision=Allocation(np.array([0.5])), objective=0.5)


def raises(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Fail on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        raise ZeroDivisionError("nothing to divide by")
    return honest(instance, limits=limits)


def dies(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """End the process on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        os._exit(7)
    return honest(instance, limits=limits)


def sleeps(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Take a minute on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        time.sleep(60)
    return honest(instance, limits=limits)


def hangs(instance: BalanceInstance, *, limits: Limits, seed: int = 0, marker: str = "") -> Result:
    """Write the process's number to a file, and wait a minute."""
    if marker:
        Path(marker).write_text(str(os.getpid()))
        time.sleep(60)
    return honest(instance, limits=limits)


def eats_memory(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Allocate 4 GB on any but the tiny warm-up instance."""
    kept: list[Any] = []
    if instance.n_users > 3:
        kept = [np.ones(2**26) for _ in range(8)]
    return honest(instance, limits=limits, seed=len(kept))


def crashes_natively(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Read address 0 on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        ctypes.string_at(0)
    return honest(instance, limits=limits)


@numba.njit
def _spin(turns: int) -> int:
    total = 0
    for i in range(turns):
        total = (total * 31 + i) % 1000003
    return total


def spins(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Stay in native code for minutes on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        _spin(10**12)
    else:
        _spin(10)
    return honest(instance, limits=limits)


_compiled: list[bool] = []


def compiles_slowly(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Take two seconds at the first call in a process, as a compiler would."""
    if not _compiled:
        time.sleep(2.0)
        _compiled.append(True)
    return honest(instance, limits=limits)


def takes_memory(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Allocate 400 MB for more than six users, and give it back."""
    if instance.n_users > 6:
        np.ones(50 * 2**20)
    return honest(instance, limits=limits)


def naps(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Take two seconds on any but the tiny warm-up instance."""
    if instance.n_users > 3:
        time.sleep(2.0)
    return honest(instance, limits=limits)


def marks_and_spins(instance: BalanceInstance, *, limits: Limits, seed: int = 0) -> Result:
    """Write the file that $SPINS_MARKER names, and stay in native code for minutes."""
    _spin(10)
    if instance.n_users > 3:
        Path(os.environ["SPINS_MARKER"]).write_text("spinning")
        _spin(10**12)
    return honest(instance, limits=limits)
