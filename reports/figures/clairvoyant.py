"""ImpactHO, Section VI-E: each policy's share of the clairvoyant bound against the load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from bench.jobs.job import Record
from bench.judging.measures import certified_bounds, load_of
from bench.judging.selecting import select
from bench.judging.statistics import Mean, mean_of
from reports.style import discard, new_figure, plot_intervals, save_figure

__all__ = ["POLICIES", "draw", "shares_by_load"]

POLICIES = ("water-filling", "equal", "proportional-fair", "winner-take-all")
PUBLISHED = {1: 99.47, 8: 98.23}  # water-filling, as printed


def shares_by_load(records: Sequence[Record], policy: str) -> dict[float, Mean]:
    """Return 100 · value / certified bound by load, the mean over traces with its interval."""
    own = select(records, experiment="handover-clairvoyant")
    bounds = certified_bounds(own, "handover-clairvoyant")
    shares: dict[float, list[float]] = defaultdict(list)
    for r in own:
        load = load_of(r)
        usable = r.method == policy and r.feasible and r.size and r.instance_sha256 in bounds
        if usable and load is not None and r.checked_objective is not None:
            bound = bounds[r.instance_sha256][0]
            if bound > 0.0:
                shares[load].append(100.0 * r.checked_objective / bound)
    return {load: mean_of(values, (0.0, 100.0)) for load, values in sorted(shares.items())}


def _rows(records: Sequence[Record], policy: str) -> dict[float, list[Record]]:
    """Return the rows behind each load's point, the policy's and those of the bound."""
    groups: dict[float, list[Record]] = defaultdict(list)
    for r in select(records, experiment="handover-clairvoyant"):
        load = load_of(r)
        if load is not None and (r.method == policy or r.bound is not None):
            groups[load].append(r)
    return groups


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the shares from the stored records; return the files, none without records."""
    figure, axes = new_figure()
    curves = {policy: shares_by_load(records, policy) for policy in POLICIES}
    if not any(curves.values()):
        return discard(figure)
    for i, (policy, means) in enumerate(curves.items()):
        if means:
            points = {x: (m.value, m.low, m.high) for x, m in means.items()}
            plot_intervals(axes, "handover", policy, points, 0.06 * (i - 1.5), _rows(records, policy))
    axes.plot(
        list(PUBLISHED), list(PUBLISHED.values()), "*", color="#D55E00", markerfacecolor="white",
        markersize=8, zorder=5, label="Water-filling, published",
    )  # fmt: skip
    axes.set(xlabel="Handover rate $\\rho$ (users/s)", ylabel="Share of the clairvoyant bound (%)")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, folder, "clairvoyant")
