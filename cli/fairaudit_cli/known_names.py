"""Names that options take, each by one call that imports nothing heavy.

The library checks them again; a test compares the two.
"""

from __future__ import annotations

__all__ = [
    "adjustments",
    "densities",
    "engines",
    "forms",
    "laws",
    "methods",
    "missing_values",
    "statistics",
]


def statistics() -> tuple[str, ...]:
    from fairaudit.testing.statistic import STATISTICS

    return tuple(name for name in STATISTICS.names() if name != "hrt")  # which no audit takes


def densities() -> tuple[str, ...]:
    from fairaudit.density import density_names

    return tuple(density_names())


def laws() -> tuple[str, ...]:
    from fairaudit.permute.laws import LAWS

    return tuple(LAWS.options())


def engines() -> tuple[str, ...]:
    from fairaudit.auditing.engines import ENGINES

    return tuple(ENGINES.names())


def methods() -> tuple[str, ...]:
    from fairaudit.remedy.methods import METHODS

    return ("search", *METHODS.names())  # over several of them


def adjustments() -> tuple[str, ...]:
    return ("holm", "fdr_bh")


def missing_values() -> tuple[str, ...]:
    return ("auto", "error", "category", "drop")


def forms() -> tuple[str, ...]:
    return ("scores", "labels")
