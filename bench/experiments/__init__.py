"""The named grids of runs."""
