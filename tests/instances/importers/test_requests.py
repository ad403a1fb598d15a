"""Readers of request traces, and samples of them."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest

from instances.errors import InputError
from instances.importers.azure import read_azure
from instances.importers.mooncake import read_mooncake
from instances.importers.requests import RequestTrace, sample_requests
from tests.instances.importers.sample_files import own, public

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
FIRST = '{"timestamp": 5, "input_length": 2, "output_length": 3}\n'


def write(folder: Path, text: str) -> Path:
    """Write a text, line ends as they are, to a new file."""
    path = folder / "trace"
    path.write_bytes(text.encode())
    return path


def trace_of(prompts: list[int], outputs: list[int]) -> RequestTrace:
    """Return a trace with one request a second."""
    return RequestTrace(np.arange(len(prompts), dtype=float), np.array(prompts), np.array(outputs))


def test_azure_times_are_exact() -> None:
    """Seven-digit fractions are exact, across midnight, relative to the first row."""
    assert read_azure(own("importers/azure.csv")).arrival_s.tolist() == [0.0, 0.0520001, 2.02004]


def test_azure_drops_and_counts() -> None:
    """Rows without prompt or output are dropped and counted."""
    trace = read_azure(own("importers/azure.csv"))
    assert trace.prompt_tokens.tolist() == [4808, 3180, 110]
    assert trace.output_tokens.tolist() == [10, 8, 27]
    assert trace.dropped == 2


def test_azure_crlf_and_column_order(tmp_path: Path) -> None:
    """CRLF, a missing last newline, other columns and another order of columns change nothing."""
    text = "GeneratedTokens,TIMESTAMP,Images,ContextTokens\r\n10,2023-11-16 18:17:03.9799600,0,4808"
    trace = read_azure(write(tmp_path, text))
    assert (trace.prompt_tokens.tolist(), trace.output_tokens.tolist()) == ([4808], [10])


@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_azure_utc_zone(tmp_path: Path, zone: str) -> None:
    """A time that says it is UTC is the same as one without a zone."""
    text = f"{HEADER}\n2024-05-10 00:00:00.5,1,1\n2024-05-10T00:00:01.25{zone},1,1\n"
    assert read_azure(write(tmp_path, text)).arrival_s.tolist() == [0.0, 0.75]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("2023-11-16 18:17:03,-1,8", ":2: ContextTokens: found -1, expected 0 to 1e+09"),
        ("2023-11-16 18:17:03,1.5,8", ":2: ContextTokens: found 1.5, expected an integer"),
        ("2023-11-16 18:17:03,1,nan", ":2: GeneratedTokens: found nan, expected a number like 1234.5"),
        ("2023-13-16 18:17:03,1,8", ":2: TIMESTAMP: found 2023-13-16 18:17:03, expected a time like"),
        ("2023-11-16 18:17:63,1,8", ":2: TIMESTAMP: found 2023-11-16 18:17:63, expected a time like"),
        ("2023-11-16 18:17:03+02:00,1,8", ":2: TIMESTAMP: found 2023-11-16 18:17:03+02:00, expected a time"),
        ("12,1,8", ":2: TIMESTAMP: found 12, expected a time like"),
        (
            "2023-11-16 18:17:03.2,1,8\n2023-11-16 18:17:03.1,1,8",
            ":3: TIMESTAMP: found 2023-11-16 18:17:03.1, expected rows in order of time",
        ),
        ("2023-11-16 18:17:03,1", ":2: row: found 2 cells, expected 3 as in the header"),
        ("2023-11-16 18:17:03,0,8", ": rows: found none with prompt and output, expected at least one"),
        ("", ": rows: found none, expected a header and at least one row"),
    ],
)
def test_azure_malformed(tmp_path: Path, rows: str, message: str) -> None:
    """A malformed row is refused with its line and field."""
    path = write(tmp_path, f"{HEADER}\n{rows}\n")
    with pytest.raises(InputError) as caught:
        read_azure(path)
    assert str(caught.value).startswith(f"{path}{message}")


def test_mooncake_milliseconds_and_ties() -> None:
    """Times are milliseconds relative to the first line; ties keep the file's order."""
    trace = read_mooncake(own("importers/mooncake.jsonl"))
    assert trace.arrival_s.tolist() == [0.0, 0.0, 3.001]
    assert trace.prompt_tokens.tolist() == [6758, 7322, 12]
    assert trace.output_tokens.tolist() == [500, 490, 1]
    assert trace.dropped == 1


def test_mooncake_gz(tmp_path: Path) -> None:
    """A compressed trace is read by its content, whatever its name."""
    path = tmp_path / "trace"
    path.write_bytes(gzip.compress(own("importers/mooncake.jsonl").read_bytes()))
    assert len(read_mooncake(path)) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"timestamp": 1, "timestamp": 6, "input_length": 2, "output_length": 3}', "timestamp: found twice"),
        ('{"timestamp": NaN, "input_length": 2, "output_length": 3}', "number: found NaN, expected a finite"),
        ('{"timestamp": true, "input_length": 2, "output_length": 3}', "timestamp: found True, expected a n"),
        (
            '{"timestamp": "6", "input_length": 2, "output_length": 3}',
            'timestamp: found "6" (text), expected a number',
        ),
        (
            '{"timestamp": 6.5, "input_length": 2, "output_length": 3}',
            "timestamp: found 6.5, expected an int",
        ),
        ('{"timestamp": 6, "input_length": -2, "output_length": 3}', "input_length: found -2, expected 0 to"),
        (
            '{"timestamp": 6, "input_length": 1e999, "output_length": 3}',
            "number: found 1e999, expected a num",
        ),
        ('{"timestamp": 6, "input_length": 2}', "output_length: found no such key, expected it"),
        (
            '{"timestamp": 6, "input_length": 2, "output_length": 3, "delay": 1}',
            "delay: found an unknown key",
        ),
        (
            '{"timestamp": 6, "input_length": 2, "output_length": 3, "hash_ids": 1}',
            "hash_ids: found 1, expec",
        ),
        (
            '{"timestamp": 4, "input_length": 2, "output_length": 3}',
            "timestamp: found 4, expected at least 5",
        ),
        ("[1]", "line: found [1], expected a JSON object"),
        ('{"timestamp": 6', "found malformed JSON"),
        ("[" * 10**5, "nesting: found more than"),
    ],
)
def test_mooncake_malformed(tmp_path: Path, line: str, message: str) -> None:
    """A malformed line is refused with its number and field."""
    path = write(tmp_path, FIRST + line + "\n")
    with pytest.raises(InputError) as caught:
        read_mooncake(path)
    assert str(caught.value).startswith(f"{path}:2: {message}")


def test_trace_refuses_disorder() -> None:
    """A trace that goes back in time cannot be built."""
    with pytest.raises(InputError, match=r"arrival_s\[1\]: found 1.0, expected at least 2.0, the one before"):
        RequestTrace(np.array([2.0, 1.0]), np.array([1, 1]), np.array([1, 1]))


def test_trace_stays_frozen_after_pickling() -> None:
    """Arrays are read-only, also in a worker that got the trace by pickle."""
    again = pickle.loads(pickle.dumps(trace_of([1, 2], [3, 4])))
    assert not again.prompt_tokens.flags.writeable


def test_sample_is_a_window_within_caps() -> None:
    """A sample is consecutive among the requests within the caps."""
    trace = trace_of([1, 90, 2, 3, 4, 5], [1, 1, 2, 90, 4, 5])
    windows = {tuple(sample_requests(trace, 3, seed, 9, 9)[0].tolist()) for seed in range(50)}
    assert windows == {(1, 2, 4), (2, 4, 5)}


def test_sample_repeats_with_its_seed() -> None:
    """The same seed gives the same sample, prompts and outputs belonging together."""
    trace = trace_of(list(range(1, 101)), list(range(1, 101)))
    first, second = sample_requests(trace, 10, 7), sample_requests(trace, 10, 7)
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[0], first[1])


def test_sample_too_large() -> None:
    """More requests than there are within the caps are refused."""
    with pytest.raises(InputError, match=r"count: found 3, expected at most the 2 requests within the caps"):
        sample_requests(trace_of([1, 2, 9], [1, 1, 1]), 3, 0, max_prompt=5)


@pytest.mark.parametrize(("kind", "rows"), [("code", 8819), ("conv", 19366)])
def test_public_azure(kind: str, rows: int) -> None:
    """The public Azure files have their published number of rows, none dropped."""
    trace = read_azure(public(f"traces/AzureLLMInferenceTrace_{kind}.csv"))
    assert (len(trace), trace.dropped) == (rows, 0)


def test_public_mooncake() -> None:
    """The public Mooncake file has its published number of requests, none dropped."""
    trace = read_mooncake(public("traces/mooncake_conversation_trace.jsonl.gz"))
    assert (len(trace), trace.dropped) == (12031, 0)
