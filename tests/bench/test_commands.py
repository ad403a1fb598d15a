"""The command as a user meets it: output, files and exit statuses."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bench.registry import METHODS
from instances.files import load_decision, load_instance, save
from instances.generate import generate


def certigap(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """Return the file of a small instance."""
    path = tmp_path / "small.json"
    save(generate("physical-fig4", users=6), path)
    return path


def test_help_and_methods_import_no_solver() -> None:
    """``--help`` and ``methods`` start without numpy, numba, PuLP, HiGHS or matplotlib."""
    heavy = ("pulp", "highspy", "cvxpy", "numba", "matplotlib", "scipy")
    for arguments in ("--help", "methods"):
        code = (
            f"import sys; sys.argv = ['certigap', {arguments!r}]\n"
            "from bench.cli import main\n"
            "try: main()\nexcept SystemExit as e: assert not e.code\n"
            f"sys.exit(','.join(m for m in {heavy!r} if m in sys.modules) or 0)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_methods_lists_the_registry() -> None:
    """Every method is listed with its role, as text and as Markdown, and by problem."""
    assert certigap("methods").stdout.count("\n") == len(METHODS) + 1
    table = certigap("methods", "--markdown", "--problem", "balance").stdout
    assert "| balance | `hybrid` | heuristic | ≥ 1/3 |" in table
    assert "water-filling" not in table
    refused = certigap("methods", "--problem", "tsp")
    assert (refused.returncode, refused.stderr) == (
        2,
        "--problem: found tsp, expected one of balance, slot, handover, mmkp, utility\n",
    )


def test_version_names_what_computes() -> None:
    """``--version`` prints the own version and those of the solvers."""
    text = certigap("--version").stdout
    assert text.startswith("certigap ")
    assert all(f"\n{name} " in text for name in ("numpy", "numba", "highspy", "pulp"))


@pytest.mark.parametrize(
    ("kind", "options", "suffix"),
    [
        ("balance", ("--preset", "fig5", "--constants", "physical", "--set", "draft_tokens=2"), ".json"),
        ("handover", ("--set", "rate_per_s=2", "--set", "horizon_s=5"), ".json"),
        ("slot", (), ".json"),
        ("mmkp", ("--preset", "strongly"), ".txt"),
    ],
)
def test_generate_writes_what_it_says(
    kind: str, options: tuple[str, ...], suffix: str, tmp_path: Path
) -> None:
    """``generate`` writes n instances, seeds in a row, that load again."""
    done = certigap("generate", kind, *options, "-n", 2, "--seed", 5, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    paths = sorted((tmp_path / "out").iterdir())
    assert [p.suffix for p in paths] == [suffix] * 2
    assert [p.stem[-3:] for p in paths] == ["-s5", "-s6"]
    for path in paths:
        load_instance(path)


def test_generate_lists_families() -> None:
    """``generate --list`` names the families, and says what tells them apart."""
    text = certigap("generate", "balance", "--list").stdout
    assert "calibrated-fig4" in text
    assert "theorem-1" in text
    lines = certigap("generate", "handover", "--list").stdout.splitlines()
    assert len({line.partition(" ")[2].strip() for line in lines}) == len(lines) == 5
    assert lines[2].endswith(
        "Poisson handovers, caches sent in order of importance, windows of the slots that lie inside T_max"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("generate", "tsp", "-o", "x"), "KIND: found tsp, expected one of balance, handover, slot, mmkp"),
        (("generate", "balance"), "-o: missing, expected a folder for the files"),
        (("generate", "balance", "--preset", "fig9", "-o", "x"), "--preset: found fig9, expected a family"),
        (
            ("generate", "balance", "--constants", "best", "-o", "x"),
            "--constants: found best, expected one of",
        ),
        (
            ("generate", "balance", "--set", "speed=2", "-o", "x"),
            "settings.speed: unknown for calibrated-fig4",
        ),
        (
            ("generate", "balance", "--set", "input_max", "-o", "x"),
            "--set: found input_max, expected KEY=VALUE",
        ),
        (
            ("generate", "balance", "--set", "input_max=a", "-o", "x"),
            '--set input_max: found "a" (text), expected a num',
        ),
        (("generate", "balance", "-n", "0", "-o", "x"), "-n: found 0, expected at least 1"),
        (("generate", "balance", "--users", "-1", "-o", "x"), "users: found -1, expected 0 to"),
        (("import", "azure", "none.csv", "-o", "x"), "none.csv: found no such file, expected a file"),
        (
            ("import", "s3", "none.csv", "-o", "x"),
            "SOURCE: found s3, expected one of azure, mooncake, ucc5g, csv",
        ),
        (
            ("import", "ucc5g", "none.csv", "-o", "x"),
            "FILE: found 1, expected the events and a request trace",
        ),
        (("solve", "none.json", "--method", "hybrid"), "none.json: found no such file, expected a file"),
        (("solve", "none.json"), "certigap: Missing option '--method'"),
        (("run", "nowhere"), "nowhere: found neither, expected a folder or one of bench, "),
        (("run", "mmkp", "--method", "fast"), "--method: found fast, expected some of core-beam"),
        (
            ("run", "mmkp", "--executor", "cloud"),
            "--executor: found cloud, expected one of processes, serial",
        ),
        (("run", "balance-fig6", "--workers", "2"), "--workers: found 2, expected 1 for runs whose times"),
        (("report", "--store", "a", "--store", "b"), "--store: found 2 times, expected once\n"),
        (("fit", "latency", "x.csv", "--json", "--json"), "--json: found 2 times, expected once\n"),
        (("show", "abc"), "results/records.sqlite: found no store, expected one"),
        (("frobnicate",), "certigap: No such command 'frobnicate'"),
    ],
)
def test_wrong_call_is_one_line_and_status_2(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    """A wrong call ends with status 2 and one line on standard error, and writes nothing."""
    done = certigap(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(message)
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert [p for p in tmp_path.rglob("*") if p.is_file() and "records" not in p.name] == []


def test_solve_and_check_agree(instance: Path, tmp_path: Path) -> None:
    """A decision that ``solve`` writes is feasible for ``check``, with the same value."""
    decision = tmp_path / "decision.json"
    solved = certigap("solve", instance, "--method", "exhaustive", "-o", decision)
    assert solved.returncode == 0, solved.stderr
    assert solved.stdout.startswith("optimal (done)")
    checked = certigap("check", instance, decision, "--json")
    assert checked.returncode == 0
    answer = json.loads(checked.stdout)
    assert (answer["feasible"], answer["objective"], answer["violation"]) == (True, 5.0, 0.0)


def test_solve_json_is_one_object_with_the_promised_keys(instance: Path) -> None:
    """``solve --json`` prints exactly one object, also when a solver's library writes to standard output."""
    done = certigap("solve", instance, "--method", "milp", "--json", "--set", "solver=HiGHS")
    answer = json.loads(done.stdout)
    keys = "status stopped objective bound bound_kind gap phases counters checked decision"
    assert list(answer) == keys.split()
    assert list(answer["phases"]) == ["compile", "build", "solve", "check"]
    assert list(answer["checked"]) == ["feasible", "objective", "violation"]
    assert (answer["status"], answer["objective"], answer["bound_kind"], answer["gap"]) == (
        "optimal",
        5.0,
        "milp-dual",
        0.0,
    )


def test_infeasible_decision_ends_with_status_1(instance: Path, tmp_path: Path) -> None:
    """``check`` of a decision that misses a deadline ends with status 1 and says which."""
    decision = tmp_path / "all.json"
    document = {"format": "certigap/assignment", "version": 1, "mode": ["ad"] * 6, "compute_share": 1.0}
    decision.write_text(json.dumps(document))
    done = certigap("check", instance, decision)
    assert done.returncode == 1
    assert done.stdout.startswith("infeasible  objective 6")
    assert "deadline: user" in done.stdout


def test_decision_of_another_problem_is_refused(instance: Path, tmp_path: Path) -> None:
    """``check`` refuses a decision of another kind by both formats' names."""
    decision = tmp_path / "choice.json"
    decision.write_text('{"format": "certigap/choice", "version": 1, "item": [0]}')
    done = certigap("check", instance, decision)
    assert done.returncode == 2
    assert "format: found certigap/choice, expected certigap/assignment for balance" in done.stderr
    assert load_decision(decision) is not None


def test_unsupported_solver_ends_with_status_2(instance: Path) -> None:
    """A solver that isn't installed ends with status 2 and says how to get it."""
    done = certigap("solve", instance, "--method", "milp", "--set", "solver=MIPCL_CMD")
    assert done.returncode == 2
    assert (done.stdout, "MIPCL_CMD is not installed" in done.stderr) == ("", True)


def test_limit_without_anything_ends_with_status_3(tmp_path: Path) -> None:
    """A limit that leaves neither decision nor bound ends with status 3."""
    path = tmp_path / "own.py"
    path.write_text(
        "import time\ndef slow(instance, *, limits, seed=0):\n    time.sleep(9.0 * (instance.n_users > 3))\n"
    )
    save(generate("tie-proof", users=7), tmp_path / "i.json")
    done = certigap("solve", tmp_path / "i.json", "--method", f"{path}:slow", "--time-limit", 0.2)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout.startswith("unknown (time)")


def test_own_method_in_a_file(tmp_path: Path, instance: Path) -> None:
    """A heuristic in a user's file runs beside the registered ones, by its path."""
    path = tmp_path / "own.py"
    path.write_text(
        "from formulations.result import Result, Status\n"
        "from instances.decisions import Assignment\n"
        "def nobody(instance, *, limits, seed=0):\n"
        "    decision = Assignment(('none',) * instance.n_users, 1.0)\n"
        "    return Result(Status.FEASIBLE, decision=decision, objective=0.0)\n"
    )
    done = certigap("solve", instance, "--method", f"{path}:nobody")
    assert done.returncode == 0, done.stderr
    assert "objective  0  re-checked, feasible" in done.stdout
    wrong = certigap("solve", instance, "--method", f"{path}:somebody")
    assert (wrong.returncode, wrong.stderr) == (2, f"{path}: found no function somebody, expected one\n")


@pytest.mark.parametrize(
    ("method", "setting", "message"),
    [
        ("exact", 'absolute_gap="0.1"', 'set.absolute_gap: found "0.1" (text), expected a number\n'),
        ("exact", "absolute_gap=-1", "set.absolute_gap: found -1, expected 0 to 6\n"),
        ("hybrid-literal", "memory=x", "set.memory: found 'x', expected one of"),
        ("hybrid", "colour=red", "set.colour: unknown for hybrid, expected none\n"),
    ],
)
def test_bad_setting_is_one_line(method: str, setting: str, message: str, instance: Path) -> None:
    """A value that the method does not take is refused by its field, and nothing else is printed."""
    for as_json in ((), ("--json",)):
        done = certigap("solve", instance, "--method", method, "--set", setting, *as_json)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(message)
        assert done.stderr.count("\n") == 1


def test_run_resumes_shows_and_reports(tmp_path: Path) -> None:
    """A folder of instances is run into a store, not run twice, shown row by row, and reported."""
    certigap("generate", "balance", "--users", 5, "-n", 2, "-o", tmp_path / "in")
    options = (
        "run",
        tmp_path / "in",
        "--method",
        "hybrid",
        "--method",
        "exhaustive",
        "--store",
        tmp_path / "s.sqlite",
    )
    listed = certigap(*options, "--dry-run")
    assert listed.stdout.count("\n") == 4
    assert not (tmp_path / "s.sqlite").exists()
    first = certigap(*options)
    assert first.returncode == 0, first.stderr
    assert "4 runs to do, 0 stored already" in first.stderr
    assert "0 runs to do, 4 stored already" in certigap(*options).stderr
    rows = certigap("show", "--store", tmp_path / "s.sqlite").stdout.splitlines()
    assert len(rows) == 4
    failed = certigap("show", "--failed", "--store", tmp_path / "s.sqlite")
    none = f"no row of {tmp_path / 's.sqlite'} ended in error or inconsistent\n"
    assert (failed.returncode, failed.stdout, failed.stderr) == (0, "", none)
    shown = certigap("show", rows[0].split()[0], "--store", tmp_path / "s.sqlite").stdout
    repeat = shown.splitlines()[-1]
    assert repeat.startswith("repeat: certigap run ")
    again = certigap(*repeat.removeprefix("repeat: certigap ").split())
    assert again.returncode == 0, again.stderr
    assert "1 runs to do" in again.stderr
    report = certigap("report", "--store", tmp_path / "s.sqlite", "-o", tmp_path / "report")
    assert report.returncode == 0, report.stderr
    assert (tmp_path / "report" / "report.md").read_text().startswith("# How far from optimal")
    assert len((tmp_path / "report" / "records.jsonl").read_text().splitlines()) == 4


def test_printed_command_repeats_a_row(tmp_path: Path) -> None:
    """The command that ``show`` prints repeats a row with its limit, own method and a path with a space."""
    folder = tmp_path / "a folder"
    certigap("generate", "balance", "--users", 4, "-n", 1, "-o", folder)
    own = tmp_path / "own.py"
    own.write_text("from formulations.balance.heuristics.hybrid import solve_hybrid as mine\n")
    store = tmp_path / "s.sqlite"
    options = ("--method", "own.py:mine", "--time-limit", 7, "--store", store)
    done = certigap("run", "a folder", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    key = certigap("show", "--store", store).stdout.split()[0]
    repeat = certigap("show", key, "--store", store).stdout.splitlines()[-1].removeprefix("repeat: certigap ")
    again = certigap(*shlex.split(repeat))
    assert (again.returncode, "1 runs to do" in again.stderr) == (0, True), again.stderr
    assert len(certigap("show", "--store", store).stdout.splitlines()) == 1


def test_lie_changes_the_exit_status(instance: Path, tmp_path: Path) -> None:
    """A method that claims more than it serves ends ``solve`` and ``run`` with status 1, and says why."""
    own = tmp_path / "own.py"
    own.write_text(
        "from dataclasses import replace\n"
        "from formulations.balance.heuristics.hybrid import solve_hybrid\n"
        "def boasts(instance, *, limits, seed=0):\n"
        "    true = solve_hybrid(instance, limits=limits)\n"
        "    return replace(true, objective=true.objective + 1)\n"
    )
    solved = certigap("solve", instance, "--method", f"{own}:boasts")
    assert (solved.returncode, "claimed 6.0, re-evaluated 5.0" in solved.stdout) == (1, True)
    options = ("--method", f"{own}:boasts", "--store", tmp_path / "s.sqlite")
    done = certigap("run", instance, *options)
    assert (done.returncode, "claimed 6.0, re-evaluated 5.0" in done.stderr) == (1, True)
    assert "inconsistent" in certigap("show", "--failed", "--store", tmp_path / "s.sqlite").stdout


@pytest.mark.parametrize("words", ["os._exit(9)", "raise SystemExit(3)", "raise KeyboardInterrupt"])
def test_method_that_ends_its_process_costs_its_own_runs_only(words: str, tmp_path: Path) -> None:
    """A method that ends the process already when it is warmed up becomes a row; the others are done."""
    certigap("generate", "balance", "--users", 4, "-n", 2, "-o", tmp_path / "in")
    (tmp_path / "own.py").write_text(f"import os\ndef ends(instance, *, limits, seed=0):\n    {words}\n")
    options = ("--method", "own.py:ends", "--method", "hybrid", "--store", "s.sqlite")
    done = certigap("run", "in", *options, cwd=tmp_path)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    statuses = [
        line.split()[1] for line in certigap("show", "--store", "s.sqlite", cwd=tmp_path).stdout.splitlines()
    ]
    assert sorted(statuses) == ["error", "error", "feasible", "feasible"]


@pytest.mark.parametrize("name", [":f", "os:getcwd", "no_such_module:f", "none.py:f"])
def test_unusable_own_method_is_one_line(name: str, instance: Path) -> None:
    """A method's name that leads nowhere, or to no method, ends without a traceback."""
    done = certigap("solve", instance, "--method", name)
    assert done.returncode in (1, 2)
    assert "Traceback" not in done.stderr


def test_import_names_what_was_drawn(tmp_path: Path) -> None:
    """``import csv`` makes an instance whose origin names the columns that were drawn."""
    table = tmp_path / "users.csv"
    table.write_text("input_tokens,output_tokens,deadline_s\n100,20,3.5\n40,10,2\n")
    done = certigap("import", "csv", table, "-o", tmp_path)
    assert done.returncode == 0, done.stderr
    made = load_instance(done.stdout.strip())
    assert made.origin is not None
    assert made.origin.source == "csv users.csv; drawn: acceptance, upload_s, download_s"
    assert made.users.deadline_s.tolist() == [3.5, 2.0]


def test_proof_is_written_and_verified(tmp_path: Path) -> None:
    """``solve --proof`` writes what ``verify`` accepts for this instance, and for no other."""
    files = [tmp_path / f"{seed}.json" for seed in (0, 1)]
    for seed, file in enumerate(files):
        save(generate("physical-fig4", users=16, seed=seed), file)
    proof = tmp_path / "bound.proof"
    solved = certigap("solve", files[0], "--method", "exact", "--proof", proof)
    assert (solved.returncode, solved.stderr) == (0, f"proof in {proof} ({proof.stat().st_size} bytes)\n")
    accepted = certigap("verify", files[0], proof, "--json")
    assert accepted.returncode == 0, accepted.stdout
    answer = json.loads(accepted.stdout)
    assert (answer["verified"], answer["bound"], answer["value"]) == (True, 14.0, 14.0)
    other = certigap("verify", files[1], proof)
    assert (other.returncode, other.stdout) == (1, "refused    the proof is about another instance\n")
    proof.write_bytes(proof.read_bytes()[:-20])
    damaged = certigap("verify", files[0], proof)
    assert damaged.returncode == 2
    assert damaged.stderr.startswith(f"{proof}: found damaged compression")
    refused = certigap("solve", files[0], "--method", "hybrid", "--proof", proof)
    assert refused.stderr == "--proof: found method hybrid, expected one of exact\n"
