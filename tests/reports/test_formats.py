"""How cells read, and what LaTeX, CSV and Markdown make of strange ones."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from bench.judging.statistics import Mean
from reports.cells import Table, code, decimals, figures, mean_text, percent, spans
from reports.latex import escaped, latex
from reports.markdown import markdown
from reports.sheets import quoted, sheet
from tests.reports.sample_stores import HOSTILE

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 2, "0"),
        (0.0004, 2, "0.0004"),
        (0.004, 2, "0.004"),
        (1e-12, 2, "1e-12"),
        (0.99996, 3, "0.99996"),
        (1.0, 3, "1.000"),
        (1.00004, 3, "1.00004"),
        (0.5, 3, "0.500"),
        (-0.001, 2, "-0.001"),
        (98.2349, 3, "98.235"),
    ],
)
def test_decimals_never_claim_zero_or_one(value: float, digits: int, text: str) -> None:
    """A small number is not 0.00, and what is short of one is not 1.000."""
    assert decimals(value, digits) == text


def test_significant_digits() -> None:
    """Numbers have three significant digits and an exponent only where they are tiny or huge."""
    shown = [figures(x) for x in (0.0, 0.00012345, 1.5e-7, 1234.0, 26904.3, 5e12, None, float("nan"))]
    assert shown == ["0", "0.000123", "1.5e-07", "1230", "26900", "5e+12", "–", "–"]
    assert percent(1 / 3) == "33.3"


def test_means_show_their_interval() -> None:
    """A mean has its interval, unless it is of one value or of equal ones."""
    assert mean_text(Mean(0.5, 0.25, 0.75, 9), 2) == "0.50 [0.25, 0.75]"
    assert mean_text(Mean(0.0, 0.0, 0.0, 9), 2) == "0"
    assert mean_text(Mean(0.5, 0.5, 0.5, 1), 2, 100.0) == "50.00"
    assert mean_text(Mean(0.02, 0.009999, 0.999999, 9), 2, 100.0) == "2.00 [1.00, 99.9999]"
    assert mean_text(Mean(99.5, 99.0, 99.9999, 9), 3, whole=100.0) == "99.500 [99.000, 99.9999]"


@pytest.mark.parametrize("text", HOSTILE)
def test_code_stays_within_its_marks(text: str) -> None:
    """Whatever a name holds, it is one piece of code on one line."""
    parts = list(spans(f"before {code(text)} after"))
    assert [is_code for is_code, _ in parts] == [False, True, False]
    assert "\n" not in parts[1][1]


@pytest.mark.parametrize("text", HOSTILE)
def test_latex_only_prints(text: str) -> None:
    """Every command in an escaped text is one that only prints, and braces are balanced."""
    printed = escaped(text)
    commands = set(re.findall(r"\\([a-z]+|.)", printed))
    allowed = {
        "textbackslash", "textasciicircum", "textasciitilde", "textless", "textgreater", "textbar",
        "char", "textquotesingle", "textasciigrave", "texttt", "{", "}", "$", "&", "#", "%", "_",
    }  # fmt: skip
    assert commands <= allowed
    assert printed.isascii()
    bare = re.sub(r"\\[{}]", "", printed)
    assert bare.count("{") == bare.count("}")
    assert not re.search(r"(?<!\\)[%$&#_^~]", printed)


def test_latex_table_has_booktabs_rules() -> None:
    """A table is a tabular with three rules, a line a row, numbers to the right, code in typewriter."""
    table = Table("T\n\\evil", ("a", "b"), [("`x_1` is", "3"), ("≥ ½", "–")], frozenset({"b"}))
    assert latex(table).splitlines() == [
        r"% T \evil", r"\begin{tabular}{lr}", r"\toprule", r"a & b \\", r"\midrule",
        r"\texttt{x\_1} is & 3 \\", r"\(\ge\) \(\frac12\) & -- \\", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip


def test_latex_prints_the_signs_that_our_tables_use() -> None:
    """Floors and powers of ten are mathematics, not numbers of characters."""
    assert escaped("⌊T/Δt⌋ 10⁻⁹") == r"\(\lfloor\)T/\(\Delta\)t\(\rfloor\) 10\(^-\)\(^9\)"


@pytest.mark.parametrize("text", ["=1+1", " =1", "+1+x", "-x", "@SUM(A1)", "\t=1", "＝1"])
def test_formulas_are_quoted(text: str) -> None:
    """A cell that begins like a formula begins with an apostrophe; a number does not."""
    assert quoted(text).startswith("'")
    assert quoted(f"`{text}`").startswith("'")
    assert [quoted(number) for number in ("-1.5", "+3", "-2e-9")] == ["-1.5", "+3", "-2e-9"]


def test_sheet_has_a_line_a_row() -> None:
    """A CSV has a header and quotes what needs it."""
    assert sheet(Table("T", ("a", "b"), [('x"', "1,5")])) == 'a,b\r\n"x""","1,5"\r\n'


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_cells_hold(text: str) -> None:
    """A strange text changes neither the number of columns nor becomes HTML or a link."""
    line = markdown(Table("T", ("a", "b"), [(text, code(text))])).splitlines()[-1]
    without = re.sub(r"\\[!-/:-@\[-`{-~]", "", line)  # what a backslash escapes
    assert without.count("|") == 3
    assert "<" not in line
    assert "](" not in line


def test_citations_are_those_of_the_project() -> None:
    """The page cites the papers that CITATION.cff names, by the same titles and addresses."""
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    document = tomllib.loads((ROOT / "reports" / "citations.toml").read_text(encoding="utf-8"))
    assert document["certigap"]["title"] in cff
    assert cff.count("type: article") == len(document["paper"])
    for paper in document["paper"]:
        assert f'title: "{paper["title"]}"' in cff
        assert f'url: "{paper["url"]}"' in cff
