"""Instances made of public or own data; what the data lack comes from a preset and a seed, and is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from instances.balance import BalanceInstance, BalanceUsers, Server
from instances.decimals import as_decimal
from instances.errors import InputError, integer, shown
from instances.generate import MAX_SIZE, radio_times, rounded
from instances.handover import HandoverTrace, HandoverUsers
from instances.importers.azure import read_azure
from instances.importers.khan import read_khan
from instances.importers.mmkp_text import read_mmkp
from instances.importers.mooncake import read_mooncake
from instances.importers.own_csv import read_balance_csv, read_handover_csv
from instances.importers.requests import RequestTrace, sample_requests
from instances.importers.retention import read_retention
from instances.importers.text import read, safe_name
from instances.importers.ucc5g import read_handover_events, superpose
from instances.mmkp import MmkpInstance
from instances.origin import Origin
from instances.presets import (
    BALANCE_CONSTANTS,
    BALANCE_PRESETS,
    CACHE_BITS,
    HANDOVER_PRESETS,
    TENTHS,
    BalancePreset,
    HandoverPreset,
)
from instances.retention import RetentionCurve

__all__ = [
    "balance_from_azure",
    "balance_from_csv",
    "balance_from_mooncake",
    "handover_from_csv",
    "handover_from_ucc5g",
    "mmkp_from_file",
    "mmkp_from_khan",
    "retention_from_table",
]


def balance_from_azure(
    path: Path,
    *,
    seed: int = 0,
    users: int | None = None,
    preset: str = "fig5",
    constants: str = "calibrated",
) -> BalanceInstance:
    """Return BALANCE users with the token counts of consecutive requests of an Azure trace.

    Requests above the preset's longest input or output are left out; deadlines, acceptance rates and radio
    times come from the preset and the seed.
    """
    return _balance_from_requests(read_azure(path), path, seed, users, preset, constants)


def balance_from_mooncake(
    path: Path,
    *,
    seed: int = 0,
    users: int | None = None,
    preset: str = "fig5",
    constants: str = "calibrated",
) -> BalanceInstance:
    """Return BALANCE users with the token counts of consecutive requests of a Mooncake trace."""
    return _balance_from_requests(read_mooncake(path), path, seed, users, preset, constants)


def balance_from_csv(
    path: Path,
    *,
    seed: int = 0,
    users: int | None = None,
    preset: str = "fig5",
    constants: str = "calibrated",
) -> BalanceInstance:
    """Return BALANCE users of an own CSV file, the first ``users`` of them; absent columns are drawn."""
    count = _count(users)
    columns = {key: values[:count] for key, values in read_balance_csv(path).items()}
    return _balance(columns, f"csv {path.name}", path, seed, preset, constants)


def handover_from_csv(
    path: Path, *, seed: int = 0, users: int | None = None, preset: str = "importance"
) -> HandoverTrace:
    """Return a trace with arrivals and context lengths of an own CSV file, the first ``users`` of them."""
    count = _count(users)
    columns = {key: values[:count] for key, values in read_handover_csv(path).items()}
    chosen = _preset(HANDOVER_PRESETS, preset)
    source = f"csv {path.name}, utilities interpolated"
    try:
        return _trace(chosen, columns["arrival_s"], columns["context_tokens"], source, path, (), seed, preset)
    except InputError as error:
        raise error.within(path) from None


def handover_from_ucc5g(
    path: Path,
    requests: Path,
    *,
    seed: int = 0,
    users: int | None = None,
    preset: str = "importance",
    rate_per_s: float | None = None,
    horizon_s: float | None = None,
    model: str = "Qwen3-8B",
) -> HandoverTrace:
    """Return a trace with arrivals of UCC 5G drivers and context lengths of a request trace.

    The drivers' changes of base station are superposed and thinned to the preset's rate; contexts are the
    prompts of random requests, at least 1024 and at most 16384 tokens; ``model`` names the cache's size a
    token. Utilities of lengths between the preset's classes are interpolated in log2 of the length.
    """
    chosen: HandoverPreset = _preset(HANDOVER_PRESETS, preset)
    if model not in CACHE_BITS:
        raise InputError(f"model: found {shown(model)}, expected one of {', '.join(CACHE_BITS)}")
    chosen = replace(chosen, bits_per_token=CACHE_BITS[model])
    if rate_per_s is not None:
        chosen = replace(chosen, rate_per_s=rate_per_s)
    if horizon_s is not None:
        chosen = replace(chosen, horizon_s=horizon_s)
    events = read_handover_events(path)
    arrivals = superpose(events, rate_per_s=chosen.rate_per_s, horizon_s=chosen.horizon_s, seed=seed)
    arrivals = arrivals[: _count(users)]
    is_json = read(requests).text.lstrip().startswith("{")
    trace = read_mooncake(requests) if is_json else read_azure(requests)
    lengths = trace.prompt_tokens[(trace.prompt_tokens >= 1024) & (trace.prompt_tokens <= 16384)]
    if not len(lengths):
        raise InputError(f"{requests}: found no prompt of 1024 to 16384 tokens, expected at least one")
    rng = np.random.Generator(np.random.PCG64([seed, 2]))
    source = (
        f"arrivals {path.name} (superposed, thinned), contexts {requests.name}, caches of {model}, "
        "utilities interpolated"
    )
    contexts = rng.choice(lengths, len(arrivals))
    return _trace(chosen, arrivals, contexts, source, path, (_stem(requests), model), seed, preset)


def _balance_from_requests(
    trace: RequestTrace, path: Path, seed: int, users: int | None, preset: str, constants: str
) -> BalanceInstance:
    chosen: BalancePreset = _preset(BALANCE_PRESETS, preset)
    count = chosen.users if users is None else users
    try:
        inputs, outputs = sample_requests(trace, count, seed, chosen.input_max, chosen.output_max)
    except InputError as error:
        raise error.within(path) from None
    columns = {"input_tokens": inputs, "output_tokens": outputs}
    return _balance(columns, f"tokens {path.name}", path, seed, preset, constants)


def _balance(
    columns: dict[str, NDArray[Any]], source: str, path: Path, seed: int, preset: str, constants: str
) -> BalanceInstance:
    chosen: BalancePreset = _preset(BALANCE_PRESETS, preset)
    llm, slm = _preset(BALANCE_CONSTANTS, constants, "constants")
    seed = integer("seed", seed, low=0, high=2**53)
    inputs, outputs = columns["input_tokens"], columns["output_tokens"]
    rng = np.random.Generator(np.random.PCG64([seed, 3]))
    upload, download = radio_times(chosen, inputs, outputs, seed)
    drawn = {
        "deadline_s": rounded(rng.uniform(chosen.deadline_min_s, chosen.deadline_max_s, len(inputs))),
        "acceptance": rounded(rng.uniform(chosen.acceptance_min, chosen.acceptance_max, len(inputs))),
        "upload_s": upload,
        "download_s": download,
    }
    missing = [key for key in drawn if key not in columns]
    users = BalanceUsers(**{**drawn, **columns})
    text = f"{source}; drawn: {', '.join(missing) or 'nothing'}"
    return BalanceInstance(
        safe_name(f"{_stem(path)}-{constants}-{preset}-n{len(inputs)}-s{seed}.json", "imported"),
        Server(chosen.memory_bytes, 2, TENTHS, TENTHS),
        llm,
        slm,
        chosen.draft_tokens,
        users,
        Origin(text, read(path).sha256, seed, f"{constants}-{preset}"),
    )


def _trace(
    preset: HandoverPreset,
    arrivals: NDArray[np.float64],
    contexts: NDArray[np.int64],
    source: str,
    path: Path,
    kinds: tuple[str, ...],
    seed: int,
    preset_name: str,
) -> HandoverTrace:
    """Return the trace; ``kinds`` tell it in its name from others of the same arrivals."""
    order = np.argsort(arrivals, kind="stable")
    contexts = np.asarray(contexts)[order]
    classes = sorted(preset.classes, key=lambda c: c.context_tokens)
    knots = np.log2([c.context_tokens for c in classes])

    def curve(values: list[float]) -> NDArray[np.float64]:
        return rounded(np.interp(np.log2(contexts), knots, values))

    users = HandoverUsers(
        arrivals[order],
        contexts,
        np.asarray(contexts, dtype=np.float64) * preset.bits_per_token,
        curve([c.ceiling for c in classes]),
        curve([c.sharpness for c in classes]),
        curve([c.anchor for c in classes]),
    )
    window = max(int(as_decimal(preset.window_s) // as_decimal(preset.slot_s)), 1)
    return HandoverTrace(
        safe_name(
            f"{'-'.join((_stem(path), *kinds, preset_name))}-n{len(arrivals)}-s{seed}.json", "imported"
        ),
        preset.utility,
        preset.slot_s,
        window,
        preset.bandwidth_bps,
        max(preset.horizon_s, float(arrivals.max(initial=0.0))),
        users,
        Origin(source, read(path).sha256, seed, preset_name),
    )


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def _count(users: int | None) -> int | None:
    return None if users is None else integer("users", users, low=0, high=MAX_SIZE)


def _preset(known: dict[str, Any], name: str, field: str = "preset") -> Any:
    if name not in known:
        raise InputError(f"{field}: found {shown(name)}, expected one of {', '.join(known)}")
    return known[name]


def mmkp_from_khan(path: Path, *, seed: int = 0) -> MmkpInstance:
    """Return the MMKP in a file of Khan's format; there is nothing to draw."""
    return read_khan(path)


def mmkp_from_file(path: Path, *, seed: int = 0, item: int | None = None) -> MmkpInstance:
    """Return an MMKP in a file of any public format, problem ``item`` where it holds several."""
    return read_mmkp(path, item=item)


def retention_from_table(path: Path, *, seed: int = 0, **where: str) -> RetentionCurve:
    """Return the measured points of the one curve of a table whose columns have these values."""
    curves = read_retention(path, where)
    if len(curves) > 1:
        names = ", ".join(curve.name for curve in curves)
        raise InputError(f"{path}: found the curves {names}, expected one")
    return curves[0]
