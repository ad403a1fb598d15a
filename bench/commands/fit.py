"""``certigap fit``: constants from measurements, with intervals."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bench.commands.common import numeric_settings
from instances.errors import InputError, shown

if TYPE_CHECKING:
    from formulations.balance.calibrate import Constant, LatencyFit
    from instances.balance import LanguageModel
    from instances.importers.speeds import SpeedPoints, SpeedTable

__all__ = ["fit_latency_file"]

_SHAPE = ("layers", "hidden", "heads", "head_dim", "ffn")


def fit_latency_file(
    file: Path = typer.Argument(..., help="CSV: flops,seconds[,passes], or a table of measured speeds."),
    model: str = typer.Option("Llama-2-7B", "--model", help="Whose rows of a table of speeds are used."),
    settings: list[str] = typer.Option(
        [], "--set", help="KEY=VALUE of the model's shape: layers, hidden, heads, head_dim, ffn."
    ),
    dtype: str = typer.Option("FP16", "--dtype", help="Number format of the rows used."),
    weights: str = typer.Option("relative", "--weights", help="relative or equal."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> int:
    """Fit seconds = α · FLOPs + β · passes; the constants go into an instance's language model."""
    from formulations.balance.calibrate import fit_latency, work_of
    from instances.importers.speeds import SpeedTable, read_speeds

    speeds = read_speeds(file, model=model, dtype=dtype)
    try:
        if isinstance(speeds, SpeedTable):
            shape = _shape_of(model, numeric_settings(settings))
            work = [work_of(shape, run) for run in speeds.runs]
            flops, passes = [f for f, _ in work], [p for _, p in work]
            fitted = fit_latency(flops, passes, [run.seconds for run in speeds.runs], weights=weights)
        else:
            fitted = fit_latency(speeds.flops, speeds.passes, speeds.seconds, weights=weights)
    except InputError as error:
        raise error.within(file) from None
    answer = _latency_answer(fitted, speeds, weights)
    typer.echo(json.dumps(answer, allow_nan=False)) if as_json else _print_latency(fitted, answer)
    return 0


def _shape_of(model: str, settings: dict[str, float]) -> LanguageModel:
    """Return a model of the shape that the paper's model of this name has, or that is set by hand."""
    from instances.balance import LanguageModel
    from instances.presets import BALANCE_MODELS

    for key in settings:
        if key not in _SHAPE:
            raise InputError(f"--set {key}: unknown, expected one of {', '.join(_SHAPE)}")
    if model in BALANCE_MODELS:
        known = vars(BALANCE_MODELS[model])
        return LanguageModel(**known | settings)
    missing = [key for key in _SHAPE if key not in settings]
    if missing:
        names = ", ".join(BALANCE_MODELS)
        text = f"one of {names}, or a shape by --set ({', '.join(missing)} is missing)"
        raise InputError(f"--model: found {shown(model)}, expected {text}")
    shape: dict[str, Any] = dict(settings)
    return LanguageModel(**shape, seconds_per_flop=0.0, seconds_per_pass=0.0)


def _latency_answer(fitted: LatencyFit, speeds: SpeedTable | SpeedPoints, weights: str) -> dict[str, Any]:
    """Return the fit with the constants named and in the units as in an instance file."""
    return {
        "seconds_per_flop": fitted.seconds_per_flop.value,
        "seconds_per_pass": fitted.seconds_per_pass.value,
        "interval_95": {
            name: [interval["low"], interval["high"]]
            for name in ("seconds_per_flop", "seconds_per_pass")
            for interval in [asdict(getattr(fitted, name))]
        },
        "r_squared": fitted.r_squared,
        "largest_relative_residual": fitted.residual,
        "n": fitted.n,
        "weights": weights,
        "dropped": getattr(speeds, "dropped", {}),
    }


def _print_latency(fitted: LatencyFit, answer: dict[str, Any]) -> None:
    typer.echo(f"seconds_per_flop  {_interval(fitted.seconds_per_flop)} s/FLOP")
    typer.echo(f"seconds_per_pass  {_interval(fitted.seconds_per_pass)} s")
    residual = f"largest residual {100.0 * fitted.residual:.2g} %"
    typer.echo(f"{fitted.n} points, R² {fitted.r_squared:.6f}, {residual}, weights {answer['weights']}")
    for reason, count in answer["dropped"].items():
        typer.echo(f"left out: {count} rows, {shown(reason)}")


def _interval(constant: Constant) -> str:
    return f"{constant.value:.4g}  95 % [{constant.low:.4g}, {constant.high:.4g}]"
