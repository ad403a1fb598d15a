"""The page as one HTML file that needs nothing else: pictures, styles and the script are inside it.

A strict content policy names the one style and the one script by their hashes; everything else, a stranger's
text above all, is escaped and never runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from bench.jobs.job import Record
from reports.cells import Table, keys_of, spans
from reports.page import Drawing, Page
from reports.repeat import RowIndex

__all__ = ["html_page"]

TEMPLATES = Path(__file__).parent / "templates"
VERDICTS = {
    "reproduced": "good", "holds": "good", "close": "near", "contradicted": "bad", "not testable": "open",
    "yes": "good", "no": "bad", "open": "open", "error": "bad", "inconsistent": "bad",
}  # fmt: skip
_ADDRESS = re.compile(r"https://[A-Za-z0-9./_-]+[A-Za-z0-9/_-]")


def html_page(page: Page, records: Sequence[Record], store: Path | None = None) -> str:
    """Return the page as HTML; ``records`` are those that its cells point at."""
    index = RowIndex(records)
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"rows": lambda keys: index.ranges(keys), "code": _with_code, "picture": _picture}
    environment.tests |= {"table": _is_table, "drawing": _is_drawing}
    environment.globals |= {"keys_of": keys_of, "verdict": VERDICTS.get, "anchor": anchor}
    return environment.get_template("page.html").render(
        page=page,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        rows=_json(index.described(store)),
    )


def anchor(title: str) -> str:
    """Return a title as the name of a place in the page."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "part"


def _policy(style: str, script: str) -> str:
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{hashes[0]}'; "
        f"script-src 'sha256-{hashes[1]}'; base-uri 'none'; form-action 'none'"
    )


@cache
def _asset(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _json(value: Any) -> Markup:
    """Return JSON that cannot end the element it stands in."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def _with_code(text: str) -> Markup:
    """Return text with code and addresses marked up, all of it escaped."""
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if is_code else Markup("").join(_linked(part))
        for is_code, part in spans(text)
    )


def _linked(text: str) -> Iterable[Markup]:
    """Yield the text's parts; only the addresses of the papers become links."""
    done = 0
    for found in _ADDRESS.finditer(text):
        if found[0].startswith("https://arxiv.org/abs/"):
            yield escape(text[done : found.start()])
            yield Markup('<a href="{0}" rel="noreferrer">{0}</a>').format(found[0])
            done = found.end()
    yield escape(text[done:])


def _picture(drawing: Drawing) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(drawing.svg).decode()


def _is_table(block: object) -> bool:
    return isinstance(block, Table)


def _is_drawing(block: object) -> bool:
    return isinstance(block, Drawing)
