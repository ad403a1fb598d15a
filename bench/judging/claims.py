"""Published claims, measured and judged: verdicts are computed, never written down."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from bench.jobs.job import Record
from bench.judging import measures
from bench.judging.balance_measures import BALANCE_MEASURES
from bench.judging.fit_measures import FIT_MEASURES
from bench.judging.handover_measures import HANDOVER_MEASURES
from bench.judging.measures import Measurement, NotTestableError

__all__ = ["MEASURES", "Claim", "Judged", "judge", "judge_all", "published_claims", "verdict"]

MEASURES = {**measures.MEASURES, **BALANCE_MEASURES, **HANDOVER_MEASURES, **FIT_MEASURES}


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
    fitted: bool = False  # the constants were fitted to this number, so that meeting it shows little

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

    @property
    def evidence(self) -> str:
        """What the measured value rests on; that all instances keep to an inequality is sampled at best."""
        m = self.measurement
        if m is None:
            return "–"
        extreme = m.low == m.high and m.n > 1 and m.evidence != "sampled"
        return f"sampled; the extreme one {m.evidence}" if self.verdict == "holds" and extreme else m.evidence


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
    except ArithmeticError as error:  # of rows that no run of ours wrote
        return Judged(claim, "not testable", reason=f"the rows cannot be judged: {error}")
    sampled = not measurement.evidence.startswith(("proved", "verified (proof"))
    if claim.kind == "value" and sampled and measurement.n < 2:
        return Judged(claim, "not testable", measurement, "one run has no interval")
    found = verdict(claim, measurement)
    return Judged(claim, found, measurement, "; ".join(_caveats(claim, found, measurement)))


def verdict(claim: Claim, measurement: Measurement) -> str:
    """Return the verdict.

    An inequality holds when the measured value satisfies it, and is contradicted when the whole interval does
    not; in between it is not testable. An extreme has no interval: one proved witness decides.
    """
    if claim.kind in ("at_least", "at_most"):
        sign = 1.0 if claim.kind == "at_least" else -1.0
        if sign * measurement.value >= sign * claim.value:
            return "holds"
        best = measurement.high if claim.kind == "at_least" else measurement.low
        return "not testable" if sign * best >= sign * claim.value else "contradicted"
    half = 0.5 * claim.digit
    if measurement.low - half <= claim.value <= measurement.high + half:
        return "reproduced"
    return "close" if abs(measurement.value - claim.value) <= claim.tolerance else "contradicted"


def _caveats(claim: Claim, found: str, measurement: Measurement) -> Iterator[str]:
    """Yield what a reader of the verdict has to know: what it cannot tell, or was told before."""
    low, high = measurement.low, measurement.high
    if claim.fitted:
        yield "the constants were fitted to it"
    if found == "reproduced" and high - low > 2.0 * max(claim.tolerance, 0.5 * claim.digit):
        yield "the interval is wider than the tolerance: run more seeds"
    if claim.kind != "value" and low < claim.value < high:
        yield "the interval includes the limit"


def _figure(value: float) -> str:
    """Return four significant digits, five from 1000 on, without an exponent."""
    return f"{value:.4g}" if abs(value) < 1000 else f"{float(f'{value:.5g}'):.12g}"
