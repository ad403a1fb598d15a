"""Stored cases and generated instances for the tests of this folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from instances.handover import HandoverTrace, HandoverUsers, SlotInstance, SlotUsers

FOLDER = Path(__file__).resolve().parents[2] / "data" / "handover"
CEILING, SHARPNESS, ANCHOR = (0.9556, 0.9416, 0.9276), (48.0, 34.0, 35.5), (0.075, 0.066, 0.0703)


def stored(name: str) -> Any:
    """Return the content of a case file."""
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def slot_of(content: dict[str, Any]) -> SlotInstance:
    """Return the slot instance written as JSON."""
    users = SlotUsers(**{key: np.array(column, dtype=float) for key, column in content["users"].items()})
    return SlotInstance(
        content["name"], content["utility"], content["slot_s"], content["bandwidth_bps"], users
    )


def trace_of(content: dict[str, Any]) -> HandoverTrace:
    """Return the horizon written as JSON."""
    users = HandoverUsers(**{key: np.array(column) for key, column in content["users"].items()})
    link = (content["slot_s"], content["window_slots"], content["bandwidth_bps"], content["horizon_s"])
    return HandoverTrace(content["name"], content["utility"], *link, users)


SLOTS = {case["name"]: case for case in stored("slot_cases.json")["cases"]}
TRACES = {case["instance"]["name"]: case for case in stored("handover_cases.json")["cases"]}


def class_slot(
    name: str, classes: list[int], received: list[float], capacity: float, utility: str = "algebraic"
) -> SlotInstance:
    """Return a slot of users of the paper's three context lengths."""
    columns = stored("policy_cases.json")["classes"]
    picked = {
        key: np.array(columns[key], dtype=float)[classes]
        for key in ("cache_bits", "ceiling", "sharpness", "anchor")
    }
    users = SlotUsers(received=np.array(received, dtype=float), **picked)
    return SlotInstance(name, utility, 1.0, capacity, users)


def random_slot(rng: np.random.Generator, utility: str) -> SlotInstance:
    """Return a feasible slot of 1 to 8 users with sharpness from almost linear to a step."""
    n = int(rng.integers(1, 9))
    cache, anchor = 10.0 ** rng.uniform(6, 10.5, n), rng.uniform(0.0, 0.6, n)
    received = rng.uniform(0.0, 1.0, n) * rng.integers(0, 2, n)
    sharpness = 10.0 ** rng.uniform(-6, 4) * rng.uniform(0.5, 2.0, n)
    lift = float(np.sum(cache * np.maximum(anchor - received, 0.0)))
    room = float(np.sum(cache * (1.0 - np.maximum(anchor, received))))
    users = SlotUsers(cache, received, rng.uniform(0.1, 1.0, n), sharpness, anchor)
    return SlotInstance("random", utility, 1.0, lift + room * float(10.0 ** rng.uniform(-5, 0)), users)


def random_trace(
    rng: np.random.Generator,
    n: int,
    horizon_s: float,
    utility: str = "algebraic",
    window: Any = 5,
    bandwidth: float = 2e10,
) -> HandoverTrace:
    """Return a horizon of ``n`` users of the paper's classes at uniform arrivals."""
    arrival = np.sort(np.round(rng.uniform(0.0, horizon_s, n), 6))
    classes = rng.integers(0, 3, n)
    tokens = np.array([4096, 8192, 16384])[classes]
    curve = [np.array(column)[classes] for column in (CEILING, SHARPNESS, ANCHOR)]
    users = HandoverUsers(arrival, tokens, 2.0 * 36 * 8 * 128 * 16 * tokens, *curve)
    return HandoverTrace("random", utility, 0.1, window, bandwidth, horizon_s, users)


def renamed(trace: HandoverTrace, order: np.ndarray) -> HandoverTrace:
    """Return the horizon with its users in another order."""
    columns = {key: getattr(trace.users, key)[order] for key in trace.users.__dataclass_fields__}
    link = (trace.slot_s, trace.window_slots, trace.bandwidth_bps, trace.horizon_s)
    return HandoverTrace(trace.name, trace.utility, *link, HandoverUsers(**columns))
