"""Policies for one slot."""
