"""The LaTeX tables compile with the packages that the documentation names, and stay within the page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from reports.cells import Table, code
from reports.latex import escaped, latex
from reports.report import write_report
from tests.reports.sample_stores import HOSTILE, hostile_records, small_store

KNOWN = (
    "textbackslash textasciicircum textasciitilde textless textgreater textbar textquotesingle "
    "textasciigrave texttt char dots frac circ cdot times pm le ge approx infty to surd lfloor rfloor Sigma "
    "Delta alpha beta gamma delta epsilon theta kappa lambda mu pi rho sigma tau phi omega ss ae AE o O oe "
    "OE l L i u r H v c begin end toprule midrule bottomrule resizebox linewidth allowbreak"
)
DOCUMENT = r"""\documentclass{article}
\usepackage{booktabs,graphicx}
\begin{document}
%s
\end{document}
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return the LaTeX tables of our store and of a stranger's, and one of every letter and sign."""
    folder = tmp_path_factory.mktemp("latex")
    for name, records in (("own", small_store()), ("hostile", hostile_records())):
        write_report(records, folder / name)
    letters = "".join(map(chr, [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x370, 0x400), 0x2212]))
    strange = [*HOSTILE, letters, letters.replace(" ", ""), "x" * 500, "{" * 100]
    rows = [(text, code(text), "1 [0, 2]") for text in strange]
    heads = ("a head of several words [95 %]", "`x`", "≤ ½ of ρ (µs)")
    (folder / "letters.tex").write_text(
        latex(Table("T", heads, rows, frozenset(heads[2:]))), encoding="utf-8"
    )
    return sorted(folder.rglob("*.tex"))


def test_every_command_is_known(tables: list[Path]) -> None:
    """Outside comments a table is ASCII, and its commands are LaTeX's own or those of the two packages."""
    assert len(tables) > 10
    for path in tables:
        lines = path.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("%"))
        assert text.isascii(), path
        assert set(re.findall(r"\\([A-Za-z]+)", text)) <= set(KNOWN.split()), path


def test_letters_with_accents_are_printed() -> None:
    """A name keeps its accents, and a letter of another alphabet stands as its number."""
    assert escaped("Dvořák, Erdős, Łódź") == r"Dvo\v{r}\'{a}k, Erd\H{o}s, \L{}\'{o}d\'{z}"
    assert escaped("ж") == "U+0436"


def test_tables_compile(tables: list[Path], tmp_path: Path) -> None:
    """Every table compiles in a document with the two packages, and none is wider than a line."""
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("pdflatex is not installed")
    inputs = "\n\n".join(
        rf"\typeout{{{path.name}}}\noindent\input{{{path.as_posix()}}}\clearpage" for path in tables
    )
    (tmp_path / "tables.tex").write_text(DOCUMENT % inputs, encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "tables.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, log[-2000:]
    assert "Missing character" not in log
    wide = re.findall(r"Overfull \\hbox \((\d+)", log)
    assert all(int(points) < 5 for points in wide), wide
