"""Polynomial-time methods and baselines."""
