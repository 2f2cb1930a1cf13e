"""What the label measures share: 0/1 labels, the cells of the attributes, and their counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.attributes import cells_of
from fairaudit.columns import Column
from fairaudit.errors import InputError
from fairaudit.table import AuditTable, Prediction

__all__ = [
    "Groups",
    "Labels",
    "Tally",
    "binary_labels",
    "check_confidence",
    "groups_of",
    "ratio",
    "row_weights",
    "score_column",
    "spread",
    "tally",
]

MAX_LISTED = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Prediction and outcome, each as "is it the positive class?", and the two classes' names."""

    predicted: NDArray[np.bool_]
    actual: NDArray[np.bool_]
    names: tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The cells of the crossed attributes.

    Attributes
    ----------
    names : attribute names
    levels : the attribute values of each cell
    of_row : cell number of each row
    unlisted : empty combinations that are not among the cells, because there are too many
    """

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    of_row: NDArray[np.intp]
    unlisted: int

    def __len__(self) -> int:
        return len(self.levels)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums per cell (rows) and outcome (columns: negative, positive).

    `hits` are rows predicted positive; `hit_weight` and `weight` the same in weights.
    """

    rows: NDArray[np.intp]
    hits: NDArray[np.intp]
    weight: NDArray[np.float64]
    hit_weight: NDArray[np.float64]

    def rates(self) -> NDArray[np.float64]:
        """P(prediction positive | cell, outcome); NaN where the cell has no such rows."""
        return ratio(self.hit_weight, self.weight)


def ratio(numerator: NDArray[np.float64], denominator: NDArray[np.float64]) -> NDArray[np.float64]:
    """Elementwise ratio; NaN, without a warning, where the denominator is zero."""
    result = np.full(denominator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def spread(rates: NDArray[np.float64]) -> float:
    """Largest minus smallest defined value; NaN when fewer than two are defined."""
    defined = rates[~np.isnan(rates)]
    return float(defined.max() - defined.min()) if len(defined) > 1 else math.nan


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(
            f"The 'confidence' parameter must lie between 0 and 1. Got {confidence} instead."
        )


def row_weights(table: AuditTable) -> NDArray[np.float64]:
    return np.ones(len(table)) if table.weights is None else table.weights


def tally(table: AuditTable, labels: Labels, groups: Groups) -> Tally:
    """Count every cell in one pass over the rows."""
    weights = row_weights(table)
    key = groups.of_row * 2 + labels.actual

    def total(values: NDArray[Any]) -> NDArray[np.float64]:
        sums = np.bincount(key, values, minlength=2 * len(groups))
        return sums.astype(np.float64).reshape(-1, 2)

    return Tally(
        total(np.ones(len(table))).astype(np.intp),
        total(labels.predicted).astype(np.intp),
        total(weights),
        total(weights * labels.predicted),
    )


def groups_of(table: AuditTable) -> Groups:
    """All combinations of levels, also those without rows; only the occurring ones if too many."""
    for column in table.attributes:
        if not column.kind.is_categorical:
            raise InputError(
                f"Sensitive column {column.name!r} is {column.kind}; groups need categories. "
                f"Bin it, declare it categorical with kinds={{{column.name!r}: 'categorical'}}, "
                "or use kpc, which takes attributes of any kind."
            )
    columns = table.attributes
    shape = tuple(len(column.levels) for column in columns)
    combinations = math.prod(shape)
    if combinations <= MAX_LISTED:
        of_row = np.ravel_multi_index([column.codes for column in columns], shape)
        codes = np.stack(np.unravel_index(np.arange(combinations), shape), axis=1)
    else:
        cells = cells_of(columns, len(table))
        codes = np.stack([column.codes[cells.first] for column in columns], axis=1)
        order = np.lexsort(codes.T[::-1])  # the same list whatever the order of the rows
        of_row = np.argsort(order)[cells.of_row]
        codes = codes[order]
    values = [column.levels.tolist() for column in columns]
    levels = tuple(tuple(values[j][code] for j, code in enumerate(cell)) for cell in codes)
    names = tuple(column.name for column in columns)
    return Groups(names, levels, of_row, combinations - len(levels))


def score_column(prediction: Prediction) -> Column:
    """The one column of the prediction; of two class probabilities, that of the second class."""
    if len(prediction.columns) == 1:
        return prediction.columns[0]
    if prediction.form == "probabilities" and len(prediction.columns) == 2:
        return prediction.columns[1]
    raise InputError(
        f"The 'y_pred' argument has {len(prediction.columns)} columns, and this measure takes one. "
        "Pass predicted labels, a score, or the probabilities of two classes."
    )


def binary_labels(
    table: AuditTable, *, positive: Any = None, threshold: float | None = None
) -> Labels:
    """Prediction and outcome as "positive or not": one reading for all label measures.

    Labels are compared with `positive`; scores at or above `threshold` predict the larger class.
    """
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        raise InputError(
            f"The outcome {outcome.name!r} is {outcome.kind}; rates need classes. "
            "Use group_errors or kpc, or pass an outcome with classes."
        )
    column = score_column(table.prediction)
    if threshold is None:
        _require_labels(table.prediction, column, outcome)
        classes = _classes(outcome, column)
        chosen = _positive_class(classes, positive, outcome.name)
        predicted = (column.levels == chosen)[column.codes]
    else:
        classes = _classes(outcome)
        above = _above(column, threshold, classes)
        chosen = _positive_class(classes, positive, outcome.name)
        predicted = above == (chosen == classes[-1])
    actual = (outcome.levels == chosen)[outcome.codes]
    rest = [str(level) for level in classes if level != chosen]
    return Labels(predicted, actual, (rest[0] if len(rest) == 1 else f"not {chosen}", str(chosen)))


def _require_labels(prediction: Prediction, column: Column, outcome: Column) -> None:
    if column.numeric is not None:
        known = set(_classes(outcome, check=False))
        if prediction.form == "labels" or set(column.levels.tolist()) <= known:
            return
        raise InputError(
            f"The prediction {column.name!r} holds scores ({column.levels[0]:g} to "
            f"{column.levels[-1]:g}), not labels of {outcome.name!r} ({_listed(outcome.levels)}). "
            f"Pass {'threshold=0.5 or ' if len(known) <= 2 else ''}labels."
        )
    if outcome.numeric is not None or not np.isin(column.levels, outcome.levels).any():
        raise InputError(
            f"The labels in {column.name!r} ({_listed(column.levels)}) do not occur in "
            f"{outcome.name!r} ({_listed(outcome.levels)}). Code both in the same way."
        )


def _classes(*columns: Column, check: bool = True) -> list[Any]:
    """The classes, sorted; zeros alone or ones alone are still one of two classes."""
    classes = sorted(set().union(*(column.levels.tolist() for column in columns)))
    if columns[0].numeric is not None and set(classes) <= {0, 1}:
        return classes if len(classes) == 2 else [0, 1]
    if check and len(classes) == 1:
        raise InputError(
            f"The outcome {columns[0].name!r} has a single class ({classes[0]}). "
            "Pass rows of both classes."
        )
    return classes


def _positive_class(classes: list[Any], positive: Any, name: str) -> Any:
    if positive is None:
        if len(classes) == 2:
            return classes[-1]
        raise InputError(
            f"The outcome {name!r} has {len(classes)} classes ({_listed(classes)}). "
            "Pass the one to compare with the rest as positive=."
        )
    for level in classes:
        if level == positive or str(level) == str(positive):
            return level
    raise InputError(
        f"The 'positive' parameter must be a class of {name!r} ({_listed(classes)}). "
        f"Got {positive!r} instead."
    )


def _above(column: Column, threshold: float, classes: list[Any]) -> NDArray[np.bool_]:
    if column.numeric is None:
        raise InputError(
            f"The prediction {column.name!r} holds labels, which have no threshold. "
            "Leave threshold out."
        )
    if len(classes) > 2:
        raise InputError(
            f"The 'threshold' parameter needs two classes; the outcome has {len(classes)} "
            f"({_listed(classes)}). Pass predicted labels and positive=."
        )
    if not math.isfinite(threshold):
        raise InputError(f"The 'threshold' parameter must be finite. Got {threshold} instead.")
    return column.numeric >= threshold


def _listed(levels: Any, most: int = 10) -> str:
    shown = ", ".join(str(level) for level in list(levels)[:most])
    return shown + (", …" if len(levels) > most else "")
