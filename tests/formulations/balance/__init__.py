"""Tests of the BALANCE methods."""
