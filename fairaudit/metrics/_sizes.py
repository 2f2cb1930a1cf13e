"""How many rows of equal weight a rate is worth, from sums that can be added up over cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import Groups, Labels, Tally, ratio, row_weights

__all__ = ["RateSums", "rate_sums"]

#: Rows added to a variance, as heavy as such rows are in the table (see `RateSums.size`).
ADDED_ROWS = 2.0
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RateSums:
    """Sums behind weighted rates; one entry for every rate.

    Attributes
    ----------
    weight, hit_weight : array
        Of all rows, and of those that are predicted positive.
    hit_squares, miss_squares : array
        Squared weights of the rows that are predicted positive, and of the others.
    hit_unit, miss_unit : array
        `weight` times the weight that a row of that label may have.
    """

    weight: Array
    hit_weight: Array
    hit_squares: Array
    miss_squares: Array
    hit_unit: Array
    miss_unit: Array

    def rate(self) -> Array:
        """Share predicted positive; NaN without rows."""
        return ratio(self.hit_weight, self.weight)

    def pooled(self, pick: Callable[[NDArray[Any]], NDArray[Any]]) -> RateSums:
        """Of other sets of rows: `pick` adds up entries."""
        return RateSums(**{one.name: pick(getattr(self, one.name)) for one in fields(self)})

    def size(self) -> Array:
        r"""Rows of equal weight whose rate has the same variance; 0 without rows.

        Notes
        -----
        The variance of a rate r is :math:`\sum w^2 (\hat y - r)^2 / W^2`. Kish's size,
        :math:`W^2 / \sum w^2`, takes the weights for unrelated to the labels. Where few rows, or
        none, have the rarer label, the sum shows little of how heavy they can be. Two rows are
        added, with the weight u that rows of this label have where they make the variance:

        .. math:: m = \frac{r (1 - r) W^2 + 2 u W}{\sum w^2 (\hat y - r)^2 + 2 u^2}.

        So a rate of 0 is worth W / u rows, and equal weights give the number of rows. In between,
        u moves from the weight of a positive prediction to that of a negative one. No more than
        Kish's size is counted.

        References
        ----------
        Korn and Graubard (1998). Confidence intervals for proportions with small expected number
        of positive counts estimated from survey data. Survey Methodology 24.
        """
        kish = np.nan_to_num(ratio(self.weight**2, self.hit_squares + self.miss_squares))
        rate = np.nan_to_num(self.rate())
        hit, miss = (np.nan_to_num(ratio(x, self.weight)) for x in (self.hit_unit, self.miss_unit))
        squares = (1 - rate) ** 2 * self.hit_squares + rate**2 * self.miss_squares
        added = ADDED_ROWS * ((1 - rate) * hit + rate * miss)
        added_squares = ADDED_ROWS * ((1 - rate) * hit**2 + rate * miss**2)
        size = ratio(
            rate * (1 - rate) * self.weight**2 + added * self.weight, squares + added_squares
        )
        return np.where(size < kish * (1 - _ROUNDING), size, kish)


def rate_sums(table: AuditTable, labels: Labels, groups: Groups, counts: Tally) -> RateSums:
    """Of every cell (rows) and outcome (columns: negative, positive)."""
    key = groups.of_row * 2 + labels.actual
    weights = row_weights(table)

    def total(values: Array) -> Array:
        sums = np.bincount(key, values, minlength=2 * len(groups))
        return sums.astype(np.float64).reshape(-1, 2)

    hit, miss = labels.predicted, ~labels.predicted
    hit_squares, miss_squares = total(weights**2 * hit), total(weights**2 * miss)
    everybody = hit_squares + miss_squares  # with this unit the size is Kish's

    def unit(rows: NDArray[np.bool_], others: Array, count: NDArray[np.intp]) -> Array:
        mean = ratio(others, count.astype(np.float64))
        relative = np.nan_to_num(ratio(weights, mean.ravel()[key])) * rows
        heavy = _heaviness(relative, labels.actual) * np.nan_to_num(mean)
        return np.maximum(counts.weight * heavy, everybody)

    return RateSums(
        weight=counts.weight,
        hit_weight=counts.hit_weight,
        hit_squares=hit_squares,
        miss_squares=miss_squares,
        hit_unit=unit(hit, counts.weight - counts.hit_weight, counts.rows - counts.hits),
        miss_unit=unit(miss, counts.hit_weight, counts.hits),
    )


def _heaviness(relative: Array, actual: NDArray[np.bool_]) -> float:
    """How many times as heavy as rows of the other label in its cell a row of one label may be.

    `relative` is that ratio, and 0 for rows of the other label and in cells with one label only,
    which tell nothing. All groups are looked at, since a cell may have no row of the label; weights
    are relative, since groups may differ in them by design. Rows count by their squared weight,
    which is their part in the variance: so the third moment is kept, too. Of the two outcomes the
    larger value is taken.
    """
    largest = float(relative.max(initial=0.0))
    if largest == 0:
        return 0.0
    cubes, squares = (
        np.bincount(actual, (relative / largest) ** power, minlength=2).astype(np.float64)
        for power in (3, 2)
    )
    return largest * float(np.nan_to_num(ratio(cubes, squares)).max())
