"""What the site's build adds to the pages: formulas as MathML, and lists read from the suite itself.

A comment ``<!-- methods: PROBLEM -->`` stands for the problem's methods, ``<!-- provable -->`` for those that
write a proof, ``<!-- command: NAME -->`` for a command's help and ``<!-- other commands -->`` for the help of
all commands that the page does not name.
"""

from __future__ import annotations

import html
import re
from typing import Any

import click
import typer
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

from bench.cli import app
from bench.registry import METHODS, methods_of

FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>([.,;:)]*)', re.DOTALL)
METHODS_OF = re.compile(r"<!-- methods: (\w+) -->")
COMMAND_HELP = re.compile(r"<!-- command: (\w+) -->")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the suite's own lists in the place of the comments that ask for them."""
    markdown = METHODS_OF.sub(lambda found: methods_table(found[1]), markdown)
    others = sorted(set(commands()) - set(COMMAND_HELP.findall(markdown)))
    markdown = COMMAND_HELP.sub(lambda found: help_text(found[1]), markdown)
    markdown = markdown.replace("<!-- other commands -->", "\n\n".join(map(help_text, others)))
    return markdown.replace("<!-- provable -->", provable_list())


def on_page_content(content: str, **_: Any) -> str:
    """Turn the formulas of a page into MathML, which browsers show without a script."""
    return FORMULA.sub(_as_mathml, content)


def methods_table(problem: str) -> str:
    """Return a problem's methods as a Markdown table."""
    rows = [f"| `{m.name}` | {m.label} | {m.role} | {m.guarantee} |" for m in methods_of(problem)]
    return "\n".join(["| method | what it is | role | guarantee |", "|---|---|---|---|", *rows])


def provable_list() -> str:
    """Return the methods that write a proof, by problem."""
    return ", ".join(f"`{m.name}` ({m.problem})" for m in METHODS.values() if m.proof)


def help_text(name: str) -> str:
    """Return the help of a command, and of the commands below it."""
    command = commands()[name]
    below = getattr(command, "commands", {})
    named = [(f"certigap {name}", command)] if not below else []
    named += [(f"certigap {name} {inner}", below[inner]) for inner in below]
    return "\n\n".join(f"```text\n{_help(title, command)}\n```" for title, command in named)


def commands() -> dict[str, click.Command]:
    """Return the commands by name."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


def _help(title: str, command: click.Command) -> str:
    context = click.Context(command, info_name=title, terminal_width=78, max_content_width=78)
    return command.get_help(context).strip()


def _as_mathml(found: re.Match[str]) -> str:
    """Return a formula with the punctuation behind it, which must not begin a line."""
    tag, text, behind = found.groups()
    formula = convert(html.unescape(text).strip(), display="block" if tag == "div" else "inline")
    if "\\" in formula or "<mi>&</mi>" in formula:
        raise PluginError(f"a formula holds what the converter does not know: {text}")
    return f'<{tag} class="formula">{formula}{behind}</{tag}>'
