"""Heuristics of the MMKP."""
