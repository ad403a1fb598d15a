"""What the documentation names exists, its links resolve, and its tutorial runs as it is written."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from itertools import pairwise
from pathlib import Path

import pytest
import typer

from bench.cli import app
from bench.commands.export import EXPORT_FORMATS
from bench.experiments import EXPERIMENTS
from bench.registry import METHODS
from formulations.handover.simulate import solve_policy
from formulations.handover.slot.fallbacks import FALLBACKS, READINGS
from formulations.handover.utility import CODES
from formulations.result import BoundKind, Result, Status, Stopped
from instances.files import from_document
from instances.generate import FAMILIES, KINDS
from instances.handover import HandoverTrace
from instances.importers.retention import LAYOUTS
from instances.importers.retention import NAMES as CURVE_COLUMNS
from instances.presets import BALANCE_CONSTANTS, BALANCE_PRESETS
from instances.strict_json import parse

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs").glob("*.md"))
TEXTS = [*PAGES, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PROBLEMS = ("balance.md", "handover.md", "mmkp.md")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]

FENCED = re.compile(r"^```(\w+)(?: title=\"(\S+)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMES = {
    *(name for _, name in METHODS), *EXPERIMENTS, *FAMILIES, *BALANCE_PRESETS, *BALANCE_CONSTANTS, *KINDS,
    *COMMANDS, *EXPORT_FORMATS, *FALLBACKS, *READINGS, *CODES, *Status, *Stopped, *BoundKind,
    *(f.name for f in fields(Result)), *(f.name for f in fields(HandoverTrace)),
    *solve_policy.__annotations__,
}  # fmt: skip


def prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    text = FENCED.sub("", path.read_text(encoding="utf-8"))
    return "\n".join(line for line in text.splitlines() if not line.startswith("    "))


def spans(path: Path) -> list[str]:
    """Return the code in a page's running text."""
    return re.findall(r"`([^`\n]+)`", prose(path))


def commands(path: Path) -> Iterator[list[str]]:
    """Yield the words of every command line of certigap that a page shows, wherever it stands."""
    text = path.read_text(encoding="utf-8")
    shown = [line.strip() for line in FENCED.sub("", text).splitlines() if line.startswith("    ")]
    for code in [*shown, *spans(path)]:
        for line in re.split(r"\s&&\s|\s{3,}|\s#\s", code):
            if re.match(r"certigap [a-z]", line):
                yield line.split()[1:]


def slugs(path: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", h).strip().lower()) for h in headings}


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_links_resolve(path: Path) -> None:
    """Every relative link of a page leads to a file, and to a heading where it names one."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if link.startswith("https://"):
            continue
        target, _, anchor = link.partition("#")
        found = path if not target else path.parent / target
        assert found.is_file(), link
        assert not anchor or anchor in slugs(found), link


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_commands_exist(path: Path) -> None:
    """Every command that a page shows exists with its options, methods and experiments."""
    text = path.read_text(encoding="utf-8")
    for name, *words in commands(path):
        assert name in COMMANDS, name
        command = COMMANDS[name]
        if words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        options = {option for parameter in command.params for option in parameter.opts} | {"--help"}
        assert {word.strip("[]") for word in words if word.strip("[").startswith("-")} <= options, words
        for option, value in pairwise(words):
            if option == "--method" and value.islower() and ":" not in value:
                assert any(value == method for _, method in METHODS), value
        if name == "run" and words and words[0].islower():
            assert words[0] in EXPERIMENTS or f"-o {words[0]}\n" in text, words[0]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_names_exist(path: Path) -> None:
    """A hyphenated word in code is a name that the suite knows; so is any word on a problem's page."""
    words = r"[a-z][a-z0-9_]*" if path.name in PROBLEMS else r"(?!)"
    for span in spans(path):
        if re.fullmatch(rf"[a-z0-9]+([-+][a-z0-9.]+)+|{words}", span):
            assert re.sub(r"-n\d+-s\d+$", "", span) in NAMES, span


def test_every_experiment_is_described() -> None:
    """The page of commands has a line for every experiment, and for nothing else."""
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \|", page, re.MULTILINE)
    assert sorted(name for row in rows for name in re.findall(r"`([^`]+)`", row)) == sorted(EXPERIMENTS)


def test_fits_are_described() -> None:
    """The page of fits describes every command of ``fit``, and the columns that ``fit utility`` reads."""
    page = (ROOT / "docs" / "fit.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## `certigap fit (\w+) FILE`$", page, re.MULTILINE)
    assert sorted(headings) == sorted(COMMANDS["fit"].commands)
    section = page[page.index("## `certigap fit utility") :]
    columns = {column for layout in LAYOUTS for column in (layout.fraction, layout.accuracy, layout.method)}
    assert {column for column in (*columns, *CURVE_COLUMNS) if f"`{column}`" not in section} == set()


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_sessions_exist(path: Path) -> None:
    """Every nox session that a page names is one of the noxfile."""
    source = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    sessions = {a or b for a, b in re.findall(r"@nox\.session\((?:.*name=\"(.+?)\")?.*\)\ndef (\w+)", source)}
    for line in re.findall(r"nox -s ((?:[a-z][\w-]* ?)+)", "\n".join([*spans(path), path.read_text()])):
        assert line.split()[0] in sessions, line


def test_formats_are_read() -> None:
    """Every document that the page of formats shows is read by the reader."""
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    documents = [body for language, _, body in FENCED.findall(page) if language == "json"]
    assert len(documents) == 5
    for document in documents:
        from_document(parse(document))


@pytest.mark.parametrize(("name", "count"), [("tutorial.md", 9), ("proofs.md", 11)])
def test_commands_run(name: str, count: int, tmp_path: Path) -> None:
    """A page's file and commands run one after the other in an empty folder and print what it shows."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    steps = re.finditer(rf"{FENCED.pattern}|^    (certigap [^\n]+)$", page, re.MULTILINE | re.DOTALL)
    printed, ran = "", 0
    for language, title, body, command in (step.groups() for step in steps):
        if title:
            (tmp_path / title).write_text(body, encoding="utf-8")
        elif language == "text":
            assert [line for line in body.splitlines() if line not in printed] == []
        elif command and "hunt" not in command:
            arguments = [sys.executable, "-m", "bench", *command.split()[1:]]
            done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, (command, done.stderr)
            printed, ran = done.stdout + done.stderr, ran + 1
    assert ran == count


def test_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The lines of the page on Python run and serve at most the optimum."""
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    (lines,) = [body for language, _, body in FENCED.findall(page) if language == "python"]
    exec(lines, {})
    assert capsys.readouterr().out == "9.0 of 10.0 True\n"
