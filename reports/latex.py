"""Tables as LaTeX for the booktabs package; whatever a name holds, it is only text there."""

from __future__ import annotations

from reports.cells import Table, spans

__all__ = ["escaped", "latex"]

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}", "–": "--", "—": "---", "…": r"\dots{}", "-": "-{}", "[": "{[}", "]": "{]}",
    "²": r"\(^2\)", "³": r"\(^3\)", "½": r"\(\frac12\)", "°": r"\(^\circ\)", "·": r"\(\cdot\)",
    "×": r"\(\times\)", "±": r"\(\pm\)", "−": r"\(-\)", "≤": r"\(\le\)", "≥": r"\(\ge\)", "≈": r"\(\approx\)",
    "⌊": r"\(\lfloor\)", "⌋": r"\(\rfloor\)", "⁻": r"\(^-\)", "⁰": r"\(^0\)", "⁴": r"\(^4\)", "⁹": r"\(^9\)",
    "∞": r"\(\infty\)", "→": r"\(\to\)", "√": r"\(\surd\)", "Σ": r"\(\Sigma\)", "Δ": r"\(\Delta\)",
    "α": r"\(\alpha\)", "β": r"\(\beta\)", "γ": r"\(\gamma\)", "δ": r"\(\delta\)", "ε": r"\(\epsilon\)",
    "θ": r"\(\theta\)", "κ": r"\(\kappa\)", "λ": r"\(\lambda\)", "μ": r"\(\mu\)", "π": r"\(\pi\)",
    "ρ": r"\(\rho\)", "σ": r"\(\sigma\)", "τ": r"\(\tau\)", "φ": r"\(\phi\)", "ω": r"\(\omega\)",
}  # fmt: skip


def latex(table: Table) -> str:
    """Return the table as a ``tabular`` with booktabs' rules; its title and note are comments."""
    layout = "".join("r" if name in table.right else "l" for name in table.columns)
    head = " & ".join(_cell(name) for name in table.columns)
    lines = [f"% {_comment(text)}" for text in (table.title, table.note) if text]
    lines += [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head + r" \\", r"\midrule"]
    lines += [" & ".join(map(_cell, row)) + r" \\" for row in table.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it is; a character that it may not know stands as its number."""
    return "".join(_SPECIAL.get(c) or _plain(c) for c in " ".join(text.split()))


def _plain(c: str) -> str:
    known = " " <= c <= "~" or ("\u00c0" <= c <= "\u017f" and c.isalpha())
    return c if known else rf"\texttt{{U+{ord(c):04X}}}"


def _cell(text: str) -> str:
    return "".join(
        rf"\texttt{{{escaped(part)}}}" if is_code else _kept(part) for is_code, part in spans(text)
    )


def _kept(part: str) -> str:
    """Return a part with the spaces at its ends, which join it to code."""
    left, right = (" " if part[i].isspace() else "" for i in (0, -1))
    return f"{left}{escaped(part)}{right}" if part.strip() else " "


def _comment(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
