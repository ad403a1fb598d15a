"""The scaling gate: it closes on what got worse, and on nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench.commands.scaling import check_scaling
from bench.judging import scaling
from bench.judging.ladders import LADDERS, Ladder
from bench.judging.scaling import MARGIN, Step, gate, judge_ladder
from bench.judging.statistics import Fit
from instances.errors import InputError
from instances.strict_json import parse

ROOT = Path(__file__).parents[2]
BASELINE = ROOT / "bench" / "judging" / "scaling_baseline.json"
SIZES = (50, 100, 200, 400, 800)


def prepare_linear(size: int) -> Callable[[], dict[str, int]]:
    """Return an operation that takes ``size`` steps, and counts them."""

    def run() -> dict[str, int]:
        total = 0
        for i in range(size):
            total += i * i % 7
        return {"steps": size}

    return run


def prepare_with_extra_loop(size: int) -> Callable[[], dict[str, int]]:
    """Return the same operation with a loop over all pairs that nothing counts."""
    linear = prepare_linear(size)

    def run() -> dict[str, int]:
        for i in range(size):
            for j in range(i):
                i ^ j
        return linear()

    return run


LINEAR = Ladder("linear", SIZES, 1.0, prepare_linear)
COUNTS = {str(size): {"steps": size} for size in SIZES}


def test_unchanged_code_leaves_the_gate_open() -> None:
    """The declared growth and the baseline's counts are neither worse nor worth a note."""
    step = judge_ladder(LINEAR, COUNTS, rounds=5)
    assert (step.worse, step.notes) == ([], [])


def test_extra_loop_closes_the_gate() -> None:
    """A loop over all pairs in an operation that is declared linear closes the gate by its growth."""
    step = judge_ladder(replace(LINEAR, prepare=prepare_with_extra_loop), COUNTS, rounds=3)
    (reason,) = step.worse
    assert re.fullmatch(r"grows like size\^(1\.[5-9]|2\.)\d+, more than 1\.25", reason)


def fixed(counts: dict[str, dict[str, int]], growth: float = 1.0, ladder: Ladder = LINEAR) -> Step:
    """Return a measurement with these counts and this growth."""
    fit = Fit(growth, growth, growth, 0.0, len(SIZES))
    return Step(ladder, fit, dict.fromkeys(SIZES, 1e-3), counts)


@pytest.mark.parametrize(
    ("found", "tolerance", "worse", "notes"),
    [
        ({"steps": 101}, 0.0, ["steps at 100: 101, was 100"], []),
        ({"steps": 105}, 0.05, [], []),
        ({"steps": 106}, 0.05, ["steps at 100: 106, was 100"], []),
        ({"steps": 95}, 0.05, [], []),
        ({"steps": 94}, 0.05, [], ["steps at 100: 94, was 100"]),
        ({"steps": 99}, 0.0, [], ["steps at 100: 99, was 100"]),
        ({}, 0.05, ["steps at 100 is no longer counted"], []),
        ({"steps": 100, "more": 5}, 0.0, [], []),
    ],
)
def test_counts_against_the_baseline(
    found: dict[str, int],
    tolerance: float,
    worse: list[str],
    notes: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A count above its tolerance or a missing one closes the gate; a better one is a note."""
    monkeypatch.setattr(scaling, "measure", lambda ladder, rounds: fixed(COUNTS | {"100": found}))
    step = judge_ladder(replace(LINEAR, count_tolerance=tolerance), COUNTS)
    assert (step.worse, step.notes) == (worse, notes)


@pytest.mark.parametrize(
    ("growths", "measured", "is_open"),
    [((1.2,), 1, True), ((1.3, 1.2), 2, True), ((1.3, 1.4), 2, False), ((0.5,), 1, True)],
)
def test_growth_is_confirmed_by_a_second_measurement(
    growths: tuple[float, ...], measured: int, is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Growth that is too fast is measured again, and closes the gate only if it is too fast again."""
    left = list(growths)
    monkeypatch.setattr(scaling, "measure", lambda ladder, rounds: fixed(COUNTS, left.pop(0)))
    step = judge_ladder(LINEAR, COUNTS)
    assert len(growths) - len(left) == measured
    assert (step.worse == []) is is_open
    assert step.fit.growth == min(growths)
    if not is_open:
        assert step.worse == [f"grows like size^1.30, more than {1.0 + MARGIN:.2f}"]


def test_baseline_has_every_ladder_and_size() -> None:
    """The committed baseline holds exactly the ladders and sizes that are measured."""
    baseline = parse(BASELINE.read_text(encoding="utf-8"))
    assert {name: set(counts) for name, counts in baseline.items()} == {
        ladder.name: {str(size) for size in ladder.sizes} for ladder in LADDERS
    }


def test_committed_counts_are_those_of_this_code() -> None:
    """The smallest size of each ladder counts what the committed baseline says."""
    baseline = parse(BASELINE.read_text(encoding="utf-8"))
    for ladder in LADDERS:
        size = ladder.sizes[0]
        found, known = ladder.prepare(size)(), baseline[ladder.name][str(size)]
        assert set(known) == set(found), ladder.name
        for counter, number in known.items():
            assert abs(found[counter] - number) <= ladder.count_tolerance * number, (ladder.name, counter)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "line 1: found malformed JSON"),
        ("[]", "found something else, expected counts by ladder, size and name"),
        ('{"hybrid": 3}', "found something else, expected counts by ladder, size and name"),
        ('{"hybrid": {"32": {"steps": "many"}}}', "found something else, expected counts by ladder"),
        ('{"a": {}, "a": {}}', "found twice, expected once"),
        ('{"a": NaN}', "found NaN, expected a finite number"),
    ],
)
def test_bad_baseline_is_refused(content: str, message: str, tmp_path: Path) -> None:
    """A baseline that cannot be read is refused by the file's name, before anything is measured."""
    path = tmp_path / "baseline.json"
    path.write_text(content)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        check_scaling(path, renew=False)
    assert "baseline.json" in str(caught.value)


def test_missing_baseline_is_one_line_and_status_2(tmp_path: Path) -> None:
    """``certigap scaling`` without its baseline ends with one line that names the file, and status 2."""
    command = [sys.executable, "-m", "bench", "scaling", "--baseline", str(tmp_path / "none.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert "none.json: found" in line
    assert done.stdout == ""


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """Keep two processes busy meanwhile."""
    crew = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    yield
    for process in crew:
        process.kill()
        process.wait()


@pytest.mark.full
def test_unchanged_code_beside_busy_processes_never_closes_the_gate(busy_machine: None) -> None:
    """Twenty gates on unchanged code stay open beside two busy processes."""
    ladder = replace(LADDERS[0], sizes=(32, 64, 128, 256))
    counts = json.loads(BASELINE.read_text(encoding="utf-8"))[ladder.name]
    baseline = {ladder.name: {str(size): counts[str(size)] for size in ladder.sizes}}
    for _ in range(20):
        (step,) = gate((ladder,), baseline)
        assert step.worse == []


def test_ladder_that_is_gone_is_refused() -> None:
    """A baseline with a ladder that no longer exists is refused, not passed over."""
    with pytest.raises(InputError, match="baseline: found removed, expected ladders that exist"):
        list(gate([], {"removed": {"32": {"steps": 1}}}))


def test_size_that_is_gone_closes_the_gate() -> None:
    """A count of the baseline at a size that is no longer measured closes the gate."""
    step = judge_ladder(Ladder("x", (2, 4, 8), 9.0, lambda n: lambda: {"steps": n}), {"64": {"steps": 1}}, 1)
    assert step.worse == ["steps at 64 is no longer counted"]
