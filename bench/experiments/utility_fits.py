"""ImpactHO, Fig. 2: the four sigmoid families fitted to public measurements of partial caches."""

from __future__ import annotations

from dataclasses import dataclass

from bench.jobs.job import Job
from bench.jobs.sources import FromPublicData
from instances.handover import UTILITIES

__all__ = ["CURVES", "EXPERIMENT", "METHOD", "UNNAMED", "MeasuredCurve", "curve_of", "fits"]

EXPERIMENT, METHOD = "handover-fig2", "least-squares"
LEADERBOARD = "accuracy/kvpress_leaderboard_raw.csv"
POINTS = "accuracy/retention_points.csv"
UNNAMED = "unnamed"  # model


@dataclass(frozen=True)
class MeasuredCurve:
    """RULER accuracies of one model under one ordering of the cache, and which rows of a file they are."""

    model: str
    context: str  # tokens
    ordering: str
    file: str
    where: tuple[tuple[str, str], ...]

    @property
    def family(self) -> str:
        """The name in records."""
        return f"{self.ordering}-{self.model}-{self.context}"


def _on_leaderboard(model: str, ordering: str) -> MeasuredCurve:
    name = model.rpartition("/")[2]
    return MeasuredCurve(name, "4K", ordering, LEADERBOARD, (("model", model), ("method", ordering)))


def _of_a_fork(context: str, tokens: int) -> MeasuredCurve:
    where = (
        ("model", "UNKNOWN(FastKVzip fork)"), ("method", "fastkvzip"), ("context_tokens", str(tokens))
    )  # fmt: skip
    return MeasuredCurve(UNNAMED, context, "fastkvzip", POINTS, where)


QWEN, LLAMA = "Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B-Instruct"
CURVES = (
    _on_leaderboard(QWEN, "fastkvzip"),
    _of_a_fork("4K", 4096),
    _of_a_fork("8K", 8192),
    _on_leaderboard(LLAMA, "kvzip"),  # which Fast KVzip distils; of that there are no public points
    _on_leaderboard(QWEN, "random"),
    _on_leaderboard(LLAMA, "random"),
)  # importance ordering, then random ordering
_BY_FAMILY = {curve.family: curve for curve in CURVES}


def curve_of(family: str) -> MeasuredCurve | None:
    """Return the curve that a record's family names, None for another."""
    return _BY_FAMILY.get(family)


def fits() -> list[Job]:
    """Return each family's fit to each curve; nothing is drawn from a seed."""
    return [
        Job(EXPERIMENT, "utility", _source(curve), METHOD, (("utility", utility),))
        for curve in CURVES
        for utility in UTILITIES
    ]


def _source(curve: MeasuredCurve) -> FromPublicData:
    return FromPublicData(curve.family, (curve.file,), "retention_from_table", 0, curve.where)
