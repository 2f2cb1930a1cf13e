"""Both models' rates (or means) in every group, with their joint covariance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.errors import InputError
from fairaudit.metrics._errors import numeric_pair
from fairaudit.metrics._labels import binary_labels, groups_of, row_weights
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
    kept = _kept(tables[0], *_labels(tables, threshold), without)
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


def _labels(tables: list[AuditTable], threshold: float | None) -> tuple[Array, Index]:
    found = []
    for table in tables:
        cut = default_threshold(table) if threshold is None else threshold
        found.append(binary_labels(table, threshold=cut))
    predicted = np.column_stack([labels.predicted for labels in found]).astype(np.float64)
    return predicted, found[0].actual.astype(np.intp)


def _numbers(tables: list[AuditTable]) -> tuple[Array, Array]:
    """Predictions of both models (rows × 2), and the outcome."""
    pairs = [numeric_pair(table) for table in tables]
    return np.column_stack([prediction for prediction, _ in pairs]), pairs[0][1]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Kept:
    """The rows of cells that have enough people, and of which cell each is."""

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    class_of: Index
    people: Index
    left_out: int
    used: Any
    cell: Index
    values: Array
    weights: Array
    unit: Index

    def cells(self, raw: Array, covariance: Array, shares: Array | None) -> PairedCells:
        count = len(self.labels)
        size = np.asarray(np.bincount(self.cell, self.weights, count), dtype=np.float64)
        pairs, who = np.unique(np.stack([self.cell, self.unit]), axis=1, return_inverse=True)
        of_person = np.bincount(who.ravel(), self.weights)
        effective = size**2 / np.bincount(pairs[0], of_person**2, count)
        return PairedCells(
            attributes=self.names,
            labels=self.labels,
            class_of=self.class_of,
            size=size,
            people=self.people,
            effective=effective,
            raw=raw,
            covariance=covariance,
            shares=shares,
            left_out=self.left_out,
            used=self.used,
        )


def _kept(
    table: AuditTable, values: Array, actual: Index | None, without: Collection[tuple[str, ...]]
) -> _Kept:
    """Cells with enough people of a class, of groups that have another to be compared with."""
    groups = groups_of(table)
    classes = 1 if actual is None else 2
    key = groups.of_row if actual is None else groups.of_row * classes + actual
    count = classes * len(groups)
    unit = np.arange(len(table)) if table.ids is None else table.ids.codes
    pairs = np.unique(np.stack([key, unit]), axis=1)
    people = np.bincount(pairs[0], minlength=count)
    names = [tuple(level_text(level) for level in levels) for levels in groups.levels]
    wanted = np.repeat([name not in without for name in names], classes)
    enough = (people >= FEWEST) & wanted
    occurs = np.bincount(key, minlength=count) > 0
    for one in range(classes):
        of_class = np.arange(count) % classes == one
        if (enough & of_class).sum() < 2:
            enough[of_class] = False
    if not enough.any():
        raise InputError(
            f"Fewer than two groups have {FEWEST} rows of one outcome: there is nothing to "
            "compare. Pass more rows, or coarser groups."
        )
    kept = np.flatnonzero(enough)
    place = np.full(count, -1)
    place[kept] = np.arange(len(kept))
    rows = place[key] >= 0
    return _Kept(
        names=groups.names,
        labels=tuple(names[k // classes] for k in kept),
        class_of=kept % classes,
        people=people[kept],
        left_out=int((occurs & wanted & ~enough).sum()),
        used=rows,
        cell=place[key[rows]],
        values=values[rows],
        weights=row_weights(table)[rows],
        unit=unit[rows],
    )


def _rate_moments(kept: _Kept) -> tuple[Array, Array, Array]:
    """Rates of both models in every cell, their covariance, and the shares of both labels."""
    cell, values, weights, cells = kept.cell, kept.values, kept.weights, len(kept.labels)
    size = np.bincount(cell, weights, cells)
    rows = np.bincount(cell, minlength=cells)
    both = (2 * values[:, 0] + values[:, 1]).astype(np.intp)
    shares = np.bincount(4 * cell + both, weights, 4 * cells).reshape(cells, 4).T / size
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
    if given_outcome:
        kept = _kept(tables[0], predictions, None, without)
        raw, covariance, resting = gaps_given_outcome(
            kept.values, outcome[kept.used], kept.cell, kept.weights, kept.unit
        )
        return replace(kept.cells(raw, covariance, None), effective=resting)
    kept = _kept(tables[0], predictions - outcome[:, None], None, without)
    count = len(kept.labels)
    size = np.bincount(kept.cell, kept.weights, count)
    raw = np.stack([np.bincount(kept.cell, kept.weights * x, count) / size for x in kept.values.T])
    pull = kept.weights[:, None] * (kept.values - raw[:, kept.cell].T) / size[kept.cell][:, None]
    grow = np.tile(np.sqrt(kept.people / np.maximum(kept.people - 1, 1)), 2)
    return kept.cells(raw, _covariance(kept, pull) * np.outer(grow, grow), None)


def _covariance(kept: _Kept, pull: Array) -> Array:
    """Of the cells of both models, from what each row contributes; people are summed up."""
    from scipy.sparse import csr_matrix

    where = np.concatenate([kept.cell, kept.cell + len(kept.labels)])
    _, who = np.unique(kept.unit, return_inverse=True)
    influence = csr_matrix(
        (pull.T.ravel(), (np.concatenate([who, who]), where)),
        shape=(who.max() + 1, 2 * len(kept.labels)),
    )
    return np.asarray((influence.T @ influence).toarray())
