"""One table of groups: counts by outcome, group and label, from which every rate and gap derives.

A group is the people who share levels of the attributes. Tables of parts of the rows add up to
that of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column, level_text
from fairaudit.data.group_sums import PeopleSums, WeightSums, merge_labels
from fairaudit.data.rates import RateTable, deo_of, rates_of, ratio, smallest_to_largest, spread
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError

__all__ = ["GroupTable", "Groups", "Labels", "hidden_groups"]

MOST_LISTED = 10_000  # combinations of levels; of more, only those that occur


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Prediction and outcome of every row as codes.

    Attributes
    ----------
    predicted : bool or int array
        Whether the positive class is predicted; any code below `choices`.
    actual : bool or int array
        Whether the outcome is the positive class.
    names : tuple of str
        Of the two classes.
    choices : int
        How many different labels there are.
    """

    predicted: NDArray[Any]
    actual: NDArray[Any]
    names: tuple[str, ...]
    choices: int = 2

    @classmethod
    def none(cls, rows: int) -> Labels:
        """One outcome and one label: what is left are the groups."""
        nothing = np.zeros(rows, dtype=np.intp)
        return cls(nothing, nothing, ("",), 1)


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Which group each row belongs to.

    Attributes
    ----------
    attributes : their names
    levels : the attribute values of each group, also of those without rows
    of_row : group number of each row
    unlisted : combinations without rows that are no groups, because there are too many
    """

    attributes: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    of_row: Index
    unlisted: int

    def __len__(self) -> int:
        return len(self.levels)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Groups:
        """All combinations of levels; only the occurring ones if there are too many."""
        for column in columns:
            if not column.kind.is_categorical:
                raise InputError(
                    f"Sensitive column {column.name!r} is {column.kind}; groups need categories. "
                    f"Bin it, declare it categorical with kinds={{{column.name!r}: "
                    "'categorical'}, or use kpc, which takes attributes of any kind."
                )
        shape = tuple(len(column.levels) for column in columns)
        combinations = math.prod(shape)
        if combinations <= MOST_LISTED:
            of_row = np.ravel_multi_index([column.codes for column in columns], shape)
            codes = list(np.unravel_index(np.arange(combinations), shape))
        else:
            of_row = first = np.zeros(len(columns[0]), dtype=np.intp)
            for column in columns:  # numbers stay below those of the rows, and keep the order
                key = of_row * len(column.levels) + column.codes
                _, first, of_row = np.unique(key, return_index=True, return_inverse=True)
            codes = [column.codes[first] for column in columns]
        values = [
            [levels[k] for k in code.tolist()]
            for levels, code in zip((c.levels.tolist() for c in columns), codes, strict=True)
        ]
        levels = tuple(zip(*values, strict=True))
        names = tuple(column.name for column in columns)
        return cls(names, levels, of_row, combinations - len(levels))

    def keys(self, labels: Labels, of_row: Index) -> Index:
        """A number for the outcome, group and label of every row."""
        return (labels.actual * len(self) + of_row) * labels.choices + labels.predicted

    def counts(self, labels: Labels, of_row: Index) -> Index:
        """Outcomes × groups × labels, where rows are in these groups."""
        shape = (len(labels.names), len(self), labels.choices)
        return np.bincount(self.keys(labels, of_row), minlength=math.prod(shape)).reshape(shape)

    def count(
        self,
        labels: Labels,
        weights: Array | None = None,
        ids: Index | None = None,
        times: Index | None = None,
    ) -> GroupTable:
        """The table of these rows, each of which may stand for several."""
        key, counts = self.keys(labels, self.of_row), self.counts(labels, self.of_row)
        if times is not None:
            sums = np.zeros(counts.size, dtype=np.intp)
            np.add.at(sums, key, times)
            counts = sums.reshape(counts.shape)
        once = np.ones(len(key)) if weights is None else weights
        return GroupTable(
            attributes=self.attributes,
            levels=self.levels,
            outcomes=labels.names,
            counts=counts,
            unlisted=self.unlisted,
            weights=None if weights is None else WeightSums.of(key, weights, counts.shape),
            people=None if ids is None else PeopleSums.of(key, once, ids, counts.shape),
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupTable:
    """How many rows have which outcome, group and label. ``a + b`` is the table of all rows.

    Attributes
    ----------
    attributes : tuple of str
    levels : tuple of tuple
        The attribute values of each group, also of those without rows.
    outcomes : tuple of str
        Names of the outcome classes: negative, positive.
    counts : int array, outcomes × groups × labels
        The last label is the positive one.
    unlisted : int
        Further combinations of levels without rows.
    weights : WeightSums or None
        None: every row counts once.
    people : PeopleSums or None
        None: every row is a person.
    """

    attributes: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    outcomes: tuple[str, ...]
    counts: Index
    unlisted: int = 0
    weights: WeightSums | None = None
    people: PeopleSums | None = None

    @classmethod
    def of(cls, table: AuditTable, labels: Labels) -> GroupTable:
        """Of a table with these labels."""
        ids = None if table.ids is None else table.ids.codes
        return Groups.of(table.attributes).count(labels, table.weights, ids, table.times)

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The levels of every group for people."""
        return tuple(tuple(level_text(level) for level in levels) for levels in self.levels)

    @property
    def weight(self) -> Array:
        """Sums of weights: outcomes × groups × labels."""
        return self.counts.astype(np.float64) if self.weights is None else self.weights.total

    def __add__(self, other: GroupTable) -> GroupTable:
        """Of the rows of both, which share no person; levels may differ."""
        if self._kind() != other._kind():
            raise ValueError("Tables of other attributes, outcomes or weights do not add up.")
        levels, unlisted = _joined_levels(self, other)
        left, right = self._placed(levels), other._placed(levels)
        return replace(
            left,
            counts=left.counts + right.counts,
            unlisted=unlisted,
            weights=left.weights and right.weights and left.weights + right.weights,
            people=left.people and right.people and left.people + right.people,
        )

    def _kind(self) -> tuple[Any, ...]:
        """What is equal in tables that can be added."""
        return self.attributes, self.outcomes, self.weights is None, self.people is None

    def _placed(self, levels: tuple[tuple[Any, ...], ...]) -> GroupTable:
        """The same with these groups."""
        if levels == self.levels:
            return self
        place = {own: k for k, own in enumerate(self.levels)}
        source = np.array([place.get(own, -1) for own in levels], dtype=np.intp)
        there = source >= 0

        def moved(sums: NDArray[Any]) -> NDArray[Any]:
            """Groups stand on the second axis."""
            shape = (sums.shape[0], len(levels), *sums.shape[2:])
            result = np.zeros(shape, dtype=sums.dtype)
            result[:, there] = sums[:, source[there]]
            return result

        return replace(
            self,
            levels=levels,
            counts=moved(self.counts),
            weights=None if self.weights is None else self.weights.moved(moved),
            people=None if self.people is None else self.people.moved(moved),
        )

    def rate(self) -> Array:
        """P(prediction positive | outcome, group); NaN where there are no such rows."""
        return rates_of(self.weight)

    def overall(self) -> Array:
        """P(prediction positive | outcome)."""
        return rates_of(self.weight.sum(axis=1))

    def deo(self) -> float:
        """The sum of all distances between a group's rate and the overall one."""
        return float(deo_of(self.weight))

    def differences(self) -> list[float]:
        """The largest difference between two groups' rates, for each outcome."""
        return spread(self.rate()).tolist()

    def ratios(self) -> list[float]:
        """The smallest ratio of two groups' rates, for each outcome."""
        return [smallest_to_largest(rates) for rates in self.rate()]

    def sizes(self, *, pooled: bool = False) -> Array:
        """Rows of equal weight whose rate has the same variance; `pooled` over the outcomes."""
        if self.weights is None:
            rows = self.counts.sum(axis=2).astype(np.float64)
            return np.asarray(rows.sum(axis=0)) if pooled else rows
        return self.weights.sizes(self.counts, pooled=pooled)

    def of_labels(self, labels: Sequence[int]) -> GroupTable:
        """The same where these labels are the positive one, and all others the negative one."""
        return replace(
            self,
            counts=merge_labels(self.counts, labels),
            weights=None if self.weights is None else self.weights.of_labels(labels),
            people=None if self.people is None else self.people.of_labels(labels),
        )

    def worth(self, *, pooled: bool = False) -> Array:
        """Independent rows of equal weight whose rate has the same variance, with people too."""
        size = self.sizes(pooled=pooled)
        if self.people is None:
            return size
        counts, weight = self.counts, self.weight
        if pooled:
            counts, weight = counts.sum(axis=0), weight.sum(axis=0)
        share = np.nan_to_num(ratio(size, counts.sum(axis=-1).astype(np.float64)))
        worth = self.people.worth_pooled if pooled else self.people.worth
        return np.minimum(size, worth(rates_of(weight), weight.sum(axis=-1), share))

    def rates(self) -> RateTable:
        """The rates of all groups that occur, with the rows (people) that each is worth."""
        rate, size, weight = self.rate(), self.worth(), self.weight.sum(axis=2)
        present = self.counts.sum(axis=(0, 2)) > 0
        return RateTable(
            levels=tuple(name for name, occurs in zip(self.names, present, strict=True) if occurs),
            rate=rate[:, present],
            size=size[:, present],
            weight=weight[:, present],
            groups_apart=self.people is None or self.people.groups_apart,
            outcomes_apart=self.people is None or self.people.outcomes_apart,
        )

    def rows(self) -> Index:
        """Rows of every group: all of them, and those of each outcome."""
        rows = self.counts.sum(axis=2)
        return np.concatenate([rows.sum(axis=0, keepdims=True), rows])

    def persons(self) -> Index:
        """People of every group: all of them, and those with each outcome."""
        if self.people is None:
            return self.rows()
        return np.concatenate([self.people.of_group, self.people.of_outcome])

    def squares_of_people(self) -> Array:
        """Sums, over the people of an outcome and group, of their squared weights."""
        if self.people is not None:
            return np.asarray(self.people.products.sum(axis=(2, 3)))
        squares = self.counts if self.weights is None else self.weights.squares
        return squares.sum(axis=2).astype(np.float64)

    def masked(self, fewest: int) -> NDArray[np.bool_]:
        """The groups that are hidden where fewer than so many people are not shown."""
        return hidden_groups(self.persons(), fewest)


def _joined_levels(*tables: GroupTable) -> tuple[tuple[tuple[Any, ...], ...], int]:
    """The groups of several tables, as of one table of all rows; and the unlisted ones."""
    if len({table.levels for table in tables}) == 1:
        return tables[0].levels, tables[0].unlisted
    own = [sorted(set().union(*values)) for values in zip(*map(_values, tables), strict=True)]
    combinations = math.prod(map(len, own))
    if combinations <= MOST_LISTED:
        return tuple(product(*own)), 0
    combined = {
        levels
        for table in tables
        for levels, rows in zip(table.levels, table.rows()[0], strict=True)
        if rows
    }
    return tuple(sorted(combined)), combinations - len(combined)


def _values(table: GroupTable) -> list[set[Any]]:
    """The levels of each attribute."""
    return [set(values) for values in zip(*table.levels, strict=True)]


def hidden_groups(people: Index, fewest: int, before: int = 0) -> NDArray[np.bool_]:
    """Which groups are masked: those with few people, and some that protect them.

    Groups without people stay. What all groups have together is public for every count, so a
    single masked group could be computed from the rest: the smallest open groups are masked too,
    until at least two are, with so many people together in each count that each of them could
    have `fewest` different ones.

    Parameters
    ----------
    people : int array, counts × groups
        Of everybody, and of some (of one outcome, say).
    fewest : int
    before : int
        Groups that were masked before: they have no people here and protect nobody else.
    """
    masked = np.asarray(((people > 0) & (people < fewest)).any(axis=0))
    if not masked.any() and before != 1:
        return masked
    some = people[people.sum(axis=1) > 0]
    rest = np.flatnonzero(~masked & (people[0] > 0))
    for k in rest[np.argsort(people[0, rest], kind="stable")]:
        if masked.sum() > 1 and some[:, masked].sum(axis=1).min() >= 2 * fewest - 2:
            break
        masked[k] = True
    return masked
