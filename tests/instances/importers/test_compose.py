"""Instances of public or own data: what is there stays, what is not is drawn from the seed and named."""

from __future__ import annotations

import gzip
import hashlib
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.files import content_hash, load_instance, save
from instances.importers.compose import (
    balance_from_azure,
    balance_from_csv,
    balance_from_mooncake,
    handover_from_csv,
    handover_from_ucc5g,
    mmkp_from_khan,
)
from instances.origin import Origin
from instances.presets import BALANCE_CONSTANTS
from tests.instances.importers.sample_files import own

AZURE, MOONCAKE = own("instances/requests.csv"), own("instances/requests.jsonl")
EVENTS = own("importers/ucc5g_events.csv")
WITHIN_FIG5 = [(5, 3), (900, 500), (300, 100), (64, 1), (999, 77), (150, 450), (700, 20)]
TRACES = [
    pytest.param(balance_from_azure, AZURE, id="azure"),
    pytest.param(balance_from_mooncake, MOONCAKE, id="mooncake"),
]
MAKERS: list[Any] = [
    pytest.param(lambda seed: balance_from_azure(AZURE, seed=seed, users=3), id="azure"),
    pytest.param(lambda seed: balance_from_mooncake(MOONCAKE, seed=seed, users=3), id="mooncake"),
    pytest.param(lambda seed: balance_from_csv(own("importers/balance_users.csv"), seed=seed), id="csv"),
    pytest.param(lambda seed: handover_from_ucc5g(EVENTS, AZURE, seed=seed, users=9), id="ucc5g"),
]
make_balance = Callable[..., BalanceInstance]


def digest(path: Path) -> str:
    """Return a file's sha256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(folder: Path, text: str) -> Path:
    """Write a text to a new file."""
    path = folder / "users.csv"
    path.write_text(text, encoding="utf-8", newline="\n")
    return path


@pytest.mark.parametrize(("make", "path"), TRACES)
def test_tokens_are_consecutive_requests(make: make_balance, path: Path) -> None:
    """Tokens are those of consecutive requests within the preset's longest input and output."""
    windows = set()
    for seed in range(40):
        users = make(path, seed=seed, users=6).users
        windows.add(tuple(zip(users.input_tokens.tolist(), users.output_tokens.tolist(), strict=True)))
    assert windows == {tuple(WITHIN_FIG5[:6]), tuple(WITHIN_FIG5[1:])}


@pytest.mark.parametrize(("make", "path"), TRACES)
def test_origin_of_requests(make: make_balance, path: Path) -> None:
    """The origin names the file, its digest, the preset, the seed and what was drawn."""
    drawn = f"tokens {path.name}; drawn: deadline_s, acceptance, upload_s, download_s"
    assert make(path, seed=4, users=3).origin == Origin(drawn, digest(path), 4, "calibrated-fig5")


@pytest.mark.parametrize(("make", "path"), TRACES)
def test_too_few_requests(make: make_balance, path: Path) -> None:
    """More users than requests within the preset are refused with the file's name."""
    expected = r"count: found 8, expected at most the 7 requests within the caps$"
    with pytest.raises(InputError, match=rf"requests\.(csv|jsonl): {expected}"):
        make(path, users=8)


@pytest.mark.parametrize(("make", "path"), TRACES)
def test_own_number_of_the_preset(make: make_balance, path: Path) -> None:
    """Without a number of users the preset's own is wanted."""
    with pytest.raises(
        InputError, match=r"count: found 30, expected at most the 7 requests within the caps$"
    ):
        make(path)


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_reproduce(make: Callable[[int], Any]) -> None:
    """The same seed gives the same instance."""
    assert content_hash(make(6)) == content_hash(make(6))


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_differ(make: Callable[[int], Any]) -> None:
    """Another seed draws other numbers, not only another name."""
    first, second = make(6).users, make(7).users
    keys = first.__dataclass_fields__
    assert any(not np.array_equal(getattr(first, key), getattr(second, key)) for key in keys)


@pytest.mark.parametrize("make", MAKERS)
def test_written_and_read(make: Callable[[int], Any], tmp_path: Path) -> None:
    """An imported instance and its file have the same hash, and the origin travels along."""
    save(make(1), tmp_path / "file.json")
    again = load_instance(tmp_path / "file.json")
    assert content_hash(again) == content_hash(make(1))
    assert again.origin == make(1).origin


def test_azure_and_mooncake_agree() -> None:
    """The same requests in both formats give the same users."""
    first, second = balance_from_azure(AZURE, users=5).users, balance_from_mooncake(MOONCAKE, users=5).users
    for key in first.__dataclass_fields__:
        assert getattr(first, key).tolist() == getattr(second, key).tolist()


def test_drawn_within_the_preset() -> None:
    """What is drawn keeps to the preset's ranges and to 9 significant digits."""
    users = balance_from_azure(AZURE, users=7).users
    assert np.all((users.deadline_s >= 2) & (users.deadline_s <= 12))
    assert np.all((users.acceptance >= 0.6) & (users.acceptance <= 0.8))
    for key in ("deadline_s", "acceptance", "upload_s", "download_s"):
        assert all(float(f"{value:.8e}") == value for value in getattr(users, key))


def test_preset_and_constants() -> None:
    """Preset and constants are chosen by name."""
    instance = balance_from_azure(AZURE, users=2, preset="fig4-q14", constants="physical")
    assert (instance.server.memory_bytes, instance.llm) == (14e9, BALANCE_CONSTANTS["physical"][0])
    assert instance.users.input_tokens.max() <= 300


def test_csv_columns_stay() -> None:
    """Columns of an own file stay as they are, and only the others are drawn and named."""
    path = own("importers/balance_users.csv")
    instance = balance_from_csv(path, seed=2)
    assert instance.users.input_tokens.tolist() == [4808, 110]
    assert instance.users.acceptance.tolist() == [0.7, 0.85]
    drawn = "csv balance_users.csv; drawn: deadline_s, upload_s, download_s"
    assert instance.origin == Origin(drawn, digest(path), 2, "calibrated-fig5")


@pytest.mark.parametrize("key", ["deadline_s", "upload_s", "download_s"])
def test_csv_draws_follow_the_seed(key: str) -> None:
    """Each column that is drawn depends on the seed."""
    first, second = (balance_from_csv(own("importers/balance_users.csv"), seed=seed) for seed in (0, 1))
    assert getattr(first.users, key).tolist() != getattr(second.users, key).tolist()


def test_csv_with_everything(tmp_path: Path) -> None:
    """A complete file needs no draw, and the origin says so."""
    header = "input_tokens,output_tokens,deadline_s,acceptance,upload_s,download_s"
    instance = balance_from_csv(write(tmp_path, f"{header}\n5,6,1.5,0.25,0.125,0\n"))
    values = [getattr(instance.users, key).tolist() for key in header.split(",")]
    assert values == [[5], [6], [1.5], [0.25], [0.125], [0]]
    assert instance.origin is not None
    assert instance.origin.source == "csv users.csv; drawn: nothing"


@pytest.mark.parametrize(("users", "count"), [(None, 2), (0, 0), (1, 1), (9, 2)])
def test_first_users(users: int | None, count: int) -> None:
    """The first users of an own file are taken, at most those that there are."""
    assert balance_from_csv(own("importers/balance_users.csv"), users=users).n_users == count
    assert handover_from_csv(own("importers/handover_users.csv"), users=users).n_users == count


@pytest.mark.parametrize(
    ("make", "call", "message"),
    [
        (balance_from_csv, {"users": -1}, r"^users: found -1, expected 0 to 1e\+06$"),
        (handover_from_csv, {"users": -1}, r"^users: found -1, expected 0 to 1e\+06$"),
        (balance_from_csv, {"seed": -1}, r"^seed: found -1, expected 0 to 9\.0072e\+15$"),
        (handover_from_csv, {"seed": -1}, r"seed: found -1, expected 0 to 9\.0072e\+15$"),
        (balance_from_csv, {"preset": "fig9"}, "^preset: found fig9, expected one of fig4, fig5"),
        (balance_from_csv, {"constants": "fast"}, "^constants: found fast, expected one of calibrated, phys"),
        (
            handover_from_csv,
            {"preset": "fig4"},
            "^preset: found fig4, expected one of importance, random-ord",
        ),
    ],
)
def test_call_refused(make: Callable[..., Any], call: dict[str, Any], message: str) -> None:
    """A negative number, an unknown preset and unknown constants are refused by name."""
    name = "balance_users" if make is balance_from_csv else "handover_users"
    with pytest.raises(InputError, match=message):
        make(own(f"importers/{name}.csv"), **call)


def test_handover_csv() -> None:
    """Arrivals are put in order with their contexts; the curve of a preset's length is the preset's."""
    path = own("importers/handover_users.csv")
    trace = handover_from_csv(path)
    assert trace.users.arrival_s.tolist() == [0.25, 0.5]
    assert trace.users.context_tokens.tolist() == [8192, 4096]
    assert trace.users.anchor.tolist() == [0.066, 0.075]
    assert trace.users.cache_bits.tolist() == [9_663_676_416, 4_831_838_208]
    source = "csv handover_users.csv, utilities interpolated"
    assert trace.origin == Origin(source, digest(path), 0, "importance")


@pytest.mark.parametrize(
    ("tokens", "sharpness"),
    [(1, 48), (4096, 48), (5793, 48 - 14 * math.log2(5793 / 4096)), (16384, 35.5), (10**6, 35.5)],
)
def test_interpolated_curves(tokens: int, sharpness: float, tmp_path: Path) -> None:
    """Between two lengths the curve is interpolated in log2 of the length, outside it is the next one's."""
    trace = handover_from_csv(write(tmp_path, f"arrival_s,context_tokens\n0,{tokens}\n"))
    assert trace.users.sharpness.tolist() == pytest.approx([sharpness], rel=1e-8)


def test_late_arrivals(tmp_path: Path) -> None:
    """Arrivals after the preset's horizon move the horizon."""
    trace = handover_from_csv(write(tmp_path, "arrival_s,context_tokens\n250.5,4096\n"))
    assert trace.horizon_s == 250.5


def test_endless_arrivals(tmp_path: Path) -> None:
    """An arrival whose slot cannot be counted is refused with the file's name."""
    path = write(tmp_path, "arrival_s,context_tokens\n1e8,4096\n")
    with pytest.raises(
        InputError, match=r"users\.csv: users\.arrival_s\[0\]: found 100000000\.0, expected less"
    ):
        handover_from_csv(path)


@pytest.mark.parametrize("requests", [AZURE, MOONCAKE], ids=["azure", "mooncake"])
def test_ucc5g(requests: Path) -> None:
    """Arrivals come in order from the drivers, contexts from prompts of 1024 to 16384 tokens."""
    trace = handover_from_ucc5g(EVENTS, requests, seed=3)
    assert set(trace.users.context_tokens) == {2048, 16384}
    assert np.all(np.diff(trace.users.arrival_s) >= 0)
    assert abs(trace.n_users - 400) < 100
    parts = ("arrivals ucc5g_events.csv (superposed, thinned)", f"contexts {requests.name}")
    source = ", ".join((*parts, "caches of Qwen3-8B", "utilities interpolated"))
    assert trace.origin == Origin(source, digest(EVENTS), 3, "importance")


def test_names_tell_sources_apart(tmp_path: Path) -> None:
    """Traces of other requests, caches, presets or seeds have other names, with the same arrivals or not."""
    changes: tuple[dict[str, Any], ...] = (
        {},
        {"model": "Qwen3-14B"},
        {"preset": "random-ordering"},
        {"seed": 1},
    )
    other = tmp_path / "conversations.jsonl"
    other.write_bytes(MOONCAKE.read_bytes())
    names = [handover_from_ucc5g(EVENTS, r, **c).name for r in (AZURE, other) for c in changes]
    assert len(set(names)) == 8
    assert names[5].startswith("ucc5g_events-conversations-Qwen3-14B-importance-n")


@pytest.mark.parametrize("requests", [AZURE, MOONCAKE], ids=["azure", "mooncake"])
def test_ucc5g_with_compressed_requests(requests: Path, tmp_path: Path) -> None:
    """Compressed requests are told apart by their content, whatever the name."""
    path = tmp_path / "requests.gz"
    path.write_bytes(gzip.compress(requests.read_bytes()))
    plain, again = (handover_from_ucc5g(EVENTS, file, users=20) for file in (requests, path))
    assert again.users.context_tokens.tolist() == plain.users.context_tokens.tolist()


def test_ucc5g_rate_and_horizon() -> None:
    """Rate and horizon can be other than the preset's."""
    trace = handover_from_ucc5g(EVENTS, AZURE, rate_per_s=1, horizon_s=50)
    assert trace.horizon_s == 50
    assert trace.n_users < 100


def test_ucc5g_without_long_prompts(tmp_path: Path) -> None:
    """Requests without a prompt of the right length are refused with their file's name."""
    path = write(tmp_path, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,1023,8\n")
    with pytest.raises(InputError, match=r"users\.csv: found no prompt of 1024 to 16384 tokens, expected at"):
        handover_from_ucc5g(EVENTS, path)


def test_khan() -> None:
    """An MMKP is read as it is."""
    instance = mmkp_from_khan(own("mmkp/tiny"))
    assert (instance.n_groups, instance.n_resources) == (2, 2)
    assert instance.origin is not None
    assert instance.origin.source == "khan tiny"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("users.csv", "users-calibrated-fig5-n1-s0"),
        (".hidden.csv", "calibrated-fig5-n1-s0"),
        ("two words.v2.csv", "two-words-calibrated-fig5-n1-s0"),
    ],
)
def test_names(name: str, expected: str, tmp_path: Path) -> None:
    """An instance is called after its file, safely."""
    path = tmp_path / name
    path.write_text("input_tokens,output_tokens\n5,6\n", encoding="utf-8")
    assert balance_from_csv(path).name == expected


def test_cache_size_is_that_of_the_named_model() -> None:
    """A model's caches grow with its layers; one that is not known is refused with those that are."""
    bits = {
        model: handover_from_ucc5g(EVENTS, AZURE, model=model).users.cache_bits
        for model in ("Qwen3-8B", "Qwen3-14B", "Llama-3.1-8B")
    }
    assert np.allclose(bits["Qwen3-14B"] / bits["Qwen3-8B"], 40 / 36)
    assert np.allclose(bits["Llama-3.1-8B"] / bits["Qwen3-8B"], 32 / 36)
    with pytest.raises(InputError, match="model: found GPT, expected one of Qwen3-8B, Qwen3-14B, Llama"):
        handover_from_ucc5g(EVENTS, AZURE, model="GPT")
