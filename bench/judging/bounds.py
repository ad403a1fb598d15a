"""What the records of ``handover-bounds`` say of the forms of the clairvoyant bound."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.jobs.job import Record
from bench.judging.measures import load_of
from bench.judging.statistics import Mean, mean_of

__all__ = [
    "EXPERIMENT",
    "SecantTrace",
    "excess_by_segments",
    "secant_traces",
    "segments_for",
    "share_by_segments",
]

EXPERIMENT = "handover-bounds"
MOST_SEGMENTS = 100_000


@dataclass(frozen=True)
class SecantTrace:
    """One trace's certified bound, water-filling's value, and the secant bounds by segments, Σ A_i."""

    load: float  # ρ, users a second
    size: int  # N
    certified: float
    water_filling: float
    secant: dict[int, float]  # before it is cut to the ceiling
    curvature: float  # the correction times n²
    records: tuple[Record, ...]


def secant_traces(records: Iterable[Record]) -> list[SecantTrace]:
    """Return the traces with a certified bound, water-filling's value and at least one secant bound."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for r in records:
        if r.experiment == EXPERIMENT:
            groups[r.instance_sha256].append(r)
    traces = [_trace(rows) for rows in groups.values()]
    return sorted((t for t in traces if t is not None), key=lambda t: (t.load, t.records[0].seed))


def _trace(rows: Sequence[Record]) -> SecantTrace | None:
    certified = [r for r in rows if r.method == "clairvoyant" and r.bound is not None]
    water = [r for r in rows if r.method == "water-filling" and r.checked_objective is not None]
    secant, curvature, used = dict[int, float](), math.nan, []
    for r in rows:
        proof = r.extra.get("certificate") or {}
        if r.method == "clairvoyant-secant" and r.stopped != "time" and "correction" in proof:
            n = int(json.loads(r.parameters)["segments"])
            secant[n] = float(proof["interpolated"]) + float(proof["correction"])
            curvature = float(proof["correction"]) * n**2
            used.append(r)
    load = load_of(rows[0])
    if not (certified and water and secant) or load is None:
        return None
    bound, value = certified[-1].bound or 0.0, water[-1].checked_objective or 0.0
    behind = (certified[-1], water[-1], *used)
    return SecantTrace(load, rows[0].size, bound, value, dict(sorted(secant.items())), curvature, behind)


def excess_by_segments(traces: Sequence[SecantTrace]) -> dict[int, Mean]:
    """Return by how many points of the mean accuracy the secant bounds exceed the certified ones."""
    by_segments: dict[int, list[float]] = defaultdict(list)
    for trace in traces:
        for n, bound in trace.secant.items():
            by_segments[n].append(100.0 * (bound - trace.certified) / trace.size)
    return {n: mean_of(values) for n, values in sorted(by_segments.items())}


def share_by_segments(traces: Sequence[SecantTrace]) -> dict[int, Mean]:
    """Return water-filling's share of the secant bound, %, by segments."""
    by_segments: dict[int, list[float]] = defaultdict(list)
    for trace in traces:
        for n, bound in trace.secant.items():
            by_segments[n].append(100.0 * trace.water_filling / bound)
    return {n: mean_of(values, (0.0, 100.0)) for n, values in sorted(by_segments.items())}


def segments_for(traces: Sequence[SecantTrace], share: float) -> float | None:
    """Return the n at which certified bound plus correction give water-filling this share, %, if any does."""

    def at(n: float) -> float:
        shares = [100.0 * t.water_filling / (t.certified + t.curvature / n**2) for t in traces]
        return math.fsum(shares) / len(shares)

    if not traces or not at(1.0) <= share <= at(MOST_SEGMENTS):
        return None
    low, high = 1.0, float(MOST_SEGMENTS)
    while high - low > 1e-6 * high:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if at(middle) < share else (low, middle)
    return high
