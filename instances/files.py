"""Read and write instances and decisions: told apart by content, exact round trip, strict with strangers.

Every format is JSON but for MMKP instances, which use the public text formats.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.balance import BalanceInstance, BalanceUsers, LanguageModel, Server
from instances.decisions import Allocation, Assignment, Choice, Decision, Schedule, Sigmoid
from instances.errors import InputError, shown
from instances.handover import HandoverTrace, HandoverUsers, SlotInstance, SlotUsers
from instances.importers import mmkp_text, text
from instances.mmkp import MmkpInstance
from instances.origin import Origin
from instances.retention import RetentionCurve
from instances.strict_json import parse

__all__ = [
    "FORMATS",
    "Instance",
    "content_hash",
    "document_of",
    "dumps",
    "from_document",
    "load",
    "load_decision",
    "load_instance",
    "save",
    "size_of",
]

Instance = BalanceInstance | SlotInstance | HandoverTrace | MmkpInstance | RetentionCurve


def load(path: str | Path, *, item: int | None = None) -> Instance | Decision:
    """Read an instance or a decision from a file, plain or .gz, told apart by its content.

    ``item`` chooses a problem of an MMKP file that holds several, counted from 1.

    Raises
    ------
    InputError
        With one line, ``file: field: what was found, what was expected``.
    """
    source = text.read(path)
    if mmkp_text.format_of(source.text) is not None:
        return mmkp_text.instance_of(source, item)
    if item is not None:
        raise source.error(None, "item", item, "none, the file holds no MMKP problems")
    try:
        if source.text.lstrip()[:1] in ("{", "["):
            return from_document(parse(source.text, finite=False))
        raise InputError("format: found neither JSON nor an MMKP text file, expected a certigap file")
    except InputError as error:
        raise error.within(source.path) from None


def load_instance(path: str | Path, *, item: int | None = None) -> Instance:
    """Read an instance, as ``load`` does; a decision's file is refused."""
    return _expect(path, load(path, item=item), Instance, "an instance")  # type: ignore[no-any-return]


def load_decision(path: str | Path) -> Decision:
    """Read a decision; an instance's file is refused."""
    return _expect(path, load(path), Decision, "a decision")  # type: ignore[no-any-return]


def save(item: Instance | Decision, path: str | Path) -> None:
    """Write ``item`` to ``path`` through a temporary file beside it, so that a crash leaves no half file.

    A path that ends in .gz is compressed.
    """
    write_whole(Path(path), mmkp_text.write_mmkp([item]) if isinstance(item, MmkpInstance) else dumps(item))


def write_whole(target: Path, content: str) -> None:
    """Write a text file completely or not at all, compressed (the same bytes each time) if it ends in .gz.

    Raises
    ------
    InputError
        When the folder is missing or cannot be written, or the disk is full.
    """
    temporary = None
    try:
        stored = content.encode("utf-8")
        if target.suffix == ".gz":
            stored = gzip.compress(stored, mtime=0)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".certigap-", delete=False) as file:
            temporary = file.name
            file.write(stored)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"{target}: found {error.strerror or error}, expected a place to write") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def dumps(item: Instance | Decision) -> str:
    """Return the file's text: one line a top-level key, numbers as their shortest decimals."""
    document = document_of(item)
    lines = [f"{json.dumps(key)}: {json.dumps(value, allow_nan=False)}" for key, value in document.items()]
    return "{" + ",\n ".join(lines) + "}\n"


def content_hash(item: Instance) -> str:
    """Return the sha256 of the canonical JSON (sorted keys, shortest decimals, no white space).

    Provenance does not count, nor does an MMKP's name, which its file formats do not hold: a generated
    instance and its file have the same hash.
    """
    document = document_of(item)
    document.pop("origin", None)
    if isinstance(item, MmkpInstance):
        document.pop("name")
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def size_of(instance: Instance) -> int:
    """Return the number of users, groups or points."""
    if isinstance(instance, MmkpInstance):
        return instance.n_groups
    return instance.n_points if isinstance(instance, RetentionCurve) else instance.n_users


def _expect(path: str | Path, item: Any, kind: Any, words: str) -> Any:
    if not isinstance(item, kind):
        raise InputError(f"{path}: format: found {document_of(item)['format']}, expected {words}")
    return item


class _Fields:
    """The keys of one JSON object: each is taken once, and what is left over is refused."""

    def __init__(self, value: Any, place: str = "") -> None:
        self.place = place
        if not isinstance(value, dict):
            raise InputError(f"{place or 'file'}: found {shown(value)}, expected an object")
        self.left: dict[str, Any] = dict(value)

    def at(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key

    def take(self, key: str) -> Any:
        if key not in self.left:
            raise InputError(f"{self.at(key)}: missing")
        return self.left.pop(key)

    def take_all(self, cls: Any, **known: Any) -> Any:
        """Return ``cls`` built from its fields, all required; errors carry this object's place."""
        values = known | {key: self.take(key) for key in cls.__dataclass_fields__ if key not in known}
        self.finish()
        return self.build(cls, values)

    def build(self, cls: Any, values: dict[str, Any]) -> Any:
        try:
            return cls(**values)
        except InputError as error:
            raise InputError(self.at(str(error))) from None

    def finish(self) -> None:
        for key in self.left:
            raise InputError(f"{self.at(shown(key))}: unknown key, expected none of that name")


def _balance(fields: _Fields) -> BalanceInstance:
    server = _Fields(fields.take("server"), "server")
    values = {
        "name": fields.take("name"),
        "server": server.take_all(Server),
        "llm": _Fields(fields.take("llm"), "llm").take_all(LanguageModel),
        "slm": _Fields(fields.take("slm"), "slm").take_all(LanguageModel),
        "draft_tokens": fields.take("draft_tokens"),
        "users": _Fields(fields.take("users"), "users").take_all(BalanceUsers),
        "origin": _origin(fields),
    }
    return _finished(fields, BalanceInstance, values)  # type: ignore[no-any-return]


def _slot(fields: _Fields) -> SlotInstance:
    keys = ("name", "utility", "slot_s", "bandwidth_bps")
    values = {key: fields.take(key) for key in keys}
    values["users"] = _Fields(fields.take("users"), "users").take_all(SlotUsers)
    values["origin"] = _origin(fields)
    return _finished(fields, SlotInstance, values)  # type: ignore[no-any-return]


def _handover(fields: _Fields) -> HandoverTrace:
    keys = ("name", "utility", "slot_s", "window_slots", "bandwidth_bps", "horizon_s")
    values = {key: fields.take(key) for key in keys}
    values["users"] = _Fields(fields.take("users"), "users").take_all(HandoverUsers)
    values["origin"] = _origin(fields)
    return _finished(fields, HandoverTrace, values)  # type: ignore[no-any-return]


def _retention(fields: _Fields) -> RetentionCurve:
    values = {key: fields.take(key) for key in ("name", "kept", "accuracy")}
    values["origin"] = _origin(fields)
    return _finished(fields, RetentionCurve, values)  # type: ignore[no-any-return]


def _origin(fields: _Fields) -> Origin | None:
    if "origin" not in fields.left:
        return None
    inner = _Fields(fields.take("origin"), "origin")
    values = {key: inner.left.pop(key) for key in Origin.__dataclass_fields__ if key in inner.left}
    inner.finish()
    return Origin(**values)


def _finished(fields: _Fields, cls: Any, values: dict[str, Any]) -> Any:
    fields.finish()
    return fields.build(cls, values)


def _decision(cls: Any) -> Callable[[_Fields], Any]:
    def read(fields: _Fields) -> Any:
        if cls is Assignment and not isinstance(fields.left.get("mode", []), list):
            raise InputError(f"mode: found {shown(fields.left['mode'])}, expected a list of modes")
        return fields.take_all(cls)

    return read


FORMATS: dict[str, tuple[Any, Callable[[_Fields], Any]]] = {
    "certigap/balance": (BalanceInstance, _balance),
    "certigap/slot": (SlotInstance, _slot),
    "certigap/handover": (HandoverTrace, _handover),
    "certigap/retention": (RetentionCurve, _retention),
    "certigap/assignment": (Assignment, _decision(Assignment)),
    "certigap/allocation": (Allocation, _decision(Allocation)),
    "certigap/schedule": (Schedule, _decision(Schedule)),
    "certigap/choice": (Choice, _decision(Choice)),
    "certigap/sigmoid": (Sigmoid, _decision(Sigmoid)),
}
VERSION = 1


def from_document(document: Any) -> Instance | Decision:
    """Return the instance or decision of a parsed JSON document.

    Raises
    ------
    InputError
        Naming the field, what was found and what was expected.
    """
    fields = _Fields(document)
    format_name = fields.take("format")
    if not isinstance(format_name, str) or format_name not in FORMATS:
        raise InputError(f"format: found {shown(format_name)}, expected one of {', '.join(FORMATS)}")
    version = fields.take("version")
    if isinstance(version, bool) or version != VERSION:
        raise InputError(f"version: found {shown(version)}, expected {VERSION}")
    return FORMATS[format_name][1](fields)  # type: ignore[no-any-return]


def document_of(item: Instance | Decision) -> dict[str, Any]:
    """Return the item as the JSON object that its file holds."""
    if isinstance(item, MmkpInstance):
        return {"format": "certigap/mmkp", "version": VERSION} | _plain_fields(item)
    format_name = next(key for key, (cls, _) in FORMATS.items() if isinstance(item, cls))
    return {"format": format_name, "version": VERSION} | _plain_fields(item)


def _plain_fields(item: Any) -> dict[str, Any]:
    pairs = {key: _plain(getattr(item, key)) for key in item.__dataclass_fields__}
    return {key: value for key, value in pairs.items() if not (key == "origin" and value is None)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _plain_array(value)
    if isinstance(value, Origin):
        return value.as_dict()
    if isinstance(value, LanguageModel | Server):
        return {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(value).items()}
    if isinstance(value, BalanceUsers | SlotUsers | HandoverUsers):
        return _plain_fields(value)
    return list(value) if isinstance(value, tuple) else value


def _plain_array(array: NDArray[Any]) -> list[Any]:
    return array.tolist()  # type: ignore[no-any-return]
