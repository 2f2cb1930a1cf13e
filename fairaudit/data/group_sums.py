"""Sums of weights and of people by outcome, group and label: what rates are worth. They add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.rates import ratio

__all__ = ["PeopleSums", "WeightSums", "merge_labels"]

#: Rows added to a variance, as heavy as such rows are in the table (see `WeightSums.sizes`).
ADDED_ROWS = 2.0
#: Rows of a label in the whole table that show how heavy such rows are.
TELLING_ROWS = 10
_ROUNDING = 1e-9
_NO_VARIANCE = 1e-12

#: Puts sums, whose second axis are groups, into other places.
_Move = Callable[[NDArray[Any]], NDArray[Any]]


def merge_labels(sums: NDArray[Any], labels: Sequence[int]) -> NDArray[Any]:
    """Sums over the last axis: of all other labels, and of these."""
    positive = sums[..., list(labels)].sum(axis=-1)
    negative = np.delete(sums, list(labels), axis=-1).sum(axis=-1)
    return np.stack([negative, positive], axis=-1)


def _sums(key: Index, values: Array, shape: tuple[int, ...]) -> Array:
    sums = np.bincount(key, values, minlength=math.prod(shape))
    return np.asarray(sums, dtype=np.float64).reshape(shape)


@dataclass(frozen=True, slots=True, eq=False)
class WeightSums:
    """Of weighted rows: outcomes × groups × labels.

    Attributes
    ----------
    total, squares : array
        Sums of weights and of their squares.
    heavy : array
        Mean weight where rows count by their squared weight, which is their part in a variance.
    """

    total: Array
    squares: Array
    heavy: Array

    @classmethod
    def of(cls, key: Index, weights: Array, shape: tuple[int, ...]) -> WeightSums:
        """`key` numbers the entries of the shape."""
        squares = (weights / (weights.max(initial=0.0) or 1.0)) ** 2
        heavy = ratio(_sums(key, weights * squares, shape), _sums(key, squares, shape))
        total, squares = _sums(key, weights, shape), _sums(key, weights**2, shape)
        return cls(total, squares, np.nan_to_num(heavy))

    def __add__(self, other: WeightSums) -> WeightSums:
        squares = self.squares + other.squares
        share = np.nan_to_num(ratio(self.squares, squares))
        heavy = share * self.heavy + (1 - share) * other.heavy
        return WeightSums(self.total + other.total, squares, heavy)

    def moved(self, move: _Move) -> WeightSums:
        return WeightSums(move(self.total), move(self.squares), move(self.heavy))

    def of_labels(self, labels: Sequence[int]) -> WeightSums:
        """The same where these labels are the positive one, and all others the negative one."""
        total, squares = (merge_labels(sums, labels) for sums in (self.total, self.squares))
        cubes = merge_labels(self.squares * self.heavy, labels)
        return WeightSums(total, squares, np.nan_to_num(ratio(cubes, squares)))

    def sizes(self, counts: Index, *, pooled: bool) -> Array:
        r"""Rows of equal weight whose rate has the same variance; 0 without rows.

        By outcome and group, or `pooled` over the outcomes.

        Notes
        -----
        The variance of a rate r is :math:`\sum w^2 (\hat y - r)^2 / W^2`. Kish's size,
        :math:`W^2 / \sum w^2`, takes the weights for unrelated to the labels. Where few rows, or
        none, have the rarer label, the sum shows little of how heavy they can be. Two rows are
        added, with the weight u that rows of this label have where they make the variance:

        .. math:: m = \frac{r (1 - r) W^2 + 2 u W}{\sum w^2 (\hat y - r)^2 + 2 u^2}.

        So a rate of 0 is worth W / u rows, and equal weights give the number of rows. In between,
        u moves from the weight of a positive prediction to that of a negative one. Where the whole
        table has fewer than ten rows of a label, they are taken to be as heavy as rows of any label
        are where they make the variance. No more than Kish's size is counted.

        References
        ----------
        Korn and Graubard (1998). Confidence intervals for proportions with small expected number
        of positive counts estimated from survey data. Survey Methodology 24.
        """
        total, squares, units = self.total, self.squares, self._units(counts)
        if pooled:
            total, squares, units = (each.sum(axis=0) for each in (total, squares, units))
        weight, everybody = total.sum(axis=-1), squares.sum(axis=-1)
        kish = np.nan_to_num(ratio(weight**2, everybody))
        rate = np.nan_to_num(ratio(total[..., 1], weight))
        miss, hit = (np.nan_to_num(ratio(units[..., k], weight)) for k in (0, 1))
        variance = (1 - rate) ** 2 * squares[..., 1] + rate**2 * squares[..., 0]
        added = ADDED_ROWS * ((1 - rate) * hit + rate * miss)
        added_squares = ADDED_ROWS * ((1 - rate) * hit**2 + rate * miss**2)
        size = ratio(rate * (1 - rate) * weight**2 + added * weight, variance + added_squares)
        return np.where(size < kish * (1 - _ROUNDING), size, kish)

    def _units(self, counts: Index) -> Array:
        """The weight that a row of each label may have, times that of all rows."""
        weight, everybody = self.total.sum(axis=2), self.squares.sum(axis=2)
        anybody = np.nan_to_num(ratio((self.squares * self.heavy).sum(axis=2), everybody))
        units = np.empty_like(self.total)
        for label in (0, 1):
            mean = np.nan_to_num(
                ratio(self.total[..., 1 - label], counts[..., 1 - label].astype(np.float64))
            )
            unit = weight * self._heaviness(label, mean) * mean
            if counts[..., label].sum() < TELLING_ROWS:  # they may be as heavy as any
                unit = np.maximum(unit, weight * anybody)
            units[..., label] = np.maximum(unit, everybody)  # with the latter the size is Kish's
        return units

    def _heaviness(self, label: int, mean: Array) -> float:
        """How many times as heavy as rows of the other label in its group a row may be.

        `mean` is the weight of those others. All groups are looked at, since one may have no row
        of the label; weights are relative, since groups may differ in them by design. Rows count
        by their squared weight: so the third moment is kept, too. Of the two outcomes the larger
        value is taken.
        """
        relative = np.nan_to_num(ratio(self.heavy[..., label], mean))
        part = np.nan_to_num(ratio(np.sqrt(self.squares[..., label]), mean))
        largest = float(part.max(initial=0.0))
        if largest == 0:
            return 0.0
        part = (part / largest) ** 2
        heaviness = ratio((relative * part).sum(axis=1), part.sum(axis=1))
        return float(np.nan_to_num(heaviness).max())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PeopleSums:
    """Of rows that belong to people.

    Attributes
    ----------
    of_group : int array, 1 × groups
        Different people.
    of_outcome : int array, outcomes × groups
    products : array, outcomes × groups × labels × labels
        Sums, over people, of the products of what their rows of two labels weigh.
    groups_apart, outcomes_apart : bool
        Nobody is in two groups of one outcome; in two outcomes.
    """

    of_group: Index
    of_outcome: Index
    products: Array
    groups_apart: bool
    outcomes_apart: bool

    @classmethod
    def of(cls, key: Index, weights: Array, ids: Index, shape: tuple[int, ...]) -> PeopleSums:
        """`key` numbers the entries of the shape: outcomes × groups × labels."""
        outcomes, groups, choices = shape
        many = int(ids.max()) + 1
        place, label = key // choices, key % choices
        pairs, of_pair = np.unique(place * many + ids, return_inverse=True)
        own = _sums(of_pair * choices + label, weights, (len(pairs), choices))
        place, person = pairs // many, pairs % many
        outcome, group = place // groups, place % groups
        by_outcome = len(np.unique(outcome * many + person))
        products = np.empty((outcomes * groups, choices, choices))
        for first in range(choices):
            for second in range(choices):
                weight = own[:, first] * own[:, second]
                products[:, first, second] = np.bincount(place, weight, outcomes * groups)
        in_group = np.unique(group * many + person) // many
        return cls(
            of_group=np.bincount(in_group, minlength=groups)[None],
            of_outcome=np.bincount(place, minlength=outcomes * groups).reshape(outcomes, groups),
            products=products.reshape(*shape, choices),
            groups_apart=len(pairs) == by_outcome,
            outcomes_apart=by_outcome == len(np.unique(person)),
        )

    def __add__(self, other: PeopleSums) -> PeopleSums:
        return PeopleSums(
            of_group=self.of_group + other.of_group,
            of_outcome=self.of_outcome + other.of_outcome,
            products=self.products + other.products,
            groups_apart=self.groups_apart and other.groups_apart,
            outcomes_apart=self.outcomes_apart and other.outcomes_apart,
        )

    def moved(self, move: _Move) -> PeopleSums:
        return PeopleSums(
            of_group=move(self.of_group),
            of_outcome=move(self.of_outcome),
            products=move(self.products),
            groups_apart=self.groups_apart,
            outcomes_apart=self.outcomes_apart,
        )

    def of_labels(self, labels: Sequence[int]) -> PeopleSums:
        """The same where these labels are the positive one, and all others the negative one."""
        once = merge_labels(self.products, labels)
        twice = np.swapaxes(merge_labels(np.swapaxes(once, -1, -2), labels), -1, -2)
        return replace(self, products=twice)

    def worth(self, rate: Array, weight: Array, share: Array) -> Array:
        """Independent rows with the variance that the rates have over people.

        Where all people have the same rate, 0 or 1 say, it shows no variance. Then it is one row a
        person, and by the factor `share` less.
        """
        spread = self._pull(rate)
        return _count_rows(rate, weight, share, squares=spread, people=self.of_outcome)

    def worth_pooled(self, rate: Array, weight: Array, share: Array) -> Array:
        """The same of rates over all outcomes; one person's errors in several are added up."""
        spread = self._pull(rate)
        total = spread.sum(axis=0)
        if not self.outcomes_apart:
            total = np.sqrt(spread).sum(axis=0) ** 2
        return _count_rows(rate, weight, share, squares=total, people=self.of_group[0])

    def _pull(self, rate: Array) -> Array:
        """Sums, over the people of every outcome and group, of their squared errors."""
        rate = np.nan_to_num(rate)
        # of a row with label 0, with label 1
        pull = np.broadcast_to(np.stack([-rate, 1 - rate], axis=-1), self.products.shape[:-1])
        squares = np.einsum("...i,...ij,...j->...", pull, self.products, pull)
        return np.where(squares > _NO_VARIANCE * self.products.sum(axis=(2, 3)), squares, 0.0)


def _count_rows(
    rate: Array, weight: Array, share: Array, *, squares: Array, people: Index
) -> Array:
    """As many rows as the sums of squared errors are worth."""
    rate, many = np.nan_to_num(rate), people.astype(np.float64)
    factor = many / np.maximum(many - 1, 1)
    worth = many * share
    np.divide(rate * (1 - rate) * weight**2, factor * squares, out=worth, where=squares > 0)
    return worth
