"""Kernels, neighbors and blocks of equal rows."""
