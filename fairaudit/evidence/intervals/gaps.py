"""Intervals for the gaps of all groups in TPR and FPR that hold together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.rates import RATES, RateTable
from fairaudit.evidence.disclosure import shown_rates
from fairaudit.evidence.intervals.certificates import Gap, GapTable
from fairaudit.metrics._rates import wilson
from fairaudit.permute.copies import stream

if TYPE_CHECKING:
    from fairaudit.evidence.measured import CellTable

__all__ = ["gap_table", "gaps_of_shown", "newcombe"]

DRAWS = 20_000
_AT_ONCE = 2_000_000  # numbers
_NO_ROW = 1e-9


def gap_table(
    groups: RateTable, attributes: tuple[str, ...], confidence: float, seed: int
) -> GapTable:
    """The intervals of these groups."""
    parts = [_against_rest(groups, y) for y in (1, 0)]
    compared = [part for part in parts if len(part[0]) > 1]
    if not compared:
        return GapTable(
            attributes=attributes, confidence=confidence, critical=float("nan"), gaps=()
        )
    count = sum(len(part[0]) for part in compared)
    apart = groups.groups_apart and groups.outcomes_apart
    if apart:
        critical = _critical(compared, confidence, seed)
    else:
        from scipy.special import ndtri

        critical = float(ndtri(1 - (1 - confidence) / (2 * count)))
    gaps = []
    for y, (some, rate, size, rest, rest_size, _) in zip((1, 0), parts, strict=True):
        if len(some) < 2:
            continue
        low, high = newcombe((rate, size), (rest, rest_size), critical, limits=wider_limits)
        gaps += [
            Gap(
                levels=groups.levels[k],
                rate=RATES[y],
                value=float(value),
                low=float(a),
                high=float(b),
                size=float(groups.size[y, k]),
                weight=float(groups.weight[y, k]),
            )
            for k, value, a, b in zip(some, rate - rest, low, high, strict=True)
        ]
    return GapTable(
        attributes=attributes,
        confidence=confidence,
        critical=critical,
        gaps=tuple(gaps),
        apart=apart,
    )


def gaps_of_shown(table: GapTable, cells: CellTable, seed: int) -> GapTable:
    """The gaps of the groups that are not masked among themselves; the others are masked.

    A gap to all others would tell how many of the masked groups were predicted positive.
    """
    open_rates = shown_rates(cells)
    known = {(gap.levels, gap.rate): gap for gap in table.gaps}
    size, weight = np.zeros_like(open_rates.size), np.zeros_like(open_rates.weight)
    for y, rate in enumerate(RATES):
        for k, levels in enumerate(open_rates.levels):
            gap = known.get((levels, rate))
            if gap is not None and gap.size is not None and gap.weight is not None:
                size[y, k], weight[y, k] = gap.size, gap.weight
    open_rates = replace(
        open_rates, size=size, weight=weight, groups_apart=table.apart, outcomes_apart=table.apart
    )
    again = gap_table(open_rates, table.attributes, table.confidence, seed)
    by_group = {(gap.levels, gap.rate): gap for gap in again.gaps}
    # masked groups are listed with both rates: that one is absent would tell a count of 0
    gaps = tuple(
        Gap(levels=group.levels, rate=rate, value=None, low=None, high=None)
        if group.masked
        else by_group[group.levels, rate]
        for rate in reversed(RATES)
        for group in cells.cells
        if group.masked or (group.levels, rate) in by_group
    )
    return replace(again, gaps=gaps, apart=table.apart)


def _against_rest(groups: RateTable, y: int) -> tuple[Any, Array, Array, Array, Array, Array]:
    """Groups with rows of outcome y: their numbers, rates and sizes; those of the rest; shares."""
    some = np.flatnonzero(groups.size[y] > 0)
    rate, size, weight = (x[y, some] for x in (groups.rate, groups.size, groups.weight))
    share = weight / weight.sum()
    if len(some) < 2:
        return some, rate, size, rate, size, share
    rest = np.clip((share @ rate - share * rate) / (1 - share), 0, 1)
    return some, rate, size, rest, _rest_size(rate, size, share, rest), share


def _rest_size(rate: Array, size: Array, share: Array, rest: Array) -> Array:
    """Rows that the rate of all other groups is worth, by the variance of all their rows.

    A group adds share² / size times r (1 − r) + (r − rest)². Without weights this is the number of
    rows; with them, a group may have more of the variance than of the weight.
    """
    noise = share**2 / size
    along = noise @ rate - noise * rate
    noise = noise.sum() - noise
    worth = (1 - share) ** 2 / noise
    variance = along * (1 - 2 * rest) + rest**2 * noise
    own = np.full(len(rate), np.inf)
    np.divide(rest * (1 - rest) * (1 - share) ** 2, variance, out=own, where=variance > 0)
    return np.where(own > 0, np.minimum(own, worth), worth)  # a rate of 0 or 1 shows no variance


def _critical(parts: list[Any], confidence: float, seed: int) -> float:
    """The quantile of the largest studentized gap."""
    rng = stream(seed, 7)
    largest = np.zeros(DRAWS)
    for _, rate, size, _, _, share in parts:
        near = (rate * size + 1) / (size + 2)  # a rate of 0 or 1 has some spread too
        spread = np.sqrt(near * (1 - near) / size)
        others = 1 - share
        variance = spread**2 + ((share**2 * spread**2).sum() - share**2 * spread**2) / others**2
        step = max(1, _AT_ONCE // len(rate))
        for start in range(0, DRAWS, step):
            e = rng.standard_normal((min(step, DRAWS - start), len(rate))) * spread
            gap = e - ((e @ share)[:, None] - share * e) / others
            part = largest[start : start + step]
            np.maximum(part, np.abs(gap / np.sqrt(variance)).max(axis=1), out=part)
    return float(np.quantile(largest, confidence))


#: Limits of rates, from rates, sizes and a critical value.
_Limits = Callable[[Array, Array, float], tuple[Array, Array]]


def newcombe(
    first: tuple[Array, Array],
    second: tuple[Array, Array],
    critical: float,
    *,
    limits: _Limits = wilson,
) -> tuple[Array, Array]:
    """Newcombe's interval (his method 10) for the difference of two (rate, size).

    He takes Wilson's `limits` of either rate.

    References
    ----------
    Newcombe (1998). Interval estimation for the difference between independent proportions:
    comparison of eleven methods. Statistics in Medicine 17.

    Examples
    --------
    >>> a, b = (np.array(56 / 70), np.array(70)), (np.array(48 / 80), np.array(80))
    >>> low, high = newcombe(a, b, 1.959964)  # his example (a)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0524 0.3339
    """
    gap = first[0] - second[0]
    low, high = limits(*first, critical)
    second_low, second_high = limits(*second, critical)
    below: Array = np.hypot(first[0] - low, second_high - second[0])
    above: Array = np.hypot(high - first[0], second[0] - second_low)
    return gap - below, gap + above


def wider_limits(rate: Array, size: Array, critical: float) -> tuple[Array, Array]:
    """The lower and the higher of Wilson's and Jeffreys' limits.

    Few rows, and rates near 0 or 1: where one of them is missed too often, the other is not.

    References
    ----------
    Brown, Cai and DasGupta (2001). Interval estimation for a binomial proportion. Statistical
    Science 16.

    Examples
    --------
    >>> low, high = wider_limits(np.array(0.0), np.array(5.0), 2.8)
    >>> print(f"{low:.3f} {high:.3f}")
    0.000 0.611
    """
    from scipy.special import betaincinv, ndtr

    low, high = wilson(rate, size, critical)
    hits, misses, error = rate * size, (1 - rate) * size, float(ndtr(-critical))
    below = np.where(hits > _NO_ROW, betaincinv(hits + 0.5, misses + 0.5, error), 0.0)
    above = np.where(misses > _NO_ROW, betaincinv(hits + 0.5, misses + 0.5, 1 - error), 1.0)
    return np.minimum(low, below), np.maximum(high, above)
