"""Tables about any store: each method's distance from the least bound and its time, and what failed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.jobs.exports.selection import ended_well, instance_of
from bench.jobs.job import Record
from bench.judging.gaps import Gap, MethodGaps, mean_gap
from bench.registry import METHODS, is_own
from reports.cells import Table, cell, code, figures, mean_text, percent

__all__ = [
    "answer_table",
    "answers",
    "failed_table",
    "methods_table",
    "role_of",
    "runs_table",
    "seconds_by_place",
    "worst_table",
]

WITNESSES = ("balance-guarantee",)  # experiments of adversarial families: a mean says little there
FAILED = ("error", "inconsistent", "skipped", "unknown")


@dataclass(frozen=True)
class Answer:
    """How far an experiment's best method without a proof is from the bound, and what either takes."""

    experiment: str
    best: MethodGaps
    prover: MethodGaps
    places: frozenset[str]  # instances that both solved
    seconds: tuple[float, float] | None  # medians over these, of the method and of the proof

    @property
    def proved(self) -> bool:
        """Whether the prover's runs close their instances, rather than only bound them."""
        return all(r.status == "optimal" for r in self.prover.runs)


def answers_of(groups: Sequence[MethodGaps]) -> list[Answer]:
    """Return an answer for each experiment that has one."""
    found = []
    for experiment in dict.fromkeys(g.experiment for g in groups):
        own = [g for g in groups if g.experiment == experiment]
        heuristics = [g for g in own if role_of(g) not in ("exact", "bound") and g.gaps]
        provers = _provers(own)
        if heuristics and provers:
            best = min(heuristics, key=lambda g: (-len(g.gaps), np.mean([gap.value for gap in g.gaps])))
            prover = min(provers, key=lambda g: (-len(seconds_by_place(g.runs)), _median(g.runs)))
            found.append(_answer(experiment, best, prover))
    return found


def _provers(groups: Iterable[MethodGaps]) -> list[MethodGaps]:
    """Return the methods that closed instances, with those runs only; without any, those that bound."""
    timed = [g for g in groups if role_of(g) in ("exact", "bound") and seconds_by_place(g.runs)]
    closed = [replace(g, runs=tuple(r for r in g.runs if r.status == "optimal")) for g in timed]
    return [g for g in closed if seconds_by_place(g.runs)] or timed


def _answer(experiment: str, best: MethodGaps, prover: MethodGaps) -> Answer:
    mine, theirs = seconds_by_place(best.runs), seconds_by_place(prover.runs)
    both = [place for place in mine if place in theirs]
    seconds = None
    if both:
        fast, slow = (float(np.median([times[p] for p in both])) for times in (mine, theirs))
        seconds = fast, slow
    return Answer(experiment, best, prover, frozenset(both), seconds)


def answers(groups: Sequence[MethodGaps]) -> list[str]:
    """Return in words the distances that were found and what they cost, a line a problem."""
    found = answers_of(groups)
    lines = []
    for problem in dict.fromkeys(answer.best.problem for answer in found):
        own = [answer for answer in found if answer.best.problem == problem]
        widest = max(own, key=lambda a: (a.experiment not in WITNESSES, len(a.best.gaps)))
        mean = mean_gap(widest.best.gaps)
        if mean is None or widest.seconds is None:
            continue
        fast, slow = (figures(1e3 * s) for s in widest.seconds)
        lines.append(
            f"{problem}: {code(widest.best.method)} is on average {mean_text(mean, 2, 100.0)} % from "
            f"{_reference_text(widest.best.gaps)} over {len(widest.best.gaps)} instances "
            f"({widest.experiment}) and takes {fast} ms; "
            f"{code(widest.prover.method)} {'proves' if widest.proved else 'bounds'} it in {slow} ms."
        )
    return lines


def answer_table(groups: Sequence[MethodGaps]) -> Table:
    """Return for each experiment its best heuristic's gap, and what that takes and what the bound takes."""
    columns = (
        "experiment", "method", "mean gap (%) [95 %]", "largest gap (%)", "n", "gap to", "its time (ms)",
        "proof by", "proof's time (ms)", "proof / method",
    )  # fmt: skip
    note = (
        "Of each experiment the method without a proof that has the smallest mean gap over the most "
        "instances, and the fastest method that proves. Times are medians over the instances that both "
        "solved. A mean over witness families, as in balance-guarantee, describes these families only."
    )
    right = frozenset((*columns[2:5], columns[6], *columns[8:]))
    return Table(
        "How far, and at what cost", columns, [_answer_row(a) for a in answers_of(groups)], right, note
    )


def _answer_row(answer: Answer) -> tuple[str, ...]:
    mine, theirs = (
        [r for r in g.runs if instance_of(r) in answer.places] for g in (answer.best, answer.prover)
    )
    fast, slow = answer.seconds or (None, None)
    return (
        answer.experiment,
        code(answer.best.method),
        *_gap_cells(answer.best.gaps),
        _reference_text(answer.best.gaps),
        cell(_milliseconds(fast), mine),
        code(answer.prover.method) + ("" if answer.proved else " (a bound)"),
        cell(_milliseconds(slow), theirs),
        cell(f"{figures(slow / fast)} ×" if fast and slow else "–", [*mine, *theirs]),
    )


def methods_table(groups: Sequence[MethodGaps]) -> Table:
    """Return every method's gap and time by experiment, with how many of its runs ended well."""
    rows = []
    experiments: dict[str, list[MethodGaps]] = defaultdict(list)
    for g in groups:
        experiments[g.experiment].append(g)
    seen = {name: _places(own) for name, own in experiments.items()}
    for g in groups:
        times = seconds_by_place(g.runs)
        reached = sum(gap.value == 0.0 for gap in g.gaps)
        spread = [float(x) for x in np.quantile(list(times.values()), [0.25, 0.75])] if times else []
        rows.append(
            (
                g.experiment,
                code(g.method),
                role_of(g),
                cell(f"{g.ok}/{g.places}", g.runs),
                f"{g.places}/{max(_planned(g.runs, 'instances') or seen[g.experiment], g.places)}",
                *_gap_cells(g.gaps)[:2],
                _reference_text(g.gaps),
                cell(f"{reached}/{len(g.gaps)}" if g.gaps else "–", (x.record for x in g.gaps)),
                cell(_milliseconds(_median(g.runs)), g.runs),
                cell(" … ".join(map(_milliseconds, spread)) or "–", g.runs),
            )
        )
    columns = (
        "experiment", "method", "role", "n ok", "ran on", "mean gap (%) [95 %]", "largest gap (%)",
        "gap to", "no gap", "median time (ms)", "quartiles (ms)",
    )  # fmt: skip
    note = (
        "Gap: (bound − checked value) / bound, to the least bound of any method on the same instance; where "
        "a checked value reaches that bound it is the optimum. Of repetitions the fastest counts. “Ran on” "
        "is out of the instances and seeds that the experiment has for the method; where no row says how "
        "many, out of those that any method ran on."
    )
    right = frozenset(("n ok", "ran on", "no gap", *columns[5:7], *columns[9:]))
    return Table("Gap and time by method", columns, rows, right, note)


def worst_table(groups: Sequence[MethodGaps]) -> Table:
    """Return for each method without a proof the instance of each experiment with its largest gap."""
    rows = []
    for g in groups:
        if g.gaps and role_of(g) in ("heuristic", "baseline", "own"):
            worst = max(g.gaps, key=lambda gap: gap.value)
            if worst.value > 0.0:
                rows.append((worst.value, _worst(g, worst)))
    rows.sort(key=lambda row: -row[0])
    columns = (
        "problem", "method", "gap (%)", "value", "bound", "bound is", "experiment", "family", "instance",
        "row",
    )  # fmt: skip
    note = "An extreme has no interval. `certigap show ROW` prints everything stored of a row."
    return Table("Worst instances", columns, [row for _, row in rows], frozenset(columns[2:5]), note)


def _worst(group: MethodGaps, worst: Gap) -> tuple[str, ...]:
    r, bound = worst.record, worst.reference.record
    return (
        group.problem,
        code(group.method),
        cell(percent(worst.value), [r, bound]),
        cell(figures(r.checked_objective, 9), [r]),
        cell(figures(worst.reference.bound, 9), [bound]),
        "the optimum" if worst.reference.proved else "a bound",
        group.experiment,
        code(r.family),
        code(r.instance),
        cell(code(r.key[:12]), [r]),
    )


def runs_table(records: Sequence[Record]) -> Table:
    """Return how every experiment's runs ended."""
    rows = []
    for experiment, own in _by_experiment(records).items():
        counts = Counter(str(r.status) for r in own)
        good = [r for r in own if r.status not in FAILED]
        limits = [r for r in own if r.status not in FAILED and not ended_well(r)]
        listed = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
        methods, instances = {r.method for r in own}, {instance_of(r) for r in own}
        grids: dict[str, list[Record]] = defaultdict(list)
        for r in own:
            grids[r.method if is_own(r.method) else ""].append(r)
        planned = sum(_planned(rows_of_grid, "runs") for rows_of_grid in grids.values())
        expected = max(planned, len(own))
        rows.append(
            (
                experiment,
                str(len(methods)),
                str(len(instances)),
                cell(f"{len(good)}/{expected}", own),
                str(expected - len(own)) if planned else "–",
                cell(str(len(limits)), limits),
                listed,
            )
        )
    columns = ("experiment", "methods", "instances", "n ok", "not run yet", "of them at a limit", "statuses")
    return Table("Runs", columns, rows, frozenset(columns[1:6]))


def failed_table(records: Sequence[Record]) -> Table:
    """Return every run that did not end well with its reason; runs of one method and reason share a line."""
    groups: dict[tuple[str, str, str, str, str], list[Record]] = defaultdict(list)
    for r in records:
        if r.status in FAILED:
            reason = r.message or "no message"
            groups[r.experiment, r.method, str(r.status), str(r.stopped), reason].append(r)
    rows = []
    for (experiment, method, status, stopped, reason), own in groups.items():
        names = list(dict.fromkeys(code(r.instance) for r in own))
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        count = cell(str(len(own)), own)
        rows.append((experiment, code(method), status, stopped, count, _short(reason), cell(shown, own)))
    columns = ("experiment", "method", "status", "stopped", "runs", "reason", "instances")
    return Table("Runs that did not end well", columns, rows, frozenset({"runs"}))


def role_of(group: MethodGaps) -> str:
    """Return the method's role, *own* where it is not of this project."""
    name = group.runs[0].method
    found = METHODS.get((group.problem, name))
    return "own" if found is None else found.role


def seconds_by_place(records: Sequence[Record]) -> dict[str, float]:
    """Return the fastest time of the runs that came to their own end, by instance."""
    times: dict[str, float] = {}
    for r in records:
        if r.solve_s is not None and ended_well(r):
            place = instance_of(r)
            times[place] = min(times.get(place, np.inf), r.solve_s)
    return times


def _gap_cells(gaps: Sequence[Gap]) -> tuple[str, str, str]:
    """Return the mean with its interval, the largest, and how many there are."""
    mean = mean_gap(gaps)
    if mean is None:
        return "–", "–", "0"
    rows = [r for gap in gaps for r in (gap.record, gap.reference.record)]
    worst = max(gaps, key=lambda gap: gap.value)
    largest = cell(percent(worst.value), [worst.record, worst.reference.record])
    return cell(mean_text(mean, 2, 100.0), rows), largest, cell(str(len(gaps)), rows)


def _reference_text(gaps: Sequence[Gap]) -> str:
    proved = sum(gap.reference.proved for gap in gaps)
    if not gaps:
        return "–"
    if proved in (0, len(gaps)):
        return "the optimum" if proved else "a bound"
    return f"the optimum ({proved}), a bound ({len(gaps) - proved})"


def _planned(records: Sequence[Record], what: str) -> int:
    """Return how large the grid of these rows is, 0 where none says so."""
    return max((int((r.extra.get("planned") or {}).get(what, 0)) for r in records), default=0)


def _places(groups: Iterable[MethodGaps]) -> int:
    return len({(instance_of(r), r.extra.get("method_seed")) for g in groups for r in g.runs})


def _by_experiment(records: Sequence[Record]) -> dict[str, list[Record]]:
    groups: dict[str, list[Record]] = defaultdict(list)
    for r in records:
        groups[r.experiment].append(r)
    return groups


def _median(records: Sequence[Record]) -> float:
    times = list(seconds_by_place(records).values())
    return float(np.median(times)) if times else np.inf


def _milliseconds(seconds: float | None) -> str:
    return figures(None if seconds is None else 1e3 * seconds)


def _short(text: str) -> str:
    return text if len(text) <= 500 else text[:499] + "…"
