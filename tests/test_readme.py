"""What the README and CONTRIBUTING show runs as it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def indented(start: str, text: str = README) -> list[str]:
    """Return the lines of the indented block that holds a line beginning with ``start``."""
    block = re.search(rf"((?:    .*\n|\n)*    {re.escape(start)}.*\n(?:    .*\n|\n)*)", text)
    assert block is not None
    return [line[4:] for line in block.group(1).splitlines()]


def test_python_lines_run(tmp_path: Path) -> None:
    """The lines with the Python API run in an empty folder and serve at most the optimum."""
    script = tmp_path / "lines.py"
    script.write_text("\n".join(indented("from bench.api import")))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "9.0 of 10.0 True"
    assert lines[1] == "10.0"
    assert "theorem-1-n3-s0 hybrid feasible 1.0" in lines


def test_commands_run(tmp_path: Path) -> None:
    """The commands that the README lists run one after the other, but for those that take others' files."""
    (tmp_path / "points.csv").write_text("flops,seconds\n1e12,0.11\n2e12,0.21\n4e12,0.41\n8e12,0.8\n")
    lines = [
        re.split(r"\s{3,}", line)[0] for line in indented("certigap methods") if line.startswith("certigap")
    ]
    assert len(lines) == 13
    for line in lines:
        if line.split()[1] in ("import", "convert"):
            continue
        command = [sys.executable, "-m", "bench", *line.split()[1:]]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, (line, done.stderr)


def test_own_method_of_contributing_runs(tmp_path: Path) -> None:
    """The method that CONTRIBUTING writes outside the project runs beside registered ones, as it says."""
    lines = indented("from formulations.result import", CONTRIBUTING)
    assert len([line for line in lines if line]) <= 10
    (tmp_path / "mine.py").write_text("\n".join(lines))
    said = ""
    for line in indented("certigap generate", CONTRIBUTING):
        if line.startswith("certigap"):
            command = [sys.executable, "-m", "bench", *line.split()[1:]]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (line, done.stderr)
            said += done.stderr
    assert "15 runs to do" in said
    assert "5 optimal" in said
