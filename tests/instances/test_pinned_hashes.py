"""Content hashes of generated instances hold on every processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from numpy._core import _multiarray_umath as numpy_build  # type: ignore[attr-defined]

from instances.files import content_hash
from instances.generate import FAMILIES, KINDS, generate
from tests.instances.documents import FOLDER

ROOT = Path(__file__).resolve().parents[2]
PINS: list[dict[str, Any]] = json.loads((FOLDER / "pinned_hashes.json").read_text(encoding="utf-8"))
PROGRAM = """
import json, sys
from numpy._core import _multiarray_umath as numpy_build
from instances.files import content_hash
from instances.generate import generate
calls, disabled = json.load(sys.stdin)
on = [name for name in disabled if numpy_build.__cpu_features__[name]]
print(json.dumps({"on": on, "hashes": [content_hash(generate(**call)) for call in calls]}))
"""


@pytest.mark.parametrize("pin", PINS, ids=lambda pin: f"{pin['call']['family']}-{pin['call']['seed']}")
def test_hash(pin: dict[str, Any]) -> None:
    """A pinned call gives the pinned hash."""
    assert content_hash(generate(**pin["call"])) == pin["sha256"]


def test_pins_cover_the_kinds() -> None:
    """Every kind has a pinned instance."""
    assert {FAMILIES[pin["call"]["family"]].kind for pin in PINS} == set(KINDS)


def test_hashes_without_vector_units() -> None:
    """The hashes do not depend on the vector units that numpy finds at run time."""
    supported = numpy_build.__cpu_features__
    dispatched = [name for name in numpy_build.__cpu_dispatch__ if supported.get(name)]
    disabled = [name for name in dispatched if name not in numpy_build.__cpu_baseline__]
    if not disabled:
        pytest.skip("this numpy has no vector unit that could be disabled")
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([[pin["call"] for pin in PINS], disabled]),
        env=os.environ | {"NPY_DISABLE_CPU_FEATURES": " ".join(disabled)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(answer.stdout) == {"on": [], "hashes": [pin["sha256"] for pin in PINS]}
