"""Tables of a report, computed from records."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.jobs.job import Record
from bench.judging.claims import Judged
from bench.judging.measures import (
    FIG6_FAMILY,
    family_minima,
    fastest_seconds,
    medians,
    optima,
    witness_counts,
)
from bench.judging.mmkp_gaps import MmkpRun, gap_at, runs_of
from bench.judging.statistics import Mean, mean_of, power_law, semi_log
from reports.figures.clairvoyant import POLICIES, shares_by_load
from reports.figures.fig6 import throughput_by_size

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
    "status_table",
]

WANTED_SHARE = 98.0  # % of the clairvoyant bound


@dataclass(frozen=True)
class Table:
    """A titled table of texts; columns named in ``right`` hold numbers."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    right: frozenset[str] = field(default_factory=frozenset)
    note: str = ""


def markdown(table: Table) -> str:
    """Return the table as Markdown."""
    rule = ["---:" if name in table.right else "---" for name in table.columns]
    lines = [f"### {table.title}", "", *(_line(row) for row in (table.columns, tuple(rule), *table.rows))]
    return "\n".join(lines) + "\n" + (f"\n{table.note}\n" if table.note else "")


def claims_table(judged: Sequence[Judged]) -> Table:
    """Return the table of claims: published, measured, verdict, evidence."""
    rows = []
    for j in judged:
        m = j.measurement
        count = "–" if m is None else _of(m.n, m.expected)
        detail = j.reason if m is None else m.detail
        witness = "" if m is None or not m.witness else f" `{m.witness}` (`certigap show {m.key[:12]}`)"
        evidence = "–" if m is None else m.evidence
        place = f"{j.claim.paper}, {j.claim.place}"
        rows.append(
            (
                place,
                j.claim.statement,
                j.claim.published,
                j.measured,
                count,
                j.verdict,
                evidence,
                detail + witness,
            )
        )
    columns = (
        "place",
        "claim",
        "published",
        "measured [95 %]",
        "n",
        "verdict",
        "evidence",
        "detail and witness",
    )
    return Table("Published claims", columns, rows, frozenset({"published", "n"}))


def guarantee_table(records: Sequence[Record]) -> Table:
    """Return the smallest ratio to the proved optimum by family, for both readings of the memory."""
    own = {row[0]: row for row in family_minima(records, "hybrid-own")}
    counts = witness_counts(r for r in records if r.experiment == "balance-guarantee")
    rows = []
    for family, n, least, mean, record in family_minima(records, "hybrid"):
        second = own.get(family)
        proofs = counts.get(record.instance_sha256, 0)
        values = ("–", "–") if second is None else (f"{second[2]:.3f}", f"{second[3]:.3f}")
        rows.append(
            (
                family,
                str(n),
                f"{least:.3f}",
                f"{mean:.3f}",
                *values,
                f"`{record.instance}`",
                f"{proofs}",
                f"`{record.key[:12]}`",
            )
        )
    columns = (
        "family",
        "n",
        "hybrid, least",
        "mean",
        "hybrid-own, least",
        "mean",
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
    shares = {policy: shares_by_load(records, policy) for policy in POLICIES}
    loads = sorted({load for by_load in shares.values() for load in by_load})
    gaps = _bound_gaps(records)
    rows = []
    for load in loads:
        cells = []
        for policy in POLICIES:
            mean = shares[policy].get(load)
            cells.append("–" if mean is None else _mean(mean, 3))
        n = max((by_load[load].n for by_load in shares.values() if load in by_load), default=0)
        water = shares["water-filling"].get(load)
        wanted = "–" if water is None else _at_least(water, WANTED_SHARE)
        rows.append((f"{load:g}", str(n), *cells, wanted, gaps.get(load, "–")))
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


def _bound_gaps(records: Sequence[Record]) -> dict[float, str]:
    from bench.judging.measures import load_of

    gaps: dict[float, list[float]] = defaultdict(list)
    for r in records:
        load = load_of(r)
        usable = r.experiment == "handover-clairvoyant" and load is not None and r.size
        if usable and r.bound is not None and r.checked_objective is not None:
            gaps[load or 0.0].append(100.0 * max(r.bound - r.checked_objective, 0.0) / r.size)
    return {load: f"{max(values):.1e}" for load, values in gaps.items()}


def fig6_table(records: Sequence[Record]) -> Table:
    """Return median times and throughputs of Fig. 6 by size."""
    methods = ("exhaustive-naive", "hybrid-literal", "exhaustive", "hybrid")
    seconds = {method: fastest_seconds(records, method, FIG6_FAMILY) for method in methods}
    best = throughput_by_size(records, "exhaustive", FIG6_FAMILY)
    ours = throughput_by_size(records, "hybrid", FIG6_FAMILY)
    rows = []
    for size in sorted({size for by_size in seconds.values() for size in by_size}):
        times = [_median(seconds[method].get(size)) for method in methods]
        ratios = [
            _ratio(seconds[m].get(size), seconds["hybrid"].get(size))
            for m in ("exhaustive-naive", "exhaustive")
        ]
        values = ["–" if size not in means else f"{means[size].value:.3f}" for means in (best, ours)]
        n = len(seconds["hybrid"].get(size, []))
        rows.append((str(size), str(n), *times, *ratios, *values))
    columns = (
        "K", "n", "3^K loop (s)", "Algorithm 3 as printed (s)", "feasibility masks (s)", "Algorithm 3 (s)",
        "3^K / Algorithm 3", "masks / Algorithm 3", "optimum served / K", "Algorithm 3 served / K",
    )  # fmt: skip
    note = (
        f"Medians over the instances of {FIG6_FAMILY}, each the fastest of its repetitions; one process, "
        "one thread."
    )
    return Table("Fig. 6: running time and throughput", columns, rows, frozenset(columns), note)


def growth_table(records: Sequence[Record]) -> Table:
    """Return the fitted growth of each timed method: bases of exponentials, exponents of powers."""
    exponential = [("exhaustive-naive", "3"), ("exhaustive", "2")]
    fits = [(m, "base per user", declared, semi_log, 10, 16) for m, declared in exponential]
    fits += [
        ("hybrid-literal", "exponent", "≤ 6", power_law, 10, 16),
        ("hybrid", "exponent", "–", power_law, 32, 1024),
    ]
    rows = []
    for method, unit, declared, fit, low, high in fits:
        seconds = fastest_seconds(records, method, FIG6_FAMILY)
        points = medians(seconds, low, high)
        if len(points) < 6:
            continue
        result = fit(list(points), list(points.values()))
        interval = f"[{result.low:.3g}, {result.high:.3g}]"
        span = f"{min(points)} … {max(points)}"
        rows.append(
            (method, span, unit, declared, f"{result.growth:.3g}", interval, f"{result.residual:.2g}")
        )
    columns = ("method", "K", "growth", "declared", "fitted", "95 %", "largest log residual")
    return Table("Fig. 6: growth", columns, rows, frozenset(columns[3:]), "Fits need at least six sizes.")


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
            rows.append((family, method, f"0/{len(runs)}", "–", "–", _reasons(runs)))
            continue
        mean = mean_of(values)
        ratios = [
            r.checked_objective / best[r.instance_sha256]
            for r in runs
            if r.checked_objective is not None and best.get(r.instance_sha256)
        ]
        share = f"{np.mean(ratios):.3f}" if ratios else "–"
        rows.append((family, method, _of(len(values), len(runs)), _mean(mean, 4), share, ""))
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
            gap = _mean(mean_of(gaps, (0.0, 100.0)), 3) if gaps else "–"
            seconds = f"{np.median(times):.3g}" if times else "–"
            rows.append((name, method, _of(len(gaps), len(runs)), gap, *early, str(proved), seconds))
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
    """Return values, bounds and times of the MMKP runs."""
    rows = []
    for r in records:
        if r.experiment == "mmkp":
            cells = [_number(r.checked_objective), _number(r.bound), _number(r.solve_s, 3)]
            rows.append((r.instance, r.method, str(r.status), *cells, r.message))
    columns = ("instance", "method", "status", "value", "bound", "time (s)", "message")
    return Table("MMKP", columns, rows, frozenset(columns[3:6]))


def files_table(records: Sequence[Record]) -> Table:
    """Return each method on the user's own instances: value, share of the best bound, time."""
    own = [r for r in records if r.experiment == "files"]
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
        value = "–" if not good else _mean(mean_of([r.checked_objective or 0.0 for r in good]), 4)
        share = "–" if not shares else _mean(mean_of(shares, (0.0, 1.0)), 4)
        times = [r.solve_s for r in good if r.solve_s is not None]
        seconds = "–" if not times else f"{np.median(times):.3g}"
        rows.append((problem, method, _of(len(good), len(runs)), value, share, seconds))
    columns = ("problem", "method", "n", "value [95 %]", "share of the least bound [95 %]", "median time (s)")
    note = "The least bound of an instance is that of any method that ran on it."
    return Table("Own instances", columns, rows, frozenset(columns[2:]), note)


def status_table(records: Sequence[Record]) -> Table:
    """Return how every experiment's runs ended, and why those that did not end well."""
    rows = []
    for experiment in dict.fromkeys(r.experiment for r in records):
        own = [r for r in records if r.experiment == experiment]
        counts = Counter(str(r.status) for r in own)
        good = sum(counts[s] for s in ("optimal", "feasible", "bound_only", "infeasible"))
        bad = [r for r in own if r.status in ("error", "inconsistent", "skipped", "unknown")]
        listed = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        rows.append((experiment, _of(good, len(own)), listed, _reasons(bad)))
    return Table("Runs", ("experiment", "n ok", "statuses", "reasons"), rows, frozenset({"n ok"}))


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _at_least(mean: Mean, limit: float) -> str:
    """Return yes, no, or open where the interval includes the limit."""
    if mean.low >= limit:
        return "yes"
    return "no" if mean.high < limit else "open"


def _mean(mean: Mean, digits: int) -> str:
    """Return the mean with its interval; one value has none."""
    text = f"{mean.value:.{digits}f}"
    return text if mean.n < 2 else f"{text} [{mean.low:.{digits}f}, {mean.high:.{digits}f}]"


def _of(n: int, expected: int) -> str:
    return str(n) if n == expected else f"{n}/{expected}"


def _reasons(runs: Sequence[Record]) -> str:
    counts = Counter(r.message or str(r.status) for r in runs)
    return "; ".join(f"{n} × {reason}" for reason, n in counts.most_common(5))


def _number(value: float | None, digits: int = 9) -> str:
    return "–" if value is None else f"{value:.{digits}g}"


def _median(seconds: Mapping[str, float] | None) -> str:
    return "–" if not seconds else f"{np.median(list(seconds.values())):.3g}"


def _ratio(slow: Mapping[str, float] | None, fast: Mapping[str, float] | None) -> str:
    """Return the ratio of the medians over the instances that both have."""
    both = sorted(set(slow or {}) & set(fast or {}))
    if slow is None or fast is None or not both:
        return "–"
    return f"{np.median([slow[i] for i in both]) / np.median([fast[i] for i in both]):.3g} ×"
