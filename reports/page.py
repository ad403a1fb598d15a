"""What a report says, apart from how it looks: Markdown and HTML are made from the same page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.cells import Table

__all__ = ["Drawing", "Page", "Point", "Section"]


@dataclass(frozen=True)
class Point:
    """A point of a figure with the rows behind it."""

    label: str  # of its curve
    x: float
    y: float
    left: float  # place in the picture, a fraction of its width
    top: float  # a fraction of its height, from above
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Drawing:
    """A figure that was drawn into the report's folder."""

    name: str
    title: str
    svg: bytes
    width: float  # inches
    height: float
    points: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Section:
    """A titled part of the page; texts are paragraphs, code between backticks."""

    title: str
    blocks: Sequence[Table | Drawing | str]


@dataclass(frozen=True)
class Page:
    """The question, the answer in a few lines, and what backs it."""

    question: str
    answer: Sequence[str]
    sections: Sequence[Section]
