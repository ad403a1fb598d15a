"""Khan's MMKP format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.importers.khan import is_khan, read_khan, read_khan_solutions, write_khan
from instances.mmkp import MmkpInstance
from tests.instances.importers.sample_files import own, public

PUBLIC = [f"I{i:02d}" for i in range(1, 14)]


def changed(folder: Path, old: str, new: str) -> Path:
    """Return a copy of the small file with one text replaced."""
    text = own("mmkp/tiny").read_text()
    assert old in text
    path = folder / "bad"
    path.write_text(text.replace(old, new, 1))
    return path


def test_reads_arrays() -> None:
    """Values come first, weights follow, fractions stay, a leading blank line is skipped."""
    instance = read_khan(own("mmkp/tiny"))
    assert instance.name == "tiny"
    assert instance.capacities.tolist() == [6, 5]
    assert instance.group_start.tolist() == [0, 3, 6]
    assert instance.values.tolist() == [1.5, 4, 6.25, 2, 3, 7]
    assert instance.weights[2].tolist() == [5, 1]


def test_origin() -> None:
    """The origin names the file and its digest."""
    origin = read_khan(own("mmkp/tiny")).origin
    assert origin is not None
    assert origin.source == "khan tiny"
    assert origin.sha256 is not None


def test_embedded_solutions() -> None:
    """Solutions and bound at the end are read, the last line without its newline too."""
    found = read_khan_solutions(own("mmkp/tiny"))
    assert [(s.label, s.choice.item.tolist(), s.objective) for s in found.solutions] == [
        ("HEU", [2, 1], 9.25),
        ("Exact Solution", [1, 2], 11.0),
    ]
    assert found.upper_bound == 11.5


def test_no_trailing_text(tmp_path: Path) -> None:
    """A file that ends after the data is accepted, also with CRLF and other line breaks."""
    data = own("mmkp/tiny").read_text().split(" Solutions", 1)[0]
    path = tmp_path / "plain.txt"
    path.write_bytes(data.replace("\n", "\r\n").replace("1\r\n 1.50", "1 1.50\r\n").encode())
    assert read_khan(path).values.tolist() == read_khan(own("mmkp/tiny")).values.tolist()
    assert read_khan_solutions(path).solutions == []
    assert read_khan_solutions(path).upper_bound is None


def test_write_then_read(tmp_path: Path) -> None:
    """Writing and reading gives the same numbers, also those that are no short decimals."""
    rng = np.random.Generator(np.random.PCG64(1))
    start = np.arange(0, 10, 3)
    instance = MmkpInstance("x", rng.random(2) * 1e15, start, rng.random(9), rng.random((9, 2)) * 1e-7)
    path = tmp_path / "x"
    path.write_text(write_khan(instance))
    again = read_khan(path)
    for key in ("capacities", "group_start", "values", "weights"):
        assert np.array_equal(getattr(instance, key), getattr(again, key))


def test_write_refuses_uneven_groups() -> None:
    """The format has no words for groups of different sizes."""
    instance = MmkpInstance("x", np.ones(1), np.array([0, 1, 3]), np.ones(3), np.ones((3, 1)))
    with pytest.raises(InputError, match=r"found groups of \[1, 2\] items, expected one size"):
        write_khan(instance)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("\n \n5 5 5 \n25", True), ("5 5\n", False), ("5 5 5 5\n", False), ("5 5.0 5\n", False), ("", False)],
)
def test_is_khan(text: str, expected: bool) -> None:
    """Three integers on the first line that is not blank tell the format."""
    assert is_khan(text) is expected


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2 3 2", "2 3", ":2: n l m: found 2 3, expected three integers"),
        ("2 3 2", "0 3 2", ":2: n: found 0, expected an integer from 1 to 10000000"),
        ("2 3 2", "99999 9999 99", ":2: n l m: found 99999 9999 99, expected sizes that the file's numbers"),
        ("2 3 2", "2 3 3", ":5: group: found 1.50, expected the group number 1"),
        ("2 3 2", "2 2 2", ":7: group: found 6.25, expected the group number 2"),
        ("2 3 2", "3 3 2", ":12: group: found Solutions by  HEU, expected the group number 3"),
        ("2 3 2", "1 3 2", ":8: end: found 2, expected nothing after the 1 groups but solutions"),
        ("6  5", "6  -5", ":3: capacity 2: found -5, expected a number from 0 to 1e+15"),
        (
            "4.00  2  2",
            "4.00  2",
            ":9: group: found 2.00, expected the group number 2; a group has 3 items of 3",
        ),
        ("6.25", "-6.25", ":7: group 1, item 3, value: found -6.25, expected a number from 0 to 1e+15"),
        ("6.25", "6,25", ":7: group 1, item 3, value: found 6,25, expected a number"),
        ("6.25", "1e16", ":7: group 1, item 3, value: found 1e16, expected a number"),
        ("5  1 \n2", "5  x \n2", ":7: group 1, item 3, weight 2: found x, expected a number"),
        ("6.25", "nan", ":7: group 1, item 3, value: found nan  5  1, expected a number"),
        ("\n2\n", "\n3\n", ":8: group: found 3, expected the group number 2"),
        ("\n2\n", "\n2.0\n", ":8: group: found 2.0, expected the group number 2"),
        (" Solutions by  HEU", " Lösung", ":12: heading: found Lösung, expected 'Solutions by"),
        (" Solutions by  HEU", " Solutions by", ":12: heading: found Solutions by, expected 'Solutions by"),
        (" Solutions by  HEU", "", ":13: end: found 2, expected nothing after the 2 groups"),
        ("2  1  9.25", "2  9.25", ":12: solution by HEU: found 2 numbers, expected 2 items and the obj"),
        ("2  1  9.25", "2  1  9.25 3", ":12: solution by HEU: found 4 numbers, expected 2 items"),
        ("2  1  9.25", "3  1  9.25", ":12: solution by HEU: found 3, expected an item from 0 to 2"),
        ("2  1  9.25", "2  1  9.2501", ":12: solution by HEU: found 9.2501, expected its objective 9.25"),
        ("2  1  9.25", "2  1  x", ":12: solution by HEU: found x, expected the objective"),
        (
            "2  1  9.25",
            "2  2  13.25",
            ":12: solution by HEU: found 9 of resource 1, expected at most the cap",
        ),
        ("11.50", "11.50 3", ":14: Upper bound: found 11.50 3, expected one number"),
        ("11.50", "", ":14: Upper bound: found nothing, expected one number"),
        ("11.00", "11.00\n Upper bound\n 2", ":18: Upper bound: found a second one, expected one"),
        ("11.00", "11.00 7", ":16: solution by Exact Solution: found 4 numbers"),
        ("11.00", "11.00\nthe end", ":18: heading: found the end, expected 'Solutions by"),
    ],
)
def test_malformed(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A malformed file is refused with file, line, field, what was found and what was expected."""
    path = changed(tmp_path, old, new)
    for reader in (read_khan, read_khan_solutions):
        with pytest.raises(InputError) as caught:
            reader(path)
        assert str(caught.value).startswith(f"{path}{message}")


def test_truncated(tmp_path: Path) -> None:
    """A file that ends inside the data is refused at its last line."""
    path = tmp_path / "cut"
    path.write_text("1 1 2\n3 4\n1\n5 6")
    with pytest.raises(InputError, match=r":4: group 1, item 1, weight 2: found the end of the file"):
        read_khan(path)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_solutions_recompute(name: str) -> None:
    """Every public file's solutions recompute, within its upper bound."""
    found = read_khan_solutions(public(f"mmkp/khan/{name}"))
    assert len(found.solutions) == (3 if name <= "I06" else 2)
    assert found.upper_bound is not None
    assert max(s.objective for s in found.solutions) <= found.upper_bound


def test_public_fractions() -> None:
    """Profits with one decimal are kept: an earlier reader elsewhere rounds them."""
    values = read_khan(public("mmkp/khan/I05")).values
    assert np.any(values != np.rint(values))
    assert np.array_equal(values, np.round(values, 1))
