"""The house's order: imports point to the left, and methods and checkers keep apart."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.registry import METHODS, PROBLEMS

ROOT = Path(__file__).parents[1]
ORDER = ("instances", "formulations", "bench", "reports")


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


@pytest.mark.parametrize("package", ORDER)
def test_imports_point_to_the_left(package: str) -> None:
    """A package imports itself and what stands to its left; only cli.py, which nobody imports, does not."""
    later = ORDER[ORDER.index(package) + 1 :]
    for path in sorted((ROOT / package).rglob("*.py")):
        for module in imported(path):
            top = module.partition(".")[0]
            allowed = path == ROOT / "bench" / "cli.py" and top == "reports"
            assert top not in later or allowed, f"{path} imports {module}"
            assert module != "bench.cli" or path.name == "__main__.py", f"{path} imports the command"


SOLVERS = ("pulp", "highspy", "cvxpy")
HEURISTICS = sorted({m.function for m in METHODS.values() if m.role in ("heuristic", "baseline")})


@pytest.mark.parametrize("function", sorted({f.partition(":")[0] for f in HEURISTICS}))
def test_heuristics_import_no_solver_and_no_checker(function: str) -> None:
    """A heuristic's module brings neither solver nor evaluator into the process, not even through others."""
    assert loaded(function, (*SOLVERS, *evaluators())) == ""


CHECKERS = {name for p in PROBLEMS.values() for name in (p.evaluator, p.verifier, p.proof) if name}


@pytest.mark.parametrize("module", sorted(name.partition(":")[0] for name in CHECKERS))
def test_checkers_import_no_solver_and_no_method(module: str) -> None:
    """The module of an evaluator or verifier brings neither a solver nor any method into the process."""
    methods = {m.function.partition(":")[0] for m in METHODS.values()}
    assert loaded(module, (*SOLVERS, "numba", *sorted(methods))) == ""


def test_reports_import_no_solver() -> None:
    """Pages are drawn where no solver is installed, and nothing is compiled for them."""
    assert loaded("reports.report", (*SOLVERS, "numba")) == ""


def evaluators() -> tuple[str, ...]:
    """Return the modules of the evaluators."""
    return tuple(sorted({p.evaluator.partition(":")[0] for p in PROBLEMS.values()}))


def loaded(module: str, unwanted: tuple[str, ...]) -> str:
    """Import a module in a new process and return which unwanted ones came with it."""
    code = f"import sys, {module}; print(','.join(m for m in {unwanted!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout.strip()
