"""Names that options take, each by one call that imports nothing heavy.

The library checks them again; a test compares the two.
"""

from __future__ import annotations

__all__ = [
    "adjustments",
    "densities",
    "engines",
    "forms",
    "methods",
    "missing_values",
    "statistics",
]


def statistics() -> tuple[str, ...]:
    return ("kpc", "codec", "deo", "equalized_odds_difference", "correlation", "features", "max")


def densities() -> tuple[str, ...]:
    from fairaudit.density import CATEGORICAL, CONTINUOUS

    return ("auto", "exact", *(name for name in {**CONTINUOUS, **CATEGORICAL} if name != "auto"))


def engines() -> tuple[str, ...]:
    return ("local", "dask")


def methods() -> tuple[str, ...]:
    return ("fairicp", "faircp", "fdl", "hgr", "gerryfair", "reduction", "postprocess")


def adjustments() -> tuple[str, ...]:
    return ("holm", "fdr_bh")


def missing_values() -> tuple[str, ...]:
    return ("auto", "error", "category", "drop")


def forms() -> tuple[str, ...]:
    return ("scores", "labels")
