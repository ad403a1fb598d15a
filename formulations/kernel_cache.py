"""Where compiled kernels are kept: a folder of their own for each state of the sources.

numba notices a change in a kernel's own file only, so a kernel that calls another one in a changed file would
stay stale; a folder named by the digest of all sources rules that out.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import sys
import tempfile
from functools import cache
from pathlib import Path

import platformdirs

__all__ = ["method_version", "prepare"]

PACKAGES = ("instances", "formulations")


@cache
def method_version() -> str:
    """Return a digest of the sources of ``instances`` and ``formulations``: changed code, new records."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def prepare() -> None:
    """Point numba at the cache folder; called before numba is imported, in every process."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    folder = Path(platformdirs.user_cache_dir("certigap")) / "kernels" / method_version()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"certigap-kernels-{getpass.getuser()}" / method_version()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
