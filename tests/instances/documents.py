"""One good file of each format, alterations of it, and the check that a bad one is refused in one line."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from instances.errors import InputError
from instances.files import load

FOLDER = Path(__file__).resolve().parents[1] / "data" / "instances"
INSTANCES = ("balance", "slot", "handover", "retention")
DECISIONS = ("assignment", "allocation", "schedule", "choice", "sigmoid")
FORMATS = INSTANCES + DECISIONS
GOOD: dict[str, dict[str, Any]] = {
    name: json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in FORMATS
}
MISSING = object()


def altered(name: str, place: str, value: object) -> dict[str, Any]:
    """Return the good document of a format with one place (``users.deadline_s.2``) set, or left out."""
    document = copy.deepcopy(GOOD[name])
    *parents, last = [int(key) if key.isdecimal() else key for key in place.split(".")]
    inner: Any = document
    for key in parents:
        inner = inner[key]
    if value is MISSING:
        del inner[last]
    else:
        inner[last] = value
    return document


def write(folder: Path, document: object) -> Path:
    """Write a document (or a text as it is) to a new file."""
    path = folder / "file.json"
    content = document if isinstance(document, str) else json.dumps(document)
    path.write_text(content, encoding="utf-8", newline="\n")
    return path


def assert_refused(path: Path, message: str, line: str = "") -> None:
    """Check that a file is refused in one line: its path, ``:line`` if one is given, and ``message``."""
    with pytest.raises(InputError, match=rf"^{re.escape(f'{path}{line}: {message}')}[^\n]*\Z"):
        load(path)


def key_places(name: str) -> list[str]:
    """Return the places of all keys of a format's good document, nested ones dotted."""
    places = []
    for key, value in GOOD[name].items():
        places.append(key)
        if isinstance(value, dict) and key != "origin":
            places.extend(f"{key}.{inner}" for inner in value)
    return [place for place in places if place != "origin"]


def assert_same(first: Any, second: Any) -> None:
    """Check that two items are equal, arrays bit for bit and of the same type."""
    assert type(first) is type(second)
    if isinstance(first, np.ndarray):
        assert first.dtype == second.dtype
        assert first.shape == second.shape
        assert first.tobytes() == second.tobytes()
    elif is_dataclass(first):
        for field in fields(first):
            assert_same(getattr(first, field.name), getattr(second, field.name))
    else:
        assert first == second


def assert_frozen(item: Any) -> None:
    """Check that no array of an item, or of its users, can be written to."""
    for field in fields(item):
        value = getattr(item, field.name)
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable, field.name
        elif is_dataclass(value):
            assert_frozen(value)
