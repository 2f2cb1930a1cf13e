"""Labels and scores of the whole table, matched to the levels of its outcome by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fairaudit.auditing.engines.schema import Facts, Schema, SchemaColumn
from fairaudit.data.columns import MAX_OUTCOME_CLASSES, Column
from fairaudit.data.prediction import (
    Prediction,
    larger_class,
    named_prediction,
    positive_level,
    unnamed_scores,
)
from fairaudit.errors import InputError
from fairaudit.models.answers import Meaning

if TYPE_CHECKING:
    from fairaudit.data.roles import Roles

__all__ = ["match_classes"]


def match_classes(schema: Schema, parts: Sequence[Facts], roles: Roles) -> Schema:
    """The schema with labels as levels of the outcome, and scores of levels that are known."""
    full = next(part for part in parts if part.rows)
    names, model = full.predictions, full.classes
    target, predicted = schema.outcome, schema.predictions
    if not target.kind.is_categorical or target.levels is None:
        if predicted[0].text:
            raise InputError(
                f"The prediction {schema.prediction_name!r} is text. Turn it into numbers."
            )
        return schema
    outcome = _sketch_column(target, target.name)
    columns = tuple(
        _sketch_column(column, name) for column, name in zip(predicted, names, strict=True)
    )
    positive = None
    if roles.positive is not None:
        positive = positive_level(roles.positive, outcome, columns)
    before = Prediction(schema.form, columns)
    prediction = named_prediction(
        before,
        outcome,
        positive=positive,
        classes=roles.classes,
        model=model,
        class_scores=full.meaning is Meaning.CLASS_SCORES,
    )
    column = prediction.columns[0]
    same = [column] if prediction.form == "labels" and predicted[0].text == target.text else []
    positive = larger_class(outcome, *same) if positive is None else positive
    if prediction.form == "labels":
        if predicted[0].text and not target.text and column is columns[0]:
            raise InputError(
                f"The prediction {schema.prediction_name!r} is text. Turn it into numbers."
            )
        class_levels = tuple(column.levels[column.codes].tolist())
        return replace(schema, form="labels", class_levels=class_levels, positive=positive)
    if len(target.levels) == 2 and not prediction.classes:
        raise unnamed_scores(names[-1], target.name, target.levels.tolist())
    mirror = None
    if column is not columns[0]:
        mirror = 1.0 if predicted[0].low >= 0 and predicted[0].high <= 1 else 0.0
    return replace(schema, class_levels=prediction.classes, mirror=mirror, positive=positive)


def _sketch_column(column: SchemaColumn, name: str) -> Column:
    """A column with one row for every level, or with some numbers where there are many."""
    levels = column.levels
    if levels is None:
        levels = np.unique(np.linspace(column.low, column.high, 2 * MAX_OUTCOME_CLASSES))
    numeric = None if column.text else levels.astype(np.float64)
    return Column(
        name=name, kind=column.kind, codes=np.arange(len(levels)), levels=levels, numeric=numeric
    )
