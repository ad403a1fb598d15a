"""HiGHS fed with sparse rows: senses, bounds, limits and options."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, milp

from formulations.highs import Solved, SparseRows, solve_sparse
from formulations.result import Stopped

Programme = tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray, SparseRows]


def small(*, whole: bool = True) -> Programme:
    """Return max 3x + 2y with x + y ≤ 4.5, x ≥ 1.5, y ≥ 0."""
    rows = SparseRows()
    rows.add(1, (np.array([0, 1]), 1.0), upper=4.5)
    bounds = (np.array([1.5, 0.0]), np.full(2, np.inf))
    return np.array([3.0, 2.0]), bounds, np.full(2, whole), rows


def solved(programme: Programme, time_s: float | None = None, **options: object) -> Solved:
    """Solve a programme."""
    return solve_sparse(*programme, time_s=time_s, options=options)


@pytest.mark.parametrize(("whole", "optimum"), [(True, 12.0), (False, 13.5)])
def test_bound_and_point_have_the_sense_of_a_maximisation(whole: bool, optimum: float) -> None:
    """The bound is an upper bound, equal to the value of the point."""
    answer, point, _ = solved(small(whole=whole))
    assert (answer.stopped, answer.infeasible, answer.found) == (Stopped.DONE, False, True)
    assert answer.bound == pytest.approx(optimum, abs=1e-6)
    assert point @ [3.0, 2.0] == pytest.approx(optimum, abs=1e-6)


def test_duals_say_what_one_more_unit_is_worth() -> None:
    """Of x + y ≤ 4.5 all goes to x, which is worth 3 a unit; with integers there are no duals."""
    assert solved(small(whole=False)).duals == pytest.approx([3.0])
    assert len(solved(small()).duals) == 0


def test_contradicting_rows_are_infeasible() -> None:
    """Rows that no point keeps give *infeasible*, and no point."""
    programme = small()
    programme[3].add(1, (np.array([0]), 1.0), lower=5.0)
    answer, point, _ = solved(programme)
    assert (answer.infeasible, answer.found, len(point)) == (True, False, 0)


def test_blocks_are_the_matrix() -> None:
    """Blocks with broadcast coefficients give the optimum that scipy finds for the whole matrix."""
    rng = np.random.Generator(np.random.PCG64(3))
    for _ in range(10):
        values, first, second = rng.integers(1, 20, 6), rng.integers(0, 9, (3, 6)), rng.integers(1, 9, 6)
        rows = SparseRows()
        rows.add(3, (np.arange(4), first[:, :4]), (np.arange(4, 6), first[:, 4:]), upper=[20, 25, 30])
        rows.add(2, (np.arange(6), second), lower=0.0, upper=40.0)
        bounds = (np.zeros(6), np.full(6, 3.0))
        answer, _, _ = solve_sparse(
            values.astype(float), bounds, np.full(6, True), rows, time_s=None, options={"mip_abs_gap": 0.5}
        )
        matrix = np.vstack([first, second])
        expected = milp(-values, integrality=np.ones(6), bounds=(0, 3),
                        constraints=LinearConstraint(matrix, ub=[20, 25, 30, 40]))  # fmt: skip
        assert answer.bound == pytest.approx(-expected.fun, abs=1e-6)


def test_unknown_option_is_an_error() -> None:
    """An option that HiGHS does not know is no silence."""
    with pytest.raises(RuntimeError, match="HiGHS refused mip_max_knots = 3"):
        solved(small(), mip_max_knots=3)


def test_no_time_gives_no_point() -> None:
    """Without time there is neither a point nor a proof."""
    rng = np.random.Generator(np.random.PCG64(1))
    weights = rng.integers(100, 1000, (5, 60))
    rows = SparseRows()
    rows.add(5, (np.arange(60), weights), lower=weights.sum(axis=1) // 2 - 3, upper=weights.sum(axis=1) // 2)
    bounds = (np.zeros(60), np.ones(60))
    programme = (weights.sum(axis=0) + 10.0, bounds, np.full(60, True), rows)
    answer, point, _ = solved(programme, time_s=0.0)
    assert (answer.stopped, answer.infeasible, answer.found, len(point)) == (Stopped.TIME, False, False, 0)
