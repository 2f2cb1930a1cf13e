"""Means of groups given their outcome, from which any two of them are compared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.evidence.portrait.groupings import Grouping
from fairaudit.evidence.portrait.quantities import Quantity
from fairaudit.metrics._gap_regression import outcome_basis
from fairaudit.metrics._labels import row_weights

__all__ = [
    "FEWEST",
    "OVERLAP",
    "GroupMeans",
    "Projection",
    "average_groups",
    "span_outcome",
    "stride_of",
    "vary_pairs",
]

FEWEST = 30  # people of a group with the outcome, and of those it is compared with
OVERLAP = 0.05  # of a group's variance that the outcome must leave
MOST_PAIRED = 8  # groups of one grouping, the largest
MOST_PEOPLE = 20_000  # whose influences give the correlations of the contrasts


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GroupMeans:
    """Means of groups of one grouping, and what each person adds to their errors.

    Attributes
    ----------
    grouping : Grouping
    quantity : Quantity
    groups : int array
        Numbers of the groups.
    means : array
    people : int array
        Of each group.
    variance : float
        Of the rows, given the outcome.
    covariance : groups × groups
        Of the means.
    influence : groups × people
        Of some people, where there are many.
    """

    grouping: Grouping
    quantity: Quantity
    groups: Index
    means: Array
    people: Index
    variance: float
    covariance: Array
    influence: Array

    def pairs(self) -> tuple[Index, Index]:
        """Places of both groups of each pair; the smaller group is the first of them."""
        first, second = np.array(list(combinations(range(len(self.groups)), 2))).T
        swap = self.people[first] > self.people[second]
        return np.where(swap, second, first), np.where(swap, first, second)

    def errors(self, pairs: tuple[Index, Index]) -> tuple[Array, Array]:
        """Standard errors of the differences, and those if all groups had one law."""
        first, second = pairs
        variance = vary_pairs(self.covariance, pairs)
        fewer = np.minimum(self.people[first], self.people[second])
        equal = self.variance * (1 / self.people[first] + 1 / self.people[second])
        return np.sqrt(variance * fewer / (fewer - 1)), np.sqrt(equal)


def vary_pairs(covariance: Array, pairs: tuple[Index, Index]) -> Array:
    """Variances of differences of means with this covariance."""
    first, second = pairs
    own = np.diag(covariance)
    return np.asarray(np.maximum(own[first] + own[second] - 2 * covariance[first, second], 0.0))


def stride_of(people: int) -> int:
    """Every so many people give the correlations of the contrasts."""
    return -(-people // MOST_PEOPLE)


def average_groups(
    table: AuditTable, grouping: Grouping, quantity: Quantity, people: Index
) -> GroupMeans | None:
    """Means of the largest groups; None if there are no three of them.

    Of people of one outcome class they are weighted means. Of a continuous outcome they are
    coefficients of all groups together beside a spline of the outcome.
    """
    rows = quantity.rows
    own = None if table.ids is None else people[rows]
    counts = _count_people(grouping.codes[rows], own, len(grouping.levels))
    groups = np.flatnonzero(counts >= FEWEST)
    groups = np.sort(groups[np.argsort(-counts[groups], kind="stable")[:MOST_PAIRED]])
    if quantity.outcome is None:
        groups = groups[_overlap(table, grouping, rows, groups)] if len(groups) else groups
    if len(groups) < 2 or (counts > 0).sum() < 3:
        return None
    place = np.full(len(grouping.levels) + 1, -1)  # the last one: of no group
    place[groups] = np.arange(len(groups))
    rows = rows[place[grouping.codes[rows]] >= 0]
    codes, values, weights = place[grouping.codes[rows]], quantity.values[rows], row_weights(table)
    fit = _fit_means if quantity.outcome is not None else _fit_beside_outcome
    means, rest, shares = fit(table, rows, codes, values, weights[rows])
    count = int(people.max()) + 1
    influence = np.array(
        [np.bincount(people[rows], own, minlength=count) for own in shares], dtype=np.float64
    )
    return GroupMeans(
        grouping=grouping,
        quantity=quantity,
        groups=groups,
        means=means,
        people=counts[groups],
        variance=float(np.average(rest**2, weights=weights[rows])),
        covariance=influence @ influence.T,
        influence=influence[:, :: stride_of(count)].copy(),
    )


def _count_people(codes: Index, people: Index | None, groups: int) -> Index:
    some = (codes >= 0) & (codes < groups)
    codes = codes[some]
    if people is not None:
        codes, _ = np.divmod(np.unique(codes * (people.max() + 1) + people[some]), people.max() + 1)
    return np.bincount(codes, minlength=groups)


def _fit_means(
    table: AuditTable, rows: Index, codes: Index, values: Array, weights: Array
) -> tuple[Array, Array, Array]:
    """Means, what they leave, and what each row adds to the error of each mean."""
    totals = np.bincount(codes, weights)
    means = np.bincount(codes, weights * values) / totals
    rest = values - means[codes]
    shares = np.zeros((len(totals), len(codes)))
    shares[codes, np.arange(len(codes))] = weights * rest / totals[codes]
    return means, values - np.average(values, weights=weights), shares


def _fit_beside_outcome(
    table: AuditTable, rows: Index, codes: Index, values: Array, weights: Array
) -> tuple[Array, Array, Array]:
    from scipy.linalg import pinvh

    basis = Projection(span_outcome(table.require_outcome(), rows), weights)
    member = basis.leave(np.eye(int(codes.max()) + 1)[codes])
    residual = basis.leave(values)
    weighted = member * weights[:, None]
    pull = pinvh(member.T @ weighted) @ weighted.T
    effects = pull @ residual
    leverage = np.einsum("gi,ig->i", pull, member)
    error = (residual - member @ effects) / (1 - np.minimum(leverage, 0.5))
    middle = np.average(values, weights=weights) - np.average(effects[codes], weights=weights)
    return effects + middle, residual, pull * error


def _overlap(table: AuditTable, grouping: Grouping, rows: Index, groups: Index) -> Array:
    """Whether the outcome leaves enough of each group."""
    weights = row_weights(table)[rows]
    member = (grouping.codes[rows][:, None] == groups).astype(np.float64)
    left = Projection(span_outcome(table.require_outcome(), rows), weights).leave(member)
    share = weights @ member / weights.sum()
    return np.asarray(weights @ left**2 >= OVERLAP * share * (1 - share) * weights.sum())


def span_outcome(outcome: Column, rows: Index) -> Array:
    """Functions of the outcome: of its classes, or a spline."""
    if outcome.kind.is_categorical:
        return np.asarray(np.eye(len(outcome.levels))[outcome.codes[rows]])
    return outcome_basis(np.asarray(outcome.numeric)[rows])


class Projection:
    """What functions of the outcome leave of columns."""

    def __init__(self, basis: Array, weights: Array) -> None:
        from scipy.linalg import pinvh

        self.basis, self.weighted = basis, basis * weights[:, None]
        self.inverse = pinvh(basis.T @ self.weighted)

    def leave(self, columns: Array) -> Array:
        return np.asarray(columns - self.basis @ (self.inverse @ (self.weighted.T @ columns)))
