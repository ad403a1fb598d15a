"""Users' own tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.importers.own_csv import read_balance_csv, read_handover_csv
from tests.instances.importers.sample_files import own


def write(folder: Path, text: str) -> Path:
    """Write a text, line ends as they are, to a new file."""
    path = folder / "users.csv"
    path.write_bytes(text.encode())
    return path


def test_balance_columns_by_name() -> None:
    """Columns are found by name in any order, others ignored, and absent optional ones left out."""
    users = read_balance_csv(own("importers/balance_users.csv"))
    assert list(users) == ["input_tokens", "output_tokens", "acceptance"]
    assert users["input_tokens"].tolist() == [4808, 110]
    assert users["acceptance"].tolist() == [0.7, 0.85]


def test_types() -> None:
    """Tokens are int64, everything else float64."""
    users = read_balance_csv(own("importers/balance_users.csv"))
    assert users["output_tokens"].dtype == np.int64
    assert users["acceptance"].dtype == np.float64


def test_handover_keeps_order() -> None:
    """Handover users keep the file's order."""
    users = read_handover_csv(own("importers/handover_users.csv"))
    assert users["arrival_s"].tolist() == [0.5, 0.25]
    assert users["context_tokens"].tolist() == [4096, 8192]


def test_spreadsheet_export(tmp_path: Path) -> None:
    """A byte order mark, CRLF, quotes, blanks around cells and empty lines change nothing."""
    text = '\ufeff"arrival_s", context_tokens\r\n\r\n"0.5", 4096\r\n,\r\n0.25,"8192"'
    users = read_handover_csv(write(tmp_path, text))
    assert users["context_tokens"].tolist() == [4096, 8192]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arrival_s,arrival_s,context_tokens\n1,1,1\n", ":1: header: found the column 'arrival_s' twice"),
        ("arrival_s;context_tokens\n1;1\n", ":1: header: found arrival_s;context_tokens, expected a column"),
        ("arrival_s\n1\n", ":1: header: found arrival_s, expected a column 'context_tokens' (needed are"),
        ("arrival_s,context_tokens\n1,2\n1\n", ":3: row: found 1 cells, expected 2 as in the header"),
        ("arrival_s,context_tokens\n1,2,000\n", ":2: row: found 3 cells, expected 2 as in the header"),
        ('arrival_s,context_tokens\n1,"2,000"\n', ":2: context_tokens: found 2,000, expected a number like"),
        ("arrival_s,context_tokens\n1,\n", ":2: context_tokens: found nothing, expected a number like"),
        ("arrival_s,context_tokens\nx,1\n", ":2: arrival_s: found x, expected a number like 1234.5, without"),
        ("arrival_s,context_tokens\nNaN,1\n", ":2: arrival_s: found NaN, expected a number like"),
        ("arrival_s,context_tokens\ninf,1\n", ":2: arrival_s: found inf, expected a number like"),
        ("arrival_s,context_tokens\n1e999,1\n", ":2: arrival_s: found 1e999, expected a number like"),
        ("arrival_s,context_tokens\n-1,1\n", ":2: arrival_s: found -1, expected 0 to 1e+09"),
        ("arrival_s,context_tokens\n1,0\n", ":2: context_tokens: found 0, expected 1 to 1e+09"),
        ("arrival_s,context_tokens\n1,1.5\n", ":2: context_tokens: found 1.5, expected an integer"),
        ('arrival_s,context_tokens\n1,"1\n', ":2: row: found unexpected end of data, expected comma-sep"),
        ("arrival_s,context_tokens\n", ": rows: found none, expected a header and at least one row"),
    ],
)
def test_malformed(tmp_path: Path, text: str, message: str) -> None:
    """A malformed table is refused in one line with file, line and field."""
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read_handover_csv(path)
    assert str(caught.value).startswith(f"{path}{message}")
    assert "\n" not in str(caught.value)


def test_balance_ranges(tmp_path: Path) -> None:
    """A probability above 1 is refused."""
    path = write(tmp_path, "input_tokens,output_tokens,acceptance\n1,1,70\n")
    with pytest.raises(InputError, match=r":2: acceptance: found 70, expected 0 to 1$"):
        read_balance_csv(path)
