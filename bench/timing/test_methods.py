"""Every method at a few sizes under pytest-benchmark: answers are checked before the clock starts.

Not part of the tests: ``nox -s timing -- --benchmark-save=before`` and, after a change,
``nox -s timing -- --benchmark-compare``.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.jobs.job import Job
from bench.jobs.run import run_job
from bench.jobs.sources import Generated
from bench.registry import METHODS, Method, find, resolve
from formulations.result import Limits
from instances.generate import generate

ROUNDS = 5
CASES: dict[str, tuple[str, tuple[int, ...]]] = {
    "balance": ("physical-fig4", (8, 12)),
    "slot": ("slot-importance", (100, 10_000)),
    "handover": ("importance", (40, 160)),
    "mmkp": ("mmkp-uncorrelated", (5, 10)),
}  # measured points have no family
SETTINGS: dict[str, dict[str, float]] = {"handover": {"horizon_s": 20.0}, "slot": {"bandwidth_bps": 1e13}}
GRID = [(m, size) for m in METHODS.values() if m.problem in CASES for size in CASES[m.problem][1]]


@pytest.mark.parametrize(("method", "size"), GRID, ids=[f"{m.problem}-{m.name}-{size}" for m, size in GRID])
def test_time(benchmark: BenchmarkFixture, method: Method, size: int) -> None:
    """Time one method on one instance."""
    family = CASES[method.problem][0]
    settings = SETTINGS.get(method.problem, {})
    source = Generated(family, size, 1, tuple(settings.items()))
    record = run_job(Job("timing", method.problem, source, method.name))
    assert record.status in ("optimal", "feasible", "bound_only"), record.message
    instance = generate(family, users=size, seed=1, settings=settings)
    solve = resolve(find(method.problem, method.name).function)
    benchmark.extra_info.update({"problem": method.problem, "size": size, "status": str(record.status)})
    benchmark.pedantic(solve, (instance,), {"limits": Limits(), "seed": 0}, rounds=ROUNDS, warmup_rounds=1)
