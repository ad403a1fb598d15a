"""Families: every one generates, seeds reproduce, settings are checked, draws keep to their ranges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from instances.balance import BalanceInstance
from instances.errors import InputError
from instances.files import content_hash, load, save
from instances.generate import FAMILIES, KINDS, families_of, generate, rounded, settled
from instances.handover import HandoverTrace, SlotInstance
from instances.mmkp import MmkpInstance
from instances.presets import BALANCE_PRESETS, HANDOVER_PRESETS
from instances.witnesses import WITNESSES
from tests.instances.documents import assert_same

SEEDED = [name for name in FAMILIES if name not in WITNESSES]
CLASSES = {
    "balance": BalanceInstance,
    "handover": HandoverTrace,
    "slot": SlotInstance,
    "mmkp": MmkpInstance,
}
SHORT = {"horizon_s": 5.0}


def size_of(instance: Any) -> int:
    """Return the number of users or groups."""
    return instance.n_groups if isinstance(instance, MmkpInstance) else instance.n_users


def balance(family: str, **call: Any) -> BalanceInstance:
    """Return a generated instance that is known to be one of BALANCE."""
    instance = generate(family, **call)
    assert isinstance(instance, BalanceInstance)
    return instance


@pytest.mark.parametrize("family", FAMILIES)
def test_own_size(family: str) -> None:
    """Every family generates in its own size, an instance of its kind named after the call."""
    instance = generate(family)
    assert type(instance) is CLASSES[FAMILIES[family].kind]
    assert instance.name == f"{family}-n{size_of(instance)}-s0"


@pytest.mark.parametrize("family", FAMILIES)
def test_file_has_the_same_hash(family: str, tmp_path: Any) -> None:
    """A generated instance and its file have the same hash."""
    size = None if family in WITNESSES else 3
    instance = generate(family, users=size, seed=5)
    save(instance, tmp_path / "file")
    again = load(tmp_path / "file")
    assert content_hash(again) == content_hash(instance)  # type: ignore[arg-type]


@pytest.mark.parametrize("family", SEEDED)
@pytest.mark.parametrize("size", [0, 1, 3])
def test_given_size(family: str, size: int) -> None:
    """A seeded family generates in any size, also for nobody and for one."""
    assert size_of(generate(family, users=size, seed=1)) == size


@pytest.mark.parametrize("family", FAMILIES)
def test_same_seed(family: str) -> None:
    """The same seed gives the same instance, bit for bit."""
    size = None if family in WITNESSES else 5
    assert_same(generate(family, users=size, seed=3), generate(family, users=size, seed=3))


@pytest.mark.parametrize("family", SEEDED)
def test_other_seed(family: str) -> None:
    """Another seed gives other numbers, not only another name."""
    first, second = (generate(family, users=5, seed=seed) for seed in (3, 4))
    if isinstance(first, MmkpInstance) and isinstance(second, MmkpInstance):
        assert first.values.tolist() != second.values.tolist()
    else:
        assert_other_users(first.users, second.users)  # type: ignore[union-attr]


def assert_other_users(first: Any, second: Any) -> None:
    """Check that some array of the users differs."""
    arrays = [(getattr(first, key), getattr(second, key)) for key in first.__dataclass_fields__]
    assert any(not np.array_equal(a, b) for a, b in arrays)


@pytest.mark.parametrize("kind", KINDS)
def test_families_of_a_kind(kind: str) -> None:
    """Each kind has families, and they are of this kind."""
    assert {family.kind for family in families_of(kind)} == {kind}


def test_origin() -> None:
    """A generated instance says that it is, with family and seed."""
    origin = generate("unit-random", seed=9).origin
    assert origin is not None
    assert origin.as_dict() == {"source": "certigap generate", "seed": 9, "preset": "unit-random"}


def test_name_tells_the_settings() -> None:
    """Settings are part of the name."""
    settings = {"output_max": 20, "deadline_max_s": 1.5}
    name = balance("calibrated-fig4", users=2, settings=settings).name
    assert name == "calibrated-fig4-deadline_max_s1.5-output_max20-n2-s0"


def test_long_name_drops_the_settings() -> None:
    """A name that would be too long for a file leaves the settings out."""
    settings = dict.fromkeys(["deadline_max_s", "deadline_min_s", "acceptance_min"], 0.654321)
    settings |= {"acceptance_max": 0.7654321, "radius_m": 123.456}
    assert balance("calibrated-fig4", users=2, settings=settings).name == "calibrated-fig4-n2-s0"


@pytest.mark.parametrize(
    ("family", "key", "value"),
    [
        (name, key, getattr(preset, key))
        for name, preset in [
            ("physical-fig5", BALANCE_PRESETS["fig5"]),
            ("importance", HANDOVER_PRESETS["importance"]),
        ]
        for key in FAMILIES[name].settings
    ],
)
def test_preset_as_setting(family: str, key: str, value: float) -> None:
    """Each setting is accepted by name, and the preset's own value changes nothing but the name."""
    plain, same = generate(family, users=3), generate(family, users=3, settings={key: value})
    assert_same(same.users, plain.users)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("family", "settings", "read", "expected"),
    [
        ("calibrated-fig4", {"memory_bytes": 5e9}, lambda x: x.server.memory_bytes, 5e9),
        ("calibrated-fig4", {"draft_tokens": 4}, lambda x: x.draft_tokens, 4),
        ("calibrated-fig4", {"input_min": 7, "input_max": 7}, lambda x: set(x.users.input_tokens), {7}),
        ("calibrated-fig4", {"output_max": 1}, lambda x: set(x.users.output_tokens), {1}),
        ("importance", {"slot_s": 0.02}, lambda x: (x.slot_s, x.window_slots), (0.02, 25)),
        ("importance", {"slot_s": 0.3}, lambda x: x.window_slots, 1),
        ("importance", {"slot_s": 0.7}, lambda x: x.window_slots, 1),
        ("importance", {"window_s": 0.3}, lambda x: x.window_slots, 3),
        ("importance", {"bandwidth_bps": 1e10}, lambda x: x.bandwidth_bps, 1e10),
        ("importance", {"horizon_s": 7}, lambda x: x.horizon_s, 7),
        ("slot-importance", {"slot_s": 0.5}, lambda x: x.slot_s, 0.5),
    ],
)
def test_settings_take_effect(family: str, settings: dict[str, float], read: Any, expected: object) -> None:
    """A setting changes what it names; a window has ⌊T/Δt⌋ slots of the decimals, at least one."""
    assert read(generate(family, users=4, settings=settings)) == expected


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"family": "fig9"}, "^family: found fig9, expected one of calibrated-fig4, "),
        ({"users": -1}, r"^users: found -1, expected 0 to 1e\+06$"),
        ({"users": 2.5}, r"^users: found 2\.5, expected an integer$"),
        ({"users": True}, "^users: found True, expected a number$"),
        ({"users": 10**7}, r"^users: found 10000000, expected 0 to 1e\+06$"),
        ({"seed": -1}, r"^seed: found -1, expected 0 to 9\.0072e\+15$"),
        ({"seed": 0.5}, r"^seed: found 0\.5, expected an integer$"),
        ({"seed": "1"}, r'^seed: found "1" \(text\), expected a number$'),
        (
            {"settings": {"users": 3}},
            "^settings.users: unknown for calibrated-fig4, expected one of input_min",
        ),
        (
            {"settings": {"colour": 3}},
            "^settings.colour: unknown for calibrated-fig4, expected one of input_m",
        ),
        ({"family": "theorem-1", "settings": {"slot_s": 1}}, "expected one of none, this family has no sett"),
        (
            {"family": "slot-importance", "settings": {"rate_per_s": 1}},
            "^settings.rate_per_s: unknown for slot",
        ),
    ],
)
def test_call_refused(call: dict[str, Any], message: str) -> None:
    """An unknown family or setting, a wrong size or seed is refused by name."""
    with pytest.raises(InputError, match=message):
        generate(**({"family": "calibrated-fig4"} | call))


@pytest.mark.parametrize(
    ("family", "settings", "message"),
    [
        (
            "calibrated-fig4",
            {"deadline_max_s": "4"},
            r'^settings.deadline_max_s: found "4" \(text\), expected',
        ),
        (
            "calibrated-fig4",
            {"deadline_max_s": float("nan")},
            "^settings.deadline_max_s: found nan, expected a",
        ),
        (
            "calibrated-fig4",
            {"deadline_max_s": 0.1},
            r"^settings.deadline_max_s: found 0\.1, expected at least",
        ),
        (
            "calibrated-fig4",
            {"deadline_min_s": 9},
            r"^settings.deadline_max_s: found 4\.0, expected at least",
        ),
        (
            "calibrated-fig4",
            {"acceptance_max": 0.5},
            r"^settings.acceptance_max: found 0\.5, expected at least",
        ),
        ("calibrated-fig4", {"acceptance_max": 3}, r"^acceptance\[\d+\]: found 1\.\d+, expected 0 to 1$"),
        ("calibrated-fig4", {"input_max": 2.5}, r"^settings.input_max: found 2\.5, expected an integer$"),
        (
            "calibrated-fig4",
            {"input_min": 301},
            "^settings.input_max: found 300, expected at least input_min =",
        ),
        (
            "calibrated-fig4",
            {"output_max": 0},
            "^settings.output_max: found 0, expected at least output_min = 1",
        ),
        (
            "calibrated-fig4",
            {"input_min": 0, "input_max": 0},
            r"^input_tokens\[0\]: found 0, expected 1 to 1e",
        ),
        ("calibrated-fig4", {"draft_tokens": 0}, "^draft_tokens: found 0, expected 1 to 1000$"),
        ("calibrated-fig4", {"memory_bytes": -1}, r"^settings.memory_bytes: found -1, expected 0 to 1e\+21$"),
        (
            "calibrated-fig4",
            {"radius_m": 9},
            r"^settings.radius_m: found 9\.0, expected at least distance_min_m",
        ),
        ("calibrated-fig4", {"radius_m": -300}, r"^settings.radius_m: found -300, expected 0 to 1e\+21$"),
        (
            "calibrated-fig4",
            {"distance_min_m": 0},
            "^settings.distance_min_m: found 0, expected more than 0$",
        ),
        (
            "calibrated-fig4",
            {"distance_min_m": 1e200},
            r"^settings.distance_min_m: found 1e\+200, expected at m",
        ),
        (
            "calibrated-fig4",
            {"bandwidth_up_hz": 0},
            "^settings.bandwidth_up_hz: found 0, expected more than 0$",
        ),
        (
            "calibrated-fig4",
            {"transmit_up_dbm_hz": 1e9},
            "^settings.transmit_up_dbm_hz: found 1000000000.0, exp",
        ),
        (
            "calibrated-fig4",
            {"transmit_up_dbm_hz": -1e3},
            r"^upload_s\[0\]: found inf, expected a finite number$",
        ),
        ("importance", {"slot_s": 0}, "^settings.slot_s: found 0, expected more than 0$"),
        ("importance", {"slot_s": -0.1}, r"^settings.slot_s: found -0\.1, expected more than 0$"),
        ("importance", {"slot_s": 1e-300}, r"^window_slots: found 50+\.\.\., expected 1 to 1e\+07$"),
        ("importance", {"horizon_s": -1}, r"^settings.horizon_s: found -1, expected 0 to 1e\+21$"),
        ("importance", {"rate_per_s": 0}, "^settings.rate_per_s: found 0, expected more than 0$"),
        (
            "importance",
            {"rate_per_s": 1e6},
            r"^settings.rate_per_s: found 1000000\.0, expected more than 0, and",
        ),
        ("importance", {"bits_per_token": 0}, r"^cache_bits\[0\]: found 0\.0, expected more than 0$"),
        (
            "slot-importance",
            {"bandwidth_bps": -1},
            "^settings.bandwidth_bps: found -1, expected more than 0$",
        ),
    ],
)
def test_setting_refused(family: str, settings: dict[str, Any], message: str) -> None:
    """A setting that nothing can be drawn from is refused by name, without a warning of numpy."""
    with pytest.raises(InputError, match=message):
        generate(family, settings=settings)


def test_settled_keeps_integers() -> None:
    """A whole number given as a float stays an integer of the preset."""
    assert_same(settled(BALANCE_PRESETS["fig4"], {"input_max": 50.0}).input_max, 50)


@pytest.mark.parametrize("name", ["fig4", "fig5"])
def test_draws_within_the_preset(name: str) -> None:
    """2000 users keep to the preset's ranges and come near their ends."""
    preset, users = BALANCE_PRESETS[name], balance(f"physical-{name}", users=2000, seed=1).users
    for key, low, high in [
        ("input_tokens", preset.input_min, preset.input_max),
        ("output_tokens", preset.output_min, preset.output_max),
        ("deadline_s", preset.deadline_min_s, preset.deadline_max_s),
        ("acceptance", preset.acceptance_min, preset.acceptance_max),
    ]:
        values = getattr(users, key)
        margin = 0.01 * (high - low)
        assert low <= values.min() < low + margin, key
        assert high - margin < values.max() <= high, key
        assert values.mean() == pytest.approx((low + high) / 2, abs=4 * (high - low) / np.sqrt(12 * 2000))


def test_ends_are_drawn() -> None:
    """Token counts are uniform with both ends included."""
    settings = {"input_min": 3, "input_max": 6, "output_max": 2}
    users = balance("physical-fig4", users=2000, settings=settings).users
    inputs, outputs = np.bincount(users.input_tokens), np.bincount(users.output_tokens)
    assert inputs.tolist()[:3] == [0, 0, 0]
    assert np.all(np.abs(inputs[3:] - 500) < 4 * np.sqrt(2000 * 0.25 * 0.75))
    assert np.all(np.abs(outputs[1:] - 1000) < 4 * np.sqrt(2000 * 0.25))


def test_uploads_take_a_millisecond() -> None:
    """In Fig. 4 an upload takes about a millisecond, and at most a few hundredths of a deadline."""
    users = balance("calibrated-fig4", users=2000).users
    assert 1e-4 < np.median(users.upload_s) < 2e-3
    assert users.upload_s.max() < 0.02


@pytest.mark.parametrize(
    ("family", "key"), [("physical-upload", "upload_s"), ("physical-download", "download_s")]
)
def test_radio_matters_somewhere(family: str, key: str) -> None:
    """There are families in which uploads or downloads take a good part of the deadline."""
    users = balance(family, users=2000).users
    assert 0.05 < np.median(getattr(users, key) / users.deadline_s) < 2


def test_poisson_counts() -> None:
    """Over 200 seeds the number of arrivals has the mean and the variance of a Poisson count."""
    expected = 4.0 * SHORT["horizon_s"]
    counts = [size_of(generate("importance", seed=seed, settings=SHORT)) for seed in range(200)]
    assert np.mean(counts) == pytest.approx(expected, abs=4 * np.sqrt(expected / 200))
    assert np.var(counts, ddof=1) == pytest.approx(expected, abs=4 * expected * np.sqrt(2 / 199))


@pytest.mark.parametrize("size", [None, 50])
def test_arrivals_are_in_order(size: int | None) -> None:
    """Arrivals rise and end before the horizon, whether the number of users is drawn or given."""
    trace = generate("importance", users=size, seed=2)
    assert isinstance(trace, HandoverTrace)
    assert np.all(np.diff(trace.users.arrival_s) >= 0)
    assert trace.users.arrival_s.max() <= trace.horizon_s == 100


def test_contexts_are_uniform() -> None:
    """The three context lengths are equally likely, and the curve belongs to the length."""
    trace = generate("importance", users=3000)
    assert isinstance(trace, HandoverTrace)
    for c in HANDOVER_PRESETS["importance"].classes:
        members = trace.users.context_tokens == c.context_tokens
        assert abs(members.sum() - 1000) < 4 * np.sqrt(3000 * 2 / 9)
        assert set(trace.users.anchor[members]) == {c.anchor}
        assert set(trace.users.cache_bits[members]) == {c.context_tokens * 147456.0 * 8}


def test_mmkp_correlations() -> None:
    """Values are as correlated with the weights as the family says."""
    found = {}
    for name in ("uncorrelated", "weakly", "strongly", "inversely"):
        instance = generate(f"mmkp-{name}", users=200)
        assert isinstance(instance, MmkpInstance)
        found[name] = float(np.corrcoef(instance.values, instance.weights.sum(axis=1))[0, 1])
    assert found["strongly"] == pytest.approx(1)
    assert 0.8 < found["weakly"] < 1
    assert abs(found["uncorrelated"]) < 0.13
    assert -1 < found["inversely"] < -0.8


@pytest.mark.parametrize("family", FAMILIES)
def test_nine_digits(family: str) -> None:
    """What is drawn has at most 9 significant digits."""
    instance = generate(family, users=None if family in WITNESSES else 40, seed=8)
    for array in drawn_arrays(instance):
        assert rounded(array).tolist() == array.tolist()


def drawn_arrays(instance: Any) -> list[Any]:
    """Return the arrays that hold real numbers which a generator drew."""
    if isinstance(instance, MmkpInstance):
        return [instance.values, instance.weights.reshape(-1), instance.capacities]
    if isinstance(instance, BalanceInstance):
        keys = ("deadline_s", "acceptance", "upload_s", "download_s")
        return [np.array([instance.server.memory_bytes]), *[getattr(instance.users, key) for key in keys]]
    return [instance.users.arrival_s if isinstance(instance, HandoverTrace) else instance.users.received]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1 / 3, 0.333333333), (123456789.5, 123456790.0), (0, 0), (2 / 3e9, 6.66666667e-10)],
)
def test_rounded(value: float, expected: float) -> None:
    """Rounding is to 9 significant digits, whatever the size."""
    assert rounded([value]).tolist() == [expected]
