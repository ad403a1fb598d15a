"""What computed a record: machine, versions, commit; and the threads that it was allowed."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["VERSIONED", "cpu_name", "git_commit", "pin_threads", "vector_level", "versions"]

VERSIONED = (
    "certigap", "numpy", "numba", "scipy", "highspy", "pulp", "networkx", "python-flint", "pebble",
    "matplotlib", "jinja2", "cvxpy", "clarabel", "ortools", "pyscipopt", "distributed",
)  # fmt: skip
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def pin_threads() -> None:
    """Allow one thread to every library; called before they are imported, and inherited by workers."""
    for variable in _THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def versions() -> dict[str, str]:
    """Return the versions of everything that computes, installed packages only."""
    found = {"python": platform.python_version()}
    for package in VERSIONED:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


@cache
def git_commit() -> str:
    """Return the commit of the checkout that this code runs from, empty outside one; ``+`` marks changes."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        commit = _git(root, "rev-parse", "--short=12", "HEAD")
        changed = _git(root, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return commit + ("+" if changed else "")


def _git(root: Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()


@cache
def cpu_name() -> str:
    """Return the processor's name."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def vector_level() -> str:
    """Return the vector instructions that numpy found on this processor, most modern last."""
    import numpy as np

    shown: Any = np.show_config(mode="dicts")
    found = shown.get("SIMD Extensions", {})
    return ", ".join([*found.get("baseline", []), *found.get("found", [])]) or "none"
