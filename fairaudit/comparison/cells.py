"""Both models' rates (or means) in every group, with their joint covariance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.groups import Groups, GroupTable, Labels
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.metrics._errors import numeric_pair
from fairaudit.metrics._labels import binary_labels, row_weights
from fairaudit.metrics._prediction_gap import gaps_given_outcome

__all__ = ["FEWEST", "PairedCells", "error_cells", "paired_cells"]

#: Rows (people, where ids are given) that a group needs; below that no interval can be trusted.
FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairedCells:
    """Cells × two models.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The group of every cell.
    class_of : int array
        0 or 1 for the outcome of a rate (FPR, TPR); 0 for numbers.
    size : float array
        Weight of every cell.
    people : int array
    effective : float array
        As many people of equal weight would tell as much (Kish).
    raw : array, 2 × cells
        Rates or means: of the baseline, of the candidate.
    covariance : array, (2 cells) × (2 cells)
        Of these, baseline first; of rates with half a row of each combination added.
    shares : array, 4 × cells, or None
        Of rates: predicted positive by neither, the candidate only, the baseline only, both.
    left_out : int
        Groups with too few rows.
    used : bool array
        Rows in these cells.
    """

    attributes: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    class_of: Index
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


def paired_cells(
    baseline: AuditTable,
    candidate: AuditTable,
    threshold: float | None,
    without: Collection[tuple[str, ...]] = (),
) -> PairedCells:
    """The cells of two tables that differ in their prediction only, `without` some groups.

    Of classes, rates; of a continuous outcome, the gaps of `fairaudit.metrics.prediction_gap`,
    which are 0 under equalized odds.
    """
    tables = _with_groups(baseline, candidate)
    if not baseline.require_outcome().kind.is_categorical:
        return _numeric_cells(tables, without, given_outcome=True)
    labels = _labels(tables, threshold)
    of_both = np.column_stack(divmod(labels.predicted, 2)).astype(np.float64)
    kept = _kept(tables[0], labels, of_both, without)
    return kept.cells(*_rate_moments(kept))


def error_cells(
    baseline: AuditTable, candidate: AuditTable, without: Collection[tuple[str, ...]] = ()
) -> PairedCells:
    """Mean errors, which are not 0 under equalized odds: for information."""
    return _numeric_cells(_with_groups(baseline, candidate), without, given_outcome=False)


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
class _Kept:
    """Rows of groups that have enough people of an outcome, and in which cell each is."""

    groups: GroupTable
    places: Index
    left_out: int
    used: Any
    cell: Index
    values: Array
    weights: Array
    unit: Index

    def weight(self) -> Array:
        """Cells × labels."""
        return _by_group(self.groups.weight)[self.places]

    def rows(self) -> Index:
        return _by_group(self.groups.rows()[1:])[self.places]

    def people(self) -> Index:
        return _by_group(self.groups.persons()[1:])[self.places]

    def cells(self, raw: Array, covariance: Array, shares: Array | None) -> PairedCells:
        size, names = self.weight().sum(axis=1), self.groups.names
        classes = len(self.groups.outcomes)
        return PairedCells(
            attributes=self.groups.attributes,
            labels=tuple(names[k // classes] for k in self.places),
            class_of=self.places % classes,
            size=size,
            people=self.people(),
            effective=size**2 / _by_group(self.groups.squares_of_people())[self.places],
            raw=raw,
            covariance=covariance,
            shares=shares,
            left_out=self.left_out,
            used=self.used,
        )


def _by_group(sums: NDArray[Any]) -> NDArray[Any]:
    """From outcomes × groups to one axis: the outcomes of the first group, of the second, …"""
    return np.swapaxes(sums, 0, 1).reshape(-1, *sums.shape[2:])


def _kept(
    table: AuditTable, labels: Labels, values: Array, without: Collection[tuple[str, ...]]
) -> _Kept:
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
    cell = np.full(enough.size, -1)
    cell[places] = np.arange(len(places))
    of_row = cell[members.of_row * len(groups.outcomes) + labels.actual]
    rows = of_row >= 0
    return _Kept(
        groups=groups,
        places=places,
        left_out=int((occurs & wanted & ~enough).sum()),
        used=rows,
        cell=of_row[rows],
        values=values[rows],
        weights=row_weights(table)[rows],
        unit=unit[rows],
    )


def _rate_moments(kept: _Kept) -> tuple[Array, Array, Array]:
    """Rates of both models in every cell, their covariance, and the shares of both labels."""
    cell, values, weights, cells = kept.cell, kept.values, kept.weights, len(kept.places)
    weight, rows = kept.weight(), kept.rows()
    size = weight.sum(axis=1)
    shares = weight.T / size
    raw = np.stack([shares[2] + shares[3], shares[1] + shares[3]])
    added = size / rows / 2  # half a row of (0, 0), (0, 1), (1, 0) and (1, 1), of mean weight
    total = size + 4 * added
    centre = (raw * size + 2 * added) / total
    pull = weights[:, None] * (values - centre[:, cell].T) / total[cell][:, None]
    covariance = _covariance(kept, pull)
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
    for k in range(cells):
        pseudo = corners - centre[:, k]
        at = [k, k + cells]
        scale = added[k] * size[k] / rows[k]  # squared weights of half a row
        covariance[np.ix_(at, at)] += scale * pseudo.T @ pseudo / total[k] ** 2
    return raw, covariance, shares


def _numeric_cells(
    tables: list[AuditTable], without: Collection[tuple[str, ...]], *, given_outcome: bool
) -> PairedCells:
    predictions, outcome = _numbers(tables)
    nothing = Labels.none(len(tables[0]))
    if given_outcome:
        kept = _kept(tables[0], nothing, predictions, without)
        raw, covariance, resting = gaps_given_outcome(
            kept.values, outcome[kept.used], kept.cell, kept.weights, kept.unit
        )
        return replace(kept.cells(raw, covariance, None), effective=resting)
    kept = _kept(tables[0], nothing, predictions - outcome[:, None], without)
    count, size, people = len(kept.places), kept.weight()[:, 0], kept.people()
    raw = np.stack([np.bincount(kept.cell, kept.weights * x, count) / size for x in kept.values.T])
    pull = kept.weights[:, None] * (kept.values - raw[:, kept.cell].T) / size[kept.cell][:, None]
    grow = np.tile(np.sqrt(people / np.maximum(people - 1, 1)), 2)
    return kept.cells(raw, _covariance(kept, pull) * np.outer(grow, grow), None)


def _covariance(kept: _Kept, pull: Array) -> Array:
    """Of the cells of both models, from what each row contributes; people are summed up."""
    from scipy.sparse import csr_matrix

    where = np.concatenate([kept.cell, kept.cell + len(kept.places)])
    _, who = np.unique(kept.unit, return_inverse=True)
    influence = csr_matrix(
        (pull.T.ravel(), (np.concatenate([who, who]), where)),
        shape=(who.max() + 1, 2 * len(kept.places)),
    )
    return np.asarray((influence.T @ influence).toarray())
