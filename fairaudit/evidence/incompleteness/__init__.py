"""Attributes that are missing in some rows, or known as probabilities only."""
