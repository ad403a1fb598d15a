"""What the commands share: options' values, and lines on standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from instances.errors import InputError, shown

__all__ = ["FAILED", "LIMIT", "REFUSED", "note", "numeric_settings", "parse_settings"]

FAILED, REFUSED, LIMIT = 1, 2, 3  # exit statuses


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
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"--set {key}: found {shown(value)}, expected a number")
    return settings


def note(text: str) -> None:
    """Write a line for the reader, apart from the output proper."""
    typer.echo(text, file=sys.stderr)
