"""Files of every format: exact round trip, content hash, whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from instances.balance import BalanceInstance
from instances.decisions import Allocation, Assignment, Choice, Schedule, Sigmoid
from instances.errors import InputError
from instances.files import content_hash, document_of, dumps, load, load_decision, load_instance, save
from instances.handover import HandoverTrace, HandoverUsers, SlotInstance
from instances.importers.khan import read_khan
from instances.mmkp import MmkpInstance
from instances.origin import Origin
from instances.retention import RetentionCurve
from tests.instances.documents import (
    DECISIONS,
    FOLDER,
    FORMATS,
    GOOD,
    INSTANCES,
    MISSING,
    altered,
    assert_frozen,
    assert_same,
    write,
)

CLASSES = (
    *(BalanceInstance, SlotInstance, HandoverTrace, RetentionCurve),
    *(Assignment, Allocation, Schedule, Choice, Sigmoid),
)
AWKWARD = [0.1 + 0.2, 1 / 3, 5e-324, np.nextafter(1, 0), 0.0, 1.0, 2.220446049250313e-16, 0.7]


def awkward_trace() -> HandoverTrace:
    """Return a trace of numbers that a careless writer would change."""
    n = len(AWKWARD)
    positive = np.array(AWKWARD) + 1e-300
    fractions = np.array(AWKWARD)
    users = HandoverUsers(fractions, np.full(n, 10**9), positive * 1e29, positive, positive, fractions)
    return HandoverTrace("awkward", "erf", 1 / 3, np.arange(1, n + 1), 1e21 / 7, 1e9 / 3, users)


def small_mmkp() -> MmkpInstance:
    """Return an MMKP with fractional, large and zero numbers."""
    return MmkpInstance(
        "small",
        np.array([6.5, 1e15]),
        np.array([0, 2, 4]),
        np.array([0.1 + 0.2, 4.0, 1e14 + 0.5, 0.0]),
        np.array([[1 / 3, 2.0], [0.0, 0.7], [1e-9, 3.0], [2.5, 1e15]]),
    )


@pytest.mark.parametrize(("name", "expected"), list(zip(FORMATS, CLASSES, strict=True)))
def test_designs_examples(name: str, expected: type) -> None:
    """A file written by hand in the design's layout is read as what it says it is."""
    assert type(load(FOLDER / f"{name}.json")) is expected


@pytest.mark.parametrize("name", FORMATS)
def test_round_trip(name: str, tmp_path: Path) -> None:
    """What is written is read back bit for bit, types included."""
    item = load(FOLDER / f"{name}.json")
    save(item, tmp_path / "again.json")
    assert_same(load(tmp_path / "again.json"), item)


@pytest.mark.parametrize("name", FORMATS)
def test_round_trip_of_text(name: str, tmp_path: Path) -> None:
    """Writing what was read gives the same text again."""
    item = load(FOLDER / f"{name}.json")
    assert dumps(load(write(tmp_path, dumps(item)))) == dumps(item)


@pytest.mark.parametrize("name", FORMATS)
def test_written_numbers_are_the_given_ones(name: str) -> None:
    """The written document equals the given one as JSON: no key and no digit comes or goes."""
    assert document_of(load(FOLDER / f"{name}.json")) == GOOD[name]


@pytest.mark.parametrize("name", FORMATS)
def test_arrays_of_files_are_frozen(name: str) -> None:
    """Arrays that come from a file are read-only."""
    assert_frozen(load(FOLDER / f"{name}.json"))


@pytest.mark.parametrize("name", FORMATS)
def test_compressed(name: str, tmp_path: Path) -> None:
    """A compressed file is the same item, whatever its name."""
    path = tmp_path / "no-suffix"
    path.write_bytes(gzip.compress((FOLDER / f"{name}.json").read_bytes()))
    assert_same(load(path), load(FOLDER / f"{name}.json"))


def test_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    """A byte order mark and CRLF change nothing."""
    text = (FOLDER / "slot.json").read_text(encoding="utf-8").replace("\n", "\r\n")
    path = tmp_path / "slot.json"
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert_same(load(path), load(FOLDER / "slot.json"))


def test_awkward_numbers(tmp_path: Path) -> None:
    """Doubles that need seventeen digits, denormal ones too, survive."""
    save(awkward_trace(), tmp_path / "trace.json")
    assert_same(load(tmp_path / "trace.json"), awkward_trace())


def test_mmkp_round_trip(tmp_path: Path) -> None:
    """An MMKP's text file holds the same arrays and has the same hash; its name is the file's."""
    save(small_mmkp(), tmp_path / "other.txt")
    again = load_instance(tmp_path / "other.txt")
    assert_same(replace(again, name="small", origin=None), small_mmkp())
    assert content_hash(again) == content_hash(small_mmkp())


def test_mmkp_by_content(tmp_path: Path) -> None:
    """A Khan file is recognised by its content, compressed too."""
    path = tmp_path / "tiny.json"
    path.write_bytes(gzip.compress((FOLDER.parent / "mmkp" / "tiny").read_bytes()))
    assert content_hash(load_instance(path)) == content_hash(read_khan(FOLDER.parent / "mmkp" / "tiny"))


@pytest.mark.parametrize("name", ["balance", "slot", "handover"])
@pytest.mark.parametrize("count", [0, 1])
def test_few_users(name: str, count: int, tmp_path: Path) -> None:
    """No users, and one user, are instances like others."""
    few = {key: values[:count] for key, values in GOOD[name]["users"].items()}
    instance = load_instance(write(tmp_path, altered(name, "users", few)))
    save(instance, tmp_path / "again.json")
    assert not isinstance(instance, MmkpInstance)
    assert instance.n_users == count
    assert_same(load(tmp_path / "again.json"), instance)


@pytest.mark.parametrize("name", DECISIONS)
def test_decisions_for_nobody(name: str, tmp_path: Path) -> None:
    """A decision about nobody is a decision."""
    empty = {key: [] if isinstance(value, list) else value for key, value in GOOD[name].items()}
    assert_same(document_of(load(write(tmp_path, empty))), empty)


@pytest.mark.parametrize("window", [1, 10**7, [1, 2, 3], None])
def test_window_slots(window: object, tmp_path: Path) -> None:
    """A window is one number, one a user, or none, and stays so."""
    trace = load(write(tmp_path, altered("handover", "window_slots", window)))
    assert document_of(trace)["window_slots"] == window
    save(trace, tmp_path / "again.json")
    assert_same(load(tmp_path / "again.json"), trace)


@pytest.mark.parametrize("name", ["source", "sha256", "seed", "preset"])
def test_origin_is_optional_in_parts(name: str, tmp_path: Path) -> None:
    """Each field of the origin may be absent, and then stays absent."""
    document = altered("handover", f"origin.{name}", MISSING)
    assert document_of(load(write(tmp_path, document))) == document


@pytest.mark.parametrize("name", INSTANCES)
def test_hash_is_of_the_canonical_json(name: str) -> None:
    """The hash is the sha256 of the written JSON without origin, keys sorted, without white space."""
    instance = load_instance(FOLDER / f"{name}.json")
    document = json.loads(dumps(instance))
    document.pop("origin", None)
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
    assert content_hash(instance) == hashlib.sha256(canonical.encode()).hexdigest()


def test_hash_ignores_origin() -> None:
    """Where an instance comes from does not count."""
    instance = load_instance(FOLDER / "handover.json")
    assert content_hash(replace(instance, origin=Origin(source="elsewhere"))) == content_hash(instance)
    assert content_hash(replace(instance, origin=None)) == content_hash(instance)


def test_hash_ignores_the_notation(tmp_path: Path) -> None:
    """The order of keys, white space and 1.0 for 1 do not count."""
    text = json.dumps(GOOD["slot"], sort_keys=True, indent=3).replace("20000000000.0", "2e10")
    assert content_hash(load_instance(write(tmp_path, text))) == content_hash(
        load_instance(FOLDER / "slot.json")
    )


@pytest.mark.parametrize(
    ("place", "value"), [("name", "two-slots"), ("users.received.1", 0.5000000000000001), ("utility", "erf")]
)
def test_hash_counts_everything_else(place: str, value: object, tmp_path: Path) -> None:
    """A change of a name or of a last bit changes the hash."""
    other = load_instance(write(tmp_path, altered("slot", place, value)))
    assert content_hash(other) != content_hash(load_instance(FOLDER / "slot.json"))


def test_mmkp_hash_ignores_the_name() -> None:
    """An MMKP's name does not count, since its file does not hold it."""
    assert content_hash(replace(small_mmkp(), name="other")) == content_hash(small_mmkp())


def test_instance_where_a_decision_is_wanted() -> None:
    """An instance's file is no decision."""
    with pytest.raises(InputError, match=r"slot\.json: format: found certigap/slot, expected a decision$"):
        load_decision(FOLDER / "slot.json")


def test_decision_where_an_instance_is_wanted() -> None:
    """A decision's file is no instance."""
    expected = r"choice\.json: format: found certigap/choice, expected an instance$"
    with pytest.raises(InputError, match=expected):
        load_instance(FOLDER / "choice.json")


def test_saving_replaces(tmp_path: Path) -> None:
    """An existing file is replaced whole."""
    path = write(tmp_path, "x" * 10**5)
    save(load(FOLDER / "choice.json"), path)
    assert_same(load(path), load(FOLDER / "choice.json"))
    assert list(tmp_path.iterdir()) == [path]


def test_saving_into_a_missing_folder(tmp_path: Path) -> None:
    """A missing folder is refused in one line and not made."""
    path = tmp_path / "missing" / "a.json"
    with pytest.raises(
        InputError, match=r"a\.json: found No such file or directory, expected a place to write$"
    ):
        save(load(FOLDER / "choice.json"), path)
    assert list(tmp_path.iterdir()) == []


def test_saving_below_a_file(tmp_path: Path) -> None:
    """A path below a file is refused in one line, and the file stays."""
    (tmp_path / "file").write_text("old")
    with pytest.raises(InputError, match=r"a\.json: found Not a directory, expected a place to write$"):
        save(load(FOLDER / "choice.json"), tmp_path / "file" / "a.json")
    assert (tmp_path / "file").read_text() == "old"


def test_saving_over_a_folder(tmp_path: Path) -> None:
    """A folder is not replaced, and nothing is left in it or beside it."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"folder: found Is a directory, expected a place to write$"):
        save(load(FOLDER / "choice.json"), tmp_path / "folder")
    assert list(tmp_path.rglob("*")) == [tmp_path / "folder"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that is read-only for root too")
def test_saving_into_a_read_only_folder() -> None:
    """A folder that takes no files is refused in one line."""
    with pytest.raises(InputError, match=r"^/proc/a\.json: found [^\n]+, expected a place to write$"):
        save(load(FOLDER / "choice.json"), "/proc/a.json")


@pytest.mark.parametrize(
    ("crash", "seen", "message"),
    [
        (OSError(28, "No space left on device"), InputError, "found No space left on device, expected a pl"),
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
        (MemoryError("none left"), MemoryError, "none left"),
    ],
    ids=["disk", "interrupt", "memory"],
)
def test_crash_while_writing(
    crash: BaseException,
    seen: type[BaseException],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A crash before the new file is in place leaves the old one, and nothing beside it."""
    path = write(tmp_path, "old")

    def fail(*_: object) -> None:
        raise crash

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(seen, match=message):
        save(load(FOLDER / "choice.json"), path)
    assert {p: p.read_text() for p in tmp_path.iterdir()} == {path: "old"}


def test_uneven_mmkp_is_written_in_the_irregular_format(tmp_path: Path) -> None:
    """Groups of different sizes, which Khan's format has no words for, come back bit for bit, .gz too."""
    uneven = replace(small_mmkp(), group_start=np.array([0, 1, 4]))
    for name in ("uneven.txt", "uneven.gz"):
        save(uneven, tmp_path / name)
        again = load_instance(tmp_path / name)
        assert_same(replace(again, name="small", origin=None), uneven)


def test_mmkp_that_has_no_text_format(tmp_path: Path) -> None:
    """Without groups there is nothing to write, and no file appears."""
    empty = MmkpInstance("empty", np.ones(1), np.array([0]), np.array([]), np.empty((0, 1)))
    with pytest.raises(InputError, match=r"^mmkp: found 0 groups and 1 resources, expected at least one"):
        save(empty, tmp_path / "empty.txt")
    assert list(tmp_path.iterdir()) == []


def test_compressed_bytes_are_the_same_each_time(tmp_path: Path) -> None:
    """A .gz is told by its name and holds no time of writing."""
    for name in ("one.gz", "two.gz"):
        save(small_mmkp(), tmp_path / name)
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert (tmp_path / "one.gz").read_bytes()[:2] == b"\x1f\x8b"


def test_item_of_a_file_without_problems(tmp_path: Path) -> None:
    """An item is refused where the file is no MMKP."""
    path = write(tmp_path, "{}")
    with pytest.raises(InputError, match=r"item: found 2, expected none, the file holds no MMKP problems"):
        load(path, item=2)
