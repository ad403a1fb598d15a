"""Which runs the words of ``certigap run`` stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.jobs.grid import keyed_runs
from bench.jobs.job import Record
from bench.jobs.run import blank_record
from bench.jobs.targets import jobs_of
from instances.errors import InputError
from reports.overview import runs_table


@pytest.fixture
def own(tmp_path: Path) -> str:
    """Return the path of a file of own methods, which fails when it is run."""
    path = tmp_path / "mine.py"
    path.write_text(
        "def anything(instance, *, limits, seed=0): ...\n"
        "def balances(instance: BalanceInstance, *, limits, seed=0): ...\n"
        "raise SystemExit\n"
    )
    return str(path)


def test_own_method_joins_the_named_ones_of_an_experiment(own: str) -> None:
    """It runs once an instance, with the limits and timing of the experiment, beside the methods named."""
    grid = jobs_of(["balance-fig6"], seeds=1)
    jobs = jobs_of(["balance-fig6"], [f"{own}:anything", "hybrid"], seeds=1)
    mine = [job for job in jobs if job.method == f"{own}:anything"]
    assert [job for job in jobs if job not in mine] == [job for job in grid if job.method == "hybrid"]
    assert [job.source for job in mine] == list(dict.fromkeys(job.source for job in grid))
    assert all(job.timing and job.limits == grid[0].limits for job in mine)
    assert {job.method for job in jobs_of(["balance-fig6"], [f"{own}:anything"], 1)} == {f"{own}:anything"}


def test_own_method_runs_on_the_problem_that_its_parameter_names(own: str) -> None:
    """Of an experiment with several problems only instances of the annotated class count, else all."""
    grid = jobs_of(["scaling"], seeds=1)
    for name, problems in (("balances", {"balance"}), ("anything", {"balance", "slot", "handover"})):
        jobs = jobs_of(["scaling"], [f"{own}:{name}"], seeds=1)
        assert {job.source for job in jobs} == {job.source for job in grid if job.problem in problems}
    with pytest.raises(InputError, match="balances: found instances of handover, expected balance"):
        jobs_of(["handover-fig3a"], [f"{own}:balances"], 1)


def test_unknown_methods_of_an_experiment_are_refused(own: str) -> None:
    """A name that the experiment does not have, and a file that is not there, are refused."""
    with pytest.raises(InputError, match=r"--method: found tabu, expected some of ad-only, sd-only"):
        jobs_of(["balance-fig1"], ["tabu", f"{own}:anything"], 1)
    with pytest.raises(InputError, match=r"none\.py: found no such file, expected a module"):
        jobs_of(["balance-fig1"], ["none.py:f"], 1)


def test_own_runs_come_on_top_of_the_experiment(own: str) -> None:
    """What an own method left out is counted beside what the experiment's grid left out."""

    def rows(*methods: str) -> list[Record]:
        return [blank_record(job) for _, job in keyed_runs(jobs_of(["balance-fig1"], methods, 1))]

    grid, mine = rows(), rows(f"{own}:anything")
    assert len(mine) == len(grid) // 2
    table = runs_table([*grid[:-3], *mine[:-5]])
    assert table.rows[0][table.columns.index("not run yet")] == "8"
