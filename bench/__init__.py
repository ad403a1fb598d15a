"""Running, timing and judging."""

from bench.jobs.environment import pin_threads

pin_threads()
