"""The scaling gate: growth fits and operation counts against a baseline, whatever the machine's speed.

It closes on a worse operation count, or on a fitted exponent above the declared one by more than 0.25 that an
immediate second measurement confirms. Intervals are printed, not gated on; a better value is a note.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench.judging.ladders import Ladder
from bench.judging.statistics import Fit, power_law
from instances.errors import InputError

__all__ = ["MARGIN", "Step", "gate", "judge_ladder", "measure"]

MARGIN = 0.25  # above the declared exponent
ROUNDS = 15
Counts = Mapping[str, Mapping[str, int]]  # by size as text, by counter


@dataclass(frozen=True)
class Step:
    """A ladder's measurement and its judgement."""

    ladder: Ladder
    fit: Fit
    seconds: dict[int, float]  # fastest round by size
    counts: dict[str, dict[str, int]]
    worse: list[str] = field(default_factory=list)  # reasons why the gate closes
    notes: list[str] = field(default_factory=list)


def measure(ladder: Ladder, rounds: int = ROUNDS) -> Step:
    """Return the fastest of ``rounds`` interleaved rounds by size, the fitted growth and the counts."""
    prepared = {size: ladder.prepare(size) for size in ladder.sizes}
    counts = {str(size): run() for size, run in prepared.items()}  # the warm-up, too
    fastest = dict.fromkeys(ladder.sizes, float("inf"))
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for size, run in prepared.items():
                begun = time.perf_counter_ns()
                run()
                fastest[size] = min(fastest[size], (time.perf_counter_ns() - begun) * 1e-9)
    finally:
        if collecting:
            gc.enable()
    return Step(ladder, power_law(list(fastest), list(fastest.values())), fastest, counts)


def judge_ladder(ladder: Ladder, baseline: Counts, rounds: int = ROUNDS) -> Step:
    """Measure a ladder, confirm a growth that is too fast by a second measurement, and judge it."""
    step = measure(ladder, rounds)
    limit = ladder.declared + MARGIN
    if step.fit.growth > limit:
        again = measure(ladder, rounds)
        step = again if again.fit.growth < step.fit.growth else step
        if again.fit.growth > limit:
            step.worse.append(f"grows like size^{step.fit.growth:.2f}, more than {limit:.2f}")
    step.worse.extend(_differences(step.counts, baseline, ladder.count_tolerance, worse=True))
    step.notes.extend(_differences(step.counts, baseline, ladder.count_tolerance, worse=False))
    return step


def gate(ladders: Sequence[Ladder], baseline: Mapping[str, Counts], rounds: int = ROUNDS) -> Iterator[Step]:
    """Yield each ladder judged against its part of the baseline.

    Raises
    ------
    InputError
        When the baseline has a ladder that is gone.
    """
    gone = sorted(set(baseline) - {ladder.name for ladder in ladders})
    if gone:
        raise InputError(f"baseline: found {', '.join(gone)}, expected ladders that exist (--renew)")
    for ladder in ladders:
        yield judge_ladder(ladder, baseline.get(ladder.name, {}), rounds)


def _differences(counts: Counts, baseline: Counts, tolerance: float, *, worse: bool) -> Iterator[str]:
    """Yield the counts that are above (or below) the baseline's by more than the tolerance."""
    for size, known_counts in baseline.items():
        for counter, known in known_counts.items():
            number = counts.get(size, {}).get(counter)
            if number is None:
                if worse:
                    yield f"{counter} at {size} is no longer counted"
            elif number > known * (1 + tolerance) if worse else number < known * (1 - tolerance):
                yield f"{counter} at {size}: {number}, was {known}"
