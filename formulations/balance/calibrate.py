"""The latency law's constants from measurements: seconds = α · FLOPs + β · passes.

FLOPs are counted as the paper counts them (Section III-D): a prefill of I tokens takes
M (8 I D D_h H + 4 I² D_h H + 4 I D D_f), one token in context c takes M (8 D D_h H + 4 c D_h H + 4 D D_f).
The constants so found belong in an instance file's ``seconds_per_flop`` and ``seconds_per_pass``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from instances.balance import LanguageModel
from instances.errors import InputError, shown
from instances.importers.speeds import Speed

__all__ = ["WEIGHTS", "Constant", "LatencyFit", "fit_latency", "work_of"]

CONFIDENCE = 0.95
FEWEST = 3
LARGEST_CONDITION = 1e10
WEIGHTS = ("relative", "equal")


@dataclass(frozen=True)
class Constant:
    """A fitted constant with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class LatencyFit:
    """The two constants, and how well the law holds."""

    seconds_per_flop: Constant  # α, s/FLOP
    seconds_per_pass: Constant  # β, s
    r_squared: float  # of the weighted seconds around their weighted mean
    residual: float  # largest |fitted / measured − 1|
    n: int


def work_of(model: LanguageModel, run: Speed) -> tuple[float, int]:
    """Return (FLOPs, forward passes) of a measured run of a model; its speed constants are not used."""
    width = float(model.head_dim * model.heads)
    plain = model.layers * (8.0 * model.hidden * width + 4.0 * model.hidden * model.ffn)
    context = model.layers * 4.0 * width
    if run.phase == "prefill":
        tokens = float(run.prompt_tokens)
        return run.batch * tokens * (plain + context * tokens), 1
    steps = float(run.generated_tokens)
    in_context = steps * run.prompt_tokens + 0.5 * steps * (steps + 1.0)
    return run.batch * (steps * plain + context * in_context), run.generated_tokens


def fit_latency(
    flops: ArrayLike, passes: ArrayLike, seconds: ArrayLike, *, weights: str = "relative"
) -> LatencyFit:
    """Fit α and β by weighted linear least squares.

    Parameters
    ----------
    flops, passes, seconds : array_like, (n,)
        Work and time of each measurement.
    weights : str
        ``relative`` minimises Σ (fitted / measured − 1)², right where the error grows with the time, as when
        prefills of milliseconds stand beside decodes of seconds; ``equal`` minimises Σ (fitted − measured)².

    Returns
    -------
    LatencyFit
        With Student's 95 % intervals at n − 2 degrees of freedom, from the residuals.

    Raises
    ------
    InputError
        For fewer than three points, points that do not tell α and β apart, and a law that they contradict.
    """
    if weights not in WEIGHTS:
        raise InputError(f"weights: found {shown(weights)}, expected one of {', '.join(WEIGHTS)}")
    work = np.column_stack([np.asarray(flops, np.float64), np.asarray(passes, np.float64)])
    time = np.asarray(seconds, np.float64)
    if len(time) < FEWEST:
        raise InputError(f"points: found {len(time)}, expected at least {FEWEST}")
    scale = 1.0 / time if weights == "relative" else np.ones(len(time))
    constants, errors, r_squared = _least_squares(work * scale[:, None], time * scale, scale)
    half = errors * float(stats.t.ppf(0.5 + CONFIDENCE / 2, len(time) - 2))
    names = ("seconds_per_flop", "seconds_per_pass")
    for name, value in zip(names, constants, strict=True):
        if value < 0.0:
            text = "expected at least 0; the points do not follow seconds = α FLOPs + β passes"
            raise InputError(f"{name}: found {value:.3g} by the fit, {text}")
    alpha, beta = (
        Constant(float(v), float(v - h), float(v + h)) for v, h in zip(constants, half, strict=True)
    )
    residual = float(np.abs(work @ constants / time - 1.0).max())
    return LatencyFit(alpha, beta, r_squared, residual, len(time))


def _least_squares(
    work: NDArray[np.float64], time: NDArray[np.float64], scale: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the constants, their standard errors and R² of the rows, which are weighted already."""
    unit = np.sqrt((work**2).sum(axis=0))
    if not np.all(unit > 0.0) or np.linalg.cond(work / unit) > LARGEST_CONDITION:
        text = "expected different ratios of FLOPs to passes, such as prefills beside decodes"
        raise InputError(f"points: found one ratio of FLOPs to passes, {text}")
    inverse = np.linalg.pinv(work / unit)
    constants = inverse @ time / unit
    rest = time - work @ constants
    variance = float(rest @ rest) / (len(time) - 2)
    errors = np.sqrt(variance * (inverse**2).sum(axis=1)) / unit
    around = time - scale * float(scale @ time / (scale @ scale))  # what a constant time leaves
    total = float(around @ around)
    return constants, errors, 1.0 - float(rest @ rest) / total if total > 0.0 else 1.0
