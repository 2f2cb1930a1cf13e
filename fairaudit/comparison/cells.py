"""Both models' rates (or mean errors) in every group, with their joint covariance."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit.columns import level_text
from fairaudit.errors import InputError
from fairaudit.kernels import Array, Index
from fairaudit.measurements import default_threshold
from fairaudit.metrics._labels import (
    Groups,
    binary_labels,
    groups_of,
    row_weights,
    score_column,
)
from fairaudit.table import AuditTable

__all__ = ["FEWEST", "PairedCells", "paired_cells"]

#: Rows (people, where ids are given) that a group needs; below that no interval can be trusted.
FEWEST = 10


@dataclass(frozen=True, slots=True, eq=False)
class PairedCells:
    """Cells × two models.

    Attributes
    ----------
    attributes : tuple of str
    labels : tuple of tuple of str
        The group of every cell.
    class_of : int array
        0 or 1 for the outcome of a rate (FPR, TPR); 0 for errors.
    size : float array
        Weight of every cell.
    people : int array
    raw : array, 2 × cells
        Rates or mean errors: of the baseline, of the candidate.
    centre : array, 2 × cells
        Where intervals are centred: of rates, half a row of each combination is added.
    covariance : array, (2 cells) × (2 cells)
        Of the centres, baseline first.
    rates : bool
        Rates of labels; otherwise mean errors.
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
    raw: Array
    centre: Array
    covariance: Array
    rates: bool
    left_out: int
    used: Any


def paired_cells(
    baseline: AuditTable,
    candidate: AuditTable,
    threshold: float | None,
    without: Collection[tuple[str, ...]] = (),
) -> PairedCells:
    """The cells of two tables that differ in their prediction only, `without` some groups."""
    some = tuple(column for column in baseline.attributes if column.kind.is_categorical)
    if not some:
        kinds = ", ".join(f"{column.name} ({column.kind})" for column in baseline.attributes)
        raise InputError(
            f"No attribute is categorical, so there are no groups to compare: {kinds}. "
            "Bin one, or declare it as in age:categorical."
        )
    tables = [replace(table, attributes=some) for table in (baseline, candidate)]
    groups, outcome = groups_of(tables[0]), baseline.require_outcome()
    rates = outcome.kind.is_categorical
    if rates:
        values, actual = _labels(tables, threshold)
    else:
        errors = [_numbers(table) - np.asarray(outcome.numeric) for table in tables]
        values, actual = np.column_stack(errors), np.zeros(len(baseline), dtype=np.intp)
    return _cells(tables[0], groups, values, actual, rates, without)


def _labels(tables: list[AuditTable], threshold: float | None) -> tuple[Array, Index]:
    found = []
    for table in tables:
        cut = default_threshold(table) if threshold is None else threshold
        found.append(binary_labels(table, threshold=cut))
    predicted = np.column_stack([labels.predicted for labels in found]).astype(np.float64)
    return predicted, found[0].actual.astype(np.intp)


def _numbers(table: AuditTable) -> Array:
    column = score_column(table.prediction)
    if column.numeric is None:
        raise InputError(f"The prediction {column.name!r} is text; errors need numbers.")
    return column.numeric


def _cells(
    table: AuditTable, groups: Groups, values: Array, actual: Index, rates: bool,
    without: Collection[tuple[str, ...]],
) -> PairedCells:  # fmt: skip
    """Cells with enough people of a class, of groups that have another to be compared with."""
    classes = 2 if rates else 1
    key = groups.of_row * classes + actual
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
    raw, centre, covariance, size = _moments(
        place[key[rows]], values[rows], row_weights(table)[rows], unit[rows], len(kept), rates
    )
    return PairedCells(
        groups.names, tuple(names[k // classes] for k in kept), kept % classes, size,
        people[kept], raw, centre, covariance, rates, int((occurs & wanted & ~enough).sum()), rows,
    )  # fmt: skip


def _moments(
    cell: Index, values: Array, weights: Array, unit: Index, cells: int, rates: bool
) -> tuple[Array, Array, Array, Array]:
    """Means of both models in every cell, the centres of intervals, and their covariance."""
    from scipy.sparse import csr_matrix

    size = np.asarray(np.bincount(cell, weights, cells), dtype=np.float64)
    rows = np.bincount(cell, minlength=cells)
    raw = np.stack([np.bincount(cell, weights * x, cells) / size for x in values.T])
    added = np.zeros(cells)
    if rates:  # half a row of (0, 0), (0, 1), (1, 0) and (1, 1) each, with the mean weight
        added = size / rows / 2
    total = size + 4 * added
    centre = (raw * size + 2 * added) / total
    pull = weights[:, None] * (values - centre[:, cell].T) / total[cell][:, None]
    where = np.concatenate([cell, cell + cells])
    _, who = np.unique(unit, return_inverse=True)
    influence = csr_matrix((pull.T.ravel(), (np.concatenate([who, who]), where)),
                           shape=(who.max() + 1, 2 * cells))  # fmt: skip
    covariance = (influence.T @ influence).toarray()
    if rates:
        corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
        for k in range(cells):
            pseudo = corners - centre[:, k]
            both = [k, k + cells]
            scale = added[k] * size[k] / rows[k]  # squared weights of half a row
            covariance[np.ix_(both, both)] += scale * pseudo.T @ pseudo / total[k] ** 2
    else:
        people = np.bincount(np.unique(np.stack([cell, unit]), axis=1)[0], minlength=cells)
        grow = np.tile(np.sqrt(people / np.maximum(people - 1, 1)), 2)
        covariance *= np.outer(grow, grow)
    return raw, centre, covariance, size
