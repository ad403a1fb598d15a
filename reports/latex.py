"""Tables as LaTeX for the booktabs and graphicx packages; whatever a name holds, it is only text there."""

from __future__ import annotations

import re
import textwrap
import unicodedata

from reports.cells import Table, spans

__all__ = ["escaped", "latex"]

PAGE = 66  # characters across the text of an article
LONGEST_HEAD = 12  # characters in a line of a column's head, where its cells are no longer
LONGEST_CELL = 30  # characters in a line of a cell
PARAGRAPH = "p{15em}"  # about as wide
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\texttt{\char34}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "–": "--", "—": "---", "…": r"\dots{}", "-": "-{}", "[": "{[}", "]": "{]}",
    "“": "``", "”": "''", "²": r"\(^2\)", "³": r"\(^3\)", "½": r"\(\frac12\)", "°": r"\(^\circ\)",
    "·": r"\(\cdot\)", "×": r"\(\times\)", "±": r"\(\pm\)", "−": r"\(-\)", "≤": r"\(\le\)", "≥": r"\(\ge\)",
    "≈": r"\(\approx\)", "∞": r"\(\infty\)", "→": r"\(\to\)", "√": r"\(\surd\)", "⌊": r"\(\lfloor\)",
    "⌋": r"\(\rfloor\)", "µ": r"\(\mu\)", "Σ": r"\(\Sigma\)", "Δ": r"\(\Delta\)",
    "⁻": r"\(^-\)", "⁰": r"\(^0\)", "⁴": r"\(^4\)", "⁹": r"\(^9\)",
    "α": r"\(\alpha\)", "β": r"\(\beta\)", "γ": r"\(\gamma\)", "δ": r"\(\delta\)", "ε": r"\(\epsilon\)",
    "θ": r"\(\theta\)", "κ": r"\(\kappa\)", "λ": r"\(\lambda\)", "μ": r"\(\mu\)", "π": r"\(\pi\)",
    "ρ": r"\(\rho\)", "σ": r"\(\sigma\)", "τ": r"\(\tau\)", "φ": r"\(\phi\)", "ω": r"\(\omega\)",
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "ø": r"\o{}", "Ø": r"\O{}", "œ": r"\oe{}", "Œ": r"\OE{}",
    "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c",
}  # fmt: skip


def latex(table: Table) -> str:
    """Return the table as a ``tabular`` with booktabs' rules; its title and note are comments.

    Long texts get paragraphs, and a table that is wider than a page is scaled to the width of a line.
    """
    widths = [_width(table, i) for i in range(len(table.columns))]
    sides = ["r" if name in table.right else "l" for name in table.columns]
    layout = "".join(
        PARAGRAPH if width > LONGEST_CELL else side for side, width in zip(sides, widths, strict=True)
    )
    head = " & ".join(map(_head, table.columns, widths, sides))
    lines = [f"% {_comment(text)}" for text in (table.title, table.note) if text]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head + r" \\", r"\midrule"]
    lines += [" & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if sum(min(width, LONGEST_CELL) + 2 for width in widths) > PAGE:
        lines[-1] += "}%"
        lines.insert(lines.index(rf"\begin{{tabular}}{{{layout}}}"), r"\resizebox{\linewidth}{!}{%")
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it is; a character that it may not know stands as its number."""
    return "".join(_SPECIAL.get(c) or _accented(c) or c for c in _spelled(text))


def _spelled(text: str) -> str:
    """Return text on one line in which a character that LaTeX may not know stands as its number."""
    line = " ".join(text.split())
    return "".join(c if c in _SPECIAL or " " <= c <= "~" or _accented(c) else f"U+{ord(c):04X}" for c in line)


def _accented(c: str) -> str:
    """Return an accent and its letter, nothing where it is none."""
    parts = unicodedata.normalize("NFD", c)
    known = len(parts) == 2 and parts[1] in _ACCENTS and parts[0].isascii() and parts[0].isalpha()
    return rf"\{_ACCENTS[parts[1]]}{{{parts[0]}}}" if known else ""


def _width(table: Table, column: int) -> int:
    """Return the characters across a column whose head is broken between words."""
    name = table.columns[column]
    cells = max((len(_spelled(row[column])) for row in table.rows), default=0)
    return max(cells, *(len(line) for line in _broken(name, cells)))


def _broken(name: str, width: int) -> list[str]:
    name = name.replace(" %", "\N{NO-BREAK SPACE}%")
    return textwrap.wrap(name, max(LONGEST_HEAD, width), break_long_words=False, break_on_hyphens=False)


def _head(name: str, width: int, side: str) -> str:
    lines = _broken(name, min(width, LONGEST_CELL))
    inside = r" \\ ".join(map(_cell, lines))
    return inside if len(lines) == 1 else rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{inside}\end{{tabular}}"


def _cell(text: str) -> str:
    return "".join(
        rf"\texttt{{{_breakable(part)}}}" if is_code else _kept(part) for is_code, part in spans(text)
    )


def _kept(part: str) -> str:
    """Return a part with the spaces at its ends, which join it to code."""
    left, right = (" " if part[i].isspace() else "" for i in (0, -1))
    return f"{left}{_breakable(part)}{right}" if part.strip() else " "


def _breakable(part: str) -> str:
    """Return a part escaped, with places to break its long words, after punctuation where there is some."""
    most = LONGEST_CELL - 10
    return " ".join(
        r"\allowbreak{}".join(
            map(escaped, re.findall(rf"\S{{1,{most}}}(?<=[-_./:,=])|\S{{1,{most}}}", word))
            if len(word) > most
            else [escaped(word)]
        )
        for word in _spelled(part).split()
    )


def _comment(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
