"""Tests of the MMKP methods and their checker."""
