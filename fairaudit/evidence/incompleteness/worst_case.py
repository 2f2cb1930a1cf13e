"""Gaps between groups over all fillings of missing values.

Counts are groups × labels of one outcome, `missing` the labels of the rows without a group.
"""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.rates import rates_of, ratio, spread

__all__ = ["Filling", "best_gap", "gap", "worst_gap"]

_RATES_TRIED = 201


class Filling(Enum):
    """How missing values are filled."""

    WORST = "worst case"
    BEST = "best case"
    RANDOM = "at random"


def gap(counts: Index) -> float | None:
    """Largest difference of rates between groups that have rows."""
    value = float(spread(rates_of(counts.astype(np.float64))))
    return None if math.isnan(value) else value


def worst_gap(counts: Index, missing: Index) -> tuple[float, tuple[int, int]]:
    """The largest gap that a filling can make, and its groups (favored first).

    All missing rows that are predicted positive go to one group and the others to another one:
    each rate is then as extreme as it can be, so that no filling has a larger gap.
    """
    positive, count, (zeros, ones) = counts[:, 1], counts.sum(axis=1), missing
    high = np.nan_to_num(ratio(positive + ones, count + ones), nan=0.0)
    low = np.nan_to_num(ratio(positive, count + zeros), nan=1.0)
    difference = high[:, None] - low[None, :]
    np.fill_diagonal(difference, -np.inf)
    g, h = np.unravel_index(int(difference.argmax()), difference.shape)
    return max(float(difference[g, h]), 0.0), (int(g), int(h))


def best_gap(counts: Index, missing: Index) -> tuple[float, Index]:
    """A small gap, and the filling that makes it: rows of each label given to each group.

    Groups are filled towards a common rate, and the rest is spread evenly; the best of 201 rates
    is taken. No proof that no filling is better.
    """
    positive, count = counts[:, 1], counts.sum(axis=1)
    best, chosen = math.inf, np.zeros_like(counts)
    for rate in np.linspace(0, 1, _RATES_TRIED):
        up = np.maximum(rate * count - positive, 0) / max(1 - rate, 1e-9)
        down = np.maximum(positive - rate * count, 0) / max(rate, 1e-9)
        filling = np.column_stack(
            [_whole(down, count, int(missing[0])), _whole(up, count, int(missing[1]))]
        )
        value = gap(counts + filling)
        if value is not None and value < best:
            best, chosen = value, filling
    return (best, chosen) if math.isfinite(best) else (0.0, chosen)


def _whole(wanted: Array, count: Index, total: int) -> Index:
    """Whole numbers with this sum: as wanted where that suffices, the rest by size."""
    share = wanted * min(1.0, total / max(wanted.sum(), 1e-9))
    share = share + (total - share.sum()) * count / max(count.sum(), 1)
    ends = np.rint(np.cumsum(share)).astype(np.intp)
    ends[-1] = total
    return np.diff(ends, prepend=0)
