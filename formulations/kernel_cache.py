"""Where compiled kernels are kept: a folder of their own for each state of the sources.

numba notices a change in a kernel's own file only, so a kernel that calls another one in a changed file would
stay stale; a folder named by the digest of all sources rules that out.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
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
    """Point numba at the cache folder; called before numba is imported, in every process.

    Where the user's cache cannot be written, a temporary folder of this process serves it and its workers.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    try:
        folder = Path(platformdirs.user_cache_dir("certigap")) / "kernels" / method_version()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError):  # RuntimeError: the user has no home
        folder = Path(tempfile.mkdtemp(prefix="certigap-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
