"""The files that tests read: small own ones, and public ones where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

OWN = Path(__file__).resolve().parents[2] / "data"


def own(name: str) -> Path:
    """Return a small file of the repository."""
    return OWN / name


def public(name: str) -> Path:
    """Return a public file below ``CERTIGAP_DATA``; skip the test where it is missing."""
    root = os.environ.get("CERTIGAP_DATA")
    if not root:
        pytest.skip("CERTIGAP_DATA is not set, so the public files are not at hand")
    path = Path(root) / name
    if not path.is_file():
        pytest.skip(f"the public file {name} is not in CERTIGAP_DATA")
    return path
