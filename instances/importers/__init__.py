"""Readers of public and users' own files."""
