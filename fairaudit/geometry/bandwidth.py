"""The median distance between rows, which is the width of a kernel unless one is given."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["median_distance", "median_of_counted", "on_a_line"]

_EXACT_PAIRS = 2_000  # up to this many rows all pairwise distances are formed at once
_SAMPLED_PAIRS = 1 << 22


def on_a_line(u: Array) -> Array | None:
    """Coordinates with the same distances, if rows are one number or (p, 1 − p)."""
    if u.shape[1] == 1:
        return u[:, 0]
    if u.shape[1] == 2:
        total = u.sum(axis=1)
        if np.ptp(total) <= min(1e-12 * float(np.abs(total).max()), 1e-9 * np.ptp(u[:, 0])):
            return np.sqrt(2.0) * u[:, 0]
    return None


def median_distance(u: Array) -> float:
    """Median Euclidean distance between rows, as R's ``median(dist(u))``.

    Exact in one dimension for any n, in O(n log n) time and O(n) memory, and for up to 2,000 rows
    otherwise; beyond that the median over 4 million random pairs (fixed seed; relative error
    about 0.1 %). Where more than half of the distances are zero, the median of the others.
    """
    line = on_a_line(u)
    if line is not None:
        return _median_gap(np.sort(line))
    if len(u) <= _EXACT_PAIRS:
        from scipy.spatial.distance import pdist

        distances = pdist(u)
    else:
        rng = np.random.default_rng(0)
        i, j = rng.integers(0, len(u), (2, _SAMPLED_PAIRS))
        distances = np.sqrt(((u[i] - u[j]) ** 2).sum(axis=1))[i != j]
    median = float(np.median(distances))
    return median if median > 0 else float(np.median(distances[distances > 0]))


def median_of_counted(u: Array, times: Index) -> float:
    """The same of different rows, each of which stands for several.

    Exact up to 2,000 of them; of more, of as many that are spread evenly over all rows.
    """
    from scipy.spatial.distance import pdist

    order = np.lexsort(u.T[::-1])
    u, times = u[order], times[order].astype(np.float64)
    if len(u) > _EXACT_PAIRS:
        places = (np.arange(_EXACT_PAIRS) + 0.5) / _EXACT_PAIRS * times.sum()
        return median_distance(u[np.searchsorted(np.cumsum(times), places, side="right")])
    i, j = np.triu_indices(len(u), 1)
    distances, weights = pdist(u), times[i] * times[j]
    equal = float((times * (times - 1)).sum() / 2)
    if 2 * equal > weights.sum() + equal:
        equal = 0.0
    by_size = np.argsort(distances, kind="stable")
    ends = equal + np.cumsum(weights[by_size])
    middle = [np.searchsorted(ends, ends[-1] / 2, side=side) for side in ("left", "right")]
    return float(distances[by_size][np.minimum(middle, len(ends) - 1)].mean())


def _median_gap(x: Array) -> float:
    """Median of x_j − x_i over i < j for sorted x, by randomized selection."""
    n = len(x)
    pairs = n * (n - 1) // 2
    low_rank = (pairs + 1) // 2
    lower, upper = _gap_at(x, low_rank, low_rank + (pairs + 1) % 2)
    if upper == 0.0:  # more than half of the pairs are ties: look at the others
        ties = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(x) > 0, [True]])))
        zeros = int((ties * (ties - 1) // 2).sum())
        apart = pairs - zeros
        low_rank = zeros + (apart + 1) // 2
        lower, upper = _gap_at(x, low_rank, low_rank + (apart + 1) % 2)
    return 0.5 * (lower + upper)


def _gap_at(x: Array, first: int, second: int) -> tuple[float, float]:
    """The gaps of rank `first` ≤ `second` (from 1), neighbors in rank."""
    n = len(x)
    rows = np.arange(n)
    rng = np.random.default_rng(0)
    low, high = -1.0, float(x[-1] - x[0])  # rank(low) < first and second <= rank(high)
    left, right = rows + 1, np.full(n, n)  # x[left[i]:right[i]] - x[i] lie in (low, high]
    while (right - left).sum() > max(1 << 16, 2 * n):
        below, width = int((left - rows - 1).sum()), right - left
        ends = np.cumsum(width)
        pick = rng.integers(0, ends[-1], min(max(20_000, n // 32), n))
        i = np.searchsorted(ends, pick, side="right")
        gaps = np.sort(x[left[i] + pick - (ends[i] - width[i])] - x[i])
        at, margin = (first - below) / ends[-1] * len(gaps), 3.0 * np.sqrt(len(gaps))
        near = float(gaps[int(max(at - margin, 0))])
        far = float(gaps[int(min(at + margin, len(gaps) - 1))])
        before = (low, high)
        for gap in (near, near * (1 - 1e-12), far):  # the second closes in on a tied value
            if low < gap < high:
                reach = np.maximum(np.searchsorted(x, x + gap, side="right"), rows + 1)
                rank = int((reach - rows - 1).sum())
                if rank < first:
                    low, left = gap, reach
                elif rank >= second:
                    high, right = gap, reach
        if (low, high) == before or high - low <= 1e-11 * high:
            return high, high  # all that is left is one tied value
    width = right - left
    below = int((left - rows - 1).sum())
    i = np.repeat(rows, width)
    j = np.arange(len(i)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(left, width)
    gaps = np.partition(x[j] - x[i], [first - below - 1, second - below - 1])
    return float(gaps[first - below - 1]), float(gaps[second - below - 1])
