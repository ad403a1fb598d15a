"""``certigap hunt``: what the search for worst cases finds, how it shrinks, and what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from bench.judging.hunt import hunt, promised
from bench.judging.hunting.changes import changed, columns, disturbed, planted, with_users
from bench.judging.hunting.simpler import shrunk
from bench.judging.hunting.trial import Judge, confirmed
from bench.registry import METHODS, methods_of
from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.files import content_hash, dumps, load
from instances.generate import generate

SAMPLES = "tests.bench.sample_methods:"
OWN_WITHIN = 1000  # evaluations that the search needs at most for hybrid-own, from random unit networks
BACK_WITHIN = 2000  # evaluations of a search back to the third


def rng_of(seed: int) -> np.random.Generator:
    """Return a random generator."""
    return np.random.Generator(np.random.PCG64(seed))


def test_half_is_found_from_random_networks(counted: Callable[[int], int]) -> None:
    """For hybrid-own at most 1/2 is found from random unit networks within 1000 evaluations, each seed."""
    for seed in range(counted(20)):
        found = hunt(
            "balance",
            "hybrid-own",
            evaluations=OWN_WITHIN,
            seed=seed,
            families=("unit-random",),
            enough=Fraction(1, 2),
        )
        assert found.ratio <= Fraction(1, 2), seed
        assert found.confirmed
        assert found.found_at <= OWN_WITHIN


def test_way_back_to_a_third(counted: Callable[[int], int]) -> None:
    """From the 1/3 witness with every number disturbed by 30 %, half of the searches come back to .4."""
    count, back = counted(20), 0
    for seed in range(count):
        start = disturbed(witness("theorem-1"), rng_of(seed), 0.3)
        found = hunt(
            "balance", "hybrid", evaluations=BACK_WITHIN, seed=seed, start=start, enough=Fraction(2, 5)
        )
        assert found.confirmed
        back += found.ratio <= Fraction(2, 5)
    assert 2 * back >= count


def witness(name: str) -> BalanceInstance:
    """Return a published witness."""
    made = generate(name)
    assert isinstance(made, BalanceInstance)
    return made


def test_disturbance_reaches_every_number() -> None:
    """A disturbed witness differs in every number, by at most 30 % and the rounding of counts."""
    before, after = witness("theorem-1"), disturbed(witness("theorem-1"), rng_of(5), 0.3)
    for key in ("deadline_s", "acceptance"):
        ratio = getattr(after.users, key) / getattr(before.users, key)
        assert np.all((ratio != 1.0) & (ratio >= 0.7) & (ratio <= 1.3))
    for key in ("input_tokens", "output_tokens"):
        off = np.abs(getattr(after.users, key) - getattr(before.users, key))
        assert np.all(off <= 0.3 * getattr(before.users, key) + 0.5)
    assert after.server.memory_bytes != before.server.memory_bytes
    assert after.server.compute_shares != before.server.compute_shares
    assert after.llm.seconds_per_pass != before.llm.seconds_per_pass
    assert after.slm.seconds_per_flop != before.slm.seconds_per_flop


def test_same_seed_finds_the_same() -> None:
    """Seed and evaluations determine the witness, and another seed leads elsewhere."""
    first, again, other = (hunt("balance", "hybrid", evaluations=80, seed=s) for s in (3, 3, 4))
    assert dumps(first.instance) == dumps(again.instance)
    assert (first.found_at, first.shrinking) == (again.found_at, again.shrinking)
    assert content_hash(first.instance) != content_hash(other.instance)


@pytest.mark.parametrize("name", ["theorem-1", "half-is-tight", "tie-proof", "proposition-2"])
def test_shrinking_keeps_the_ratio(name: str) -> None:
    """A shrunk witness is at least as bad, still proved, and no longer."""
    judge = Judge("hybrid")
    before = judge.judge(witness(name))
    after = shrunk(before, judge)
    assert after.ratio <= before.ratio < 1
    assert confirmed(after.instance, after.optimum)
    assert after.instance.n_users <= before.instance.n_users
    assert len(dumps(after.instance)) <= len(dumps(before.instance))


def test_shrinking_drops_users_and_digits() -> None:
    """Of a witness with a third user and long numbers, two users and at most three digits a deadline stay."""
    judge, two = Judge("hybrid-own"), witness("half-is-tight")
    users = {key: column[[0, 1, 1]] for key, column in columns(two).items()}
    users["deadline_s"][2] = 0.001
    before = judge.judge(disturbed(with_users(two, users), rng_of(1), 0.0001))
    assert before.ratio == Fraction(1, 2)
    after = shrunk(before, judge)
    assert after.ratio == Fraction(1, 2)
    assert after.instance.n_users == 2
    digits = [repr(float(t)).replace(".", "").strip("0") for t in after.instance.users.deadline_s]
    assert max(len(d) for d in digits) <= 3


def test_changes_stay_inside_the_model() -> None:
    """Whatever a change makes is a valid instance of 3 to 8 users whose planted form serves everybody."""
    judge, rng = Judge("hybrid-own"), rng_of(2)
    trial = judge.judge(witness("tie-proof"))
    for _ in range(60):
        instance = changed(trial, rng)
        assert 3 <= instance.n_users <= 8
        trial = judge.judge(instance)
        assert 0 <= trial.ratio <= 1
    full = planted(witness("theorem-1"), rng)
    assert judge.judge(full).optimum == 3


def test_ratio_is_1_where_nobody_can_be_served() -> None:
    """An optimum of 0 counts as the ratio 1."""
    instance = witness("half-is-tight")
    trial = Judge("hybrid").judge(hopeless(instance))
    assert (trial.value, trial.optimum, trial.ratio) == (0, 0, 1)


def hopeless(instance: BalanceInstance) -> BalanceInstance:
    """Return the instance with deadlines that nobody can meet."""
    return replace(instance, users=replace(instance.users, deadline_s=np.zeros(instance.n_users)))


@pytest.mark.parametrize(
    ("method", "fault"),
    [
        ("serves_everybody", "infeasible decision: "),
        ("raises", "ZeroDivisionError: nothing to divide by"),
        ("forgets_decision", "no decision: feasible"),
        ("solves_another", "infeasible decision: mode: found 1 entries"),
    ],
)
def test_fault_is_a_worst_case(method: str, fault: str) -> None:
    """A method that fails, or whose decision the checker refuses, has the ratio 0 with the reason."""
    found = hunt("balance", SAMPLES + method, evaluations=100, seed=0)
    assert found.ratio == 0
    assert found.fault.startswith(fault)


def test_own_claims_do_not_count() -> None:
    """The re-checked value counts, not what the method claims."""
    found = hunt("balance", SAMPLES + "boasts", evaluations=30, seed=1)
    honest = hunt("balance", "hybrid-own", evaluations=30, seed=1)
    assert (found.value, found.optimum) == (honest.value, honest.optimum)


def test_exact_methods_leave_nothing_to_find() -> None:
    """An exact method promises the ratio 1, and keeps it."""
    found = hunt("balance", "exhaustive-naive", evaluations=60, seed=0)
    assert (found.ratio, found.promised, found.verdict) == (1, 1, "equal")


def test_guarantee_is_read_from_the_registry() -> None:
    """A leading ≥ a/b is compared with the optimum, unless the text says that it is of something else."""
    read = {method.name: promised(method.role, method.guarantee) for method in methods_of("balance")}
    assert (read["hybrid"], read["hybrid-own"]) == (Fraction(1, 3), Fraction(1, 2))
    assert (read["ad-only"], read["sd-only"], read["exhaustive"]) == (None, None, 1)
    assert promised("heuristic", "not stated") is None
    assert promised("heuristic", "≥ 2/3 of the optimum") == Fraction(2, 3)


def test_broken_guarantee_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ratio under the stated guarantee is called a broken one."""
    bold = replace(METHODS["balance", "hybrid"], guarantee="≥ 2/3")
    monkeypatch.setitem(METHODS, ("balance", "hybrid"), bold)
    found = hunt("balance", "hybrid", evaluations=100, seed=0, families=("theorem-1",), enough=Fraction(1, 2))
    assert (found.verdict, found.promised) == ("below", Fraction(2, 3))


@pytest.mark.parametrize(
    ("problem", "method", "fields", "message"),
    [
        ("mmkp", "greedy", {}, "PROBLEM: found mmkp, expected balance"),
        ("balance", "fast", {}, "method: found fast, expected one of hybrid, "),
        ("balance", "none.py:solve", {}, "none.py: found FileNotFoundError"),
        ("balance", "hybrid", {"families": ("fig4",)}, "family: found fig4, expected some of unit-random, "),
        ("balance", "hybrid", {"evaluations": 0}, "evaluations: found 0, expected 1 to"),
        ("balance", "hybrid", {"seed": -1}, "seed: found -1, expected 0 to"),
        ("balance", "hybrid", {"start": "large"}, "users: found 11, expected 1 to 8 to begin with"),
    ],
)
def test_wrong_input_is_refused(problem: str, method: str, fields: dict[str, object], message: str) -> None:
    """Another problem, an unknown method or family, and numbers out of range are refused by name."""
    if fields.get("start"):
        fields = {"start": generate("tie-proof", users=11)}
    with pytest.raises(InputError) as caught:
        hunt(problem, method, **({"evaluations": 5, "seed": 0} | fields))  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command's function in a process of its own."""
    code = (
        "import sys, typer; from bench.commands.hunt import hunt_worst_case\n"
        "from instances.errors import InputError\n"
        "app = typer.Typer(); app.command()(hunt_worst_case)\n"
        "try: sys.exit(app(standalone_mode=False))\n"
        "except InputError as error: print(error, file=sys.stderr); sys.exit(2)"
    )
    call = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, timeout=120)


def test_command_saves_and_says_how_to_repeat(tmp_path: Path) -> None:
    """The command prints ratio, proof, guarantee, file and repetition, and the file repeats the ratio."""
    options = ("--evaluations", 200, "--family", "half-is-tight", "-o", tmp_path / "new")
    done = command("balance", "hybrid-own", *options)
    assert (done.returncode, done.stderr) == (0, "")
    lines = {line[:9].strip(): line[11:] for line in done.stdout.splitlines() if line[:9].strip()}
    assert lines["ratio"].startswith("1/2 = 0.5: hybrid-own serves 1 of 2")
    assert lines["guarantee"] == "≥ 1/2: reached exactly, the guarantee is tight"
    assert lines["optimum"].startswith("proved: exhaustive and exhaustive-naive agree")
    file = Path(lines["file"])
    assert lines["repeat"] == f"certigap solve {file} --method hybrid-own"
    made = load(file)
    assert isinstance(made, BalanceInstance)
    assert Judge("hybrid-own").judge(made).ratio == Fraction(1, 2)
    assert json.loads(file.read_text())["origin"] == {
        "source": "certigap hunt balance hybrid-own --evaluations 200 --seed 0 --family half-is-tight: "
        "serves 1 of 2",
        "seed": 0,
    }


def test_command_ends_with_1_for_a_fault(tmp_path: Path) -> None:
    """A method whose decision the checker refuses ends with status 1, the reason and the witness."""
    path = tmp_path / "own.py"
    path.write_text(
        "from formulations.result import Result, Status\n"
        "from instances.decisions import Assignment\n"
        "def greedy(instance, *, limits, seed=0):\n"
        "    k = instance.n_users\n"
        "    return Result(Status.FEASIBLE, decision=Assignment(('ad',) * k, 1.0), objective=float(k))\n"
    )
    done = command("balance", f"{path}:greedy", "--evaluations", 20, "-o", tmp_path)
    assert done.returncode == 1, done.stderr
    assert "FAULT      infeasible decision: " in done.stdout
    assert "guarantee  not stated: no factor of the optimum to compare with" in done.stdout
    assert len(list(tmp_path.glob("worst-greedy-s0-*.json"))) == 1


def test_command_refuses_in_one_line(tmp_path: Path) -> None:
    """A folder that cannot be written is refused before the search, with status 2 and one line."""
    (tmp_path / "file").write_text("in the way")
    done = command("balance", "hybrid", "--evaluations", 10**8, "-o", tmp_path / "file" / "deeper")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{tmp_path / 'file' / 'deeper'}: found no way to write there, expected a folder to write to\n"
    )
