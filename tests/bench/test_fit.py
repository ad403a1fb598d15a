"""``certigap fit``: constants as an instance file has them, and one line for a file that cannot be used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from formulations.balance.calibrate import work_of
from instances.catalogue import public_folder
from instances.importers.speeds import Speed
from instances.presets import BALANCE_MODELS

HEADER = "model,dtype,phase,batch,prompt_tokens,generated_tokens,ms_total,kind\n"
ALPHA, BETA = 1e-14, 0.0164


def fit(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "bench", "fit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})


def speeds(folder: Path) -> Path:
    """Write a table of speeds that follows the law, with rows of it that must not be used."""
    llama = BALANCE_MODELS["Llama-2-7B"]
    lines = []
    for phase, prompt, generated in (
        ("prefill", 500, 0),
        ("prefill", 900, 0),
        ("decode", 500, 200),
        ("decode", 0, 90),
    ):
        flops, passes = work_of(llama, Speed(1, phase, 1, prompt, generated, 1.0))
        milliseconds = 1000.0 * (ALPHA * flops + BETA * passes)
        lines.append(f"Llama-2-7B,FP16,{phase},1,{prompt},{generated},{milliseconds!r},measured\n")
    lines += [
        "Llama-2-7B,FP16,decode,1,0,1,1.0,derived bound\n",
        "Llama-2-7B,Q4,decode,1,0,1,1.0,measured\n",
        "Llama-2-7B,FP16,decode,1,,,,measured\n",
        "Llama-3-8B,FP16,decode,1,0,1,1.0,measured\n",
    ]
    path = folder / "speeds.csv"
    path.write_text(HEADER + "".join(lines))
    return path


def test_table_of_speeds_gives_constants_for_an_instance_file(tmp_path: Path) -> None:
    """JSON holds the constants under an instance file's names, with intervals, and what was left out."""
    done = fit("latency", speeds(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["seconds_per_flop"] == pytest.approx(ALPHA, rel=1e-9)
    assert answer["seconds_per_pass"] == pytest.approx(BETA, rel=1e-9)
    assert set(answer["interval_95"]) == {"seconds_per_flop", "seconds_per_pass"}
    assert answer["n"] == 4
    assert answer["dropped"] == {"kind derived bound": 1, "dtype Q4": 1, "no prompt_tokens": 1}


def test_plain_points_need_no_model(tmp_path: Path) -> None:
    """A file of flops and seconds is one pass a row; the text names weights, residual and intervals."""
    path = tmp_path / "points.csv"
    path.write_text("flops,seconds\n1e12,0.05\n2e12,0.09\n3e12,0.13\n")
    done = fit("latency", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("seconds_per_flop  4e-14  95 % [")
    assert "3 points, R² 1.000000, largest residual" in done.stdout


BAD = {
    "negative": ("flops,seconds\n1e12,-1\n", ":2: seconds: found '-1', expected more than 0"),
    "text": ("flops,seconds\n1e12,fast\n", ":2: seconds: found 'fast', expected a number"),
    "columns": ("a,b\n1,2\n", ":1: header: found"),
    "few": ("flops,seconds\n1e12,1\n", ": points: found 1, expected at least 3"),
    "none": (HEADER + "Llama-2-7B,Q4,decode,1,0,1,1.0,measured\n", ": rows: found"),
    "other": (HEADER + "GPT-2,FP16,decode,1,0,1,1.0,measured\n", ": model: found"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_gives_one_line(name: str, tmp_path: Path) -> None:
    """A file that cannot be used gives exit status 2 and one line that names it."""
    text, message = BAD[name]
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = fit("latency", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(str(path))
    assert message.replace("'", "") in done.stderr.replace("'", "")


def test_other_models_take_their_shape_by_hand(tmp_path: Path) -> None:
    """A model that the paper does not have needs its shape, and a shape has no other fields."""
    path = speeds(tmp_path)
    assert "or a shape by --set" in fit("latency", path, "--model", "Llama-3-8B").stderr
    assert "--set depth: unknown, expected one of layers" in fit("latency", path, "--set", "depth=3").stderr


def test_public_speeds_give_the_measured_decode() -> None:
    """The public points of an RTX 4090 give a pass of 16.4 ms, as measured, and a prefill within 1 %."""
    path = public_folder() / "speed" / "rtx4090_speed_points.csv"
    if not path.is_file():
        pytest.skip("no public files")
    answer = json.loads(fit("latency", path, "--json").stdout)
    low, high = answer["interval_95"]["seconds_per_pass"]
    assert 0.0160 < low < answer["seconds_per_pass"] < high < 0.0166
    assert answer["largest_relative_residual"] < 0.01
    assert answer["dropped"]["kind measured-average"] == 2
