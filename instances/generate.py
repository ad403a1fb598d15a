"""FAMILIES: seeded families of instances of each kind.

Every family draws from its own ``Generator(PCG64(seed))`` and rounds what it emits to 9 significant digits,
so that content hashes do not depend on the processor's vector units.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances import witnesses
from instances.balance import BalanceInstance, BalanceUsers, LanguageModel, Server
from instances.decimals import as_decimal
from instances.errors import InputError, integer, number, shown
from instances.files import Instance, size_of
from instances.handover import HandoverTrace, HandoverUsers, SlotInstance, SlotUsers
from instances.mmkp import MmkpInstance
from instances.origin import Origin
from instances.presets import (
    BALANCE_CONSTANTS,
    BALANCE_PRESETS,
    CACHE_ORDERS,
    HANDOVER_PRESETS,
    TENTHS,
    WINDOWS,
    BalancePreset,
    HandoverPreset,
)

__all__ = [
    "FAMILIES",
    "KINDS",
    "Family",
    "families_of",
    "generate",
    "radio_times",
    "rounded",
    "settled",
    "window_slots",
]

KINDS = ("balance", "handover", "slot", "mmkp")
MAX_SIZE = 10**6
MAX_SETTING = 1e21
_POSITIVE = (
    "bandwidth_up_hz",
    "bandwidth_down_hz",
    "bandwidth_bps",
    "distance_min_m",
    "slot_s",
    "rate_per_s",
)
_RANGES = (
    ("input_min", "input_max"),
    ("output_min", "output_max"),
    ("deadline_min_s", "deadline_max_s"),
    ("acceptance_min", "acceptance_max"),
    ("distance_min_m", "radius_m"),
)
Make = Callable[[int | None, int, Mapping[str, float]], Any]


@dataclass(frozen=True)
class Family:
    """A seeded family of instances of one kind."""

    name: str
    kind: str  # one of KINDS
    description: str
    make: Make  # (size or None, seed, settings) -> instance
    settings: tuple[str, ...] = ()  # what may be set, by name


def generate(
    family: str, *, users: int | None = None, seed: int = 0, settings: Mapping[str, float] | None = None
) -> Instance:
    """Return the instance of a family for a size and a seed.

    Parameters
    ----------
    family : str
        A key of FAMILIES, such as ``physical-fig4``.
    users : int, optional
        Number of users (or groups); the family's own default if None.
    seed : int
        Of the family's random generator.
    settings : mapping, optional
        Fields of the family's preset to change, such as ``{"deadline_max_s": 6}``.

    Raises
    ------
    InputError
        For an unknown family or setting, or a value out of range.
    """
    if family not in FAMILIES:
        raise InputError(f"family: found {shown(family)}, expected one of {', '.join(FAMILIES)}")
    chosen = FAMILIES[family]
    for key in settings or {}:
        if key not in chosen.settings:
            expected = ", ".join(chosen.settings) or "none, this family has no settings"
            raise InputError(f"settings.{key}: unknown for {family}, expected one of {expected}")
    size = None if users is None else integer("users", users, low=0, high=MAX_SIZE)
    instance: Instance = chosen.make(size, integer("seed", seed, low=0, high=2**53), settings or {})
    label = "".join(f"-{key}{value:g}" for key, value in sorted((settings or {}).items()))
    named = f"{family}{label}-n{size_of(instance)}-s{seed}"
    if len(named) > 100:
        named = f"{family}-n{size_of(instance)}-s{seed}"
    return replace(instance, name=named, origin=Origin(source="certigap generate", seed=seed, preset=family))


def families_of(kind: str) -> list[Family]:
    """Return the families of a kind."""
    return [family for family in FAMILIES.values() if family.kind == kind]


def rounded(values: Any) -> NDArray[np.float64]:
    """Return ``values`` with 9 significant digits each."""
    return np.array([float(f"{v:.8e}") for v in np.asarray(values, dtype=np.float64).reshape(-1)])


def settled(preset: Any, settings: Mapping[str, float]) -> Any:
    """Return the preset with some of its fields changed, integers kept as integers.

    Raises
    ------
    InputError
        For a value that nothing can be drawn from, or a range that ends before it begins.
    """
    whole = {f.name for f in fields(preset) if f.type == "int"}
    changes: dict[str, Any] = {
        key: integer(f"settings.{key}", value, low=0, high=10**7) if key in whole else _setting(key, value)
        for key, value in settings.items()
    }
    chosen = replace(preset, **changes)
    for low, high in _RANGES:
        if hasattr(chosen, low) and getattr(chosen, low) > getattr(chosen, high):
            expected = f"at least {low} = {getattr(chosen, low)}"
            raise InputError(f"settings.{high}: found {getattr(chosen, high)}, expected {expected}")
    return chosen


def _setting(key: str, value: float) -> float:
    field = f"settings.{key}"
    if key.endswith("_dbm_hz"):
        return number(field, value, low=-1000, high=1000)
    if key in _POSITIVE:
        return number(field, value, above=0, high=MAX_SETTING)
    return number(field, value, low=0, high=MAX_SETTING)


def _rng(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def radio_times(
    preset: BalancePreset, input_tokens: NDArray[np.int64], output_tokens: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return upload and download seconds, (K,) each, of users placed uniformly in a disc.

    Path loss 128.1 + 37.6 log10(d/km) dB, spectral efficiency log2(1 + SNR), no fading (paper, Section V-A).
    """
    rng = np.random.Generator(np.random.PCG64([seed, 1]))
    area = rng.uniform(preset.distance_min_m**2, preset.radius_m**2, len(input_tokens))
    loss_db = 128.1 + 37.6 * np.log10(np.sqrt(area) / 1000.0)

    def efficiency(density_dbm_hz: float) -> NDArray[np.float64]:
        snr_db = density_dbm_hz - loss_db - preset.noise_dbm_hz
        return np.log2(1.0 + 10.0 ** (snr_db / 10.0))

    up_bps = preset.bandwidth_up_hz * efficiency(preset.transmit_up_dbm_hz)
    down_bps = preset.bandwidth_down_hz * efficiency(preset.transmit_down_dbm_hz)
    with np.errstate(divide="ignore", invalid="ignore"):  # no signal: the instance refuses the time
        up = preset.bits_per_token * input_tokens / up_bps
        down = preset.bits_per_token * output_tokens / down_bps
    return rounded(up), rounded(down)


def _balance_family(constants: str, preset_name: str) -> Make:
    def make(size: int | None, seed: int, settings: Mapping[str, float]) -> BalanceInstance:
        preset = settled(BALANCE_PRESETS[preset_name], settings)
        rng, count = _rng(seed), preset.users if size is None else size
        inputs = rng.integers(preset.input_min, preset.input_max + 1, count)
        outputs = rng.integers(preset.output_min, preset.output_max + 1, count)
        deadlines = rounded(rng.uniform(preset.deadline_min_s, preset.deadline_max_s, count))
        acceptance = rounded(rng.uniform(preset.acceptance_min, preset.acceptance_max, count))
        upload, download = radio_times(preset, inputs, outputs, seed)
        llm, slm = BALANCE_CONSTANTS[constants]
        server = Server(preset.memory_bytes, 2, TENTHS, TENTHS)
        users = BalanceUsers(inputs, outputs, deadlines, acceptance, upload, download)
        return BalanceInstance("balance", server, llm, slm, preset.draft_tokens, users)

    return make


def _unit_random(size: int | None, seed: int, settings: Mapping[str, float]) -> BalanceInstance:
    """Random unit networks: every dimension is 1, time and memory about half as much as all users need."""
    rng, count = _rng(seed), 6 if size is None else size
    inputs, outputs = rng.integers(1, 31, count), rng.integers(1, 26, count)
    alpha_l, alpha_s = 10.0 ** rng.uniform(-6.0, -1.3), 10.0 ** rng.uniform(-6.0, -2.0)
    beta_l, beta_s = rng.uniform(0.0, 1.0), rng.uniform(0.0, 0.5)
    flops = 16.0 * inputs + 4.0 * inputs**2 + outputs * (12.0 + 4.0 * (inputs + outputs))
    scale = alpha_l * flops.sum() + beta_l * outputs.max(initial=1)
    radio = rng.uniform(0.0, 0.2) * (rng.random() < 0.5)
    tokens = float((inputs + outputs).sum())

    def model(alpha: float, beta: float) -> LanguageModel:
        return LanguageModel(1, 1, 1, 1, 1, *rounded([alpha, beta]))

    users = BalanceUsers(
        inputs,
        outputs,
        rounded(scale * rng.uniform(0.1, 1.0, count)),
        rounded(rng.uniform(0.1, 0.9, count)),
        rounded(scale * radio * rng.random(count)),
        rounded(scale * radio * rng.random(count)),
    )
    memory = rounded([12.0 + rng.uniform(0.2, 0.8) * 3.0 * tokens])[0]
    server = Server(memory, 1, (0.0, 0.5, 1.0), (0.0, 0.5, 1.0))
    draft = int(rng.integers(1, 4))
    return BalanceInstance("unit", server, model(alpha_l, beta_l), model(alpha_s, beta_s), draft, users)


def _handover_family(preset_name: str) -> Make:
    def make(size: int | None, seed: int, settings: Mapping[str, float]) -> HandoverTrace:
        preset = settled(HANDOVER_PRESETS[preset_name], settings)
        rng = _rng(seed)
        if size is None:
            arrivals = poisson_arrivals(rng, preset.rate_per_s, preset.horizon_s)
        else:
            arrivals = np.sort(rng.uniform(0.0, preset.horizon_s, size))
        kinds = rng.integers(0, len(preset.classes), len(arrivals))
        return trace_of(preset, rounded(arrivals), kinds)

    return make


def poisson_arrivals(rng: np.random.Generator, rate_per_s: float, horizon_s: float) -> NDArray[np.float64]:
    """Return the arrival times, s, of a Poisson process before ``horizon_s``."""
    if rate_per_s <= 0 or rate_per_s * horizon_s > MAX_SIZE:
        limit = f"more than 0, and at most {MAX_SIZE} arrivals in {horizon_s} s"
        raise InputError(f"settings.rate_per_s: found {rate_per_s}, expected {limit}")
    expected = rate_per_s * horizon_s
    gaps = rng.exponential(1.0 / rate_per_s, int(expected + 10.0 * np.sqrt(expected) + 20))
    times = np.cumsum(gaps)
    return times[times < horizon_s]


def trace_of(
    preset: HandoverPreset, arrival_s: NDArray[np.float64], kinds: NDArray[np.int64]
) -> HandoverTrace:
    """Return the trace of users that arrive at ``arrival_s`` (N,), user i of context class ``kinds[i]``."""
    curves = _curves(preset, kinds)
    context = np.array([c.context_tokens for c in preset.classes], dtype=np.int64)[kinds]
    horizon = max(preset.horizon_s, float(arrival_s.max(initial=0.0)))
    users = HandoverUsers(arrival_s, context, **curves)
    window = window_slots(preset, arrival_s)
    return HandoverTrace("trace", preset.utility, preset.slot_s, window, preset.bandwidth_bps, horizon, users)


def window_slots(preset: HandoverPreset, arrival_s: NDArray[np.float64]) -> int | NDArray[np.int64] | None:
    """Return the slots that T_max gives each user by the preset's reading: one number, (N,), or None.

    Decimals are divided exactly; every user has at least one slot.
    """
    if preset.window == "none":
        return None
    slot, length = as_decimal(preset.slot_s), as_decimal(preset.window_s)
    if preset.window == "slots":
        return max(int(length // slot), 1)
    counts = []
    for arrival in arrival_s.tolist():
        first, deadline = as_decimal(arrival) // slot + 1, (as_decimal(arrival) + length) / slot
        last = math.floor(deadline) if preset.window == "whole-slots" else math.ceil(deadline)
        counts.append(max(int(last - first), 1))
    return np.array(counts, dtype=np.int64)


def _curves(preset: HandoverPreset, kinds: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    def column(values: list[float]) -> NDArray[np.float64]:
        return np.array(values, dtype=np.float64)[kinds]

    return {
        "cache_bits": column([c.context_tokens * preset.bits_per_token for c in preset.classes]),
        "ceiling": column([c.ceiling for c in preset.classes]),
        "sharpness": column([c.sharpness for c in preset.classes]),
        "anchor": column([c.anchor for c in preset.classes]),
    }


def _slot_family(preset_name: str) -> Make:
    def make(size: int | None, seed: int, settings: Mapping[str, float]) -> SlotInstance:
        preset = settled(HANDOVER_PRESETS[preset_name], settings)
        rng, count = _rng(seed), 8 if size is None else size
        curves = _curves(preset, rng.integers(0, len(preset.classes), count))
        received = rounded(np.where(rng.random(count) < 0.5, 0.0, rng.random(count) ** 2))
        users = SlotUsers(received=received, **curves)
        return SlotInstance("slot", preset.utility, preset.slot_s, preset.bandwidth_bps, users)

    return make


def _mmkp_family(correlation: str, irregular: bool = False) -> Make:
    def make(size: int | None, seed: int, settings: Mapping[str, float]) -> MmkpInstance:
        groups, resources = 10 if size is None else size, 5
        rng = _rng(seed)
        sizes = rng.integers(1, 10, groups) if irregular else np.full(groups, 5)
        start = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        weights = rng.integers(0, 51, (int(start[-1]), resources)).astype(np.float64)
        total = weights.sum(axis=1)
        noise = rng.integers(0, 51, len(total))
        values = {
            "uncorrelated": rng.integers(1, 50 * resources + 1, len(total)).astype(np.float64),
            "weakly": total + noise,
            "strongly": total + 25.0,
            "inversely": 50.0 * resources - total + noise,
        }[correlation]
        means = [weights[first:end].mean(axis=0) for first, end in pairwise(start.tolist())]
        capacities = np.ceil(np.array(means).reshape(groups, resources).sum(axis=0))
        return MmkpInstance("mmkp", capacities, start, values, weights)

    return make


def _all_families() -> dict[str, Family]:
    families: list[Family] = []
    balance_settings = tuple(f.name for f in fields(BalancePreset) if f.name != "users")
    for constants in BALANCE_CONSTANTS:
        for preset in BALANCE_PRESETS:
            text = f"users of preset {preset}, constants {constants}"
            make = _balance_family(constants, preset)
            families.append(Family(f"{constants}-{preset}", "balance", text, make, balance_settings))
    families.append(
        Family("unit-random", "balance", "random unit networks with tight time and memory", _unit_random)
    )
    for name, (text, witness) in witnesses.WITNESSES.items():
        families.append(Family(name, "balance", text, witness))
    handover_settings = tuple(
        f.name for f in fields(HandoverPreset) if f.name not in ("classes", "utility", "window")
    )
    for preset in HANDOVER_PRESETS:
        ordering = next(words for name, words in CACHE_ORDERS.items() if preset.startswith(name))
        text = f"Poisson handovers, {ordering}{WINDOWS[HANDOVER_PRESETS[preset].window]}"
        families.append(Family(preset, "handover", text, _handover_family(preset), handover_settings))
        if HANDOVER_PRESETS[preset].window != "slots":
            continue  # one slot has no window
        text = f"one slot with users part-way, {ordering}"
        make = _slot_family(preset)
        families.append(Family(f"slot-{preset}", "slot", text, make, ("bandwidth_bps", "slot_s")))
    for correlation in ("uncorrelated", "weakly", "strongly", "inversely"):
        text = (
            f"values {correlation} correlated with weights"
            if correlation != "uncorrelated"
            else ("values uncorrelated with weights")
        )
        families.append(Family(f"mmkp-{correlation}", "mmkp", text, _mmkp_family(correlation)))
        text += ", groups of 1 to 9 items"
        make = _mmkp_family(correlation, irregular=True)
        families.append(Family(f"mmkp-irregular-{correlation}", "mmkp", text, make))
    return {family.name: family for family in families}


FAMILIES: dict[str, Family] = _all_families()
