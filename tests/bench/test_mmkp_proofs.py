"""Proofs of MMKP optima and of a slot by the command, from instance file to verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from instances.files import save
from instances.generate import generate
from instances.mmkp import MmkpInstance


def certigap(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("capacity", "lines"),
    [
        (
            1.1,
            [
                "verified   no decision is worth more than 0.8 (exact)",
                "value      0.8, re-checked, feasible: optimal",
            ],
        ),
        (0.2, ["verified   no decision is feasible (exact)"]),
    ],
)
def test_optimum_and_infeasibility_are_proved(tmp_path: Path, capacity: float, lines: list[str]) -> None:
    """The optimum of decimals that no double holds is verified as optimal, and that nothing fits likewise."""
    file, proof = tmp_path / "small.txt", tmp_path / "small.proof"
    values, weights = np.array([0.5, 0.1, 0.3, 0.1]), np.array([[0.4], [0.2], [0.7], [0.1]])
    save(MmkpInstance("small", np.array([capacity]), np.array([0, 2, 4]), values, weights), file)
    solved = certigap("solve", file, "--method", "exact", "--proof", proof)
    assert (solved.returncode, solved.stderr) == (0, f"proof in {proof} ({proof.stat().st_size} bytes)\n")
    done = certigap("verify", file, proof)
    assert (done.returncode, done.stdout.splitlines()) == (0, lines)
    answer = json.loads(certigap("verify", file, proof, "--json").stdout)
    assert answer["verified"]
    assert (answer["bound"] < 0) == (answer["value"] is None)


def test_verified_slot_is_best_only_among_decisions_that_lift_everybody(tmp_path: Path) -> None:
    """A slot's price bounds (4), so no value is said to be near the optimum, which is 6 % higher here."""
    file, proof = tmp_path / "slot.json", tmp_path / "slot.proof"
    save(generate("slot-importance", users=3, seed=0), file)
    certigap("solve", file, "--method", "water-filling", "--proof", proof)
    said = certigap("verify", file, proof).stdout
    assert "the best one that lifts every user to its anchor" in said
    assert "optimal" not in said
    better = json.loads(certigap("solve", file, "--method", "slot-exact", "--json").stdout)
    assert better["objective"] > 1.05 * json.loads(certigap("verify", file, proof, "--json").stdout)["bound"]
