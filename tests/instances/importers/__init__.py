"""Tests of the readers of public and own files."""
