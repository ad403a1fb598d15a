"""Gaps to the least bound: which bound counts, and what is proved."""

from __future__ import annotations

import pytest

from bench.judging.gaps import gaps_by_method, mean_gap, references
from tests.bench.sample_records import record


def test_least_bound_of_any_method_counts() -> None:
    """The reference is the least bound of runs whose claim held, proved where a checked value reaches it."""
    rows = [
        record("hybrid", "i", 3.0),
        record("milp", "i", 3.5, bound=4.5),
        record("exact", "i", None, bound=4.0, status="bound_only"),
        record("lie", "i", 9.0, bound=1.0, status="inconsistent"),
        record("exhaustive", "j", 2.0, status="optimal"),
    ]
    found = references(rows)
    assert (found["balance", "i"].bound, found["balance", "i"].proved) == (4.0, False)
    assert (found["balance", "j"].bound, found["balance", "j"].proved) == (2.0, True)


def test_bounds_hold_across_experiments_not_problems() -> None:
    """The same instance in another experiment has the same bound, another problem's has not."""
    rows = [
        record("hybrid", "i", 3.0, experiment="a"),
        record("milp", "i", 4.0, bound=4.0, status="optimal", experiment="b"),
        record("greedy", "i", 1.0, problem="mmkp", experiment="c"),
    ]
    gaps = {(g.experiment, g.method): [gap.value for gap in g.gaps] for g in gaps_by_method(rows)}
    assert gaps == {("a", "hybrid"): [0.25], ("b", "milp"): [0.0], ("c", "greedy"): []}


@pytest.mark.parametrize(
    ("value", "bound", "gap"), [(0.0, 0.0, 0.0), (1.0, 4.0, 0.75), (4.0 - 1e-12, 4.0, 0.0)]
)
def test_gap_is_a_share_of_the_bound(value: float, bound: float, gap: float) -> None:
    """A gap is (bound − value) / bound; two zeros have none, nor has what differs by rounding."""
    rows = [record("hybrid", "i", value), record("milp", "i", bound, bound=bound, status="optimal")]
    assert [gap.value for gap in gaps_by_method(rows)[0].gaps] == [gap]


def test_runs_are_counted_without_repetitions() -> None:
    """Repetitions of a run are one place; a failure is not ok."""
    rows = [
        record("hybrid", "i", 1.0, repetition=0),
        record("hybrid", "i", 1.0, repetition=1),
        record("hybrid", "j", None, status="error"),
    ]
    rows[1].key = "another"
    (group,) = gaps_by_method(rows)
    assert (group.places, group.ok, len(group.runs)) == (2, 1, 3)


def test_seeds_are_averaged_within_their_instance() -> None:
    """The mean is over instances: many seeds of one instance count as one."""
    rows = [record("milp", name, 4.0, bound=4.0, status="optimal") for name in ("i", "j")]
    rows += [record("hybrid", "i", 2.0, extra={"method_seed": seed}) for seed in range(3)]
    rows.append(record("hybrid", "j", 4.0, extra={"method_seed": 0}))
    mean = mean_gap(next(g for g in gaps_by_method(rows) if g.method == "hybrid").gaps)
    assert mean is not None
    assert (mean.value, mean.n) == (0.25, 2)
