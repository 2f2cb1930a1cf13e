"""Both models' rates (or means) in every group, with their joint covariance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.groups import Groups, GroupTable, Labels
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.metrics._errors import numeric_pair
from fairaudit.metrics._gap_regression import gaps_given_outcome
from fairaudit.metrics._labels import binary_labels, row_weights

__all__ = ["FEWEST", "PairedGroups", "pair_errors", "pair_groups"]

#: Rows (people, where ids are given) that a group needs; below that no interval can be trusted.
FEWEST = 10
#: Labels of both models (see `_labels`): the baseline's and the candidate's positive ones, and
#: those of the candidate only and of the baseline only.
_TOLD_APART = ((2, 3), (1, 3), (1,), (2,))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairedGroups:
    """Groups × two models; where there are rates, a group is counted once for each outcome.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The levels of every group.
    class_of : int array
        Which of `parts` it is a rate (or mean) of; groups of the same part are compared.
    parts : tuple of str
        ("FPR", "TPR"); of more than two classes every share of the confusion; of numbers one name.
    size : float array
        Weight of every group.
    people : int array
    effective : float array
        As many people of equal weight would tell as much: of rates 4 × groups, by the variances of
        the baseline's rate, the candidate's, and the shares predicted positive by the candidate
        only and by the baseline only; of numbers one value a group.
    raw : array, 2 × groups
        Rates or means: of the baseline, of the candidate.
    covariance : array, (2 groups) × (2 groups)
        Of these, baseline first; of rates with half a row of each combination added.
    shares : array, 4 × groups, or None
        Of rates: predicted positive by neither, the candidate only, the baseline only, both.
    left_out : int
        Groups with too few rows.
    used : bool array
        Rows in these groups.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    class_of: Index
    parts: tuple[str, ...]
    size: Array
    people: Index
    effective: Array
    raw: Array
    covariance: Array
    shares: Array | None
    left_out: int
    used: Any

    @property
    def rates(self) -> bool:
        """Rates of labels; otherwise means of numbers."""
        return self.shares is not None

    @property
    def of_classes(self) -> bool:
        """Shares of a confusion of more than two classes."""
        return len(self.parts) > 2


def pair_groups(
    baseline: AuditTable,
    candidate: AuditTable,
    threshold: float | None,
    without: Collection[tuple[str, ...]] = (),
    *,
    every_class: bool = False,
) -> PairedGroups:
    """The groups of two tables that differ in their prediction only, `without` some groups.

    Of classes, rates: of the positive class, or (`every_class`) the share of every class that is
    predicted to be of every class, whatever the threshold. Of a continuous outcome, the gaps of
    `fairaudit.metrics.prediction_gap`, which are 0 under equalized odds.
    """
    tables, outcome = _with_groups(baseline, candidate), baseline.require_outcome()
    if not outcome.kind.is_categorical:
        return _pair_numbers(tables, without, given_outcome=True)
    if not every_class:
        return _pair_rates(tables, [_labels(tables, threshold)], ("FPR", "TPR"), without)
    names = tuple(level_text(level) for level in outcome.levels.tolist())
    predicted = []
    for level in outcome.levels.tolist():
        labels = _labels([replace(table, positive=level) for table in tables], None)
        predicted.append(replace(labels, actual=outcome.codes, names=names))
    parts = tuple(f"{name} → {other}" for other in names for name in names)
    return _pair_rates(tables, predicted, parts, without)


def pair_errors(
    baseline: AuditTable, candidate: AuditTable, without: Collection[tuple[str, ...]] = ()
) -> PairedGroups:
    """Mean errors, which are not 0 under equalized odds: for information."""
    return _pair_numbers(_with_groups(baseline, candidate), without, given_outcome=False)


def _with_groups(*tables: AuditTable) -> list[AuditTable]:
    """With the attributes that make groups only."""
    some = tuple(column for column in tables[0].attributes if column.kind.is_categorical)
    if not some:
        kinds = ", ".join(f"{column.name} ({column.kind})" for column in tables[0].attributes)
        raise InputError(
            f"No attribute is categorical, so there are no groups to compare: {kinds}. "
            "Bin one, or declare it as in age:categorical."
        )
    return [replace(table, attributes=some) for table in tables]


def _labels(tables: list[AuditTable], threshold: float | None) -> Labels:
    """Of both models: 0 neither, 1 the candidate, 2 the baseline, 3 both say positive."""
    first, second = (
        binary_labels(table, threshold=default_threshold(table) if threshold is None else threshold)
        for table in tables
    )
    return replace(first, predicted=2 * first.predicted + second.predicted, choices=4)


def _numbers(tables: list[AuditTable]) -> tuple[Array, Array]:
    """Predictions of both models (rows × 2), and the outcome."""
    pairs = [numeric_pair(table) for table in tables]
    return np.column_stack([prediction for prediction, _ in pairs]), pairs[0][1]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _LargeGroups:
    """Rows of groups that have enough people of an outcome, and in which of them each is."""

    groups: GroupTable
    places: Index
    left_out: int
    used: Any
    of_row: Index
    values: Array
    weights: Array
    unit: Index

    def weight(self) -> Array:
        """Groups × labels."""
        return _by_group(self.groups.weight)[self.places]

    def rows(self) -> Index:
        return _by_group(self.groups.rows()[1:])[self.places]

    def people(self) -> Index:
        return _by_group(self.groups.persons()[1:])[self.places]

    def paired(
        self, raw: Array, covariance: Array, shares: Array | None, parts: tuple[str, ...]
    ) -> PairedGroups:
        size, names = self.weight().sum(axis=1), self.groups.names
        classes = len(self.groups.outcomes)
        return PairedGroups(
            attributes=self.groups.attributes,
            labels=tuple(names[k // classes] for k in self.places),
            class_of=self.places % classes,
            parts=parts,
            size=size,
            people=self.people(),
            effective=self._people_of_equal_weight() if shares is None else self.worth(),
            raw=raw,
            covariance=covariance,
            shares=shares,
            left_out=self.left_out,
            used=self.used,
        )

    def worth(self) -> Array:
        """By the variances of both models' rates, and of the shares that tell them apart."""
        worths = [self.groups.of_labels(labels).worth() for labels in _TOLD_APART]
        worth = np.stack([_by_group(each)[self.places] for each in worths])
        return np.minimum(worth, self._people_of_equal_weight())

    def _people_of_equal_weight(self) -> Array:
        squares = _by_group(self.groups.squares_of_people())[self.places]
        return np.asarray(self.weight().sum(axis=1) ** 2 / squares)


def _by_group(sums: NDArray[Any]) -> NDArray[Any]:
    """From outcomes × groups to one axis: the outcomes of the first group, of the second, …"""
    return np.swapaxes(sums, 0, 1).reshape(-1, *sums.shape[2:])


def _find_large_groups(
    table: AuditTable, labels: Labels, values: Array, without: Collection[tuple[str, ...]]
) -> _LargeGroups:
    """Groups with enough people of an outcome that have another to be compared with."""
    members = Groups.of(table.attributes)
    unit = np.arange(len(table)) if table.ids is None else table.ids.codes
    groups = members.count(labels, table.weights, None if table.ids is None else unit)
    wanted = np.array([name not in without for name in groups.names])
    enough = (groups.persons()[1:] >= FEWEST) & wanted
    occurs = groups.rows()[1:] > 0
    enough[enough.sum(axis=1) < 2] = False
    if not enough.any():
        raise InputError(
            f"Fewer than two groups have {FEWEST} rows of one outcome: there is nothing to "
            "compare. Pass more rows, or coarser groups."
        )
    places = np.flatnonzero(_by_group(enough))
    number = np.full(enough.size, -1)
    number[places] = np.arange(len(places))
    of_row = number[members.of_row * len(groups.outcomes) + labels.actual]
    rows = of_row >= 0
    return _LargeGroups(
        groups=groups,
        places=places,
        left_out=int((occurs & wanted & ~enough).sum()),
        used=rows,
        of_row=of_row[rows],
        values=values[rows],
        weights=row_weights(table)[rows],
        unit=unit[rows],
    )


def _pair_rates(
    tables: list[AuditTable],
    predicted: list[Labels],
    parts: tuple[str, ...],
    without: Collection[tuple[str, ...]],
) -> PairedGroups:
    """The rates of one predicted class or more, one after the other, with their covariance."""
    several = [
        _find_large_groups(
            tables[0], labels, np.column_stack(divmod(labels.predicted, 2)).astype(float), without
        )
        for labels in predicted
    ]
    moments = [_rate_moments(large) for large in several]
    raws, pulls, added, shares = zip(*moments, strict=True)
    first, repeats = several[0], len(several)
    count, classes = len(first.places), len(first.groups.outcomes)
    pull = np.column_stack([pull[:, model] for model in (0, 1) for pull in pulls])
    covariance = _covariance(first, pull)
    for j, of_class in enumerate(added):
        for k, half_rows in enumerate(of_class):
            at = [j * count + k, (j + repeats) * count + k]
            covariance[np.ix_(at, at)] += half_rows
    groups = first.paired(np.hstack(raws), covariance, np.hstack(shares), parts)
    return replace(
        groups,
        labels=groups.labels * repeats,
        class_of=np.concatenate([groups.class_of + j * classes for j in range(repeats)]),
        size=np.tile(groups.size, repeats),
        people=np.tile(groups.people, repeats),
        effective=np.hstack([large.worth() for large in several]),
    )


def _rate_moments(large: _LargeGroups) -> tuple[Array, Array, Array, Array]:
    """Of every group: rates of both models, what each row contributes to them, what half a row of
    each combination adds to their covariance, and the shares of both labels."""
    of_row, values, weights = large.of_row, large.values, large.weights
    weight, rows = large.weight(), large.rows()
    size = weight.sum(axis=1)
    shares = weight.T / size
    raw = np.stack([shares[2] + shares[3], shares[1] + shares[3]])
    added = size / rows / 2  # half a row of (0, 0), (0, 1), (1, 0) and (1, 1), of mean weight
    total = size + 4 * added
    center = (raw * size + 2 * added) / total
    pull = weights[:, None] * (values - center[:, of_row].T) / total[of_row][:, None]
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
    pseudo = corners - center.T[:, None]
    scale = added * size / rows  # squared weights of half a row
    half_rows = (scale / total**2)[:, None, None] * (np.swapaxes(pseudo, 1, 2) @ pseudo)
    return raw, pull, half_rows, shares


def _pair_numbers(
    tables: list[AuditTable], without: Collection[tuple[str, ...]], *, given_outcome: bool
) -> PairedGroups:
    predictions, outcome = _numbers(tables)
    nothing = Labels.none(len(tables[0]))
    if given_outcome:
        large = _find_large_groups(tables[0], nothing, predictions, without)
        raw, covariance, resting = gaps_given_outcome(
            large.values, outcome[large.used], large.of_row, large.weights, large.unit
        )
        return replace(large.paired(raw, covariance, None, ("prediction gap",)), effective=resting)
    large = _find_large_groups(tables[0], nothing, predictions - outcome[:, None], without)
    count, size, people = len(large.places), large.weight()[:, 0], large.people()
    raw = np.stack(
        [np.bincount(large.of_row, large.weights * x, count) / size for x in large.values.T]
    )
    pull = (
        large.weights[:, None]
        * (large.values - raw[:, large.of_row].T)
        / size[large.of_row][:, None]
    )
    grow = np.tile(np.sqrt(people / np.maximum(people - 1, 1)), 2)
    covariance = _covariance(large, pull) * np.outer(grow, grow)
    return large.paired(raw, covariance, None, ("mean error",))


def _covariance(large: _LargeGroups, pull: Array) -> Array:
    """Of the groups in every column of `pull`, what rows contribute; people are summed up."""
    from scipy.sparse import csr_matrix

    count, columns = len(large.places), pull.shape[1]
    where = np.concatenate([large.of_row + k * count for k in range(columns)])
    _, who = np.unique(large.unit, return_inverse=True)
    influence = csr_matrix(
        (pull.T.ravel(), (np.tile(who, columns), where)), shape=(who.max() + 1, columns * count)
    )
    return np.asarray((influence.T @ influence).toarray())
