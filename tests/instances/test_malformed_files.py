"""Malformed files: refused in one line with file, field, what was found and what was expected."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest

from instances.importers.text import MAX_BYTES
from tests.instances.documents import (
    FOLDER,
    FORMATS,
    GOOD,
    MISSING,
    altered,
    assert_refused,
    key_places,
    write,
)

EVERY_KEY = [(name, place) for name in FORMATS for place in key_places(name)]
NUMBERS = [
    ("balance", "server.memory_bytes", "server.memory_bytes"),
    ("balance", "server.bytes_per_value", "server.bytes_per_value"),
    ("balance", "server.compute_shares.1", "server.compute_shares[1]"),
    ("balance", "server.memory_shares.2", "server.memory_shares[2]"),
    *[("balance", f"llm.{key}", f"llm.{key}") for key in GOOD["balance"]["llm"]],
    ("balance", "slm.hidden", "slm.hidden"),
    ("balance", "slm.seconds_per_pass", "slm.seconds_per_pass"),
    ("balance", "draft_tokens", "draft_tokens"),
    *[("balance", f"users.{key}.2", f"users.{key}[2]") for key in GOOD["balance"]["users"]],
    ("slot", "slot_s", "slot_s"),
    ("slot", "bandwidth_bps", "bandwidth_bps"),
    *[("slot", f"users.{key}.1", f"users.{key}[1]") for key in GOOD["slot"]["users"]],
    ("handover", "slot_s", "slot_s"),
    ("handover", "window_slots", "window_slots"),
    ("handover", "bandwidth_bps", "bandwidth_bps"),
    ("handover", "horizon_s", "horizon_s"),
    ("handover", "origin.seed", "origin.seed"),
    *[("handover", f"users.{key}.0", f"users.{key}[0]") for key in GOOD["handover"]["users"]],
    ("retention", "kept.1", "kept[1]"),
    ("retention", "accuracy.0", "accuracy[0]"),
    ("assignment", "compute_share", "compute_share"),
    ("allocation", "fraction.1", "fraction[1]"),
    ("schedule", "user.2", "user[2]"),
    ("schedule", "slot.0", "slot[0]"),
    ("schedule", "bits.1", "bits[1]"),
    ("choice", "item.2", "item[2]"),
    *[("sigmoid", key, key) for key in ("ceiling", "sharpness", "anchor")],
]
LISTS = [
    ("balance", "server.compute_shares"),
    ("balance", "users.deadline_s"),
    ("slot", "users.received"),
    ("handover", "users.context_tokens"),
    ("retention", "accuracy"),
    ("allocation", "fraction"),
    ("schedule", "bits"),
    ("choice", "item"),
]
OUT_OF_RANGE: list[tuple[str, str, object, str]] = [
    ("balance", "server.memory_bytes", -1, "server.memory_bytes: found -1, expected at least 0"),
    ("balance", "server.bytes_per_value", 0, "server.bytes_per_value: found 0, expected more than 0"),
    ("balance", "server.compute_shares.0", 0.05, "server.compute_shares: found [0.05, 0.1, 0.2, "),
    ("balance", "server.compute_shares.10", 0.95, "server.compute_shares: found [0.0, 0.1, 0.2, "),
    ("balance", "server.memory_shares.1", 1, "server.memory_shares[2]: found 1.0, expected more than 1.0"),
    ("balance", "server.memory_shares.1", 1.5, "server.memory_shares[1]: found 1.5, expected 0 to 1"),
    ("balance", "llm.layers", 0, "llm.layers: found 0, expected 1 to 1e+07"),
    ("balance", "llm.heads", 2.5, "llm.heads: found 2.5, expected an integer"),
    ("balance", "slm.ffn", 10**8, "slm.ffn: found 100000000, expected 1 to 1e+07"),
    ("balance", "slm.seconds_per_flop", -1e-12, "slm.seconds_per_flop: found -1e-12, expected 0 to 1e+06"),
    ("balance", "draft_tokens", 0, "draft_tokens: found 0, expected 1 to 1000"),
    ("balance", "draft_tokens", 1001, "draft_tokens: found 1001, expected 1 to 1000"),
    ("balance", "draft_tokens", 1.5, "draft_tokens: found 1.5, expected an integer"),
    ("balance", "users.input_tokens.0", 0, "users.input_tokens[0]: found 0, expected 1 to 1e+07"),
    ("balance", "users.output_tokens.1", 1.5, "users.output_tokens[1]: found 1.5, expected an integer"),
    ("balance", "users.deadline_s.2", -0.1, "users.deadline_s[2]: found -0.1, expected 0 to 1e+09"),
    ("balance", "users.acceptance.1", 1.01, "users.acceptance[1]: found 1.01, expected 0 to 1"),
    ("balance", "users.upload_s.0", 1e10, "users.upload_s[0]: found 10000000000.0, expected 0 to 1e+09"),
    ("balance", "users.download_s.0", -1, "users.download_s[0]: found -1, expected 0 to 1e+09"),
    ("slot", "slot_s", 0, "slot_s: found 0, expected more than 0"),
    ("slot", "bandwidth_bps", -5, "bandwidth_bps: found -5, expected more than 0"),
    ("slot", "bandwidth_bps", 5e-324, "bandwidth_bps: found 5e-324 in slots of 0.1 s, expected a slot that"),
    ("slot", "users.cache_bits.0", 0, "users.cache_bits[0]: found 0, expected more than 0"),
    ("slot", "users.cache_bits.0", 1e31, "users.cache_bits[0]: found 1e+31, expected at most 1e+30"),
    (
        "slot",
        "users.received.2",
        1.0000000000000002,
        "users.received[2]: found 1.0000000000000002, expected 0",
    ),
    ("slot", "users.ceiling.0", 0, "users.ceiling[0]: found 0, expected more than 0"),
    ("slot", "users.sharpness.0", -48, "users.sharpness[0]: found -48, expected more than 0"),
    ("slot", "users.anchor.0", -0.1, "users.anchor[0]: found -0.1, expected 0 to 1"),
    ("handover", "window_slots", 0, "window_slots: found 0, expected 1 to 1e+07"),
    ("handover", "window_slots", 10**8, "window_slots: found 100000000, expected 1 to 1e+07"),
    ("handover", "window_slots", 2.5, "window_slots: found 2.5, expected an integer"),
    ("handover", "window_slots", [1, 0, 1], "window_slots[1]: found 0, expected 1 to 1e+07"),
    ("handover", "window_slots", [1, 2], "window_slots: found 2 entries, expected 3, one a user"),
    ("handover", "horizon_s", -1, "horizon_s: found -1, expected 0 to 1e+09"),
    ("handover", "horizon_s", 99, "users.arrival_s[2]: found 99.5, expected at most horizon_s = 99.0"),
    (
        "handover",
        "slot_s",
        1e-300,
        "users.arrival_s[1]: found 0.3, expected less than 10000000 slots of 1e-3",
    ),
    ("handover", "users.arrival_s.0", -1, "users.arrival_s[0]: found -1, expected 0 to 1e+09"),
    ("handover", "users.context_tokens.1", 0, "users.context_tokens[1]: found 0, expected 1 to 1e+09"),
    ("handover", "origin.seed", -1, "origin.seed: found -1, expected 0 to 9.0072e+15"),
    ("handover", "origin.sha256", "ff", "origin.sha256: found ff, expected 64 hexadecimal digits"),
    ("handover", "origin.source", "x" * 1001, "origin.source: found xxx"),
    ("retention", "kept.3", 1.5, "kept[3]: found 1.5, expected 0 to 1"),
    ("retention", "kept", [0.5, 0.5, 1, 1], "kept: found 2 different fractions, expected at least 3"),
    ("retention", "accuracy.0", -1, "accuracy[0]: found -1, expected 0 to 1e+06"),
    ("retention", "accuracy", [0, 0, 0, 0], "accuracy: found none above 0, expected some"),
    ("retention", "accuracy", [1, 2, 3], "accuracy: found 3 entries, expected 4 as in kept"),
    ("assignment", "compute_share", 1.1, "compute_share: found 1.1, expected 0 to 1"),
    ("allocation", "fraction.0", -1e-300, "fraction[0]: found -1e-300, expected 0 to 1"),
    ("schedule", "user.0", -1, "user[0]: found -1, expected 0 to 1e+09"),
    ("schedule", "slot.0", 10**8, "slot[0]: found 100000000, expected 0 to 2e+07"),
    ("schedule", "slot.2", 0.5, "slot[2]: found 0.5, expected an integer"),
    ("schedule", "bits.0", -1, "bits[0]: found -1, expected 0 to 1e+30"),
    ("schedule", "slot.2", 4, "schedule: user 1 in slot 4 is listed twice, expected once"),
    ("choice", "item.1", -1, "item[1]: found -1, expected 0 to 1e+07"),
    ("sigmoid", "ceiling", 0, "ceiling: found 0, expected more than 0"),
    ("sigmoid", "sharpness", -1, "sharpness: found -1, expected more than 0"),
    ("sigmoid", "anchor", 2.5, "anchor: found 2.5, expected -1 to 2"),
]
WRONG_TEXTS: list[tuple[str, str, object, str]] = [
    ("slot", "utility", "cubic", "utility: found cubic, expected one of algebraic, logistic, erf, arctan"),
    ("slot", "utility", ["erf"], "utility: found ['erf'], expected one of algebraic"),
    ("sigmoid", "utility", "cubic", "utility: found cubic, expected one of algebraic, logistic, erf, arctan"),
    ("handover", "utility", None, "utility: found None, expected one of algebraic"),
    ("handover", "origin.preset", 5, "origin.preset: found 5, expected a text of at most 1000 characters"),
    ("handover", "origin", None, "origin: found None, expected an object"),
    ("handover", "origin", {"who": 1}, "origin.who: unknown key"),
    ("assignment", "mode.1", "AD", "mode[1]: found AD, expected one of none, ad, sd"),
    ("assignment", "mode.0", ["ad"], "mode[0]: found ['ad'], expected one of none, ad, sd"),
    ("assignment", "mode", "ad", "mode: found ad, expected a list of modes"),
    ("assignment", "mode", {"ad": 1}, "mode: found {'ad': 1}, expected a list of modes"),
]


@pytest.mark.parametrize(("name", "place"), EVERY_KEY)
def test_missing_key(name: str, place: str, tmp_path: Path) -> None:
    """Every key is required, and a missing one is named by its place."""
    assert_refused(write(tmp_path, altered(name, place, MISSING)), f"{place}: missing")


@pytest.mark.parametrize("name", FORMATS)
def test_unknown_key(name: str, tmp_path: Path) -> None:
    """An unknown key is refused by name."""
    assert_refused(write(tmp_path, altered(name, "colour", 1)), "colour: unknown key, expected none of")


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("balance", "server"),
        ("balance", "llm"),
        ("balance", "slm"),
        ("balance", "users"),
        ("slot", "users"),
        ("handover", "users"),
        ("handover", "origin"),
    ],
)
def test_unknown_nested_key(name: str, place: str, tmp_path: Path) -> None:
    """An unknown key of an inner object is refused by its dotted name."""
    path = write(tmp_path, altered(name, f"{place}.colour", 1))
    assert_refused(path, f"{place}.colour: unknown key, expected none of that name")


@pytest.mark.parametrize("key", ["two\nlines", "\x1b[31m", "x" * 10**5], ids=["lines", "escape", "long"])
def test_unknown_key_stays_in_its_line(key: str, tmp_path: Path) -> None:
    """A hostile key is shown short and in one line."""
    shown = "".join(c if c.isprintable() else "?" for c in key[:57])
    assert_refused(write(tmp_path, altered("slot", f"users.{key}", 1)), f"users.{shown}")


@pytest.mark.parametrize(("name", "place", "field"), NUMBERS)
@pytest.mark.parametrize(
    ("value", "shown"), [(True, "True"), ("1", '"1" (text)'), ([[1]], "[[1]]"), ({}, "{}")]
)
def test_wrong_type(name: str, place: str, field: str, value: object, shown: str, tmp_path: Path) -> None:
    """Booleans, texts, lists and objects are no numbers, wherever one is due."""
    if place == "window_slots" and isinstance(value, list):
        field, shown = "window_slots[0]", "[1]"
    assert_refused(write(tmp_path, altered(name, place, value)), f"{field}: found {shown}, expected a number")


@pytest.mark.parametrize(("name", "place", "field"), NUMBERS)
@pytest.mark.parametrize(
    "literal", ["NaN", "-Infinity", "1e999", "9" * 5000], ids=["nan", "inf", "1e999", "5000"]
)
def test_not_finite(name: str, place: str, field: str, literal: str, tmp_path: Path) -> None:
    """NaN, infinities, overflow and endless numbers are refused by their field."""
    text = json.dumps(altered(name, place, "here")).replace('"here"', literal)
    found = -math.inf if literal[0] == "-" else math.inf if literal != "NaN" else math.nan
    assert_refused(write(tmp_path, text), f"{field}: found {found}, expected a finite number")


@pytest.mark.parametrize(("name", "place"), LISTS)
@pytest.mark.parametrize(("value", "shown"), [(None, "None"), (5, "5"), ("12", "12"), ({"0": 1}, "{'0': 1}")])
def test_no_list(name: str, place: str, value: object, shown: str, tmp_path: Path) -> None:
    """What is no list is refused where a list is due."""
    path = write(tmp_path, altered(name, place, value))
    assert_refused(path, f"{place}: found {shown}, expected a list of numbers")


@pytest.mark.parametrize(
    ("name", "place"), [("balance", "server"), ("balance", "llm"), ("balance", "users"), ("slot", "users")]
)
@pytest.mark.parametrize(("value", "shown"), [(None, "None"), ([], "[]"), ("x", "x"), (1, "1")])
def test_no_object(name: str, place: str, value: object, shown: str, tmp_path: Path) -> None:
    """What is no object is refused where an object is due."""
    path = write(tmp_path, altered(name, place, value))
    assert_refused(path, f"{place}: found {shown}, expected an object")


@pytest.mark.parametrize(
    ("name", "place", "message"),
    [
        ("balance", "users.deadline_s", "users.deadline_s: found 4 entries, expected 3 as in input_tokens"),
        ("slot", "users.anchor", "users.anchor: found 4 entries, expected 3 as in cache_bits"),
        ("handover", "users.ceiling", "users.ceiling: found 4 entries, expected 3 as in arrival_s"),
        ("schedule", "bits", "bits: found 4 entries, expected 3 as in user"),
    ],
)
def test_wrong_length(name: str, place: str, message: str, tmp_path: Path) -> None:
    """Lists of different lengths are refused by the one that differs."""
    assert_refused(write(tmp_path, altered(name, place, [1, 1, 1, 1])), message)


@pytest.mark.parametrize(("name", "place", "value", "message"), OUT_OF_RANGE)
def test_out_of_range(name: str, place: str, value: object, message: str, tmp_path: Path) -> None:
    """Negative, too large, fractional or contradictory values are refused by field and range."""
    assert_refused(write(tmp_path, altered(name, place, value)), message)


def test_endless_service(tmp_path: Path) -> None:
    """Without a deadline, caches that need more slots than can be counted are refused."""
    document = altered("handover", "window_slots", None) | {"bandwidth_bps": 1}
    assert_refused(write(tmp_path, document), "window_slots: found None, expected a deadline or caches that")


@pytest.mark.parametrize(("name", "place", "value", "message"), WRONG_TEXTS)
def test_wrong_text(name: str, place: str, value: object, message: str, tmp_path: Path) -> None:
    """A word that is none of the known ones is refused with the known ones."""
    assert_refused(write(tmp_path, altered(name, place, value)), message)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("version", [0, 2, "1", True, None, 1.5, [1]])
def test_wrong_version(name: str, version: object, tmp_path: Path) -> None:
    """Another version is refused, also one that only looks like 1."""
    shown = version if isinstance(version, str) else repr(version)
    assert_refused(write(tmp_path, altered(name, "version", version)), f"version: found {shown}, expected 1")


@pytest.mark.parametrize("value", ["certigap/mmkp", "certigap/Balance", "", None, 1, ["certigap/slot"]])
def test_unknown_format(value: object, tmp_path: Path) -> None:
    """An unknown format is refused with the known ones."""
    shown = value if isinstance(value, str) else repr(value)
    path = write(tmp_path, altered("slot", "format", value))
    assert_refused(
        path, f"format: found {shown}, expected one of certigap/balance, certigap/slot, certigap/h"
    )


@pytest.mark.parametrize("name", ["balance", "slot", "handover", "retention"])
@pytest.mark.parametrize("value", ["", ".hidden", "../up", "a b", "é", "x" * 101, None, 5, "two\nlines"])
def test_wrong_name(name: str, value: object, tmp_path: Path) -> None:
    """A name that cannot be a file's name is refused."""
    assert_refused(write(tmp_path, altered(name, "name", value)), "name: found '")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "file: found [], expected an object"),
        ({}, "format: missing"),
        ([GOOD["slot"]], "file: found [{'format'"),
        ("{" * 100_000, "nesting: found more than 50 levels, expected fewer"),
        ('{"format": "certigap/slot",\n"version": 1', "line 2: found malformed JSON"),
        ('{"a": 1, "a": 2}', "a: found twice, expected once"),
        ('{"format": NaN}', "format: found nan, expected one of certigap/balance"),
        ("1 2 3 4 5", "format: found neither JSON nor an MMKP text file, expected a certigap file"),
        ("name,age\n1,2\n", "format: found neither JSON nor an MMKP text file, expected a certigap file"),
        ('"text"', "format: found neither JSON nor an MMKP text file, expected a certigap file"),
    ],
    ids=["list", "empty", "listed", "deep", "cut", "twice", "nan", "numbers", "table", "string"],
)
def test_no_document(document: Any, message: str, tmp_path: Path) -> None:
    """What is not one object of a known format is refused."""
    assert_refused(write(tmp_path, document), message)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("duplicated_key.json", "item: found twice, expected once"),
        ("nan.json", "fraction[1]: found nan, expected a finite number"),
        ("overflow.json", "bits[0]: found inf, expected a finite number"),
        ("truncated.json", "line 3: found malformed JSON"),
        ("lfs_pointer.json", "found a Git LFS pointer, expected the file itself (run git lfs pull)"),
        ("model.mps", "format: found neither JSON nor an MMKP text file, expected a certigap file"),
    ],
)
def test_bad_files(name: str, message: str) -> None:
    """The bad files that are kept are refused."""
    assert_refused(FOLDER / "bad" / name, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "found an empty file, expected text"),
        (b" \n\n", "found an empty file, expected text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "found the byte 0x89, expected UTF-8 text"),
        (b"{\x00}", "found the control character 0x00, expected text, not a binary file"),
        (b'{"name": "\xff"}', "found the byte 0xff, expected UTF-8 text"),
        (b"\x1f\x8b\x08\x00cut", "found damaged gzip data, expected a whole .gz file"),
        (b"PK\x03\x04rest", "found the control character 0x03, expected text, not a binary file"),
    ],
    ids=["empty", "blank", "png", "nul", "latin", "gzip", "zip"],
)
def test_foreign_bytes(content: bytes, message: str, tmp_path: Path) -> None:
    """A file that is no text is refused, with its line where it has one."""
    path = tmp_path / "foreign"
    path.write_bytes(content)
    line = ":1" if "the byte" in message or "character" in message else ""
    assert_refused(path, message, line)


def test_folder(tmp_path: Path) -> None:
    """A folder is refused."""
    assert_refused(tmp_path, "found a folder, expected a file")


def test_missing_file(tmp_path: Path) -> None:
    """A missing file is refused."""
    assert_refused(tmp_path / "none.json", "found no such file, expected a file")


def test_oversized(tmp_path: Path) -> None:
    """A file of more than 64 MB is refused."""
    path = tmp_path / "large.json"
    path.touch()
    os.truncate(path, MAX_BYTES + 1)
    assert_refused(path, "found more than 64 MB, expected at most that")


@pytest.mark.parametrize("name", ["users", "server", "format"])
def test_file_named_as_a_field(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is called as one of its fields is named all the same."""
    write(tmp_path, altered("balance", "users.deadline_s.2", -1)).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert_refused(Path(name), "users.deadline_s[2]: found -1, expected 0 to 1e+09")
