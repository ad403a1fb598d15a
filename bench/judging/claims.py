"""Published claims, measured and judged: verdicts are computed, never written down."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from bench.jobs.job import Record
from bench.judging.measures import MEASURES, Measurement, NotTestableError

__all__ = ["Claim", "Judged", "judge", "judge_all", "published_claims", "verdict"]


@dataclass(frozen=True)
class Claim:
    """One published statement and how it is measured."""

    id: str
    experiment: str  # whose records decide
    paper: str
    place: str
    statement: str
    kind: str  # value, at_least or at_most
    value: float
    unit: str
    measure: tuple[Any, ...]
    digit: float = 0.0  # unit of the last printed digit
    tolerance: float = 0.0

    @property
    def published(self) -> str:
        """The published value as text."""
        sign = {"value": "", "at_least": "≥ ", "at_most": "≤ "}[self.kind]
        unit = f" {self.unit}" if self.unit in ("%", "×") else ""
        return f"{sign}{self.value:g}{unit}"


@dataclass(frozen=True)
class Judged:
    """A claim with its measurement, or the reason why there is none, and the verdict."""

    claim: Claim
    verdict: str  # reproduced, close, holds, contradicted or not testable
    measurement: Measurement | None = None
    reason: str = ""

    @property
    def measured(self) -> str:
        """The measured value with its interval as text; an extreme has no interval."""
        m = self.measurement
        if m is None:
            return "–"
        text = _figure(m.value)
        return text if m.low == m.high else f"{text} [{_figure(m.low)}, {_figure(m.high)}]"


def published_claims() -> list[Claim]:
    """Return the claims of published.toml in its order."""
    text = resources.files("bench.judging").joinpath("published.toml").read_text(encoding="utf-8")
    return [Claim(**{**entry, "measure": tuple(entry["measure"])}) for entry in tomllib.loads(text)["claim"]]


def judge_all(records: Sequence[Record]) -> list[Judged]:
    """Return the published claims judged by the records, those with records of their experiment."""
    at_hand = {r.experiment for r in records}
    return [judge(claim, records) for claim in published_claims() if claim.experiment in at_hand]


def judge(claim: Claim, records: Sequence[Record]) -> Judged:
    """Return one claim judged by the records."""
    name, *arguments = claim.measure
    try:
        measurement = MEASURES[name](records, *arguments)
    except NotTestableError as error:
        return Judged(claim, "not testable", reason=str(error))
    sampled = not measurement.evidence.startswith("proved")
    if claim.kind == "value" and sampled and measurement.n < 2:
        return Judged(claim, "not testable", measurement, "one run has no interval")
    return Judged(claim, verdict(claim, measurement), measurement)


def verdict(claim: Claim, measurement: Measurement) -> str:
    """Return the verdict.

    An inequality on a sampled mean or fit holds unless the whole interval contradicts it; on an extreme, one
    proved witness decides.
    """
    if claim.kind == "at_least":
        return "holds" if measurement.high >= claim.value else "contradicted"
    if claim.kind == "at_most":
        return "holds" if measurement.low <= claim.value else "contradicted"
    half = 0.5 * claim.digit
    if measurement.low - half <= claim.value <= measurement.high + half:
        return "reproduced"
    return "close" if abs(measurement.value - claim.value) <= claim.tolerance else "contradicted"


def _figure(value: float) -> str:
    """Return four significant digits, five from 1000 on, without an exponent."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{float(f'{value:.5g}'):.12g}"
