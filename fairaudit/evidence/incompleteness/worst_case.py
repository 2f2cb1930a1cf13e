"""Gaps between groups over all fillings of missing values."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["best_gap", "gap", "worst_gap"]

_RATES_TRIED = 201


def gap(positive: Array, count: Array) -> float | None:
    """Largest difference of positive / count between groups that have rows."""
    some = count > 0
    if some.sum() < 2:
        return None
    rates = positive[some] / count[some]
    return float(rates.max() - rates.min())


def worst_gap(
    positive: Array, count: Array, ones: int, zeros: int
) -> tuple[float, tuple[int, int]]:
    """The largest gap that a filling can make, and its groups (favoured first).

    All missing rows that are predicted positive go to one group and the others to another one:
    each rate is then as extreme as it can be, so that no filling has a larger gap.
    """
    high = _rate(positive + ones, count + ones, 0.0)
    low = _rate(positive, count + zeros, 1.0)
    difference = high[:, None] - low[None, :]
    np.fill_diagonal(difference, -np.inf)
    g, h = np.unravel_index(int(difference.argmax()), difference.shape)
    return max(float(difference[g, h]), 0.0), (int(g), int(h))


def best_gap(
    positive: Array, count: Array, ones: int, zeros: int
) -> tuple[float, tuple[Index, Index]]:
    """A small gap, and the filling that makes it: rows with 1 and with 0 given to each group.

    Groups are filled towards a common rate, and the rest is spread evenly; the best of 201 rates
    is taken. No proof that no filling is better.
    """
    best: tuple[float, tuple[Index, Index]] | None = None
    for rate in np.linspace(0, 1, _RATES_TRIED):
        up = np.maximum(rate * count - positive, 0) / max(1 - rate, 1e-9)
        down = np.maximum(positive - rate * count, 0) / max(rate, 1e-9)
        filling = (_whole(up, count, ones), _whole(down, count, zeros))
        value = gap(positive + filling[0], count + filling[0] + filling[1])
        if value is not None and (best is None or value < best[0]):
            best = (value, filling)
    if best is None:
        nothing = np.zeros(len(count), dtype=np.intp)
        return 0.0, (nothing, nothing)
    return best


def _rate(positive: Array, count: Array, empty: float) -> Array:
    return np.where(count > 0, positive / np.maximum(count, 1), empty)


def _whole(wanted: Array, count: Array, total: int) -> Index:
    """Whole numbers with this sum: as wanted where that suffices, the rest by size."""
    share = wanted * min(1.0, total / max(wanted.sum(), 1e-9))
    share = share + (total - share.sum()) * count / max(count.sum(), 1)
    ends = np.rint(np.cumsum(share)).astype(np.intp)
    ends[-1] = total
    return np.diff(ends, prepend=0)
