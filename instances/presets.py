"""The papers' settings and the named constant sets, with their origin.

BALANCE prints neither α and β nor its radio constants: the two sets below are the readings that the suite
pins. ImpactHO prints its network settings but not its utility curves: the classes below are calibrated to the
published accuracies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from instances.balance import LanguageModel

__all__ = [
    "BALANCE_CONSTANTS",
    "BALANCE_MODELS",
    "BALANCE_PRESETS",
    "CACHE_BITS",
    "CACHE_ORDERS",
    "HANDOVER_PRESETS",
    "TENTHS",
    "WINDOWS",
    "BalancePreset",
    "ContextClass",
    "HandoverPreset",
]

TENTHS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def _llama_2_7b(seconds_per_flop: float, seconds_per_pass: float) -> LanguageModel:
    return LanguageModel(32, 4096, 32, 128, 11008, seconds_per_flop, seconds_per_pass)


def _tiny_llama(seconds_per_flop: float, seconds_per_pass: float) -> LanguageModel:
    return LanguageModel(22, 2048, 32, 64, 5632, seconds_per_flop, seconds_per_pass)


# (LLM, SLM) on the server. "calibrated": the set that comes closest to the gains published in Fig. 4 and 5.
# "physical": the bandwidth and compute bounds of an RTX 4090.
BALANCE_CONSTANTS: dict[str, tuple[LanguageModel, LanguageModel]] = {
    "calibrated": (_llama_2_7b(1 / 8.4e12, 0.0414), _tiny_llama(1 / 27e12, 0.0077)),
    "physical": (_llama_2_7b(1 / 80e12, 0.0134), _tiny_llama(1 / 60e12, 0.0022)),
}

# The two models' shapes; their speed is not set.
BALANCE_MODELS: dict[str, LanguageModel] = {
    "Llama-2-7B": _llama_2_7b(0.0, 0.0),
    "TinyLlama-1.1B": _tiny_llama(0.0, 0.0),
}


@dataclass(frozen=True)
class BalancePreset:
    """How users of a BALANCE instance are drawn (paper, Section V-A); ranges are uniform, ends included."""

    users: int = 30  # K
    input_min: int = 1  # token
    input_max: int = 300  # token
    output_min: int = 1  # token
    output_max: int = 100  # token
    deadline_min_s: float = 0.5
    deadline_max_s: float = 4.0
    acceptance_min: float = 0.6
    acceptance_max: float = 0.8
    draft_tokens: int = 1  # D
    memory_bytes: float = 24e9  # Q
    bits_per_token: float = 16.0  # γ
    bandwidth_up_hz: float = 1e6
    bandwidth_down_hz: float = 2e6
    radius_m: float = 250.0
    distance_min_m: float = 10.0
    transmit_up_dbm_hz: float = -50.0
    transmit_down_dbm_hz: float = -29.0
    noise_dbm_hz: float = -174.0


_FIG4 = BalancePreset()
_FIG5 = BalancePreset(input_max=1000, output_max=500, deadline_min_s=2.0, deadline_max_s=12.0)

BALANCE_PRESETS: dict[str, BalancePreset] = {
    "fig4": _FIG4,  # also Fig. 6 and 7
    "fig5": _FIG5,
    "fig4-q14": replace(_FIG4, memory_bytes=14e9),
    "fig4-q12.6": replace(_FIG4, memory_bytes=12.6e9),
    "fig5-q14": replace(_FIG5, memory_bytes=14e9),
    "upload": replace(_FIG4, bits_per_token=16000.0),  # uploads take seconds
    "download": replace(_FIG4, bits_per_token=16000.0, transmit_up_dbm_hz=-10.0, bandwidth_down_hz=1e5),
    "draft2": replace(_FIG4, draft_tokens=2),
    "draft3": replace(_FIG4, draft_tokens=3),
    "draft2-q12.6": replace(_FIG4, draft_tokens=2, memory_bytes=12.6e9),
}


@dataclass(frozen=True)
class ContextClass:
    """Users of one context length: their share of arrivals is uniform over the classes."""

    context_tokens: int
    ceiling: float  # M
    sharpness: float  # k
    anchor: float  # τ


WINDOWS = {  # the slots of a user, and words for a family's description
    "slots": "",  # ⌊T_max/Δt⌋ slots from the first one after the arrival
    "whole-slots": ", windows of the slots that lie inside T_max",
    "started-slots": ", windows of the slots that start inside T_max",
    "none": ", no deadline",
}
CACHE_ORDERS = {  # of a cache's entries, with words for a family's description
    "importance": "caches sent in order of importance",
    "random-ordering": "caches sent in random order",
}


CACHE_BITS = {  # a token by eq. (1), 2 n_L n_H d_h q, with the models' published layers and key-value heads
    "Qwen3-8B": 2 * 36 * 8 * 128 * 16,
    "Qwen3-14B": 2 * 40 * 8 * 128 * 16,
    "Llama-3.1-8B": 2 * 32 * 8 * 128 * 16,
}


@dataclass(frozen=True)
class HandoverPreset:
    """A horizon of Poisson handovers (paper, Section VI-A)."""

    classes: tuple[ContextClass, ...]
    utility: str = "algebraic"
    rate_per_s: float = 4.0  # ρ
    bandwidth_bps: float = 20e9  # B
    slot_s: float = 0.1  # Δt
    window_s: float = 0.5  # T_max
    window: str = "slots"  # which slots T_max gives a user: one of WINDOWS
    horizon_s: float = 100.0
    bits_per_token: float = CACHE_BITS["Qwen3-8B"]


_ORDERINGS: dict[str, HandoverPreset] = {
    "importance": HandoverPreset(
        (
            ContextClass(4096, 0.9556, 48.0, 0.0750),
            ContextClass(8192, 0.9416, 34.0, 0.0660),
            ContextClass(16384, 0.9276, 35.5, 0.0703),
        )
    ),
    "random-ordering": HandoverPreset(
        (
            ContextClass(4096, 0.9556, 5.3201, 0.50508),
            ContextClass(8192, 0.9416, 5.3201, 0.50508),
            ContextClass(16384, 0.9276, 5.3201, 0.50508),
        )
    ),
}

HANDOVER_PRESETS: dict[str, HandoverPreset] = {
    **_ORDERINGS,
    "importance-whole-slots": replace(_ORDERINGS["importance"], window="whole-slots"),
    "importance-started-slots": replace(_ORDERINGS["importance"], window="started-slots"),
    "importance-no-deadline": replace(_ORDERINGS["importance"], window="none"),
}
