"""The rates that are compared: by group and outcome, with the rows that they are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import (
    Labels,
    Tally,
    binary_labels,
    groups_of,
    ratio,
    row_weights,
    tally,
)
from fairaudit.metrics._sizes import rate_sums

__all__ = ["RATES", "RateCells", "newcombe", "rate_cells", "wilson"]

RATES = ("FPR", "TPR")  # in the order of the outcome columns: negative, positive


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RateCells:
    """Shares of positive predictions; rows are the groups that occur, columns as `RATES`.

    Attributes
    ----------
    levels : tuple of tuple of str
    rate : array, NaN without rows
    size : array
        Rows that the rate is worth: fewer than there are with weights or with several rows of
        one person.
    weight : array
        Sums of weights, the shares of the groups.
    groups_apart, outcomes_apart : bool
        Nobody is in two groups of one outcome; in two outcomes. Else their errors may be related.
    """

    levels: tuple[tuple[str, ...], ...]
    rate: Array
    size: Array
    weight: Array
    groups_apart: bool
    outcomes_apart: bool


def rate_cells(table: AuditTable, threshold: float | None) -> RateCells:
    """The cells of a table whose attributes are all categorical."""
    labels = binary_labels(table, threshold=threshold)
    groups = groups_of(table)
    counts = tally(table, labels, groups)
    size = rate_sums(table, labels, groups, counts).size()
    groups_apart = outcomes_apart = True
    if table.ids is not None:
        size = np.minimum(size, _worth_of_people(table, labels, groups.of_row, counts, size))
        people = table.ids.codes
        groups_apart = all(
            _single(people[labels.actual == y], groups.of_row[labels.actual == y])
            for y in (False, True)
        )
        outcomes_apart = _single(people, labels.actual.astype(np.intp))
    seen = counts.rows.sum(axis=1) > 0
    levels = tuple(
        tuple(level_text(value) for value in one)
        for one, kept in zip(groups.levels, seen, strict=True)
        if kept
    )
    return RateCells(
        levels=levels,
        rate=counts.rates()[seen],
        size=size[seen],
        weight=counts.weight[seen],
        groups_apart=groups_apart,
        outcomes_apart=outcomes_apart,
    )


def _single(people: Index, places: Index) -> bool:
    """Every person is in one place."""
    both = np.unique(np.column_stack([people, places]), axis=0)
    return len(both) == len(np.unique(people))


def _worth_of_people(
    table: AuditTable, labels: Labels, of_row: Index, counts: Tally, size: Array
) -> Array:
    """Independent rows with the variance that the rates have over people.

    Where all rows agree, a rate of 0 or 1 shows no variance. Then it is one a person, and as much
    less as `size` is below the number of rows.
    """
    assert table.ids is not None  # noqa: S101  for mypy
    cell = of_row * 2 + labels.actual
    rate = counts.rates()
    left = row_weights(table) * (labels.predicted - np.nan_to_num(rate).ravel()[cell])
    pairs, of_pair = np.unique(
        np.column_stack([cell, table.ids.codes]), axis=0, return_inverse=True
    )
    sums = np.bincount(of_pair.ravel(), left)
    people = np.bincount(pairs[:, 0], minlength=rate.size).reshape(rate.shape).astype(np.float64)
    squares = np.bincount(pairs[:, 0], sums**2, minlength=rate.size).reshape(rate.shape)
    factor = people / np.maximum(people - 1, 1)
    variance = ratio(factor * squares, counts.weight**2)
    worth = people * np.nan_to_num(ratio(size, counts.rows.astype(np.float64)))
    spread = np.nan_to_num(rate * (1 - rate))
    np.divide(spread, variance, out=worth, where=np.nan_to_num(variance) > 0)
    return worth


def wilson(rate: Array, size: Array, critical: float) -> tuple[Array, Array]:
    """Wilson's limits; `size` need not be whole."""
    shift = critical**2 / size
    middle = (rate + shift / 2) / (1 + shift)
    half = critical / (1 + shift) * np.sqrt(rate * (1 - rate) / size + shift / (4 * size))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def newcombe(
    one: tuple[Array, Array], other: tuple[Array, Array], critical: float
) -> tuple[Array, Array]:
    """Newcombe's interval (his method 10) for the difference of two (rate, size).

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
    gap = one[0] - other[0]
    low, high = wilson(*one, critical)
    other_low, other_high = wilson(*other, critical)
    below: NDArray[np.float64] = np.hypot(one[0] - low, other_high - other[0])
    above: NDArray[np.float64] = np.hypot(high - one[0], other[0] - other_low)
    return gap - below, gap + above
