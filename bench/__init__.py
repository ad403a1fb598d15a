"""Running, timing and judging."""
