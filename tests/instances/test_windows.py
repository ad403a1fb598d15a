"""Windows of slots: decimals are divided exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instances.decimals import as_decimal
from instances.generate import generate
from instances.handover import HandoverTrace, HandoverUsers


def trace_of(arrivals: list[float], slot_s: float, window: Any, cache_bits: float = 1e9) -> HandoverTrace:
    """Return a trace of equal users."""
    n = len(arrivals)
    users = HandoverUsers(
        np.array(arrivals), np.full(n, 1), np.full(n, cache_bits), np.ones(n), np.ones(n), np.zeros(n)
    )
    return HandoverTrace("windows", "erf", slot_s, window, 20e9, max(arrivals, default=0.0), users)


@pytest.mark.parametrize(
    ("arrival", "slot_s", "first"),
    [
        (0, 0.1, 1),
        (0.09999, 0.1, 1),
        (0.1, 0.1, 2),
        (0.3, 0.1, 4),
        (0.29999999999999993, 0.1, 3),
        (0.6, 0.2, 4),
        (0.7, 0.1, 8),
        (1.1, 0.1, 12),
        (2.3, 0.1, 24),
        (0.06, 0.02, 4),
        (5, 0.5, 11),
        (99.99, 0.01, 10000),
    ],
)
def test_first_slot(arrival: float, slot_s: float, first: int) -> None:
    """An arrival at a is eligible from slot ⌊a/Δt⌋ + 1, as the decimals say."""
    assert trace_of([arrival], slot_s, 5).windows()[0].tolist() == [first]


@given(
    arrival=st.decimals(0, 1000, places=4).map(float),
    slot_s=st.sampled_from([0.001, 0.02, 0.05, 0.1, 0.3, 1.0]),
)
@settings(max_examples=200, deadline=None)
def test_arrival_is_in_the_slot_before(arrival: float, slot_s: float) -> None:
    """The slot before the first one holds the arrival."""
    first = int(trace_of([arrival], slot_s, 1).windows()[0][0])
    assert (first - 1) * as_decimal(slot_s) <= as_decimal(arrival) < first * as_decimal(slot_s)


@pytest.mark.parametrize(("window", "ends"), [(5, [6, 9]), ([1, 2], [2, 6])])
def test_end(window: Any, ends: list[int]) -> None:
    """A window ends its number of slots after its first one, past the horizon too."""
    assert trace_of([0.0, 0.3], 0.1, window).windows()[1].tolist() == ends


def test_no_deadline() -> None:
    """Without a deadline all windows end together, when the caches fit one after the other after the last."""
    first, end = trace_of([0.0, 0.3, 7.1], 0.1, None, cache_bits=5e9).windows()
    assert np.all(end == end[0])
    assert (end[0] - first.max()) * 2e9 >= 3 * 5e9


@pytest.mark.parametrize("window", [5, None, []])
def test_nobody(window: Any) -> None:
    """Without users there are no windows."""
    first, end = trace_of([], 0.1, window).windows()
    assert first.tolist() == end.tolist() == []


def test_as_decimal_means_what_is_printed() -> None:
    """0.1 is one tenth, also as numpy's number, and 0.1 + 0.2 is what it prints as."""
    assert as_decimal(0.1) == as_decimal(np.float64(0.1)) == Fraction(1, 10)
    assert as_decimal(0.1 + 0.2) == Fraction("0.30000000000000004")


def test_first_slots_are_those_of_exact_division() -> None:
    """First slots are ⌊a/Δt⌋ + 1 of the decimals, also for arrivals on a slot's edge and next to it."""
    rng = np.random.default_rng(1)
    for slot_s in (0.1, 0.07, 0.02, 1e-3, 3.0):
        edges = np.round(rng.integers(0, 5000, 50) * slot_s, 9)
        arrivals = np.concatenate((edges, np.nextafter(edges, np.inf), rng.uniform(0, 900 * slot_s, 50)))
        arrivals = np.sort(arrivals)
        one = np.ones(len(arrivals))
        users = HandoverUsers(arrivals, one.astype(np.int64), one, 0.9 * one, one, 0.1 * one)
        trace = HandoverTrace("edges", "algebraic", slot_s, 5, 1e9, float(arrivals[-1]), users)
        expected = [int(Fraction(repr(float(a))) / Fraction(repr(slot_s))) + 1 for a in arrivals]
        assert trace.windows()[0].tolist() == expected


def test_window_readings_are_nested() -> None:
    """Whole slots lie inside T_max from the arrival, started ones begin inside it; both are all there are."""
    for slot_s, window_s in ((0.1, 0.5), (0.08, 0.5), (0.03, 0.2), (0.07, 1.0)):
        fixed = {"slot_s": slot_s, "window_s": window_s, "horizon_s": 20.0}
        whole, started, usual = (
            generate(f"importance{reading}", seed=1, settings=fixed)
            for reading in ("-whole-slots", "-started-slots", "")
        )
        assert isinstance(whole, HandoverTrace)
        assert isinstance(started, HandoverTrace)
        assert isinstance(usual, HandoverTrace)
        arrival = [Fraction(repr(a)) for a in whole.users.arrival_s.tolist()]
        slot, length = Fraction(repr(slot_s)), Fraction(repr(window_s))
        for a, inside, begun in zip(arrival, whole.windows()[1], started.windows()[1], strict=True):
            assert inside * slot <= a + length < (inside + 1) * slot
            assert (begun - 1) * slot < a + length <= begun * slot
        assert usual.window_slots == length // slot


def test_no_deadline_is_a_reading_too() -> None:
    """The family without a deadline has the arrivals of the usual one and no windows."""
    free, usual = (generate(f"importance{r}", seed=2) for r in ("-no-deadline", ""))
    assert isinstance(free, HandoverTrace)
    assert isinstance(usual, HandoverTrace)
    assert free.window_slots is None
    assert free.users.arrival_s.tolist() == usual.users.arrival_s.tolist()
