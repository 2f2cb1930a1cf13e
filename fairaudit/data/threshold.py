"""Scores to labels: the default threshold, and the cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.data.columns import columns_from
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError

__all__ = ["DEFAULT_THRESHOLD", "as_labels", "default_threshold"]


DEFAULT_THRESHOLD = 0.5


def default_threshold(table: AuditTable) -> float | None:
    """0.5 for scores that can be probabilities; None for labels and for other scores.

    None too for a probability of each of more than two classes, of which the largest decides.
    """
    if table.prediction.form == "labels" or len(table.prediction.columns) > 2:
        return None
    numbers = [column.numeric for column in table.prediction.columns]
    inside = all(x is not None and x.min() >= 0 and x.max() <= 1 for x in numbers)
    return DEFAULT_THRESHOLD if inside else None


def as_labels(table: AuditTable, threshold: float | None) -> AuditTable:
    """The same table with labels in the place of scores."""

    from fairaudit.data.table import Prediction

    if table.prediction.form == "labels":
        return table
    outcome, columns = table.require_outcome(), table.prediction.columns
    if not outcome.kind.is_categorical:
        raise InputError("Labels need an outcome of classes; this one is continuous.")
    if len(columns) == 1:
        cut = default_threshold(table) if threshold is None else threshold
        if cut is None or len(outcome.levels) != 2:
            raise InputError(
                "Scores become labels with a threshold and an outcome of two classes. "
                "Pass 'threshold', or predict labels.",
                argument="threshold",
            )
        table.require_named_scores()
        positive = np.asarray(columns[0].numeric) >= cut
        rest = [level for level in outcome.levels.tolist() if level != table.positive]
        names = [rest[0], table.positive]
        label = positive.astype(np.intp)
    else:
        label = np.column_stack([np.asarray(c.numeric) for c in columns]).argmax(axis=1)
        names = list(table.prediction.classes)
        if not names:
            raise InputError(
                f"{len(columns)} prediction columns do not fit {len(outcome.levels)} outcome "
                "classes by their names. Name them as the classes, or pass 'classes'.",
                argument="classes",
            )
    kind = object if any(isinstance(name, str) for name in names) else None
    values = np.array(names, dtype=kind)[label]
    (column,) = columns_from({"label": values}, argument="predictions", outcome=True)
    return replace(table, prediction=Prediction("labels", (column,)))
