"""What the records say about utilities fitted to measured points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from bench.experiments.utility_fits import CURVES, EXPERIMENT, UNNAMED, MeasuredCurve
from bench.jobs.job import Record
from bench.judging.measures import Measurement, NotTestableError

__all__ = ["FIT_MEASURES", "fits_by_curve", "title_of"]

PAPERS = "algebraic"  # the family that the paper uses
ORDERINGS = {"fastkvzip": "Fast KVzip", "kvzip": "KVzip", "random": "random ordering"}


def title_of(curve: MeasuredCurve) -> str:
    """Return the curve's name for readers."""
    model = "model not named" if curve.model == UNNAMED else curve.model
    return f"{model}, {curve.context}, {ORDERINGS[curve.ordering]}"


def fits_by_curve(records: Iterable[Record]) -> dict[MeasuredCurve, dict[str, Record]]:
    """Return the checked fits of each curve by family of utilities, the curves in the paper's order."""
    found: dict[str, dict[str, Record]] = {}
    for r in records:
        if r.experiment == EXPERIMENT and r.status == "feasible" and r.checked_objective is not None:
            found.setdefault(r.family, {})[_utility_of(r)] = r
    return {curve: found[curve.family] for curve in CURVES if curve.family in found}


def _utility_of(record: Record) -> str:
    """Return the family that was fitted, which is the paper's unless it was set."""
    return str(json.loads(record.parameters).get("utility", PAPERS))


def _r_squared(records: Sequence[Record], model: str, context: str, ordering: str) -> Measurement:
    """Return R² of the paper's family on a curve."""
    wanted = MeasuredCurve(model, context, ordering, "", ())
    return _least(records, [curve for curve in CURVES if curve.family == wanted.family], title_of(wanted))


def _smallest_r_squared(records: Sequence[Record], *orderings: str) -> Measurement:
    """Return the smallest R² of the paper's family over the curves of some orderings.

    A model that its source does not name is none that the paper speaks of.
    """
    names = " or ".join(ORDERINGS[ordering] for ordering in orderings)
    curves = [curve for curve in CURVES if curve.ordering in orderings and curve.model != UNNAMED]
    return _least(records, curves, names)


def _least(records: Sequence[Record], curves: Sequence[MeasuredCurve], name: str) -> Measurement:
    if not curves:
        raise NotTestableError(f"no public points: {name}")
    found = fits_by_curve(records)
    fits = [(curve, found[curve][PAPERS]) for curve in curves if PAPERS in found.get(curve, {})]
    if not fits:
        raise NotTestableError(f"no fit in the store: {name}")
    curve, least = min(fits, key=lambda pair: pair[1].checked_objective or 0.0)
    value, kept = least.checked_objective or 0.0, least.extra["checked"]["kept"]
    detail = f"{len(kept)} points from {100 * min(kept):g} % of the cache on"
    if len(curves) > 1:
        detail = f"least of {len(fits)} curves, {title_of(curve)}: {detail}"
    keys = tuple(r.key for _, r in fits)
    return Measurement(
        value, value, value, len(fits), len(curves), "sampled", detail, least.instance, least.key, keys
    )


def _anchor(records: Sequence[Record], model: str, context: str, ordering: str) -> Measurement:
    """Return the mean anchor over the families and its range, %, where the points identify it."""
    wanted = MeasuredCurve(model, context, ordering, "", ())
    fits = [
        r
        for curve, own in fits_by_curve(records).items()
        if curve.family == wanted.family
        for r in own.values()
    ]
    if not fits:
        raise NotTestableError(f"no fit in the store: {title_of(wanted)}")
    for r in fits:
        if r.message:
            raise NotTestableError(f"{_utility_of(r)}: {r.message}")
    anchors = [100.0 * r.extra["decision"]["anchor"] for r in fits]
    mean = sum(anchors) / len(anchors)
    keys = tuple(r.key for r in fits)
    return Measurement(
        mean, min(anchors), max(anchors), len(fits), len(fits), "sampled", "range of the families", keys=keys
    )


FIT_MEASURES: Mapping[str, Callable[..., Measurement]] = {
    "r_squared": _r_squared,
    "smallest_r_squared": _smallest_r_squared,
    "fitted_anchor": _anchor,
}
