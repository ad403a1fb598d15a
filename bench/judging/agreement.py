"""Whether exact methods agree on an instance: a claim over records, not over one run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from bench.jobs.job import Record

__all__ = ["disagreements"]

TOLERANCE = 1e-9  # relative


def disagreements(records: Iterable[Record]) -> list[str]:
    """Return a line for each instance on which two proofs contradict each other.

    Every proved bound must be at least every checked value, and proved optima must be equal.
    """
    by_instance: dict[str, list[Record]] = defaultdict(list)
    for r in records:
        if r.instance_sha256 and r.status in ("optimal", "feasible", "bound_only", "infeasible"):
            by_instance[r.instance_sha256].append(r)
    lines = []
    for rows in by_instance.values():
        values = [r for r in rows if r.checked_objective is not None and r.feasible]
        bounds = [r for r in rows if r.bound is not None]
        if values and bounds:
            best = max(values, key=lambda r: r.checked_objective or 0.0)
            least = min(bounds, key=lambda r: r.bound or 0.0)
            value, bound = best.checked_objective or 0.0, least.bound or 0.0
            if bound < value - TOLERANCE * max(abs(value), 1.0):
                lines.append(
                    f"{best.instance}: {best.method} reaches {value:.12g}, {least.method} bounds {bound:.12g}"
                )
        refused = [r for r in rows if r.status == "infeasible"]
        if refused and values:
            lines.append(
                f"{values[0].instance}: {refused[0].method} says infeasible, {values[0].method} serves it"
            )
    return lines
