"""The page's answer in words: who is how far away, and who proves it."""

from __future__ import annotations

from bench.judging.gaps import gaps_by_method
from reports.overview import answers
from tests.bench.sample_records import record

BOUND = record("lp-bound", "i", None, bound=6, status="bound_only", solve_s=0.001, experiment="e")
OWN = record("greedy", "i", 5, solve_s=0.1, experiment="e")
EXACT = record("exact", "i", 5, bound=5, status="optimal", solve_s=1.0, experiment="e")
ROWS = (BOUND, OWN, EXACT)
for row in ROWS:
    row.problem = "mmkp"


def test_a_bound_that_closes_nothing_proves_nothing() -> None:
    """Beside a method that closed the instance, a faster bound above the optimum is not called its proof."""
    (line,) = answers(gaps_by_method(ROWS))
    assert line.endswith("and takes 100 ms; `exact` proves it in 1000 ms.")


def test_a_bound_alone_bounds() -> None:
    """Without a closed instance the bound is named as what it is."""
    (line,) = answers(gaps_by_method((BOUND, OWN)))
    assert "from a bound" in line
    assert line.endswith("`lp-bound` bounds it in 1 ms.")
