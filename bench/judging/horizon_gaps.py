"""What the records say about gaps to the clairvoyant bound: whose, where from, how much is closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bench.jobs.job import Record
from bench.judging.handover_measures import settings_of
from bench.judging.measures import SOLVED, certified_bounds
from bench.judging.statistics import Mean, mean_of, ratio_of_sums

__all__ = [
    "BOUND",
    "LOSSES",
    "VERSIONS",
    "Closed",
    "Version",
    "closed_by",
    "closed_shares",
    "gap_points",
    "gaps_by_load",
    "rows_by_load",
]

EXPERIMENT = "handover-horizon"
BOUND = "bound"
HEAVY = 8.0  # users a second, of the settings with other windows and bandwidths
Key = tuple[tuple[tuple[str, float], ...], int]  # settings and seed of a trace


@dataclass(frozen=True)
class Version:
    """A policy with the option that tells its versions apart."""

    method: str
    arrivals: str  # of the receding horizon, "" otherwise
    style: str
    label: str


WATER = Version("water-filling", "", "water-filling", "Water-filling")
LIFTED = Version("clairvoyant-lifted", "", "clairvoyant-lifted", "Foresight, anchors in the first slot")
VERSIONS = (
    WATER,
    Version("receding-horizon", "none", "receding-horizon", "Those present"),
    Version("receding-horizon", "learned", "receding-horizon+learned", "Learned rate"),
    Version("receding-horizon", "mean", "receding-horizon+mean", "Mean rate"),
)
# The gap in two: what (3)'s anchors in the first slot cost with foresight, and what foresight is worth then.
LOSSES: dict[str, tuple[Version | str, Version]] = {
    "Anchors in the first slot (concave restriction)": (BOUND, LIFTED),
    "Not knowing the coming slots (myopia)": (LIFTED, WATER),
}


@dataclass(frozen=True)
class Closed:
    """How much of water-filling's gap a version closes in one setting."""

    settings: tuple[tuple[str, float], ...]
    version: Version
    share: Mean  # of the summed gap, %
    gain: Mean  # paired difference to water-filling, points
    gap: float  # water-filling's mean gap, points
    microseconds: float  # a slot, median over traces
    rows: tuple[Record, ...]  # of the version, of water-filling and of bounds


def closed_shares(records: Sequence[Record]) -> list[Closed]:
    """Return for every setting and version the share of water-filling's gap that is closed."""
    own = [r for r in records if r.experiment == EXPERIMENT]
    bound, base = _values(own, BOUND), _values(own, WATER)
    rows = []
    for settings in dict.fromkeys(key[0] for key in base):
        for version in VERSIONS[1:]:
            found = _values(own, version)
            keys = sorted(k for k in base if k[0] == settings and k in bound and k in found)
            if keys:
                rows.append(_closed(own, settings, version, keys, (bound, base, found)))
    return rows


def _closed(
    records: Sequence[Record],
    settings: tuple[tuple[str, float], ...],
    version: Version,
    keys: Sequence[Key],
    values: tuple[dict[Key, float], ...],
) -> Closed:
    bound, base, found = (np.array([column[k] for k in keys]) for column in values)
    gain, gap = found - base, bound - base
    share = ratio_of_sums(100.0 * gain, gap) if gap.sum() > 0 else Mean(0.0, 0.0, 0.0, len(gap))
    here = [r for r in records if _key(r)[0] == settings]
    chosen = (r for r in here if _is(r, version))
    times = [time for r in chosen if (time := _microseconds(r)) is not None] or [np.nan]
    rows = tuple(r for r in here if _is(r, version) or _is(r, WATER) or r.bound is not None)
    typical = float(np.median(times))
    return Closed(settings, version, share, mean_of(gain), float(gap.mean()), typical, rows)


def _microseconds(record: Record) -> float | None:
    """Return the time of a slot, None if the row does not say it."""
    counters, phases = record.extra.get("counters"), record.extra.get("phases")
    steps = counters.get("steps") if isinstance(counters, dict) else None
    seconds = phases.get("solve") if isinstance(phases, dict) else None
    numbers = all(isinstance(x, int | float) and x > 0 for x in (steps, seconds))
    return 1e6 * seconds / steps if numbers else None  # type: ignore[operator]


def closed_by(records: Sequence[Record], version: Version, axis: str, default: float) -> dict[float, Closed]:
    """Return a version's shares at ρ = 8 by one setting, which is ``default`` where it is not given."""
    own = [c for c in closed_shares(records) if c.version == version]
    points = {}
    for closed in own:
        settings = dict(closed.settings)
        if settings.get("rate_per_s") == HEAVY and set(settings) <= {"rate_per_s", axis}:
            points[settings.get(axis, default)] = closed
    return dict(sorted(points.items()))


def gap_points(records: Sequence[Record], version: Version) -> dict[float, Mean]:
    """Return a version's mean gap to the bound by load, points, in the default setting."""
    return gaps_by_load(records, BOUND, version)


def gaps_by_load(records: Sequence[Record], upper: Version | str, lower: Version) -> dict[float, Mean]:
    """Return the mean difference of two values by load, points of mean accuracy, in the default setting."""
    high, low = _values(records, upper), _values(records, lower)
    groups: dict[float, list[float]] = defaultdict(list)
    for key in sorted(low):
        settings = dict(key[0])
        if key in high and set(settings) == {"rate_per_s"}:
            groups[settings["rate_per_s"]].append(high[key] - low[key])
    return {load: mean_of(column) for load, column in sorted(groups.items())}


def rows_by_load(
    records: Sequence[Record], upper: Version | str, lower: Version
) -> dict[float, list[Record]]:
    """Return the rows behind each of ``gaps_by_load``; behind the bound is every row that has one."""
    groups: dict[float, list[Record]] = defaultdict(list)
    for r in records:
        settings = settings_of(r)
        above = r.bound is not None if isinstance(upper, str) else _is(r, upper)
        if r.experiment == EXPERIMENT and set(settings) == {"rate_per_s"} and (above or _is(r, lower)):
            groups[settings["rate_per_s"]].append(r)
    return groups


def _values(records: Iterable[Record], version: Version | str) -> dict[Key, float]:
    """Return by trace the mean accuracy of a version, or its certified bound, %."""
    rows = list(records)
    if isinstance(version, str):
        bounds = certified_bounds(rows, EXPERIMENT)
        return {
            _key(r): 100.0 * bounds[r.instance_sha256][0] / r.size
            for r in rows
            if r.instance_sha256 in bounds and r.size
        }
    return {
        _key(r): 100.0 * (r.checked_objective or 0.0) / r.size
        for r in rows
        if _is(r, version) and r.feasible and r.status in SOLVED and r.size
    }


def _is(record: Record, version: Version) -> bool:
    if record.method != version.method:
        return False
    return (
        not version.arrivals
        or f'"{version.arrivals}"' in record.parameters
        or (version.arrivals == "none" and record.parameters == "{}")
    )


def _key(record: Record) -> Key:
    return tuple(sorted(settings_of(record).items())), record.seed
