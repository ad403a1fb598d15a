"""The project's sessions. All that run certigap share one environment, installed once and then reused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_venv = "yes"

ENVIRONMENT = ".nox/certigap"
EXTRAS = "test,lint,types"


def install(session: nox.Session) -> None:
    """Install the project, editable, with pinned dependencies, unless this state is installed already."""
    wanted = hashlib.sha256(
        Path("pyproject.toml").read_bytes() + Path("constraints.txt").read_bytes()
    ).hexdigest()
    stamp = Path(session.virtualenv.location) / "certigap.stamp"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    session.install("-c", "constraints.txt", "-e", f".[{EXTRAS}]")
    stamp.write_text(wanted)


@nox.session(venv_location=ENVIRONMENT)
def tests(session: nox.Session) -> None:
    """Run the tests: a tenth of each count, fixed seeds, at most four minutes."""
    install(session)
    session.run("pytest", *session.posargs)


@nox.session(name="tests-full", venv_location=ENVIRONMENT)
def tests_full(session: nox.Session) -> None:
    """Run the tests with every count that is promised."""
    install(session)
    session.run("pytest", "--full", *session.posargs)


@nox.session(venv_location=ENVIRONMENT)
def bench(session: nox.Session) -> None:
    """Run the main job: generate, solve, re-check, time, and judge the published claims."""
    install(session)
    session.run("certigap", "run", "bench", *session.posargs)
    session.run("certigap", "report")


@nox.session(venv_location=ENVIRONMENT)
def fig6(session: nox.Session) -> None:
    """Make BALANCE's Fig. 6: Algorithm 3 against exhaustive search, K = 10 … 16."""
    install(session)
    store = ("--store", "results/fig6.sqlite")
    session.run("certigap", "run", "balance-fig6", *store, *session.posargs)
    session.run("certigap", "report", *store, "-o", "results/fig6")


@nox.session(venv_location=ENVIRONMENT)
def lint(session: nox.Session) -> None:
    """Check style and formatting with ruff."""
    install(session)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")


@nox.session(venv_location=ENVIRONMENT)
def types(session: nox.Session) -> None:
    """Check types with mypy, strict."""
    install(session)
    session.run("mypy")
