"""Tables of the handover experiments, computed from records."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from bench.experiments.handover_sweeps import ALLOCATORS, SWEEPS, Curve
from bench.jobs.job import Record, parameters_of
from bench.judging.fit_measures import fits_by_curve, title_of
from bench.judging.handover_measures import (
    crossover,
    curve_means,
    curve_rows,
    hybrid_mean,
    hybrid_of_lengths,
    latency_mean,
    latency_of_lengths,
)
from bench.judging.horizon_gaps import closed_shares
from bench.judging.measures import Measurement, NotTestableError
from bench.judging.statistics import Mean
from formulations.handover.hybrid import REPREFILL_MS
from reports.cells import Table, cell, figures

__all__ = [
    "admission_table",
    "allocators_table",
    "crossover_table",
    "fits_table",
    "handover_tables",
    "horizon_table",
    "latency_table",
]

PUBLISHED_MS = {4096: (211, 229), 8192: (396, 353), 16384: (694, 590)}  # Hybrid, the proposed method
PUBLISHED_MEANS_MS = (847, 434, 391)  # of re-prefill and these two
REFERENCE = "sixty_digits"
SYMBOLS = {
    "rate_per_s": ("ρ", 1.0, "/s"),
    "window_s": ("T_max", 1.0, " s"),
    "bandwidth_bps": ("B", 1e9, " Gbps"),
}


def handover_tables(records: Sequence[Record]) -> list[Table]:
    """Return the tables in the paper's order, those without rows among them."""
    makers = (fits_table, latency_table, crossover_table, admission_table, horizon_table, allocators_table)
    return [make(records) for make in makers]


def fits_table(records: Sequence[Record]) -> Table:
    """Return the constants of each family of sigmoids with their intervals by curve, and their agreement."""
    rows = []
    for curve, fits in fits_by_curve(records).items():
        for utility, r in fits.items():
            decision, intervals = r.extra["decision"], r.extra["certificate"]["interval_95"]
            constants = [
                cell(f"{figures(decision[key], 4)} {_ends(intervals[key])}", [r])
                for key in ("ceiling", "sharpness", "anchor")
            ]
            agreement = (f"{r.checked_objective or 0.0:.5f}", figures(r.extra["checked"]["rmse"]))
            n = str(len(r.extra["checked"]["kept"]))
            identified = "no" if r.message else "yes"
            rows.append(
                (title_of(curve), n, utility, *constants, *(cell(t, [r]) for t in agreement), identified)
            )
    columns = (
        "measured", "n", "family", "M (%) [95 %]", "k [95 %]", "τ [95 %]", "R²", "RMSE (points)",
        "k and τ identified",
    )  # fmt: skip
    note = (
        "Profile-likelihood intervals; an open end is one that the points do not bound. Published: R² > 0.99."
    )
    return Table("Fits of the utility", columns, rows, frozenset({"n", *columns[3:8]}), note)


def _ends(interval: Sequence[float | None]) -> str:
    low, high = (figures(end, 4) for end in interval)
    return f"[{low}, {high}]"


def latency_table(records: Sequence[Record]) -> Table:
    """Return the latencies of Section VI-D by context length beside the published ones."""
    own = [r for r in records if r.experiment == "handover-latency"]
    lines: list[tuple[str, float, float, float, Sequence[object]]] = [
        (f"{tokens // 1024}K", REPREFILL_MS[tokens], *published, (tokens,))
        for tokens, published in PUBLISHED_MS.items()
    ]
    lines.append(("mean of the three", *PUBLISHED_MEANS_MS, ()))
    rows = []
    for context, input_ms, hybrid, ours, arguments in lines if own else ():
        measures = (hybrid_mean, latency_mean) if arguments else (hybrid_of_lengths, latency_of_lengths)
        first, second = (cell(_latency(measure, own, *arguments), own) for measure in measures)
        n = str(len(own))
        rows.append((context, n, f"{input_ms:g}", f"{hybrid:g}", first, f"{ours:g}", second))
    columns = (
        "context", "traces", "re-prefill (input, ms)", "Hybrid, published", "Hybrid, measured [95 %]",
        "proposed, published", "proposed, measured [95 %]",
    )  # fmt: skip
    note = (
        "Arrivals within 1 s at ρ = 4, no deadline; means over users in ms. Re-prefill was measured by the "
        "authors on their processor. Hybrid is a model that prefills at these times."
    )
    return Table("Latency against compute-based baselines", columns, rows, frozenset(columns[1:]), note)


def crossover_table(records: Sequence[Record]) -> Table:
    """Return where equal shares and winner-take-all change places, by reading of the window."""
    readings: tuple[tuple[str, str, str, tuple[tuple[str, object], ...]], ...] = (
        ("handover-fig4a", "⌊T_max/Δt⌋ slots", "importance", ()),
        ("handover-fig4a", "slots that end within T_max", "importance-whole-slots", ()),
        ("handover-fig4a", "slots that begin within T_max", "importance-started-slots", ()),
        ("handover-fig4a", "likewise, the last one cut", "importance-started-slots", (("deadline_s", 0.5),)),
        ("handover-fig4b", "⌊T_max/Δt⌋ slots", "importance", ()),
    )
    at_hand = {r.experiment for r in records}
    rows = []
    for experiment, reading, family, options in readings:
        if experiment in at_hand:
            quantity, published = ("Δt", "≈ 90") if experiment == "handover-fig4a" else ("T_max", "≈ 400")
            try:
                m = crossover(records, experiment, family, options)
            except NotTestableError as error:
                rows.append((quantity, reading, published, "–", "–", str(error)))
                continue
            interval = f"{1e3 * m.value:.0f} [{1e3 * m.low:.0f}, {1e3 * m.high:.0f}]"
            rows.append((quantity, reading, published, interval, str(m.n), m.detail))
    columns = ("quantity", "window", "published (ms)", "measured [95 %]", "n", "who is ahead")
    return Table("Where EA and WTA change places", columns, rows, frozenset(columns[2:5]))


def admission_table(records: Sequence[Record]) -> Table:
    """Return accuracy and starvation of every reading of "no admission" beside the policies with it."""
    rows = []
    for curve in SWEEPS["handover-fig5b"].curves:
        behind = curve_rows(records, "handover-fig5b", curve)
        cells = []
        for what, load in (("accuracy", 4.0), ("accuracy", 12.0), ("starved", 12.0)):
            mean = curve_means(records, "handover-fig5b", curve, what).get(load)
            cells.append(cell(_mean(mean), behind.get(load, [])))
        if behind:
            rows.append((_name(curve), str(max(map(len, behind.values()))), *cells))
    columns = ("policy", "traces a load", "accuracy at ρ = 4 (%)", "at ρ = 12 (%)", "starved at ρ = 12 (%)")
    return Table("Admission control and its absence, by reading", columns, rows, frozenset(columns[1:]))


def horizon_table(records: Sequence[Record]) -> Table:
    """Return what the receding horizon closes of water-filling's gap to the bound, by setting."""
    rows = []
    for closed in closed_shares(records):
        settings = ", ".join(_setting(key, value) for key, value in closed.settings)
        gain = f"{closed.gain.value:.3f} [{closed.gain.low:.3f}, {closed.gain.high:.3f}]"
        share = f"{closed.share.value:.1f} [{closed.share.low:.1f}, {closed.share.high:.1f}]"
        cells = (
            f"{closed.gap:.3f}",
            gain,
            share,
            f"{closed.microseconds:.0f}" if closed.microseconds > 0 else "–",
        )
        rows.append((settings, closed.version.arrivals, str(closed.gain.n), *cells))
    columns = (
        "setting",
        "arrivals",
        "n",
        "gap (points)",
        "gain (points) [95 %]",
        "closed (%) [95 %]",
        "µs a slot",
    )
    note = "Paired by trace; the gap is that of water-filling to the certified clairvoyant bound."
    return Table("Receding horizon against water-filling", columns, rows, frozenset(columns[2:]), note)


def _setting(name: str, value: float) -> str:
    """Return a family's setting in the paper's symbols."""
    symbol, scale, unit = SYMBOLS.get(name, (name, 1.0, ""))
    return f"{symbol} = {value / scale:g}{unit}"


def allocators_table(records: Sequence[Record]) -> Table:
    """Return the time and the largest error in a fraction of every way to a slot's price, by size."""
    own = [r for r in records if r.experiment == "handover-allocators"]
    exact = {r.instance_sha256: r for r in own if r.method.endswith(REFERENCE) and r.extra.get("decision")}
    groups: dict[tuple[int, int], list[Record]] = defaultdict(list)
    order = {(method, parameters_of(options)): i for i, (method, options) in enumerate(ALLOCATORS)}
    for r in own:
        groups[r.size, order.get((r.method, r.parameters), len(order))].append(r)
    rows = []
    for (size, _), runs in sorted(groups.items()):
        good = [r for r in runs if r.feasible and r.solve_s is not None]
        if not good:
            continue
        errors = [e for r in good if (e := _error(r, exact.get(r.instance_sha256))) is not None]
        options = ", ".join(f"{k} {v}" for k, v in json.loads(runs[0].parameters).items())
        name = runs[0].method.rpartition(":")[2] + (f" ({options})" if options else "")
        time = f"{1e3 * float(np.median([r.solve_s or 0.0 for r in good])):.3g}"
        error = f"{max(errors):.1e}" if errors else "–"
        rows.append((str(size), name, f"{len(good)}/{len(runs)}", cell(time, good), cell(error, good)))
    columns = ("users", "method", "n", "median time (ms)", "largest error of a fraction")
    note = "Errors are to a bisection in 200-bit arithmetic, where that was run."
    return Table("Ways to a slot's price", columns, rows, frozenset({"users", *columns[2:]}), note)


def _error(record: Record, reference: Record | None) -> float | None:
    """Return the largest difference of a fraction to the reference's."""
    if reference is None or not record.extra.get("decision"):
        return None
    found, wanted = (np.array(r.extra["decision"]["fraction"]) for r in (record, reference))
    return float(np.max(np.abs(found - wanted), initial=0.0))


def _latency(measure: Callable[..., Measurement], records: Sequence[Record], *arguments: object) -> str:
    try:
        m = measure(records, *arguments)
    except NotTestableError:
        return "–"
    return f"{m.value:.0f} [{m.low:.0f}, {m.high:.0f}]"


def _name(curve: Curve) -> str:
    reading = dict(curve.options).get("reading")
    if curve.method == "no-admission":
        return f"no-admission ({reading or 'bisect'})"
    return curve.method


def _mean(mean: Mean | None) -> str:
    return "–" if mean is None else f"{mean.value:.2f} [{mean.low:.2f}, {mean.high:.2f}]"
