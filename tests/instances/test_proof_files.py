"""Proof files: exact round trip, and refusals of what strangers may send."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from instances.decisions import Assignment
from instances.errors import InputError
from instances.proof_files import MAX_LINE, Header, as_rational, from_rational, read_proof, write_proof

HEADER = Header("balance", "0" * 64, "exact", Fraction(7, 3), Assignment(("ad", "none"), 0.4))
RECORDS: list[dict[str, Any]] = [{"split": [0, 1, 2]}, {}, {"multipliers": [[["1", "3"]]]}]


def written(folder: Path) -> list[str]:
    """Return the lines of a written proof."""
    write_proof(folder / "a.proof", HEADER, RECORDS)
    return gzip.decompress((folder / "a.proof").read_bytes()).decode().splitlines()


def refusal(path: Path, content: bytes) -> str:
    """Write a file and return how it is refused, without the path."""
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        list(read_proof(path)[1])
    return str(caught.value).removeprefix(f"{path}: ")


def test_round_trip(tmp_path: Path) -> None:
    """What is written is read again, compressed or not, and twice the same bytes are written."""
    lines = written(tmp_path)
    first = (tmp_path / "a.proof").read_bytes()
    (tmp_path / "plain.proof").write_text("\n".join(lines) + "\n")
    for name in ("a.proof", "plain.proof"):
        header, records = read_proof(tmp_path / name)
        assert (header, list(records)) == (HEADER, RECORDS)
    write_proof(tmp_path / "b.proof", HEADER, RECORDS)
    assert (tmp_path / "b.proof").read_bytes() == first


def test_failed_writing_leaves_nothing(tmp_path: Path) -> None:
    """When the records cannot be produced there is no file, not even a half one."""

    def broken() -> Any:
        yield {}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_proof(tmp_path / "a.proof", HEADER, broken())
    with pytest.raises(InputError, match="expected a place to write"):
        write_proof(tmp_path / "missing" / "a.proof", HEADER, RECORDS)
    assert list(tmp_path.iterdir()) == []


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    """A file that ends early is refused wherever it ends, compressed or not."""
    lines = written(tmp_path)
    whole = (tmp_path / "a.proof").read_bytes()
    for end in (len(whole) // 2, len(whole) - 9):
        assert "damaged compression" in refusal(tmp_path / "cut", whole[:end])
    for end in range(1, len(lines)):
        text = "\n".join(lines[:end]) + "\n"
        assert "expected its last line" in refusal(tmp_path / "cut", text.encode())
    assert refusal(tmp_path / "cut", b"") == "found an empty file, expected certigap/proof"


def test_line_too_many_or_too_few_is_refused(tmp_path: Path) -> None:
    """The last line counts the records, and stands last."""
    lines = written(tmp_path)
    fewer = "\n".join([*lines[:1], *lines[2:]]) + "\n"
    assert "expected the end of 2 lines" in refusal(tmp_path / "x", fewer.encode())
    more = "\n".join([*lines, "{}"]) + "\n"
    assert "expected the end of 3 lines" in refusal(tmp_path / "x", more.encode())


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("format", "certigap/balance", "format: found certigap/balance, expected certigap/proof"),
        ("version", 2, "version: found 2, expected 1"),
        ("version", True, "version: found True, expected 1"),
        ("problem", 5, "problem: found 5, expected text"),
        ("bound", ["1"], "bound: found ['1'], expected [numerator, denominator] as strings"),
        ("bound", ["1", "0"], "bound: found ['1', '0'], expected integers of at most 1000 digits"),
        ("bound", ["9" * 1001, "1"], "expected integers of at most 1000 digits, the denominator positive"),
        ("remark", 1, "remark: unknown"),
        ("decision", {"format": "certigap/assignment"}, "version: missing"),
    ],
)
def test_wrong_header_is_refused(tmp_path: Path, key: str, value: Any, message: str) -> None:
    """Another format, version or form of the first line is refused by its field."""
    lines = written(tmp_path)
    header = json.loads(lines[0]) | {key: value}
    text = "\n".join([json.dumps(header), *lines[1:]]) + "\n"
    assert message in refusal(tmp_path / "x", text.encode())


def test_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    """A line of a gigabyte in a small file is refused after its first megabytes."""
    lines = written(tmp_path)
    with gzip.open(tmp_path / "bomb", "wb", 9) as stream:
        stream.write(lines[0].encode() + b"\n")
        for _ in range(40):
            stream.write(b" " * 2**20)
    records = read_proof(tmp_path / "bomb")[1]
    with pytest.raises(InputError, match=f"line 2: found more than {MAX_LINE} bytes, expected fewer"):
        next(records)


def test_foreign_files_are_refused(tmp_path: Path) -> None:
    """Binary, JSON of another shape and duplicated keys are refused with the line."""
    lines = written(tmp_path)
    assert "line 1: found bytes that are not UTF-8" in refusal(tmp_path / "x", b"\xff\xfe\x00\n")
    assert refusal(tmp_path / "x", b"{\n").startswith("line 1: found malformed JSON")
    assert "line 1: found [1], expected an object" in refusal(tmp_path / "x", b"[1]\n")
    twice = f'{lines[0]}\n{{"a": 1, "a": 2}}\n'
    assert "line 2: a: " in refusal(tmp_path / "x", twice.encode())


def test_rationals_are_exact() -> None:
    """Rationals of any size within the limit survive as they are."""
    for value in (Fraction(0), Fraction(-1, 3), Fraction(10**999, 7)):
        assert from_rational(as_rational(value)) == value
