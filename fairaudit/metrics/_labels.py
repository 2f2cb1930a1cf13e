"""What the label measures share: prediction and outcome as positive or not, counted by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import some_names
from fairaudit.data.columns import Column
from fairaudit.data.groups import GroupTable, Labels
from fairaudit.data.table import AuditTable, Prediction
from fairaudit.errors import InputError

__all__ = ["binary_labels", "check_confidence", "label_groups", "row_weights", "score_column"]


def check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(
            f"The 'confidence' parameter must lie between 0 and 1. Got {confidence} instead."
        )


def row_weights(table: AuditTable) -> NDArray[np.float64]:
    return np.ones(len(table)) if table.weights is None else table.weights


def label_groups(table: AuditTable, *, threshold: float | None = None) -> GroupTable:
    """The groups of a table, counted by outcome and label."""
    return GroupTable.of(table, binary_labels(table, threshold=threshold))


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
            "predicted labels.",
            argument="classes",
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
        cut = "'threshold' 0.5 or " if len(known) <= 2 else ""
        raise InputError(
            f"The prediction {column.name!r} holds scores ({column.levels[0]:g} to "
            f"{column.levels[-1]:g}), not labels of {outcome.name!r} ({_listed(outcome.levels)}). "
            f"Pass {cut}labels.",
            argument="threshold",
        )
    if outcome.numeric is not None or not np.isin(column.levels, outcome.levels).any():
        raise InputError(
            f"The labels in {column.name!r} ({_listed(column.levels)}) do not occur in "
            f"{outcome.name!r} ({_listed(outcome.levels)}). Code both in the same way, or pass "
            "'classes'.",
            argument="classes",
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
        raise InputError(f"'threshold' must be finite. Got {threshold}.", argument="threshold")
    column = score_column(prediction)
    if column.numeric is None:
        raise InputError(
            f"The prediction {column.name!r} holds labels, which have no threshold. "
            "Leave out 'threshold'.",
            argument="threshold",
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
    names = ", ".join(str(level) for level in list(levels)[:most])
    return names + (", …" if len(levels) > most else "")
