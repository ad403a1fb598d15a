"""The project installs as a wheel and editable, and a user's data folders cannot shadow it."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("form", ["wheel", "editable"])
def test_installed_command_works_among_namesakes(form: str, tmp_path: Path) -> None:
    """The command runs from a folder that itself holds instances, reports, tests and bench."""
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    python = programs / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
    ).stdout.strip()
    # Dependencies come from the environment that runs the tests: a path entry does not bring its own entries.
    Path(site, "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    options = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([python, "-m", "pip", *options, *sources(form, tmp_path)], check=True)
    for name in ("instances", "reports", "tests", "bench"):
        (tmp_path / "work" / name).mkdir(parents=True)
        (tmp_path / "work" / name / "data.csv").write_text("1\n")
    script = programs / "certigap"
    done = subprocess.run(
        [script, "generate", "balance", "-n", "1", "-o", "instances"],
        cwd=tmp_path / "work",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    made = next((tmp_path / "work" / "instances").glob("*.json"))
    solved = subprocess.run(
        [script, "solve", made, "--method", "hybrid"], cwd=tmp_path / "work", capture_output=True, text=True
    )
    assert solved.returncode == 0, solved.stderr
    assert "re-checked, feasible" in solved.stdout
    code = (
        "import bench, importlib.resources as r; print(bench.__file__); "
        "print((r.files('bench.judging') / 'published.toml').is_file())"
    )
    where = subprocess.run([python, "-c", code], cwd=tmp_path / "work", capture_output=True, text=True)
    package, data = where.stdout.split()
    assert Path(package).is_relative_to(ROOT if form == "editable" else environment)
    assert data == "True"


def sources(form: str, tmp_path: Path) -> list[str]:
    """Return what pip installs: a copy of the tree as an editable source, or a wheel built of it."""
    if form == "editable":
        return ["--editable", str(ROOT)]
    import shutil

    copy = tmp_path / "source"
    wanted = shutil.ignore_patterns(
        ".git", ".nox", "results", "build", "*.egg-info", "__pycache__", ".*_cache"
    )
    shutil.copytree(ROOT, copy, ignore=wanted)
    options = ["wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    options += ["--wheel-dir", str(tmp_path / "dist"), str(copy)]
    subprocess.run([sys.executable, "-m", "pip", *options], check=True)
    return [str(next((tmp_path / "dist").glob("*.whl")))]
