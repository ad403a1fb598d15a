"""The papers' settings, as they stand in the papers or in the notes on what the papers leave open."""

from __future__ import annotations

import pytest

from instances.presets import BALANCE_CONSTANTS, BALANCE_PRESETS, HANDOVER_PRESETS, TENTHS


def test_tenths_are_decimals() -> None:
    """The default shares are 0, 0.1, …, 1 as they print, not as 3 · 0.1 does."""
    assert repr(TENTHS) == "(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)"


@pytest.mark.parametrize(
    ("constants", "llm_tflops", "llm_pass_s", "slm_tflops", "slm_pass_s"),
    [("calibrated", 8.4, 0.0414, 27, 0.0077), ("physical", 80, 0.0134, 60, 0.0022)],
)
def test_constants(
    constants: str, llm_tflops: float, llm_pass_s: float, slm_tflops: float, slm_pass_s: float
) -> None:
    """α and β of both models are those of the named set."""
    llm, slm = BALANCE_CONSTANTS[constants]
    assert 1 / llm.seconds_per_flop == pytest.approx(llm_tflops * 1e12, rel=1e-15)
    assert 1 / slm.seconds_per_flop == pytest.approx(slm_tflops * 1e12, rel=1e-15)
    assert (llm.seconds_per_pass, slm.seconds_per_pass) == (llm_pass_s, slm_pass_s)


@pytest.mark.parametrize("constants", BALANCE_CONSTANTS)
def test_models(constants: str) -> None:
    """The models are Llama-2-7B and TinyLlama-1.1B."""
    shapes = [
        (model.layers, model.hidden, model.heads, model.head_dim, model.ffn)
        for model in BALANCE_CONSTANTS[constants]
    ]
    assert shapes == [(32, 4096, 32, 128, 11008), (22, 2048, 32, 64, 5632)]


@pytest.mark.parametrize(
    ("preset", "input_max", "output_max", "deadlines"),
    [("fig4", 300, 100, (0.5, 4)), ("fig5", 1000, 500, (2, 12))],
)
def test_balance_ranges(preset: str, input_max: int, output_max: int, deadlines: tuple[float, float]) -> None:
    """Fig. 4 and Fig. 5 have the paper's users."""
    chosen = BALANCE_PRESETS[preset]
    assert (chosen.users, chosen.draft_tokens, chosen.memory_bytes) == (30, 1, 24e9)
    assert (chosen.input_min, chosen.input_max) == (1, input_max)
    assert (chosen.output_min, chosen.output_max) == (1, output_max)
    assert (chosen.deadline_min_s, chosen.deadline_max_s) == deadlines
    assert (chosen.acceptance_min, chosen.acceptance_max) == (0.6, 0.8)


def test_memory_bound_presets() -> None:
    """There are presets in which memory binds, with and without a longer draft."""
    memory = {name: preset.memory_bytes for name, preset in BALANCE_PRESETS.items() if "q1" in name}
    assert memory == {"fig4-q14": 14e9, "fig4-q12.6": 12.6e9, "fig5-q14": 14e9, "draft2-q12.6": 12.6e9}


def test_cache_size_of_the_paper() -> None:
    """8192 tokens of Qwen3-8B are 9 663 676 416 bits, equation (1)."""
    assert HANDOVER_PRESETS["importance"].bits_per_token * 8192 == 9_663_676_416


@pytest.mark.parametrize("preset", HANDOVER_PRESETS)
def test_handover_settings(preset: str) -> None:
    """The network is the paper's, Section VI."""
    chosen = HANDOVER_PRESETS[preset]
    assert (chosen.bandwidth_bps, chosen.slot_s, chosen.window_s) == (20e9, 0.1, 0.5)
    assert (chosen.rate_per_s, chosen.horizon_s, chosen.utility) == (4, 100, "algebraic")


@pytest.mark.parametrize(
    ("preset", "sharpness", "anchor"),
    [
        ("importance", [48, 34, 35.5], [0.0750, 0.0660, 0.0703]),
        ("random-ordering", [5.3201] * 3, [0.50508] * 3),
    ],
)
def test_utility_curves(preset: str, sharpness: list[float], anchor: list[float]) -> None:
    """The curves of 4K, 8K and 16K contexts are the calibrated ones."""
    classes = HANDOVER_PRESETS[preset].classes
    assert [c.context_tokens for c in classes] == [4096, 8192, 16384]
    assert [c.ceiling for c in classes] == [0.9556, 0.9416, 0.9276]
    assert [c.sharpness for c in classes] == sharpness
    assert [c.anchor for c in classes] == anchor
