"""What is compared between people of the same outcome: how often a class is predicted, scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import level_text
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import as_labels, default_threshold
from fairaudit.errors import InputError
from fairaudit.metrics._labels import binary_labels

__all__ = ["Quantity", "list_quantities", "read_score"]

MOST_CLASSES = 6
FEWEST_ROWS = 60


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Quantity:
    """One number per row, of the rows with one outcome.

    Attributes
    ----------
    kind : str
        ``"rate"``, ``"score"`` or ``"prediction"``.
    outcome : str or None
        The class of the outcome; None: of all rows, given the outcome.
    predicted : str or None
        The class whose prediction is counted.
    rows : int array
    values : array
        Of all rows of the table.
    singles_only : bool
        Of groups of one attribute alone.
    """

    kind: str
    outcome: str | None
    predicted: str | None
    rows: Index
    values: Array
    singles_only: bool = False


def list_quantities(table: AuditTable, threshold: float | None) -> list[Quantity]:
    """Rates of labels, where there are some, and mean scores; of a regression, predictions."""
    outcome = table.require_outcome()
    score = read_score(table)
    if not outcome.kind.is_categorical:
        if score is None:
            return []
        rows = np.arange(len(table))
        return [Quantity(kind="prediction", outcome=None, predicted=None, rows=rows, values=score)]
    labels = _read_labels(table, threshold)
    quantities = []
    for code, level in enumerate(outcome.levels[:MOST_CLASSES]):
        rows = np.flatnonzero(outcome.codes == code)
        if len(rows) < FEWEST_ROWS:
            continue
        name = level_text(level)
        quantities += [
            Quantity(
                kind="rate",
                outcome=name,
                predicted=predicted,
                rows=rows,
                values=values,
                # of several classes, all shares of single attributes and the right ones of all
                singles_only=len(labels) > 1 and predicted != name,
            )
            for predicted, values in labels.items()
        ]
        if score is not None:
            quantities.append(
                Quantity(kind="score", outcome=name, predicted=None, rows=rows, values=score)
            )
    every = np.arange(len(table))
    if len(labels) == 1:  # of both classes together: what is clear in neither may be in both
        ((predicted, values),) = labels.items()
        quantities.append(
            Quantity(kind="rate", outcome=None, predicted=predicted, rows=every, values=values)
        )
    if score is not None:
        quantities.append(
            Quantity(kind="score", outcome=None, predicted=None, rows=every, values=score)
        )
    return [quantity for quantity in quantities if quantity.values[quantity.rows].std() > 0]


def _read_labels(table: AuditTable, threshold: float | None) -> dict[str, Array]:
    """Predicted class → whether it is predicted; only the positive one, where there is one."""
    cut = default_threshold(table) if threshold is None else threshold
    if table.positive is not None:
        try:
            labels = binary_labels(table, threshold=cut)
        except InputError:
            return {}
        return {level_text(table.positive): np.asarray(labels.predicted, dtype=np.float64)}
    try:
        (column,) = as_labels(table, cut).prediction.columns
    except InputError:
        return {}
    return {
        level_text(level): (column.codes == code).astype(np.float64)
        for code, level in enumerate(column.levels[:MOST_CLASSES])
    }


def read_score(table: AuditTable) -> Array | None:
    """Numbers of the positive class, without one of the true class; None without any."""
    columns, outcome = table.prediction.columns, table.require_outcome()
    if table.prediction.form == "labels":
        return None
    if len(columns) == 1:
        return np.asarray(columns[0].numeric, dtype=np.float64)
    if not outcome.kind.is_categorical or len(columns) != len(outcome.levels):
        return None
    matrix = np.column_stack([np.asarray(column.numeric) for column in columns])
    classes = [level_text(level) for level in table.prediction.classes]
    positive = None if table.positive is None else level_text(table.positive)
    if len(columns) == 2 or positive in classes:
        return np.asarray(matrix[:, classes.index(positive) if positive in classes else 1])
    order = [level_text(level) for level in outcome.levels]
    if sorted(classes) != sorted(order):
        return None
    places = np.array([classes.index(name) for name in order])
    return np.asarray(matrix[np.arange(len(table)), places[outcome.codes]])
