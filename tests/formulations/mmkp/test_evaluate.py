"""The exact evaluator."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from formulations.mmkp.evaluate import evaluate_mmkp
from instances.decisions import Choice
from instances.importers.khan import read_khan, read_khan_solutions
from instances.mmkp import MmkpInstance
from tests.instances.importers.sample_files import own, public


def decimals() -> MmkpInstance:
    """Return three groups of one item whose weights 0.1, 0.2, 0.4 fill 0.7 exactly, in decimals only."""
    weights = np.array([[0.1], [0.2], [0.4]])
    return MmkpInstance("decimals", np.array([0.7]), np.arange(4), np.array([0.1, 0.2, 0.7]), weights)


def test_decimals_are_exact() -> None:
    """Decimals that fill a capacity exactly are feasible though their doubles' sum exceeds it."""
    assert 0.1 + 0.2 + 0.4 > 0.7
    verdict = evaluate_mmkp(decimals(), Choice(np.zeros(3, dtype=np.int64)))
    assert verdict.feasible
    assert verdict.violation == 0
    assert verdict.objective == 1.0


def test_smallest_excess_counts() -> None:
    """An excess far below any tolerance is still infeasible."""
    instance = MmkpInstance("x", np.array([0.0]), np.arange(2), np.ones(1), np.array([[1e-300]]))
    verdict = evaluate_mmkp(instance, Choice(np.zeros(1, dtype=np.int64)))
    assert not verdict.feasible
    assert verdict.violation == 1e-300


def test_violation_is_relative_to_the_capacity() -> None:
    """The violation is the largest excess over max(capacity, 1), and the message names the resource."""
    weights = np.array([[5.0, 12.0, 0.6]])
    instance = MmkpInstance("x", np.array([4.0, 10.0, 0.5]), np.arange(2), np.ones(1), weights)
    verdict = evaluate_mmkp(instance, Choice(np.zeros(1, dtype=np.int64)))
    assert not verdict.feasible
    assert verdict.violation == 0.25
    assert verdict.message == "resource 1 exceeds its capacity 4 by 0.25 relative"
    assert verdict.details["resources_exceeded"] == 3


@pytest.mark.parametrize(
    ("item", "message"),
    [([0, 1, 0], "item: found 3 entries, expected 2"), ([0, 3], "item[1]: found 3, expected 0 to 2")],
)
def test_no_choice(item: list[int], message: str) -> None:
    """A wrong length or an item that a group lacks is infeasible and has no value."""
    verdict = evaluate_mmkp(read_khan(own("mmkp/tiny")), Choice(np.array(item)))
    assert not verdict.feasible
    assert math.isnan(verdict.objective)
    assert verdict.violation == math.inf
    assert verdict.message.startswith(message)


@pytest.mark.parametrize("name", [f"I{i:02d}" for i in range(1, 14)])
def test_public_solutions(name: str) -> None:
    """The public files' own solutions are feasible with exactly their stated objective."""
    path = public(f"mmkp/khan/{name}")
    instance = read_khan(path)
    for solution in read_khan_solutions(path).solutions:
        verdict = evaluate_mmkp(instance, solution.choice)
        assert (verdict.feasible, verdict.objective) == (True, solution.objective)


@pytest.mark.parametrize("module", ["evaluate", "heuristics.greedy"])
def test_imports_no_solver(module: str) -> None:
    """Neither checker nor heuristic imports a solver, and the two do not import each other's code."""
    code = f"""import sys, formulations.mmkp.{module}
print([m for m in ("pulp", "highspy", "cvxpy", "formulations.mmkp.exact.milp") if m in sys.modules])
print(all(m in sys.modules for m in ("formulations.mmkp.evaluate", "formulations.mmkp.integers")))"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n")[:2] == ["[]", "False"]
