"""What the label measures share: 0/1 labels, the cells of the attributes, and their counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import some_names
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable, Prediction
from fairaudit.errors import InputError
from fairaudit.geometry.tied_blocks import cells_of

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


def binary_labels(table: AuditTable, *, threshold: float | None = None) -> Labels:
    """Prediction and outcome as "positive or not": one reading for all label measures.

    Labels are compared with the positive class of the table. Scores at or above `threshold`
    predict the class that they speak of; without a threshold, of probabilities of more than two
    classes the largest decides.
    """
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        raise InputError(
            f"The outcome {outcome.name!r} is {outcome.kind}; rates need classes. "
            "Use group_errors or kpc, or pass an outcome with classes."
        )
    prediction = table.prediction
    if len(prediction.columns) > 2:
        chosen, classes = _positive_class(table, _classes(outcome))
        predicted = _of_several(prediction, chosen, threshold)
    elif threshold is None:
        column = score_column(prediction)
        _require_labels(prediction, column, outcome)
        chosen, classes = _positive_class(table, _classes(outcome, column))
        predicted = (column.levels == chosen)[column.codes]
    else:
        chosen, classes = _positive_class(table, _classes(outcome))
        predicted = _above(table, chosen, threshold)
    actual = (outcome.levels == chosen)[outcome.codes]
    rest = [str(level) for level in classes if level != chosen]
    return Labels(predicted, actual, (rest[0] if len(rest) == 1 else f"not {chosen}", str(chosen)))


def _of_several(prediction: Prediction, chosen: Any, threshold: float | None) -> NDArray[np.bool_]:
    """Whether one of several classes is predicted, from a score of each."""
    if chosen not in prediction.classes:
        names = some_names([column.name for column in prediction.columns])
        raise InputError(
            f"The 'y_pred' argument has {len(prediction.columns)} columns ({names}), and which is "
            f"that of {chosen!r} is not known. Name them as the classes, pass 'classes', or pass "
            "predicted labels."
        )
    place = prediction.classes.index(chosen)
    if threshold is not None:
        return np.asarray(prediction.columns[place].numeric) >= threshold
    matrix = np.column_stack([np.asarray(column.numeric) for column in prediction.columns])
    return np.asarray(matrix.argmax(axis=1) == place)


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
            f"{outcome.name!r} ({_listed(outcome.levels)}). Code both in the same way, or pass "
            "'classes'."
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


def _positive_class(table: AuditTable, classes: list[Any]) -> tuple[Any, list[Any]]:
    if table.positive is not None:
        return table.positive, classes
    raise InputError(
        f"The outcome {table.require_outcome().name!r} has {len(classes)} classes "
        f"({_listed(classes)}). Pass the one to compare with the rest as 'positive'.",
        argument="positive",
    )


def _above(table: AuditTable, chosen: Any, threshold: float) -> NDArray[np.bool_]:
    """Whether scores at or above the threshold, or those below it, speak of this class."""
    prediction = table.prediction
    if not math.isfinite(threshold):
        raise InputError(f"The 'threshold' parameter must be finite. Got {threshold} instead.")
    column = score_column(prediction)
    if column.numeric is None:
        raise InputError(
            f"The prediction {column.name!r} holds labels, which have no threshold. "
            "Leave threshold out."
        )
    if prediction.form == "labels":  # numbers: a threshold between them parts them
        every = {*table.require_outcome().levels.tolist(), *column.levels.tolist(), chosen}
        return np.asarray((column.numeric >= threshold) == (chosen == max(every)))
    table.require_named_scores()
    if chosen not in prediction.classes:
        raise InputError(
            f"The scores in {column.name!r} do not speak of {chosen!r}. Pass predicted labels, or "
            "a probability of each class."
        )
    place = prediction.classes.index(chosen)
    return np.asarray(prediction.columns[place].numeric) >= threshold


def _listed(levels: Any, most: int = 10) -> str:
    shown = ", ".join(str(level) for level in list(levels)[:most])
    return shown + (", …" if len(levels) > most else "")
