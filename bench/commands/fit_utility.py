"""``certigap fit utility``: the four families fitted to measured accuracies of partial caches."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bench.commands.common import note
from instances.errors import InputError, shown

if TYPE_CHECKING:
    from formulations.handover.fit import Parameter, UtilityFit
    from instances.retention import RetentionCurve

__all__ = ["utility_command"]

Draw = Callable[[Sequence[Any], Sequence[Sequence[Any]], Path], Sequence[Path]]


def utility_command(draw: Draw) -> Callable[..., int]:
    """Return the command; ``draw(curves, fits, folder)`` draws points and fits and returns the files."""

    def fit_utility_file(
        file: Path = typer.Argument(..., help="CSV: kept_fraction,accuracy[,curve], or a table of methods."),
        where: list[str] = typer.Option(
            [], "--where", help="KEY=VALUE: rows used; model, context_tokens, method, query_aware or curve."
        ),
        output: Path = typer.Option(None, "-o", "--output", help="Folder for a figure of points and fits."),
        as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
    ) -> int:
        """Fit A(y) = M φ(k (y − τ)) in four families, with 95 % intervals, R² and RMSE."""
        from formulations.handover.fit import fit_utilities
        from instances.importers.retention import read_retention

        curves = read_retention(file, _conditions(where))
        fits = [fit_utilities(curve) for curve in curves]
        if as_json:
            answer = [_answer(curve, fitted) for curve, fitted in zip(curves, fits, strict=True)]
            typer.echo(json.dumps({"curves": answer}, allow_nan=False))
        else:
            for curve, fitted in zip(curves, fits, strict=True):
                _print(curve, fitted)
        if output is not None:
            for path in draw(curves, fits, output):
                note(f"figure in {path}")
        return 0

    return fit_utility_file


def _conditions(pairs: Sequence[str]) -> dict[str, str]:
    conditions = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise InputError(f"--where: found {shown(pair)}, expected KEY=VALUE")
        conditions[key] = value
    return conditions


def _answer(curve: RetentionCurve, fits: Sequence[UtilityFit]) -> dict[str, Any]:
    """Return a curve's fits; an end of an interval that the points do not bound is null."""
    return {
        "curve": curve.name,
        "n": curve.n_points,
        "fits": [
            {
                "utility": fit.utility,
                "ceiling": fit.ceiling.value,
                "sharpness": fit.sharpness.value,
                "anchor": fit.anchor.value,
                "interval_95": fit.intervals,
                "r_squared": fit.r_squared if math.isfinite(fit.r_squared) else None,
                "rmse": fit.rmse,
                "identified": fit.identified,
                "warning": fit.warning,
            }
            for fit in fits
        ],
    }


def _print(curve: RetentionCurve, fits: Sequence[UtilityFit]) -> None:
    typer.echo(f"{shown(curve.name)}: {curve.n_points} points")
    for fit in fits:
        parameters = "  ".join(
            f"{name} {_interval(parameter)}"
            for name, parameter in (("M", fit.ceiling), ("k", fit.sharpness), ("τ", fit.anchor))
        )
        typer.echo(f"  {fit.utility:9s} {parameters}  R² {fit.r_squared:.5f}  RMSE {fit.rmse:.3g}")
        if fit.warning:
            typer.echo(f"            {fit.warning}")


def _interval(parameter: Parameter) -> str:
    return f"{parameter.value:.4g} [{parameter.low:.4g}, {parameter.high:.4g}]"
