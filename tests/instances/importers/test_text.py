"""Reading a text file safely."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import pytest

from instances.errors import InputError
from instances.importers import text
from instances.importers.text import decimal, read, safe_name


def write(folder: Path, content: bytes, name: str = "file.txt") -> Path:
    """Write bytes to a new file."""
    path = folder / name
    path.write_bytes(content)
    return path


def refusal(path: Path) -> str:
    """Return the message with which the file is refused, without its folder."""
    with pytest.raises(InputError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(str(path))


def test_bom_crlf_and_missing_newline(tmp_path: Path) -> None:
    """A byte order mark, CRLF and a missing last newline change nothing."""
    file = read(write(tmp_path, b"\xef\xbb\xbfone\r\ntwo"))
    assert file.lines == read(write(tmp_path, b"one\ntwo\n")).lines == ["one", "two"]


def test_digest_is_of_stored_bytes(tmp_path: Path) -> None:
    """The digest is that of the file as stored, also of a compressed one."""
    stored = gzip.compress(b"one\n")
    file = read(write(tmp_path, stored, "file.txt.gz"))
    assert (file.text, file.sha256) == ("one\n", hashlib.sha256(stored).hexdigest())


def test_lfs_pointer(tmp_path: Path) -> None:
    """A Git LFS pointer is refused by its first line."""
    path = write(tmp_path, b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    assert "found a Git LFS pointer, expected the file itself" in refusal(path)


def test_oversized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file beyond the cap is refused, also when only its expansion is."""
    monkeypatch.setattr(text, "MAX_BYTES", 2**20)
    path = write(tmp_path, b"1" * (2**20 + 1))
    assert refusal(path) == ": found more than 1 MB, expected at most that"
    path = write(tmp_path, gzip.compress(b"1" * (2**20 + 1)), "bomb.gz")
    assert refusal(path) == ": found more than 1 MB, expected at most that"


def test_damaged_gzip(tmp_path: Path) -> None:
    """A cut compressed file is refused."""
    path = write(tmp_path, gzip.compress(b"some text that is long enough")[:-9], "cut.gz")
    assert refusal(path) == ": found damaged gzip data, expected a whole .gz file"


def test_folder_missing_and_empty(tmp_path: Path) -> None:
    """A folder, a missing file and an empty one are told apart."""
    assert refusal(tmp_path) == ": found a folder, expected a file"
    assert refusal(tmp_path / "none") == ": found no such file, expected a file"
    assert refusal(write(tmp_path, b" \n")) == ": found an empty file, expected text"


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission to read is refused with the system's reason."""

    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write(tmp_path, b"1")
    monkeypatch.setattr("builtins.open", denied)
    assert refusal(path) == ": found Permission denied, expected a readable file"


def test_binary(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 and control characters are refused with their line."""
    path = write(tmp_path, b"one\n\xff\xfe")
    assert refusal(path) == ":2: found the byte 0xff, expected UTF-8 text"
    path = write(tmp_path, b"one\n\x00\x05")
    assert refusal(path) == ":2: found the control character 0x00, expected text, not a binary file"


@pytest.mark.parametrize("token", ["", "1,234", "nan", "inf", "1e999", "1_0", "0x1", "--1", "٣", "1" * 500])
def test_no_decimal(token: str) -> None:
    """What is no plain finite decimal is no number."""
    assert decimal(token) is None


@pytest.mark.parametrize("token", ["7", "7.00", "+7", ".7e1", "7."])
def test_decimal(token: str) -> None:
    """A plain decimal is read as Python reads it."""
    assert decimal(token) == 7


@pytest.mark.parametrize(
    ("path", "name"), [("a/I01", "I01"), ("I01.txt.gz", "I01"), ("my file.txt", "my-file"), ("ä", "khan")]
)
def test_safe_name(path: str, name: str) -> None:
    """A file's stem becomes a safe name, or the fallback."""
    assert safe_name(path, "khan") == name
