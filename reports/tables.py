"""Tables of a report, computed from records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bench.jobs.job import Record
from bench.judging.best_known import best_known
from bench.judging.claims import Judged
from bench.judging.measures import (
    FIG6_FAMILY,
    family_minima,
    fastest_seconds,
    load_of,
    optima,
    witness_counts,
)
from bench.judging.mmkp_gaps import MmkpRun, gap_at, runs_of
from bench.judging.selecting import select
from bench.judging.statistics import Mean, mean_of
from reports.cells import Cell, Table, cell, code, decimals, figures, mean_text
from reports.figures.clairvoyant import POLICIES, shares_by_load
from reports.figures.fig6 import throughput_by_size
from reports.figures.growth import growth_fits
from reports.markdown import markdown

__all__ = [
    "Table",
    "claims_table",
    "clairvoyant_table",
    "fig6_table",
    "files_table",
    "growth_table",
    "guarantee_table",
    "markdown",
    "mmkp_class_table",
    "mmkp_table",
    "real_table",
]

WANTED_SHARE = 98.0  # % of the clairvoyant bound


def claims_table(judged: Sequence[Judged], records: Sequence[Record] = ()) -> Table:
    """Return the table of claims: published, measured, verdict, evidence.

    Behind a measured value are the rows that its measurement names, else those of its experiment.
    """
    columns = (
        "place", "claim", "published", "measured [95 %]", "n", "verdict", "evidence", "detail and witness",
    )  # fmt: skip
    rows = [_claim(j, records) for j in judged]
    return Table("Published claims", columns, rows, frozenset({"published", "measured [95 %]", "n"}))


def _claim(judged: Judged, records: Sequence[Record]) -> tuple[str, ...]:
    m, claim = judged.measurement, judged.claim
    keys = () if m is None else m.keys
    keys = keys or tuple(r.key for r in select(records, experiment=claim.experiment))
    detail = judged.reason if m is None else "; ".join(text for text in (m.detail, judged.reason) if text)
    if m is not None and m.witness:
        detail += f" {code(m.witness)} (`certigap show {m.key[:12]}`)"
    return (
        f"{claim.paper}, {claim.place}",
        claim.statement,
        claim.published,
        Cell(judged.measured, keys),
        "–" if m is None else Cell(_of(m.n, m.expected), keys),
        judged.verdict,
        "–" if m is None else Cell(judged.evidence, keys),
        Cell(detail, [m.key] if m is not None and m.key and detail else []),
    )


def guarantee_table(records: Sequence[Record]) -> Table:
    """Return the smallest ratio to the proved optimum by family, for both readings of the memory."""
    guarantee = select(records, experiment="balance-guarantee")
    own = {row[0]: row for row in family_minima(guarantee, "hybrid-own")}
    counts = witness_counts(guarantee)
    rows = []
    for family, n, least, mean, record in family_minima(guarantee, "hybrid"):
        second = own.get(family)
        behind = [
            r for r in guarantee if r.family == family and (r.method == "hybrid" or r.status == "optimal")
        ]
        values = ("–", "–")
        if second is not None:
            theirs = select(guarantee, family=family, method="hybrid-own")
            values = (cell(decimals(second[2], 3), [second[4]]), cell(decimals(second[3], 3), theirs))
        rows.append(
            (
                code(family),
                cell(str(n), behind),
                cell(decimals(least, 3), [record]),
                cell(decimals(mean, 3), behind),
                *values,
                code(record.instance),
                str(counts.get(record.instance_sha256, 0)),
                cell(code(record.key[:12]), [record]),
            )
        )
    columns = (
        "family",
        "n",
        "hybrid, least",
        "hybrid, mean",
        "hybrid-own, least",
        "hybrid-own, mean",
        "instance of hybrid's least",
        "witnesses",
        "row",
    )
    note = (
        "Ratios to the proved optimum. `hybrid` charges padded memory (27), `hybrid-own` the memory of (15)."
    )
    return Table("The ½-approximation, by family", columns, rows, frozenset(columns[1:6]), note)


def clairvoyant_table(records: Sequence[Record]) -> Table:
    """Return each policy's share of the certified bound by load."""
    records = select(records, experiment="handover-clairvoyant")
    shares = {policy: shares_by_load(records, policy) for policy in POLICIES}
    loads = sorted({load for by_load in shares.values() for load in by_load})
    gaps = _bound_gaps(records)
    rows = []
    for load in loads:
        cells = []
        for policy in POLICIES:
            mean = shares[policy].get(load)
            behind = [r for r in _at_load(records, load) if r.method == policy or r.bound is not None]
            cells.append("–" if mean is None else cell(mean_text(mean, 3, whole=100.0), behind))
        n = max((by_load[load].n for by_load in shares.values() if load in by_load), default=0)
        water = shares["water-filling"].get(load)
        wanted = "–" if water is None else _at_least(water, WANTED_SHARE)
        bounds = [r for r in _at_load(records, load) if r.bound is not None]
        rows.append((f"{load:g}", str(n), *cells, wanted, cell(gaps.get(load, "–"), bounds)))
    columns = (
        "ρ (users/s)",
        "n",
        *(f"{policy} (%)" for policy in POLICIES),
        "≥ 98 %",
        "bound's gap (points)",
    )
    note = (
        "Shares of an upper bound, so lower estimates of the share of the optimum. The last column is the "
        "largest gap between the bound and a schedule that reaches it, in points of the mean accuracy."
    )
    return Table("Water-filling against the clairvoyant bound", columns, rows, frozenset(columns[1:6]), note)


def _at_load(records: Iterable[Record], load: float) -> list[Record]:
    return [r for r in records if load_of(r) == load]


def _bound_gaps(records: Sequence[Record]) -> dict[float, str]:
    gaps: dict[float, list[float]] = defaultdict(list)
    for r in records:
        load = load_of(r)
        usable = r.experiment == "handover-clairvoyant" and load is not None and r.size
        if usable and r.bound is not None and r.checked_objective is not None:
            gaps[load or 0.0].append(100.0 * max(r.bound - r.checked_objective, 0.0) / r.size)
    return {load: figures(max(values), 2) for load, values in gaps.items()}


def fig6_table(records: Sequence[Record], family: str = FIG6_FAMILY) -> Table:
    """Return median times and throughputs of Fig. 6 by size, for a family."""
    methods = ("exhaustive-naive", "hybrid-literal", "exhaustive", "hybrid")
    records = select(records, experiment="balance-fig6", family=family)
    seconds = {method: fastest_seconds(records, method, family) for method in methods}
    best = throughput_by_size(records, "exhaustive", family)
    ours = throughput_by_size(records, "hybrid", family)
    rows = []
    for size in sorted({size for by_size in seconds.values() for size in by_size}):
        behind = {m: select(records, method=m, size=size) for m in methods}
        times = [cell(_median(seconds[m].get(size)), behind[m]) for m in methods]
        ratios = [
            cell(_ratio(seconds[m].get(size), seconds["hybrid"].get(size)), behind[m] + behind["hybrid"])
            for m in ("exhaustive-naive", "hybrid-literal", "exhaustive")
        ]
        values = [
            "–" if size not in means else cell(decimals(means[size].value, 3), behind[method])
            for method, means in (("exhaustive", best), ("hybrid", ours))
        ]
        n = cell(str(len(seconds["hybrid"].get(size, []))), behind["hybrid"])
        rows.append((str(size), n, *times, *ratios, *values))
    columns = (
        "K", "n", "3^K loop (s)", "Algorithm 3 as printed (s)", "feasibility masks (s)", "Algorithm 3 (s)",
        "3^K / Algorithm 3", "as printed / Algorithm 3", "masks / Algorithm 3", "optimum served / K",
        "Algorithm 3 served / K",
    )  # fmt: skip
    note = (
        f"Medians over the instances of {family}, each the fastest of its repetitions; one process, "
        "one thread."
    )
    named = "" if family == FIG6_FAMILY else f", {family}"
    return Table(f"Fig. 6: running time and throughput{named}", columns, rows, frozenset(columns), note)


def growth_table(records: Sequence[Record]) -> Table:
    """Return the fitted growth of each timed method: bases of exponentials, exponents of powers."""
    rows = []
    for growth in growth_fits(records):
        fit, sizes = growth.fit, growth.points
        texts = (f"{fit.growth:.3g}", f"[{fit.low:.3g}, {fit.high:.3g}]", f"{fit.residual:.2g}")
        unit = "base per user" if growth.exponential else "exponent"
        cells = [cell(text, growth.rows) for text in texts]
        ladder = growth.ladder
        span = f"{min(sizes)} … {max(sizes)}"
        rows.append((ladder.method, ladder.family, span, unit, ladder.declared, *cells))
    columns = ("method", "family", "users", "growth", "declared", "fitted", "95 %", "largest log residual")
    return Table("Growth of running times", columns, rows, frozenset(columns[4:]))


def real_table(records: Sequence[Record]) -> Table:
    """Return every method's mean on measured data."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for r in records:
        if r.experiment in ("balance-real", "handover-real"):
            groups[r.family, r.method].append(r)
    best = optima(r for r in records if r.experiment == "balance-real")
    rows = []
    for (family, method), runs in groups.items():
        values = [r.checked_objective / r.size for r in runs if r.checked_objective is not None and r.size]
        if not values:
            rows.append((family, method, cell(f"0/{len(runs)}", runs), "–", "–", _reasons(runs)))
            continue
        mean = mean_of(values)
        ratios = [
            r.checked_objective / best[r.instance_sha256]
            for r in runs
            if r.checked_objective is not None and best.get(r.instance_sha256)
        ]
        share = cell(decimals(float(np.mean(ratios)), 3), runs) if ratios else "–"
        n = cell(_of(len(values), len(runs)), runs)
        rows.append((family, method, n, cell(mean_text(mean, 4), runs), share, ""))
    columns = ("data", "method", "n", "value a user [95 %]", "share of the optimum", "not run")
    note = (
        "Users served / K for the Azure traces (`azure-…`), mean accuracy for UCC 5G handovers (`ucc5g-…`)."
    )
    return Table("Measured data", columns, rows, frozenset(columns[2:5]), note)


def mmkp_class_table(records: Sequence[Record]) -> Table:
    """Return each method's gap to the least certified bound by class of MMKP, also at shorter times."""
    rows = []
    for name, methods in runs_of(records).items():
        for method, runs in methods.items():
            gaps = [100.0 * run.gap for run in runs if run.gap is not None]
            proved = sum(run.record.status == "optimal" for run in runs)
            times = [run.record.solve_s for run in runs if run.record.solve_s is not None]
            early = [_gaps_at(runs, seconds) for seconds in (0.1, 1.0, 10.0)]
            gap = mean_text(mean_of(gaps, (0.0, 100.0)), 3) if gaps else "–"
            seconds = f"{np.median(times):.3g}" if times else "–"
            texts = (_of(len(gaps), len(runs)), gap, *early, str(proved), seconds)
            records_behind = [run.record for run in runs]
            rows.append((name, method, *(cell(text, records_behind) for text in texts)))
    columns = (
        "class", "method", "n", "gap (%) [95 %]", "at .1 s", "at 1 s", "at 10 s", "proved", "median time (s)"
    )  # fmt: skip
    note = (
        "Gap = (least bound of any method − value) / bound; at shorter times it is read off the incumbents, "
        "and stands where every run had a value. Bounds alone have no value."
    )
    return Table("MMKP by class", columns, rows, frozenset(columns[2:]), note)


def _gaps_at(runs: Sequence[MmkpRun], seconds: float) -> str:
    gaps = [gap_at(run, seconds) for run in runs]
    known = [gap for gap in gaps if gap is not None]
    return f"{100.0 * np.mean(known):.3f}" if known and len(known) == len(gaps) else "–"


def mmkp_table(records: Sequence[Record]) -> Table:
    """Return values, bounds and times of the MMKP runs, beside the best values known."""
    known, rows = best_known(), []
    for r in records:
        if r.experiment == "mmkp":
            numbers = (figures(r.checked_objective, 9), figures(r.bound, 9), figures(r.solve_s))
            cells = [cell(text, [r]) for text in numbers]
            entry = known.get(r.instance_sha256)
            best = "–" if entry is None else f"{figures(entry.best[0], 9)} ({entry.best[1]})"
            rows.append((code(r.instance), r.method, str(r.status), *cells, best, r.message))
    columns = ("instance", "method", "status", "value", "bound", "time (s)", "best known", "message")
    note = "Best known: the larger of a published value and that of a decision stored here, with its source."
    return Table("MMKP", columns, rows, frozenset(columns[3:6]), note)


def files_table(records: Sequence[Record]) -> Table:
    """Return each method on the user's own instances: value, share of the best bound, time."""
    own = select(records, experiment="files")
    bounds: dict[str, float] = {}
    for r in own:
        if r.bound is not None and r.status not in ("error", "inconsistent"):
            bounds[r.instance_sha256] = min(bounds.get(r.instance_sha256, np.inf), r.bound)
    rows = []
    for problem, method in dict.fromkeys((r.problem, r.method) for r in own):
        runs = [r for r in own if (r.problem, r.method) == (problem, method)]
        good = [r for r in runs if r.feasible and r.checked_objective is not None]
        shares = [
            (r.checked_objective or 0.0) / bounds[r.instance_sha256]
            for r in good
            if bounds.get(r.instance_sha256)
        ]
        value = "–" if not good else mean_text(mean_of([r.checked_objective or 0.0 for r in good]), 4)
        share = "–" if not shares else mean_text(mean_of(shares, (0.0, 1.0)), 4)
        times = [r.solve_s for r in good if r.solve_s is not None]
        seconds = "–" if not times else figures(float(np.median(times)))
        n = _of(len(good), len(runs))
        rows.append((problem, code(method), *(cell(text, runs) for text in (n, value, share, seconds))))
    columns = ("problem", "method", "n", "value [95 %]", "share of the least bound [95 %]", "median time (s)")
    note = "The least bound of an instance is that of any method that ran on it."
    return Table("Own instances", columns, rows, frozenset(columns[2:]), note)


def _at_least(mean: Mean, limit: float) -> str:
    """Return yes, no, or open where the interval includes the limit."""
    if mean.low >= limit:
        return "yes"
    return "no" if mean.high < limit else "open"


def _of(n: int, expected: int) -> str:
    return str(n) if n == expected else f"{n}/{expected}"


def _reasons(runs: Sequence[Record]) -> str:
    counts = Counter(r.message or str(r.status) for r in runs)
    return "; ".join(f"{n} × {reason}" for reason, n in counts.most_common(5))


def _median(seconds: Mapping[str, float] | None) -> str:
    return "–" if not seconds else figures(float(np.median(list(seconds.values()))))


def _ratio(slow: Mapping[str, float] | None, fast: Mapping[str, float] | None) -> str:
    """Return the ratio of the medians over the instances that both have."""
    both = sorted(set(slow or {}) & set(fast or {}))
    if slow is None or fast is None or not both:
        return "–"
    ratio = np.median([slow[i] for i in both]) / np.median([fast[i] for i in both])
    return f"{figures(float(ratio))} ×"
