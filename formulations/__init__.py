"""The mathematics: heuristics, exact methods, bounds and their independent evaluators."""

from formulations.kernel_cache import prepare

prepare()
