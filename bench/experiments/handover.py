"""Grids of handover runs."""

from __future__ import annotations

from bench.jobs.job import Job
from bench.jobs.sources import FromPublicData, Generated, Source
from formulations.result import Limits

__all__ = ["LOADS", "SEGMENTS", "bounds", "clairvoyant", "real"]

LOADS = (1, 2, 3, 4, 5, 6, 7, 8)  # ρ, users a second
POLICIES = ("water-filling", "equal", "winner-take-all", "proportional-fair")
BOUND = "clairvoyant"
OTHER_MODELS = ("Qwen3-14B", "Llama-3.1-8B")  # whose caches move, beside Qwen3-8B
FORMS = ("clairvoyant", "clairvoyant-tangent", "clairvoyant-tangent-highs", "clairvoyant-relaxed")
BOUND_LOADS = (1, 4, 8, 12)
SEGMENTS = (16, 32, 64, 96, 128, 192)  # of the secant form
BOUND_LIMITS = Limits(time_s=120.0)


def clairvoyant(seeds: int) -> list[Job]:
    """Return every policy and the clairvoyant bound at ρ = 1 … 8, importance ordering."""
    jobs = []
    for seed in range(seeds):
        for load in LOADS:
            source = Generated("importance", None, seed, (("rate_per_s", float(load)),))
            jobs += _runs("handover-clairvoyant", source)
    return jobs


def bounds(seeds: int) -> list[Job]:
    """Return all forms of the clairvoyant bound, and water-filling, at ρ = 1, 4, 8 and 12."""
    jobs = []
    for seed in range(seeds):
        for load in BOUND_LOADS:
            source = Generated("importance", None, seed, (("rate_per_s", float(load)),))
            plain = [(method, ()) for method in ("water-filling", *FORMS)]
            secant = [("clairvoyant-secant", (("segments", n),)) for n in SEGMENTS]
            jobs += [
                Job("handover-bounds", "handover", source, method, options, BOUND_LIMITS)
                for method, options in (*plain, *secant)
            ]
    return jobs


def real(seeds: int) -> list[Job]:
    """Return UCC 5G handover times with context lengths of two request traces and caches of three models."""
    jobs = []
    traces = {
        "azure": "traces/AzureLLMInferenceTrace_conv.csv",
        "mooncake": "traces/mooncake_conversation_trace.jsonl.gz",
    }
    pairs = [(name, "Qwen3-8B") for name in traces] + [("azure", model) for model in OTHER_MODELS]
    for name, model in pairs:
        for seed in range(seeds):
            source = FromPublicData(
                f"ucc5g-{name}-{model}",
                ("handover/ucc5g_handover_events.csv", traces[name]),
                "handover_from_ucc5g",
                seed,
                (("rate_per_s", 8.0), ("horizon_s", 50.0), ("model", model)),
            )
            jobs += [*_runs("handover-real", source), _run("handover-real", source, "receding-horizon")]
    return jobs


def _runs(experiment: str, source: Source) -> list[Job]:
    return [_run(experiment, source, method) for method in (*POLICIES, BOUND)]


def _run(experiment: str, source: Source, method: str) -> Job:
    return Job(experiment, "handover", source, method, limits=BOUND_LIMITS)
