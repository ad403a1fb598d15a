"""The MMKP text formats beside Khan's: read, written, and told apart by content."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.files import content_hash, load_instance
from instances.importers.hiremath_hill import read_hiremath_hill, write_hiremath_hill
from instances.importers.irregular import read_irregular, write_irregular
from instances.importers.khan import read_khan, write_khan
from instances.importers.mmkp_text import format_of, read_mmkp, without_padding, write_mmkp
from instances.mmkp import MmkpInstance
from tests.formulations.mmkp.random_instances import random_instance
from tests.instances.importers.sample_files import own, public


def written(folder: Path, text: str) -> Path:
    """Return a file that holds the text, line ends as they are."""
    path = folder / "instance"
    path.write_bytes(text.encode())
    return path


def same(first: MmkpInstance, second: MmkpInstance) -> bool:
    """Tell whether two instances hold the same numbers."""
    return content_hash(first) == content_hash(second)


def test_groups_of_one_item_and_of_value_zero() -> None:
    """Groups differ in size, one item alone is a forced choice, and an item may be worth nothing."""
    instance = read_irregular(own("mmkp/irregular.txt"))
    assert instance.group_start.tolist() == [0, 3, 4]
    assert instance.values.tolist() == [1, 4.5, 0, 6]
    assert instance.weights[2].tolist() == [9, 9]
    assert instance.name == "irregular"


def test_tabs_and_blank_lines_of_a_spreadsheet() -> None:
    """Leading and trailing tabs, tabs-only lines and CRLF are blanks; every problem is read."""
    first, second = read_hiremath_hill(own("mmkp/two_problems.txt"))
    assert first.capacities.tolist() == [6, 5, 4]
    assert first.values.tolist() == [7, 9, 3, 8]
    assert second.weights.tolist() == [[3], [6]]
    assert [first.name, second.name] == ["two_problems-1", "two_problems-2"]
    assert second.origin is not None
    assert second.origin.source == "hiremath-hill two_problems.txt item 2"


def test_problems_are_counted_from_one() -> None:
    """A file of several problems needs an item, from 1 to their number."""
    path = own("mmkp/two_problems.txt")
    assert load_instance(path, item=2).name == "two_problems-2"
    with pytest.raises(InputError, match=r"item: found 2 problems, expected a choice of one .*item 1 to 2"):
        load_instance(path)
    for item in (0, 3):
        with pytest.raises(InputError, match=rf"two_problems.txt: item: found {item}, expected 1 to 2"):
            load_instance(path, item=item)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("tiny", "khan"), ("irregular.txt", "irregular"), ("two_problems.txt", "hiremath-hill")],
)
def test_told_apart_by_content(name: str, expected: str) -> None:
    """The number of integers on the first line that is not blank tells the format."""
    assert format_of(own(f"mmkp/{name}").read_text()) == expected


@pytest.mark.parametrize("text", ["", "1 2 3 4 5", "n m\n", "2 3.5 1\n", "a,b\n1,2"])
def test_no_format(text: str) -> None:
    """What begins otherwise is none of them."""
    assert format_of(text) is None


@pytest.mark.parametrize("seed", range(10))
def test_irregular_round_trip(seed: int, tmp_path: Path) -> None:
    """Uneven groups come back bit for bit, and a second writing gives the same text."""
    instance = random_instance(seed, digits=seed % 4)
    text = write_irregular(instance)
    again = read_irregular(written(tmp_path, text))
    assert same(instance, again)
    assert write_irregular(again) == text


def test_many_problems_round_trip(tmp_path: Path) -> None:
    """Problems of different sizes in one file come back bit for bit, and the text too."""
    made = [random_instance(seed, groups=3 + seed, largest=1, digits=seed) for seed in range(4)]
    text = write_hiremath_hill(made)
    again = read_hiremath_hill(written(tmp_path, text))
    assert [content_hash(i) for i in again] == [content_hash(i) for i in made]
    assert write_hiremath_hill(again) == text


def test_format_is_chosen_by_the_groups() -> None:
    """Without a wish, groups of one size are written in Khan's format, others in the irregular one."""
    even, uneven = read_khan(own("mmkp/tiny")), read_irregular(own("mmkp/irregular.txt"))
    assert write_mmkp([even]) == write_khan(even)
    assert write_mmkp([uneven]) == write_irregular(uneven)
    assert format_of(write_mmkp([even, even])) == "hiremath-hill"
    with pytest.raises(InputError, match="format: found lp, expected one of khan, irregular, hiremath-hill"):
        write_mmkp([even], "lp")
    with pytest.raises(InputError, match="format: found 2 problems, expected one for khan"):
        write_mmkp([even, even], "khan")
    with pytest.raises(InputError, match=r"problem 1: found groups of \[1, 3\] items and 2 resources"):
        write_mmkp([uneven], "hiremath-hill")


def test_compressed(tmp_path: Path) -> None:
    """Compression is told by content too."""
    path = tmp_path / "packed.txt"
    path.write_bytes(gzip.compress(own("mmkp/two_problems.txt").read_bytes()))
    assert same(read_mmkp(path, item=1), read_mmkp(own("mmkp/two_problems.txt"), item=1))


def test_no_last_newline_and_mixed_line_ends(tmp_path: Path) -> None:
    """Line ends of either kind and a missing last one change nothing."""
    text = own("mmkp/irregular.txt").read_text()
    path = written(tmp_path, text.rstrip().replace("\n", "\r\n", 3))
    assert same(read_mmkp(path), read_mmkp(own("mmkp/irregular.txt")))


def test_dashes_only_on_request() -> None:
    """Dashes part numbers if that is asked for, and are never guessed."""
    path = own("mmkp/dashes.txt")
    instance = read_mmkp(path, separator="dash")
    assert instance.weights.tolist() == [[1, 0], [2, 2], [5, 1]]
    with pytest.raises(InputError, match=r"dashes.txt:1: sizes: found 2-2, expected n l m, n m or the prob"):
        read_mmkp(path)
    with pytest.raises(InputError, match="separator: found tab, expected one of blank, dash"):
        read_mmkp(path, separator="tab")


def test_padding_is_recognised_and_stripped() -> None:
    """Items worth 0 above every capacity at a group's end go, the others keep their numbers."""
    padded = read_khan(own("mmkp/padded"))
    stripped = without_padding(padded)
    assert stripped.group_start.tolist() == [0, 2, 3]
    assert stripped.values.tolist() == [4, 3, 5]
    assert same(without_padding(stripped), stripped)


def test_padding_alone_is_not_stripped() -> None:
    """A group keeps its first item, and an item that fits or is worth something is no padding."""
    weights = np.array([[9.0], [9.0], [9.0], [5.0], [9.0]])
    values = np.array([0.0, 0.0, 1.0, 0.0, 1.0])
    instance = MmkpInstance("x", np.array([5.0]), np.array([0, 2, 5]), values, weights)
    assert without_padding(instance).group_start.tolist() == [0, 1, 4]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("irregular.txt", "\n3\n", "\n2\n", ":6: group 2, number of items: found 0, expected an integer"),
        ("irregular.txt", "\n3\n", "\n4\n", ":8: group 2, item 1, value: found the end of the file"),
        ("irregular.txt", "\n3\n", "\n9999999\n", ":3: group 1, number of items: found 9999999, expected si"),
        ("irregular.txt", "2 2\n", "9999999 2\n", ":1: n m: found 9999999 2, expected sizes that the file's"),
        ("irregular.txt", "2 2\n", "1 2\n", ":7: end: found 1, expected nothing after the 1 groups"),
        ("irregular.txt", "2 2\n", "3 2\n", ":8: group 3, number of items: found the end of the file"),
        (
            "irregular.txt",
            "6 5 1",
            "-6 5 1",
            ":8: group 2, item 1, value: found -6, expected a",
        ),
        (
            "irregular.txt",
            "4.5",
            "4.12345678901234567",
            ":5: group 1, item 2, value: found 4.12345",
        ),
        ("irregular.txt", "7 6", "7 nan", ":2: capacity 2: found nan, expected a number"),
        (
            "two_problems.txt",
            "2\t1\t2\t1",
            "3\t1\t2\t1",
            ":10: problem 2, number: found 3, expected",
        ),
        (
            "two_problems.txt",
            "\t5\t\r\n1",
            "\t5\t\r\n2",
            ":12: problem 2, group: found 2, expected",
        ),
        ("two_problems.txt", "2\t1\t2\t1", "2\t1\t3\t1", ":14: problem 2, group 1, item 3, value: fo"),
        ("two_problems.txt", "9\t2\t2\t1", "9\t2\t2\tx", ":5: problem 1, group 1, item 2, weight 3: "),
        ("two_problems.txt", "1\t2\t2\t3", "1\t2\t2\t999999", ":1: problem 1, n l m: found 1"),
    ],
)
def test_malformed(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    """A malformed file is refused with file, line, field, what was found and what was expected."""
    text = own(f"mmkp/{name}").read_bytes().decode()
    assert old in text
    path = written(tmp_path, text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_mmkp(path, item=1)
    assert str(caught.value).startswith(f"{path}{message}")


def test_khan_as_irregular_and_the_reverse() -> None:
    """A file of one format given to the other's reader is refused at its first line."""
    with pytest.raises(InputError, match=r"tiny:2: n m: found 2 3 2, expected two integers"):
        read_irregular(own("mmkp/tiny"))
    with pytest.raises(InputError, match=r"irregular.txt:1: n l m: found 2 2, expected three integers"):
        read_khan(own("mmkp/irregular.txt"))


def test_khan_header_without_its_items(tmp_path: Path) -> None:
    """Khan's data under the irregular header parse for a while, and are refused where the counts break."""
    data = own("mmkp/tiny").read_text().split(" Solutions", 1)[0].replace("2 3 2", "2 2")
    with pytest.raises(InputError, match=r"group 2, number of items: found 4.00, expected an integer"):
        read_mmkp(written(tmp_path, data))


def test_public_files_round_trip(tmp_path: Path) -> None:
    """Public files of each format come back bit for bit, and the same instance in two formats is the same."""
    khan, irregular = (read_mmkp(public(f"mmkp/{name}")) for name in ("khan/I07", "lib/mmkp_a_07.txt"))
    assert same(khan, irregular)
    assert same(read_mmkp(written(tmp_path, write_irregular(khan))), khan)
    uneven = read_mmkp(public("mmkp/lib/mmkp_c_21.txt"))
    assert 1 in np.diff(uneven.group_start)
    assert same(read_mmkp(written(tmp_path, write_irregular(uneven))), uneven)
    many = read_hiremath_hill(public("mmkp/hiremath_hill/TestSet1.5GP10IT5KP.txt.gz"))
    assert len(many) == 30
    again = read_hiremath_hill(written(tmp_path, write_hiremath_hill(many)))
    assert [content_hash(i) for i in again] == [content_hash(i) for i in many]


@pytest.mark.full
def test_all_public_files_are_read() -> None:
    """Every problem of every public file is read: 310 of Hiremath and Hill, groups of 1 to 20 items."""
    folder = public("mmkp/khan/I01").parents[1]
    counts = [len(read_hiremath_hill(path)) for path in sorted(folder.glob("hiremath_hill/*.gz"))]
    assert sum(counts) == 310
    sizes = {int(s) for p in folder.glob("lib/*.txt") for s in np.diff(read_mmkp(p).group_start)}
    assert (min(sizes), max(sizes)) == (1, 20)
