"""Upper bounds of the largest gap and of DEO that hold at equality and everywhere else.

Both measures are the largest of several linear functions of the rates: a gap of all pairs of
groups, DEO of all choices of signs. The function that is largest in truth is one of them, and its
own one-sided bound fails with probability alpha at most; the largest of all bounds is no smaller.
So no adjustment for their number is needed (an intersection-union test, Berger 1982), and
nothing is assumed of how near to zero the gaps are.

The bound of one linear function combines limits of the rates as Newcombe does (MOVER), but with
those of Clopper and Pearson: with Wilson's, rates near 0 or 1 of small groups fail too often.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from fairaudit._types import Array
from fairaudit.data.rates import RateTable

__all__ = ["deo_bound", "gap_bound"]

#: Without it exact enumeration (`tests/evidence/test_equivalence.py`) finds up to 1.07 alpha.
CAUTION = 0.9
MOST_SIGNS = 12  # groups whose choices of signs are all looked at


def gap_bound(groups: RateTable, y: int, alpha: float) -> tuple[float, float]:
    """The largest difference between two groups' rates given outcome y: estimate and bound."""
    some = groups.size[y] > 0
    rate = groups.rate[y, some]
    if len(rate) < 2:
        return 0.0, 0.0
    below, above = _reach(rate, groups.size[y, some], alpha)
    together = np.hypot if groups.groups_apart else np.add
    upper = max(
        float(np.delete(rate[i] - rate + together(above[i], below), i).max())
        for i in range(len(rate))
    )
    return float(rate.max() - rate.min()), min(upper, 1.0)


def deo_bound(groups: RateTable, alpha: float) -> tuple[float, float]:
    """DEO: estimate and bound."""
    sums, reaches = [], []
    for y in (0, 1):
        some = groups.size[y] > 0
        rate, size, weight = (x[y, some] for x in (groups.rate, groups.size, groups.weight))
        share = weight / weight.sum() if len(weight) else weight
        total, reach = _signed(rate, share, *_reach(rate, size, alpha), groups.groups_apart)
        sums.append(total)
        reaches.append(reach)
    value = sum(float(totals.max(initial=0.0)) for totals in sums)
    total = sums[0][:, None] + sums[1][None]
    together = np.hypot if groups.groups_apart and groups.outcomes_apart else np.add
    return value, float((total + together(reaches[0][:, None], reaches[1][None])).max())


def _signed(
    rate: Array, share: Array, below: Array, above: Array, apart: bool
) -> tuple[Array, Array]:
    """Σ s_z (rate_z − common rate) and its reach upwards, for the signs s that can be largest."""
    count = len(rate)
    if count < 2:
        return np.zeros(1), np.zeros(1)
    gap = rate - share @ rate
    if count > MOST_SIGNS:  # no choice of signs lies higher than this
        most = (1 + count * share) * np.maximum(below, above)
        return np.array([np.abs(gap).sum()]), np.array([np.linalg.norm(most, 2 if apart else 1)])
    signs = np.array(list(product((-1.0, 1.0), repeat=count)))
    factor = signs - signs.sum(axis=1)[:, None] * share  # Σ s_z gap_z = Σ factor_z rate_z
    each = np.abs(factor) * np.where(factor > 0, above, below)
    value, reach = signs @ gap, np.linalg.norm(each, 2 if apart else 1, axis=1)
    order = np.argsort(-value, kind="stable")
    higher = np.maximum.accumulate(np.r_[-1.0, reach[order][:-1]])
    highest = order[reach[order] > higher]  # others lie below one of these in both
    return value[highest], reach[highest]


def _reach(rate: Array, size: Array, alpha: float) -> tuple[Array, Array]:
    """How far the limits of Clopper and Pearson lie below and above the rates."""
    from scipy.special import betaincinv

    level = CAUTION * alpha
    hits, misses = rate * size, (1 - rate) * size
    tiny = 1e-9
    low = np.where(hits > tiny, betaincinv(np.maximum(hits, tiny), misses + 1, level), 0.0)
    high = np.where(misses > tiny, betaincinv(hits + 1, np.maximum(misses, tiny), 1 - level), 1.0)
    return rate - low, high - rate
