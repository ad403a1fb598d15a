"""Tests of the handover problem's methods, evaluators and certificates."""
