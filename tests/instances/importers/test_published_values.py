"""Published values keep apart what is optimal, best known, reported and a bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from instances.errors import InputError
from instances.importers.published_values import Standing, read_published_values
from tests.instances.importers.sample_files import own, public


def found(name: str) -> list[tuple[str, float, Standing]]:
    """Return the values of one of the small files."""
    values = read_published_values(own(f"mmkp/{name}"))
    return [(v.instance, v.value, v.standing) for v in values]


def test_byte_order_mark_and_no_header() -> None:
    """A list without header is reported values; its first name has no byte order mark in it."""
    assert found("reported.csv") == [
        ("mmkp_a_07", 24585.0, Standing.REPORTED),
        ("mmkp_c_22", 41104.0, Standing.REPORTED),
    ]


def test_flag_decides_between_optimum_and_bound() -> None:
    """Negated values are turned, and a number with flag 0 is a bound, not a value."""
    assert found("mmkp.opt") == [("I01", 173.0, Standing.OPTIMAL), ("I07", 24607.95, Standing.BOUND)]


def test_best_known_is_not_optimal() -> None:
    """A best known value and the bound beside it are two entries, and only what is proved is optimal."""
    assert found("best_known.csv") == [
        ("I05", 3905.7, Standing.OPTIMAL),
        ("I05", 3905.7, Standing.BOUND),
        ("I07", 24592.0, Standing.BEST_KNOWN),
        ("I07", 24606.0, Standing.BOUND),
    ]
    assert read_published_values(own("mmkp/best_known.csv"))[0].source == "one, two"


def test_reported_is_not_verified() -> None:
    """What nobody verified is reported."""
    assert found("hiremath_hill_optima.csv") == [
        ("TestSet1.5GP10IT5KP-1", 401.0, Standing.OPTIMAL),
        ("TestSet.70GP10IT10KP-3", 6912.0, Standing.REPORTED),
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("reported.csv", "24585", "24585,x", ":1: row: found 3 cells, expected two, file and value"),
        ("reported.csv", "24585", "best", ":1: value: found best, expected a number of at least 0"),
        ("mmkp.opt", "-173.0", "173.0", ":1: value: found 173.0, expected a negated number"),
        ("mmkp.opt", "    0", "    2", ":2: row: found I07 -24607.95 2, expected a name, a negated value"),
        ("best_known.csv", ",no,", ",maybe,", ":3: proven_optimal: found maybe, expected yes or no"),
        ("best_known.csv", ",log", "", ":3: row: found 4 cells, expected 5 as in the header"),
        ("best_known.csv", "24606.0", "-1", ":3: upper_bound_highs: found -1, expected a number of at least"),
    ],
)
def test_malformed(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    """A row that cannot be used is refused with its line."""
    path = tmp_path / "values"
    text = own(f"mmkp/{name}").read_text(encoding="utf-8-sig")
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_published_values(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_public_tables() -> None:
    """The tables of the public files are read, and proved values differ from best known ones."""
    values = read_published_values(public("mmkp/best_known.csv"))
    standings = {v.instance: v.standing for v in values if v.standing is not Standing.BOUND}
    assert standings["I04"] is Standing.OPTIMAL
    assert standings["I10"] is Standing.BEST_KNOWN
    assert len(read_published_values(public("mmkp/hiremath_hill_optima.csv"))) == 310
    reported = read_published_values(public("mmkp/lib/solutions_lucadibello.csv"))
    assert {v.standing for v in reported} == {Standing.REPORTED}
