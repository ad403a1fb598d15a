"""Tables and pages as Markdown, readable as plain text; a stranger's text stays text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reports.cells import Table
from reports.page import Drawing, Page

__all__ = ["markdown", "markdown_page"]


def markdown(table: Table, titled: bool = True) -> str:
    """Return the table as Markdown, with its title above it unless something else gives it."""
    rule = ["---:" if name in table.right else "---" for name in table.columns]
    title = [f"### {safe(table.title)}", ""] if titled else []
    lines = [*title, *(_line(row) for row in (table.columns, tuple(rule), *table.rows))]
    return "\n".join(lines) + "\n" + (f"\n{safe(table.note)}\n" if table.note else "")


def markdown_page(page: Page) -> str:
    """Return the whole page as Markdown."""
    parts = [f"# {safe(page.question)}\n", *(safe(line) + "\n" for line in page.answer)]
    for section in page.sections:
        parts.append(f"## {safe(section.title)}\n")
        for block in section.blocks:
            if isinstance(block, Table):
                parts.append(markdown(block, block.title != section.title))
            elif isinstance(block, Drawing):
                parts.append(f"### {safe(block.title)}\n\n![{safe(block.title)}](figures/{block.name}.svg)\n")
            else:
                parts.append(safe(block) + "\n")
    return "\n".join(parts)


def safe(text: str) -> str:
    """Return text in which neither HTML nor a link of a stranger's begins."""
    return " ".join(text.split()).replace("<", "&lt;").replace("](", "]\\(")


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(\\*)\|", _bar, safe(cell)) for cell in cells) + " |"


def _bar(found: re.Match[str]) -> str:
    """Return an escaped bar; backslashes before it would undo the escape."""
    return "&#92;" * len(found[1]) + "\\|"
