"""Handover events, and arrivals made of them."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.importers.ucc5g import HandoverEvents, read_handover_events, read_trace_spans, superpose
from tests.instances.importers.sample_files import own, public

EVENTS = "importers/ucc5g_events.csv"


def changed(folder: Path, old: str, new: str) -> Path:
    """Return a copy of the small file with one text replaced."""
    text = own(EVENTS).read_text()
    assert old in text
    path = folder / "events.csv"
    path.write_text(text.replace(old, new, 1))
    return path


def test_backward_step_is_sorted() -> None:
    """A backward step inside a trace is sorted; repeated seconds keep the file's order."""
    events = read_handover_events(own(EVENTS))
    assert events.time_s.tolist() == [4, 30, 30, 75, 20, 50, 9]
    assert events.trace_id[4:] == ("App/Driving/B_2", "App/Driving/B_2", "App/Static/B_3")


def test_unknown_node_is_not_comparable() -> None:
    """An unknown node is not comparable and not changed, whatever the file says."""
    events = read_handover_events(own(EVENTS))
    assert events.comparable.tolist() == [True, True, False, True, True, True, True]
    assert events.node_changed.tolist() == [False, True, False, True, True, True, True]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("A81B,A81B,0", "A81B,A81B,1", ":2: node_changed: found 1, expected 0 for A81B to A81B"),
        ("A81B,A81B,0", "A81B,A81B,x", ":2: node_changed: found x, expected 0 or 1"),
        ("A81B,A81B,0", "A81B,,0", ":2: to_node: found nothing, expected a name"),
        ("driving,4", "driving,-4", ":2: t_rel_s: found -4, expected 0 to 1e+09"),
        ("driving,4", "driving,", ":2: t_rel_s: found nothing, expected a number like"),
        ("driving,4", ",4", ":2: mobility: found nothing, expected a name"),
        ("t_rel_s", "time", ":1: header: found trace_id,"),
    ],
)
def test_malformed(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A malformed row is refused with its line and field."""
    path = changed(tmp_path, old, new)
    with pytest.raises(InputError) as caught:
        read_handover_events(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_events_stay_frozen_after_pickling() -> None:
    """Arrays are read-only, also in a worker that got the events by pickle."""
    events: HandoverEvents = pickle.loads(pickle.dumps(read_handover_events(own(EVENTS))))
    assert not events.time_s.flags.writeable
    assert not events.node_changed.flags.writeable


def test_spans() -> None:
    """Each trace's span is read by the columns' names."""
    assert read_trace_spans(own("importers/ucc5g_traces.csv"))["App/Driving/B_2"] == 80


def test_spans_twice(tmp_path: Path) -> None:
    """A trace that is listed twice is refused."""
    path = tmp_path / "traces.csv"
    path.write_text("trace_id,span_s\na,1\na,2\n")
    with pytest.raises(InputError, match=r"traces.csv:3: trace_id: found a, expected every trace once"):
        read_trace_spans(path)


@pytest.mark.parametrize("rate", [0.001, 0.05, 3.0])
def test_superposed_rate(rate: float) -> None:
    """Far below and above the traces' own rate, as many arrive as asked for."""
    horizon = 5000 / rate
    arrivals = superpose(read_handover_events(own(EVENTS)), rate_per_s=rate, horizon_s=horizon, seed=1)
    assert abs(len(arrivals) - 5000) < 6 * np.sqrt(5000)


def test_superposed_is_sorted_and_short() -> None:
    """Arrivals are sorted, within the horizon and have at most nine significant digits."""
    arrivals = superpose(read_handover_events(own(EVENTS)), rate_per_s=5, horizon_s=100.0, seed=1)
    assert np.all(np.diff(arrivals) >= 0)
    assert arrivals[0] >= 0
    assert arrivals[-1] <= 100
    assert all(float(f"{t:.9g}") == t for t in arrivals)


def test_superposed_has_no_whole_second_grid() -> None:
    """Arrivals do not stand on one grid of whole seconds: their fractions fill the second."""
    arrivals = superpose(read_handover_events(own(EVENTS)), rate_per_s=5, horizon_s=1000.0, seed=1)
    counts = np.histogram(arrivals % 1, bins=10, range=(0, 1))[0]
    assert counts.min() > 0.7 * counts.mean()


def test_superposed_repeats_with_its_seed() -> None:
    """The same seed gives the same arrivals, another seed others."""
    events = read_handover_events(own(EVENTS))
    first, second, other = (superpose(events, rate_per_s=1, horizon_s=100, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)


def test_superposed_unthinned_wraps_cyclically() -> None:
    """Without thinning, each whole span holds each of its trace's events once, up to the delay."""
    events = read_handover_events(own(EVENTS))
    spans = read_trace_spans(own("importers/ucc5g_traces.csv"))
    arrivals = superpose(events, rate_per_s=1 / 90, horizon_s=9000, seed=3, mobility="static", spans=spans)
    assert len(arrivals) in (99, 100, 101)
    assert np.all(np.abs(np.diff(arrivals) - 90) <= 1)


def test_superposed_uses_what_was_asked() -> None:
    """Sectors count only when asked for, and mobility None takes every trace."""
    events = read_handover_events(own(EVENTS))
    spans = {"App/Driving/B_1": 100.0, "App/Driving/B_2": 1e6, "App/Static/B_3": 1e6}
    options = {"rate_per_s": 0.04, "horizon_s": 1e4, "seed": 1, "spans": spans}
    assert abs(len(superpose(events, node_changed=False, **options)) - 400) <= 5  # type: ignore[arg-type]
    everyone = superpose(events, mobility=None, node_changed=False, **options)  # type: ignore[arg-type]
    assert abs(len(everyone) - 400) <= 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_per_s": 0}, r"rate_per_s: found 0, expected more than 0"),
        ({"horizon_s": -1}, r"horizon_s: found -1, expected more than 0"),
        ({"mobility": "flying"}, r"mobility: found no event for flying, expected at least one"),
        ({"rate_per_s": 1e6, "horizon_s": 1e6}, r"horizon_s: found 1e\+06, expected at most 10 at this rate"),
        ({"rate_per_s": 1e-9, "horizon_s": 1e9}, r"horizon_s: found 1e\+09, expected at most"),
        ({"rate_per_s": 1e6, "horizon_s": 1}, r"rate_per_s: found 1e\+06, expected at most 100000 times"),
        ({"spans": {}}, r"spans: found no trace App/Driving/B_1, expected its span"),
        ({"spans": {"App/Driving/B_1": 75}}, r"spans: found 75 s for App/Driving/B_1, expected more than"),
    ],
)
def test_superpose_refuses(options: dict[str, object], message: str) -> None:
    """A rate, horizon, mobility or span that cannot be used is refused by name."""
    asked = {"rate_per_s": 1.0, "horizon_s": 10.0, "seed": 0} | options
    with pytest.raises(InputError, match=message):
        superpose(read_handover_events(own(EVENTS)), **asked)  # type: ignore[arg-type]


def test_public_events() -> None:
    """The public table has 2,207 changes of cell by drivers, and 7 events with an unknown node."""
    events = read_handover_events(public("handover/ucc5g_handover_events.csv"))
    assert events.mobility.count("driving") == 2207
    assert int(np.sum(~events.comparable)) == 7


def test_public_superposition_is_nearly_poisson() -> None:
    """Superposed drivers give counts a second whose variance is near their mean."""
    events = read_handover_events(public("handover/ucc5g_handover_events.csv"))
    spans = read_trace_spans(public("handover/ucc5g_traces.csv"))
    arrivals = superpose(events, rate_per_s=1, horizon_s=20_000, seed=1, spans=spans)
    counts = np.bincount(arrivals.astype(int), minlength=20_000)
    assert abs(counts.mean() - 1) < 0.05
    assert abs(counts.var() / counts.mean() - 1) < 0.2
