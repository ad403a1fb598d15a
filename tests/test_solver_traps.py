"""Traps in our dependencies: for each of them, our code is right where a careless one would be wrong."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import math
import os
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pulp
import pytest

from bench.jobs import worker
from bench.jobs.executors import run_all
from bench.jobs.job import Job
from bench.jobs.limits import forget_peak_memory, peak_memory_mb
from bench.jobs.sources import Generated
from bench.jobs.store import Store, jsonable
from formulations.balance.exact.exhaustive import solve_exhaustive
from formulations.balance.exact.milp import solve_milp as solve_balance_milp
from formulations.handover.horizon.tangent import solve_tangent
from formulations.mmkp.exact.milp import solve_milp as solve_mmkp_milp
from formulations.pulp_solver import Answer, solve
from formulations.result import Limits, Result, Status, Stopped
from instances.decimals import as_decimal
from instances.errors import InputError
from instances.files import load_instance, save
from instances.generate import FAMILIES, generate
from instances.mmkp import MmkpInstance
from instances.presets import TENTHS
from instances.strict_json import parse
from tests.bench.sample_records import record
from tests.formulations.mmkp.random_instances import brute_force, random_instance
from tests.instances.documents import FOLDER
from tests.test_layers import imported

ROOT = Path(__file__).parents[1]
PACKAGES = ("instances", "formulations", "bench", "reports")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NO_LIMITS = Limits()
pytestmark = pytest.mark.filterwarnings("ignore:PULP_CBC_CMD is deprecated")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's /proc")
posix = pytest.mark.skipif(os.name == "nt", reason="signals and users of POSIX")


@cache
def sources() -> list[tuple[Path, ast.Module]]:
    """Return our modules and what they say."""
    paths = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    return [(path, ast.parse(path.read_text(encoding="utf-8"))) for path in paths]


def called(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls in a module with the last part of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", "")), node


# HiGHS and PuLP


def hard_mmkp() -> MmkpInstance:
    """Return an instance that takes some hundred nodes."""
    return random_instance(4, groups=12, largest=8, resources=6)


def programme(constant: float = 0.0, *, whole: bool = True, sign: int = 1) -> pulp.LpProblem:
    """Return max 3x + 2y + constant, or its opposite, with x + y ≤ 4.5, x ≥ 1.5 and y ≥ 0."""
    problem = pulp.LpProblem("small", pulp.LpMaximize)
    cat = "Integer" if whole else "Continuous"
    x, y = (problem.add_variable(name, low, cat=cat) for name, low in (("x", 1.5), ("y", 0)))
    problem += sign * (3 * x + 2 * y) + constant
    problem += x + y <= 4.5
    return problem


@pytest.fixture(params=["HiGHS", "PULP_CBC_CMD"])
def solver(request: pytest.FixtureRequest) -> str:
    """Return the name of one of PuLP's solvers that is there."""
    if not pulp.getSolver(request.param, msg=False).available():
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


@pytest.mark.parametrize("constant", [0.0, 100.0, -100.0])
@pytest.mark.parametrize(
    ("whole", "sign", "optimum"), [(True, 1, 12.0), (True, -1, -6.0), (False, 1, 13.5), (False, -1, -4.5)]
)
def test_bound_of_a_maximisation_has_sign_and_constant(
    constant: float, whole: bool, sign: int, optimum: float, solver: str
) -> None:
    """The bound is the objective's own: of integers or not, on either side of 0, with or without constant."""
    problem = programme(constant, whole=whole, sign=sign)
    answer = solve(problem, solver, time_s=None)
    assert (answer.stopped, answer.infeasible, answer.found) == (Stopped.DONE, False, True)
    assert answer.bound == pytest.approx(optimum + constant, abs=1e-6)
    assert problem.objective.value() == pytest.approx(optimum + constant, abs=1e-6)


def test_minimisation_is_refused(solver: str) -> None:
    """A minimisation, whose bound would be read with the wrong sign, is refused for every solver."""
    with pytest.raises(ValueError, match="only maximisations are read back"):
        solve(pulp.LpProblem("small", pulp.LpMinimize), solver, time_s=None)


def knapsack(size: int = 60) -> pulp.LpProblem:
    """Return a multi-dimensional knapsack that takes minutes; nothing taken is feasible."""
    rng = np.random.Generator(np.random.PCG64(1))
    problem = pulp.LpProblem("knapsack", pulp.LpMaximize)
    take = [problem.add_variable(f"x{j}", cat="Binary") for j in range(size)]
    weights = rng.integers(100, 1000, (5, size))
    problem += pulp.lpSum(int(v) * x for v, x in zip(weights.sum(axis=0) // 5 + 10, take, strict=True))
    for row in weights:
        problem += pulp.lpSum(int(w) * x for w, x in zip(row, take, strict=True)) <= int(row.sum()) // 2
    return problem


def test_time_limit_with_an_incumbent_is_no_optimum(solver: str) -> None:
    """A point that was found before the time was over is told as found, stopped by time, below its bound."""
    problem = knapsack()
    answer = solve(problem, solver, time_s=0.5)
    assert answer.stopped is Stopped.TIME
    assert answer.found
    assert problem.objective.value() < answer.bound - 0.5
    assert math.isfinite(answer.bound) is (solver == "HiGHS")  # PuLP hands on no bound of the others'


@pytest.mark.parametrize("problem", ["balance", "mmkp"])
def test_exact_methods_claim_no_optimum_after_a_time_limit(problem: str) -> None:
    """Stopped by time, a MILP claims a feasible decision below its bound, or nothing, never the optimum."""
    if problem == "balance":
        result = solve_balance_milp(generate("physical-fig4", users=25, seed=1), limits=Limits(time_s=0.4))
    else:
        result = solve_mmkp_milp(generate("mmkp-weakly", users=100), limits=Limits(time_s=0.4))
    assert result.stopped is Stopped.TIME
    assert result.status in (Status.FEASIBLE, Status.UNKNOWN)
    if result.objective is not None:
        assert result.bound is not None
        assert result.objective < result.bound


def test_no_time_at_all_gives_no_zeros() -> None:
    """Without time to find a point there is no decision, not one of zeros."""
    result = solve_mmkp_milp(hard_mmkp(), limits=Limits(time_s=0))
    assert (result.status, result.decision, result.objective) == (Status.UNKNOWN, None, None)


def test_node_limit_is_a_status_and_deterministic() -> None:
    """A node limit ends with its own status, and twice with the same point and bound."""
    first, second = (solve_mmkp_milp(hard_mmkp(), limits=Limits(nodes=1)) for _ in range(2))
    assert (first.status, first.stopped) == (Status.FEASIBLE, Stopped.NODES)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    answers = [solve(knapsack(), "HiGHS", time_s=None, options={"mip_max_nodes": 20}) for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0].stopped is Stopped.NODES


def test_each_solve_begins_anew() -> None:
    """A second solve of the same instance counts the same nodes and iterations: it is not warm."""
    first, second = (solve_mmkp_milp(hard_mmkp(), limits=NO_LIMITS) for _ in range(2))
    assert first.counters == second.counters
    assert first.counters["nodes"] > 1


def test_earlier_solve_with_more_threads_does_no_harm() -> None:
    """After a solve on two threads in the same process ours still solves."""
    other = highspy.Highs()
    other.silent()
    other.setOptionValue("threads", 2)
    other.setOptionValue("parallel", "on")
    x = other.addIntegral(lb=0, ub=10)
    other.addConstr(2 * x <= 7)
    other.maximize(x)
    assert solve(programme(), "HiGHS", time_s=None).bound == pytest.approx(12.0)


def test_unknown_option_is_an_error() -> None:
    """An option that HiGHS does not know, or a value that it does not take, is no silence."""
    for options in ({"mip_max_knots": 3}, {"mip_rel_gap": -1.0}):
        with pytest.raises(RuntimeError, match="HiGHS refused mip_"):
            solve(programme(), "HiGHS", time_s=None, options=options)


def test_no_relative_gap_and_one_thread() -> None:
    """HiGHS is told to close the relative gap, on one thread."""
    problem = programme()
    solve(problem, "HiGHS", time_s=None)
    chosen = {k: problem.solverModel.getOptionValue(k)[1] for k in ("mip_rel_gap", "threads", "parallel")}
    assert chosen == {"mip_rel_gap": 0.0, "threads": 1, "parallel": "off"}


@pytest.mark.parametrize("seed", range(4))
def test_relative_gap_of_the_default_is_not_optimal(seed: int) -> None:
    """Values that differ by less than HiGHS's default gap of 1e-4 are told apart."""
    near = random_instance(seed, groups=5)
    near = MmkpInstance("near", near.capacities, near.group_start, near.values + 1e7, near.weights)
    best, result = brute_force(near), solve_mmkp_milp(near, limits=NO_LIMITS)
    if best is None:
        assert result.status is Status.INFEASIBLE
    else:
        assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, float(best), float(best))


def test_points_within_a_tolerance_are_checked_exactly() -> None:
    """A choice that exceeds its capacity by less than HiGHS's tolerance is not taken for feasible."""
    weights = np.array([[0.0], [4e-8], [0.0], [4e-8]])
    tight = MmkpInstance("t", np.array([7e-8]), np.array([0, 2, 4]), np.array([1.0, 2.0, 1.0, 2.0]), weights)
    result = solve_mmkp_milp(tight, limits=NO_LIMITS)
    assert (result.status, result.objective) == (Status.OPTIMAL, 3.0)


def test_wrong_optimum_of_a_mixed_programme_is_within_our_tolerance() -> None:
    """Min 2x + 3z with x + z ≥ 4.5 has the optimum 9; our bound on its opposite may err by 1e-5, not more."""
    problem = pulp.LpProblem("mixed", pulp.LpMaximize)
    x, z = problem.add_variable("x", 0), problem.add_variable("z", 0, cat="Integer")
    problem += -2 * x - 3 * z
    problem += x + z >= 4.5
    assert solve(problem, "HiGHS", time_s=None).bound == pytest.approx(-9.0, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_two_witnesses_agree_on_small_instances(seed: int) -> None:
    """Enumeration and the MILP prove the same optimum."""
    instance = generate("unit-random", users=5, seed=seed)
    first, second = (f(instance, limits=NO_LIMITS) for f in (solve_exhaustive, solve_balance_milp))
    assert first.status is second.status is Status.OPTIMAL
    assert first.objective == second.objective == second.bound


def test_highspy_is_recent_enough() -> None:
    """Releases that gave wrong optima on two-variable programmes are not installed."""
    assert "highspy>=1.15" in PROJECT["project"]["dependencies"]


def test_names_in_a_model_are_safe_and_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name in our models holds a character that PuLP replaces, so no two collapse into one."""
    seen: list[pulp.LpProblem] = []

    def spy(problem: pulp.LpProblem, name: str, **options: Any) -> Answer:
        seen.append(problem)
        return solve(problem, name, **options)

    for module in ("balance.exact.milp", "mmkp.exact.milp", "handover.horizon.tangent_model"):
        monkeypatch.setattr(f"formulations.{module}.solve", spy)
    solve_balance_milp(generate("physical-fig4", users=6, seed=0), limits=NO_LIMITS)
    solve_mmkp_milp(random_instance(1), limits=NO_LIMITS)
    solve_tangent(generate("importance", users=3, settings={"horizon_s": 1.0}), limits=NO_LIMITS)
    assert {problem.name for problem in seen} >= {"balance", "mmkp"}
    for problem in seen:
        names = [variable.name for variable in problem.variables()]
        assert len(names) == len(set(names))
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names), problem.name


def test_solver_is_always_named() -> None:
    """No source solves with PuLP's default solver, and our methods' own default is HiGHS."""
    solving = [(path, tree) for path, tree in sources() if "pulp" in imported(path)]
    assert len(solving) >= 4
    for path, tree in solving:
        for name, call in called(tree):
            assert name != "solve" or call.args or call.keywords, f"{path}:{call.lineno}"
            assert name not in ("LpSolverDefault", "HiGHS_CMD"), f"{path}:{call.lineno}"
    for method in (solve_balance_milp, solve_mmkp_milp):
        assert inspect.signature(method).parameters["solver"].default == "HiGHS"


@pytest.mark.parametrize("forbidden", ["writeMPS", "writeLP", "getRunTime", "fork"])
def test_calls_that_mislead_are_not_made(forbidden: str) -> None:
    """No source writes models by PuLP, trusts HiGHS's accumulated clock, or forks."""
    for path, tree in sources():
        assert all(name != forbidden for name, _ in called(tree)), path


# numba


@pytest.fixture
def package_copy(tmp_path: Path) -> Path:
    """Return a copy of our package with a kernel that calls another one in a file of its own."""
    (tmp_path / "formulations").mkdir()
    (tmp_path / "instances").mkdir()
    for name in ("__init__.py", "kernel_cache.py"):
        shutil.copy(ROOT / "formulations" / name, tmp_path / "formulations" / name)
    (tmp_path / "formulations" / "inner.py").write_text(
        "import numba\n@numba.njit\ndef inner(x):\n    return 2.0 * x\n"
    )
    (tmp_path / "formulations" / "outer.py").write_text(
        "import numba\nfrom formulations.inner import inner\n"
        "@numba.njit(cache=True)\ndef outer(x):\n    return inner(x)\n"
    )
    return tmp_path


def in_copy(copy: Path, **environment: str) -> tuple[float, Path]:
    """Return what the copy's kernel gives for 3, and where its code is kept."""
    code = "import os; from formulations.outer import outer; print(outer(3.0), os.environ['NUMBA_CACHE_DIR'])"
    kept = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    settings = kept | {"PYTHONPATH": str(copy), "XDG_CACHE_HOME": str(copy / "cache")} | environment
    done = subprocess.run(
        [sys.executable, "-c", code], env=settings, cwd=copy, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    number, folder = done.stdout.split()
    return float(number), Path(folder)


@linux
def test_changed_kernel_in_another_file_is_noticed(package_copy: Path) -> None:
    """A kernel whose callee changed in another file gives the new result, from a folder of its own."""
    value, folder = in_copy(package_copy)
    inner = package_copy / "formulations" / "inner.py"
    inner.write_text(inner.read_text().replace("2.0", "3.0"))
    again, other = in_copy(package_copy)
    assert (value, again) == (6.0, 9.0)
    assert folder != other
    assert folder.is_relative_to(package_copy / "cache")


@linux
def test_home_that_cannot_be_written_is_no_obstacle(package_copy: Path) -> None:
    """Without a writable home, kernels are kept in the temporary folder."""
    temporary = package_copy / "tmp"
    temporary.mkdir()
    nowhere = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "TMPDIR": str(temporary)}
    value, folder = in_copy(package_copy, **nowhere)
    assert value == 6.0
    assert folder.is_relative_to(temporary)


def compiled() -> dict[str, int]:
    """Return how many specialisations each kernel in this process has."""
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("formulations."):
            for key, kernel in vars(module).items():
                if hasattr(kernel, "nopython_signatures"):
                    found[f"{name}.{key}"] = len(kernel.signatures)
    return found


@pytest.mark.parametrize(
    ("method", "family"),
    [
        ("formulations.balance.heuristics.hybrid:solve_hybrid", "physical-fig4"),
        ("formulations.handover.slot.water_filling:solve_water_filling", "slot-importance"),
        ("formulations.handover.simulate:water_filling", "importance"),
    ],
)
def test_unpickled_instance_compiles_nothing_new(method: str, family: str) -> None:
    """An instance from another process has read-only arrays, and kernels take them as they took the first."""
    module, _, function = method.partition(":")
    solve_it = getattr(importlib.import_module(module), function)
    settings = {"horizon_s": 1.0} if family == "importance" else {}
    instance = generate(family, users=4, seed=1, settings=settings)
    first: Result = solve_it(instance, limits=NO_LIMITS)
    before = compiled()
    again: Result = solve_it(pickle.loads(pickle.dumps(instance)), limits=NO_LIMITS)
    assert sum(before.values()) > 0
    assert compiled() == before
    assert again.objective == first.objective


# Processes


def test_workers_are_never_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker's process is started by forkserver, or by spawn on Windows."""
    started = []
    monkeypatch.setattr(worker, "ProcessPool", lambda *a, context, **k: started.append(context))
    worker.Worker([("balance", "hybrid")])
    assert [c.get_start_method() for c in started] == ["spawn" if sys.platform == "win32" else "forkserver"]


def test_solver_used_in_the_parent_does_not_harm_workers() -> None:
    """After solves by HiGHS and kernels in this process, a worker's are right."""
    job = Job("test", "balance", Generated("unit-random", 5, 0), "milp")
    here = solve_balance_milp(generate("unit-random", users=5, seed=0), limits=NO_LIMITS)
    (there,) = run_all([job], "processes")
    assert (there.status, there.objective, there.bound) == ("optimal", here.objective, here.bound)


def test_termination_is_quick() -> None:
    """The wait between SIGTERM and SIGKILL is a fifth of a second, not pebble's 3 s."""
    assert worker.CONSTS.term_timeout == 0.2


@posix
def test_ctrl_c_ends_a_kernel(tmp_path: Path) -> None:
    """Ctrl-C while a kernel runs ends the command in about a second, with status 130."""
    marker, given = tmp_path / "marker", tmp_path / "given.json"
    save(generate("physical-fig4", users=5, seed=0), given)
    own = ["--method", "tests.bench.sample_methods:marks_and_spins"]
    command = [sys.executable, "-m", "bench", "run", str(given), *own, "--store", str(tmp_path / "s.sqlite")]
    settings = os.environ | {"SPINS_MARKER": str(marker)}
    process = subprocess.Popen(
        command, cwd=ROOT, env=settings, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not marker.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.2)
    assert process.poll() is None
    begun = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert time.monotonic() - begun < 3.0
    assert "stopped; what ran is stored" in errors


@linux
def test_peak_memory_falls_again() -> None:
    """The peak after a reset is not that of what was freed before it."""
    forget_peak_memory()
    big = np.ones(25 * 2**20)
    large = peak_memory_mb()
    del big
    forget_peak_memory()
    small = peak_memory_mb()
    assert large is not None
    assert small is not None
    assert large - small > 150


def test_dask_runs_nothing_twice_and_allows_children() -> None:
    """Dask's workers may have children, and a task that killed its worker is not tried elsewhere."""
    pytest.importorskip("distributed")
    from bench.jobs import dask_cluster

    assert dask_cluster.SETTINGS["distributed.worker.daemon"] is False
    assert dask_cluster.SETTINGS["distributed.scheduler.allowed-failures"] == 0
    submits = [call for name, call in called(ast.parse(inspect.getsource(dask_cluster))) if name == "submit"]
    retries = [k.value for call in submits for k in call.keywords if k.arg == "retries"]
    assert [ast.literal_eval(value) for value in retries] == [0]


# Numbers and files


def test_numbers_are_written_as_python_writes_them() -> None:
    """Numbers of numpy's are stored as plain ones, and read as the decimals that they print as."""
    assert json.dumps(jsonable({"x": np.float64(0.7), "n": np.int64(3)})) == '{"x": 0.7, "n": 3}'
    assert as_decimal(np.float64(0.7)) == Fraction(7, 10)


def test_grids_are_the_decimals() -> None:
    """The shares in tenths are the literals, not 0.30000000000000004."""
    assert [repr(share) for share in TENTHS] == [f"{i / 10}" for i in range(11)]


def test_slots_are_divided_exactly() -> None:
    """An arrival at 0.3 s lies in the fourth slot of a tenth, where floats would say the third."""
    trace = load_instance(FOLDER / "handover.json")
    users = type(trace.users)(
        **{f.name: getattr(trace.users, f.name)[:1] for f in fields(trace.users) if f.name != "arrival_s"},
        arrival_s=np.array([0.3]),
    )
    made = type(trace)("t", trace.utility, 0.1, 2, trace.bandwidth_bps, 1.0, users)
    assert [int(end[0]) for end in made.windows()] == [4, 6]


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_drawn_numbers_are_rounded(family: str) -> None:
    """What is drawn for users and items is whole or has at most 9 digits: a last bit cannot differ."""
    instance = generate(family, seed=3)
    drawn = getattr(instance, "users", instance)
    arrays = [getattr(drawn, field.name) for field in fields(drawn)]
    numbers = [x for a in arrays if getattr(a, "dtype", None) == np.float64 for x in a.ravel().tolist()]
    assert numbers
    for number in numbers:
        assert number.is_integer() or number == float(f"{number:.9g}")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 2}', "[NaN]", "[-Infinity]", "[1e999]", "[" * 100_000, "1" * 1_000_000],
    ids=["twice", "nan", "infinity", "overflow", "deep", "long"],
)
def test_odd_json_is_refused_at_once(text: str) -> None:
    """What the standard reader would accept, or choke on, is refused in one line and in no time."""
    begun = time.perf_counter()
    with pytest.raises(InputError):
        parse(text)
    assert time.perf_counter() - begun < 0.5


@pytest.mark.parametrize("value", [True, "1e10000000", "0.5", None])
def test_odd_number_in_an_instance_is_refused(value: object, tmp_path: Path) -> None:
    """True is not 1, and a text is no number, however large its exponent."""
    document = json.loads((FOLDER / "balance.json").read_text(encoding="utf-8"))
    document["server"]["memory_bytes"] = value
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="memory_bytes"):
        load_instance(path)


# SQLite


def test_closed_store_needs_no_journal(tmp_path: Path) -> None:
    """An open store waits 30 s for others; a closed one is in DELETE mode, one plain file."""
    path = tmp_path / "s.sqlite"
    with Store(path) as store:
        store.add(record("hybrid", "a", 1.0))
        pragmas = ("busy_timeout", "journal_mode", "synchronous")
        found = [store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert found == [30_000, "wal", 1]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@posix
def test_store_in_a_read_only_folder_can_be_read() -> None:
    """A closed store is readable by a user who can write neither the file nor its folder."""
    with tempfile.TemporaryDirectory(prefix="certigap-") as folder:
        path = Path(folder) / "s.sqlite"
        with Store(path) as store:
            store.add(record("hybrid", "a", 1.0))
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        code = (
            "import os, sys; from bench.jobs.store import Store; os.geteuid() or os.setuid(65534); "
            "print([r.method for r in Store(sys.argv[1], read_only=True).records()])"
        )
        command = [sys.executable, "-c", code, str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        Path(folder).chmod(0o755)
    assert done.stdout == "['hybrid']\n", done.stderr


# Installation and tests


def test_editable_install_is_a_path_entry() -> None:
    """The project's form is the one in which a data folder called ``instances`` shadows nothing."""
    assert PROJECT["tool"]["setuptools"]["package-dir"] == {"": "."}


def test_functions_of_tests_are_importable_in_workers() -> None:
    """Test modules have full names that a spawned process can import, and each folder is a package."""
    settings = PROJECT["tool"]["pytest"]["ini_options"]
    assert (settings["pythonpath"], settings["testpaths"]) == (["."], ["tests"])
    assert "--import-mode=importlib" in settings["addopts"].split()
    assert {path.parent for path in (ROOT / "tests").rglob("test_*.py")} <= {
        path.parent for path in (ROOT / "tests").rglob("__init__.py")
    }
    assert __name__ == "tests.test_solver_traps"
    assert pickle.dumps(programme).find(b"tests.test_solver_traps") > 0


def test_networkx_only_finds_components() -> None:
    """No flow routine of networkx is called: they are not guaranteed on floats."""
    used = set()
    for _, tree in sources():
        used |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "nx"
        }
    assert used == {"Graph", "connected_components"}


def test_timings_have_stated_rounds() -> None:
    """pytest-benchmark never chooses the number of rounds: each timing is pedantic and states it."""
    timed = 0
    for path in (ROOT / "bench" / "timing").glob("test_*.py"):
        for name, call in called(ast.parse(path.read_text(encoding="utf-8"))):
            assert name != "benchmark", f"{path}:{call.lineno}"
            if name == "pedantic":
                timed += 1
                assert "rounds" in {keyword.arg for keyword in call.keywords}
    assert timed


def test_sessions_share_one_environment() -> None:
    """No nox session builds an environment of its own, and none installs into one."""
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    sessions = [call for name, call in called(tree) if name == "session"]
    assert len(sessions) >= 6
    for call in sessions:
        assert {k.arg: ast.unparse(k.value) for k in call.keywords}["python"] == "False"
    assert all(name not in ("install", "create_tmp", "conda_install") for name, _ in called(tree))


def test_readme_shows_the_three_ways() -> None:
    """README shows the plain form, pipx's, and a venv's, since some systems refuse the plain one."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for way in ("pip install nox && nox -s bench", "pipx run nox -s bench", "python3 -m venv .venv && "):
        assert way in text


def test_workflows_are_checked_without_a_download() -> None:
    """Workflows are checked by check-jsonschema's built-in schema, and actionlint is no dependency."""
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    assert '"--builtin-schema", "vendor.github-workflows"' in text
    assert "actionlint" not in text + str(PROJECT["project"])
