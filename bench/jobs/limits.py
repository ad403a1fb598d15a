"""What the operating system limits and measures of one run in a reused process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["forget_peak_memory", "memory_limit", "peak_memory_mb"]

LINUX = sys.platform.startswith("linux")


@contextmanager
def memory_limit(megabytes: float | None) -> Iterator[None]:
    """Limit the address space to what the process has now and ``megabytes`` more (Linux only)."""
    if megabytes is None or not LINUX:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    allowed = pages * resource.getpagesize() + int(megabytes * 2**20)
    hard = before[1]
    resource.setrlimit(resource.RLIMIT_AS, (allowed if hard < 0 else min(allowed, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def forget_peak_memory() -> None:
    """Reset the process's peak, which otherwise never falls in a reused worker."""
    if LINUX:
        try:
            Path("/proc/self/clear_refs").write_text("5")
        except OSError:
            return


def peak_memory_mb() -> float | None:
    """Return the largest resident memory since the last reset, MB; None where it is not known."""
    if not LINUX:
        return None
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return None if line is None else int(line.split()[1]) / 1024.0
