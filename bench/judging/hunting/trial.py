"""One instance judged: the method's checked value against the proved optimum."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from bench.registry import PROBLEMS, check_options, find, resolve
from formulations.evaluation import Evaluation
from formulations.result import Limits, Result, Status
from instances.balance import BalanceInstance
from instances.decisions import Assignment
from instances.errors import InputError

__all__ = ["PROBLEM", "Judge", "Trial", "confirmed"]

PROBLEM = "balance"
WITNESSES = ("exhaustive", "exhaustive-naive")  # the first one searches, both confirm


@dataclass(frozen=True, eq=False)
class Trial:
    """A method's value on an instance beside the optimum."""

    instance: BalanceInstance
    value: int  # users served, re-checked
    optimum: int
    target: Assignment | None  # an optimal decision
    margin: float  # least relative slack of the method's decision
    fault: str = ""  # ``kind: what`` where the method failed, or the checker refuses its decision

    @property
    def ratio(self) -> Fraction:
        """Return value / optimum: 1 where the optimum is 0, and 0 for a method at fault."""
        if self.fault:
            return Fraction(0)
        return Fraction(self.value, self.optimum) if self.optimum else Fraction(1)

    def as_bad_as(self, other: Trial) -> bool:
        """Return whether this is at least as bad a case: faults of one kind, and somebody can be served."""
        served = self.optimum >= min(other.optimum, 1)
        return self.ratio <= other.ratio and served and _kind(self.fault) == _kind(other.fault)


class Judge:
    """A method under the checker and the enumeration; its functions are resolved once."""

    def __init__(self, method: str) -> None:
        entry = find(PROBLEM, method)
        check_options(entry, {})
        self.solve: Callable[..., Result] = resolve(entry.function)
        self.evaluate: Callable[..., Evaluation] = resolve(PROBLEMS[PROBLEM].evaluator)
        self.prove: Callable[..., Result] = resolve(find(PROBLEM, WITNESSES[0]).function)
        self.count = 0  # instances judged

    def judge(self, instance: BalanceInstance) -> Trial:
        """Return the trial of one instance."""
        self.count += 1
        proof = self.prove(instance, limits=Limits(), seed=0)
        optimum = int(proof.objective or 0)
        target = proof.decision if isinstance(proof.decision, Assignment) else None
        try:
            result = self.solve(instance, limits=Limits(), seed=0)
            if result.decision is None:
                fault = f"no decision: {result.status} {result.message}" if optimum else ""
                return Trial(instance, 0, optimum, target, 0.0, fault)
            verdict = self.evaluate(instance, result.decision)
        except InputError:
            raise
        except Exception as error:  # a method that fails is what the search looks for, too
            fault = f"{type(error).__name__}: {error}".partition("\n")[0]
            return Trial(instance, 0, optimum, target, 0.0, fault)
        if not verdict.feasible:
            return Trial(instance, 0, optimum, target, 0.0, f"infeasible decision: {verdict.message}")
        margin = _margin(instance, result.decision, verdict)
        return Trial(instance, int(verdict.objective), optimum, target, margin)


def _kind(fault: str) -> list[str]:
    """Return a fault without its numbers; the checker names what is violated behind the first colon."""
    return fault.split(":")[: 2 if fault.startswith("infeasible") else 1]


def confirmed(instance: BalanceInstance, optimum: int) -> bool:
    """Return whether both exact witnesses reach the optimum, with decisions that the checker accepts."""
    evaluate = resolve(PROBLEMS[PROBLEM].evaluator)
    for name in WITNESSES:
        result: Result = resolve(find(PROBLEM, name).function)(instance, limits=Limits(), seed=0)
        if result.decision is None:
            if optimum or result.status is not Status.INFEASIBLE:
                return False
            continue
        verdict = evaluate(instance, result.decision)
        if not verdict.feasible or result.objective != optimum or verdict.objective != optimum:
            return False
    return True


def _margin(instance: BalanceInstance, decision: object, verdict: Evaluation) -> float:
    """Return how far the decision is from a limit, relative to the limit."""
    memory = instance.server.memory_bytes
    least = 1.0 - verdict.details["memory_bytes"] / memory if memory else 0.0
    for mode, deadline in zip(getattr(decision, "mode", ()), instance.users.deadline_s, strict=True):
        if mode != "none" and deadline > 0.0:
            least = min(least, 1.0 - verdict.details[f"seconds_{mode}"] / float(deadline))
    return least if math.isfinite(least) else 0.0
