"""Cores of an MMKP: some of its groups, with the kernels that bound and search them."""
