"""The project's sessions. All of them share one environment, installed once and then reused."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "types", "tests"]

ENVIRONMENT = Path(".nox/certigap").absolute()
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
BALANCE = [f"balance-{name}" for name in ("fig1", "fig4a", "fig4b", "fig5a", "fig5b", "fig7a", "fig7b")]
HANDOVER = [
    f"handover-{name}"
    for name in (
        "fig2",
        "fig3a",
        "fig3b",
        "fig4a",
        "fig4b",
        "fig5a",
        "fig5b",
        "fallback",
        "latency",
        "horizon",
    )
]
PAPER = {  # by whether times are published
    False: [
        *BALANCE,
        "balance-guarantee",
        "balance-gap",
        "balance-real",
        *HANDOVER,
    ],
    True: ["balance-fig6", "balance-exact", "scaling", "handover-bounds", "handover-allocators", "mmkp"],
}
PARALLEL = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile")  # a file compiles its kernels once
EXTRAS = "dask,export,cp-sat,docs,test,lint,types"


def run(session: nox.Session, program: str, *arguments: str) -> None:
    """Run a program of the shared environment, which is made or renewed when its requirements changed."""
    state = Path("pyproject.toml").read_bytes() + Path("constraints.txt").read_bytes() + sys.version.encode()
    wanted = hashlib.sha256(state).hexdigest()
    stamp = ENVIRONMENT / "certigap.stamp"
    if not stamp.is_file() or stamp.read_text() != wanted:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        session.run(sys.executable, "-m", "venv", str(ENVIRONMENT), external=True)
        pip = ("-m", "pip", "install", "--quiet", "-c", "constraints.txt", "-e", f".[{EXTRAS}]")
        session.run(str(PROGRAMS / "python"), *pip, external=True)
        stamp.write_text(wanted)
    path = f"{PROGRAMS}{os.pathsep}{os.environ.get('PATH', '')}"
    session.run(str(PROGRAMS / program), *arguments, external=True, env={"PATH": path})


@nox.session(python=False)
def tests(session: nox.Session) -> None:
    """Run the tests in at most four minutes on two cores: a tenth of each count, fixed seeds."""
    run(session, "pytest", *PARALLEL, *session.posargs)


@nox.session(python=False, name="tests-full")
def tests_full(session: nox.Session) -> None:
    """Run the tests with every count that is promised."""
    run(session, "pytest", "--full", *PARALLEL, *session.posargs)


@nox.session(python=False)
def bench(session: nox.Session) -> None:
    """Run the main job: generate, solve, re-check, time, and judge the published claims."""
    run(session, "certigap", "run", "bench", *session.posargs)
    run(session, "certigap", "report")


@nox.session(python=False)
def fig6(session: nox.Session) -> None:
    """Make BALANCE's Fig. 6: Algorithm 3 against exhaustive search, K = 10 … 16."""
    store = ("--store", "results/fig6.sqlite")
    run(session, "certigap", "run", "balance-fig6", *store, *session.posargs)
    run(session, "certigap", "report", *store, "-o", "results/fig6")


@nox.session(python=False)
def fig(session: nox.Session) -> None:
    """Make the figures of one experiment: nox -s fig -- balance-fig4a; --seeds N makes it shorter."""
    names = [argument for argument in session.posargs if not argument.startswith("-")]
    if not names:
        session.error("name an experiment, such as: nox -s fig -- balance-fig4a")
    store = ("--store", f"results/{names[0]}.sqlite")
    run(session, "certigap", "run", *session.posargs, *store)
    run(session, "certigap", "report", *store, "-o", f"results/{names[0]}")


@nox.session(python=False)
def docs(session: nox.Session) -> None:
    """Build the documentation into results/site; a broken link is an error."""
    os.environ["NO_MKDOCS_2_WARNING"] = "1"  # the theme's advertisement
    run(session, "mkdocs", "build", "--strict", *session.posargs)


@nox.session(python=False)
def paper(session: nox.Session) -> None:
    """Run every experiment at the papers' Monte-Carlo sizes; takes hours."""
    store = ("--store", "results/paper.sqlite")
    for timing, experiments in PAPER.items():
        workers = ("--workers", "1" if timing else str(os.cpu_count() or 1))
        run(session, "certigap", "run", *experiments, *workers, *store)
    run(session, "certigap", "run", "handover-clairvoyant", "handover-real", "--seeds", "100", *store)
    run(session, "certigap", "report", *store, "-o", "results/paper")


@nox.session(python=False)
def scaling(session: nox.Session) -> None:
    """Check growth and operation counts against the committed baseline."""
    run(session, "certigap", "scaling", *session.posargs)


@nox.session(python=False)
def timing(session: nox.Session) -> None:
    """Time every method with pytest-benchmark, for comparisons during development."""
    run(session, "pytest", "bench/timing", "--benchmark-enable", "--benchmark-only", *session.posargs)


@nox.session(python=False)
def lint(session: nox.Session) -> None:
    """Check style and formatting with ruff, and the workflows against their schema."""
    run(session, "ruff", "check", ".")
    run(session, "ruff", "format", "--check", ".")
    workflows = [str(path) for path in Path(".github/workflows").glob("*.yml")]
    run(session, "check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)


@nox.session(python=False)
def types(session: nox.Session) -> None:
    """Check types with mypy, strict."""
    run(session, "mypy")
