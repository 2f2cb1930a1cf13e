"""Ranks and shapes of samples, as in scipy.stats, whose import takes longer than a small audit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fairaudit._types import Array

__all__ = ["distance_from_uniform", "kurtosis", "rank_values", "skewness"]


def rank_values(values: Any, ties: Literal["average", "max"] = "average") -> Array:
    """Ranks from 1; equal values share their mean rank, or the largest of their ranks.

    Examples
    --------
    >>> rank_values([3.0, 1.0, 3.0]).tolist(), rank_values([3.0, 1.0, 3.0], "max").tolist()
    ([2.5, 1.0, 2.5], [3.0, 1.0, 3.0])
    """
    _, place, count = np.unique(np.ravel(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count).astype(np.float64)
    rank: Array = last if ties == "max" else last - (count - 1) / 2
    return rank[place.ravel()]


def skewness(values: Array) -> float:
    """Third central moment in units of the standard deviation."""
    centered = values - values.mean()
    return float((centered**3).mean() / (centered**2).mean() ** 1.5)


def kurtosis(values: Array) -> float:
    """Fourth central moment in units of the standard deviation, beyond that of a normal law."""
    square = (values - values.mean()) ** 2
    return float((square**2).mean() / square.mean() ** 2) - 3


def distance_from_uniform(values: Array) -> float:
    """Kolmogorov and Smirnov's distance from the uniform law on [0, 1]."""
    ordered, n = np.clip(np.sort(values), 0.0, 1.0), len(values)
    above = np.arange(1, n + 1) / n - ordered
    below = ordered - np.arange(n) / n
    return float(max(above.max(), below.max()))
