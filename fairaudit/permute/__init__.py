"""Conditional copies of A given Y: inverse conditional permutation and its rivals."""
