"""What the commands share: options' values, and lines on standard error."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any

import typer
from typer.core import TyperCommand

from instances.errors import InputError, number, shown

__all__ = ["FAILED", "LIMIT", "CommandOfSingleOptions", "note", "numeric_settings", "parse_settings"]

FAILED, LIMIT = 1, 3  # exit statuses; 2 is an InputError's


class CommandOfSingleOptions(TyperCommand):
    """A command that refuses an option given twice, of which the first would else be silently dropped."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left of the arguments."""
        given = self.make_parser(ctx).parse_args(list(args))[2]
        for parameter, count in Counter(given).items():
            if count > 1 and not getattr(parameter, "multiple", False):
                raise InputError(f"{parameter.opts[-1]}: found {count} times, expected once")
        return super().parse_args(ctx, args)


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Return ``KEY=VALUE`` pairs as a dictionary; a value that is JSON is read as such, else it is text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise InputError(f"--set: found {shown(pair)}, expected KEY=VALUE")
        if key in settings:
            raise InputError(f"--set: {shown(key)} is given twice, expected once")
        try:
            settings[key] = json.loads(text)
        except json.JSONDecodeError:
            settings[key] = text
    return settings


def numeric_settings(pairs: list[str]) -> dict[str, float]:
    """Return ``KEY=VALUE`` pairs whose values are all numbers."""
    settings = parse_settings(pairs)
    for key, value in settings.items():
        number(f"--set {key}", value)
    return settings


def note(text: str) -> None:
    """Write a line for the reader, apart from the output proper."""
    typer.echo(text, file=sys.stderr)
