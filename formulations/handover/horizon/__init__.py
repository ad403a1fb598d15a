"""Bounds and schedules over a whole horizon."""
