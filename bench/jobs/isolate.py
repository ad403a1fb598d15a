"""Limits that the operating system enforces on a worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["memory_limit"]


@contextmanager
def memory_limit(megabytes: float | None) -> Iterator[None]:
    """Limit the address space to what the process has now and ``megabytes`` more (Linux only)."""
    if megabytes is None or not sys.platform.startswith("linux"):
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
