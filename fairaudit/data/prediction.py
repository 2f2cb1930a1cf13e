"""What the model said: labels, scores or probabilities, and the classes that they speak of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import some_names
from fairaudit.data.classes import (
    class_key,
    classes_given,
    column_classes,
    level_named,
    matched_levels,
    model_levels,
    numbered,
)
from fairaudit.data.columns import MAX_OUTCOME_CLASSES, Column, column_of, level_text
from fairaudit.errors import InputError

__all__ = [
    "Prediction",
    "larger_class",
    "named_prediction",
    "positive_level",
    "read_prediction",
    "unnamed_scores",
]


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What the model said: labels, scores, or a probability vector.

    Attributes
    ----------
    form : str
        ``"labels"``, ``"scores"`` or ``"probabilities"``.
    columns : tuple of Column
        One column, or one per class for probabilities and one per output for vector scores.
    classes : tuple
        The level of the outcome that each column of scores speaks of; empty where it is not known,
        and for labels, which name their classes themselves.
    """

    form: str
    columns: tuple[Column, ...]
    classes: tuple[Any, ...] = ()

    def matrix(self, how: str = "standard") -> NDArray[np.float64]:
        """The prediction as n × d numbers.

        Under ``"standard"`` labels become unit vectors, so that two labels are one unit apart;
        everything else stays as it is.
        """
        from fairaudit.data.encode import encode

        labels = self.form == "labels" and self.columns[0].kind.is_categorical
        return encode(self.columns, "standard" if labels and how == "standard" else "raw")

    @property
    def constant(self) -> bool:
        return all(len(column.levels) == 1 for column in self.columns)

    def describe(self) -> str:
        if self.form == "labels":
            return f"labels ({self.columns[0].describe()})"
        if len(self.columns) == 1:
            return f"scores ({self.columns[0].describe(rounded=True)})"
        return f"{self.form} ({len(self.columns)} columns)"


def read_prediction(
    columns: tuple[Column, ...],
    outcome: Column | None,
    rows: NDArray[np.intp] | None,
    *,
    positive: Any = None,
    classes: Mapping[Any, Any] | None = None,
    model: Sequence[Any] | None = None,
    class_scores: bool = False,
) -> Prediction:
    """The columns as labels, scores or probabilities of the levels of the outcome.

    Parameters
    ----------
    columns : tuple of Column
    outcome : Column or None
    rows : int array or None
        Numbers of the rows, for messages.
    positive : optional
        The level that scores without a name speak of, and which of two levels is the positive one.
    classes : mapping, optional
        Name of a class or of a prediction column → level.
    model : sequence, optional
        The classes of the model that made the prediction, in its order.
    class_scores : bool
        Whether a single column has scores of the second of two classes of the model.
    """
    prediction = _as_given(columns, outcome, rows)
    if outcome is None or not outcome.kind.is_categorical:
        return prediction
    return named_prediction(
        prediction,
        outcome,
        positive=positive,
        classes=classes,
        model=model,
        class_scores=class_scores,
    )


def named_prediction(
    prediction: Prediction,
    outcome: Column,
    *,
    positive: Any,
    classes: Mapping[Any, Any] | None,
    model: Sequence[Any] | None,
    class_scores: bool = False,
) -> Prediction:
    """The same with labels as levels of the outcome, and scores of levels that are known."""
    if model is not None:
        levels = outcome.levels.tolist()
        means = model_levels(list(model), levels, outcome.name, positive=positive, classes=classes)
        if class_scores and len(prediction.columns) == 1 and len(model) == 2:
            larger = larger_class(outcome) if positive is None else positive
            return _of_two_classes(prediction, means, larger)
        return _of_model(prediction, list(model), means)
    if len(prediction.columns) > 1:
        return replace(prediction, classes=_name_classes(prediction, outcome, positive, classes))
    prediction = _same_labels(prediction, outcome, classes)
    if prediction.form == "labels":
        return prediction
    levels = outcome.levels.tolist()
    chosen = larger_class(outcome) if positive is None and numbered(levels) else positive
    return replace(prediction, classes=() if chosen is None else (chosen,))


def _as_given(
    columns: tuple[Column, ...], outcome: Column | None, rows: NDArray[np.intp] | None
) -> Prediction:
    if len(columns) == 1:
        column = columns[0]
        if column.numeric is None:
            _reject_text_scores(column, outcome)
            return Prediction("labels", columns)
        labels = (
            outcome is not None
            and outcome.kind.is_categorical
            and (
                np.isin(column.levels, outcome.levels).all()
                if outcome.numeric is not None
                else False
            )
        )
        return Prediction("labels" if labels else "scores", columns)
    for column in columns:
        if column.numeric is None:
            raise InputError(
                f"Prediction column {column.name!r} holds text. Several prediction columns must "
                "be numbers (class probabilities); pass a single column of labels otherwise."
            )
    matrix = np.column_stack([np.asarray(column.numeric) for column in columns])
    off = np.abs(matrix.sum(axis=1) - 1.0)
    proper = bool((off <= 1e-6).all() and matrix.min() >= 0.0)
    wrong = off > 0.01 * len(columns)  # more than two decimals explain
    if wrong.any() and (off <= 1e-6).mean() > 0.5:
        k = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"The prediction columns {some_names([c.name for c in columns])} sum to 1 in most rows "
            f"and to {matrix[k].sum():g} in row {k if rows is None else rows[k]}. Correct "
            f"the {int(wrong.sum())} row(s) that do not, or pass other columns."
        )
    return Prediction("probabilities" if proper else "scores", columns)


def _reject_text_scores(column: Column, outcome: Column | None) -> None:
    """Scores that came as text would pass for labels without any order, and hide a violation."""
    count = len(column.levels)
    if count <= MAX_OUTCOME_CLASSES or (
        outcome is not None and outcome.numeric is None and count <= len(outcome.levels)
    ):
        return
    raise InputError(
        f"The prediction {column.name!r} is text with {count} different values "
        f"({column.levels[0]!r}, …). Turn scores into numbers, or pass labels."
    )


def _of_two_classes(prediction: Prediction, means: Sequence[Any], positive: Any) -> Prediction:
    """The score of the second of two classes of a model."""
    column = prediction.columns[0]
    if prediction.form == "labels":  # probabilities that are all 0 or 1
        return _relabel(column, dict(zip((0, 1), means, strict=True)))
    return _of_positive(column, means, positive)


def _of_model(prediction: Prediction, model: list[Any], means: Sequence[Any]) -> Prediction:
    """Several columns, or labels, of a model that knows the names of its classes."""
    if len(prediction.columns) > 1:
        return replace(
            prediction, classes=tuple(means) if len(means) == len(prediction.columns) else ()
        )
    column = prediction.columns[0]
    keys = {class_key(name): level for name, level in zip(model, means, strict=True)}
    few = len(column.levels) <= len(model)
    meanings = [keys.get(class_key(label)) for label in column.levels.tolist()] if few else [None]
    if any(level is None for level in meanings):
        return prediction
    return _relabel(column, dict(zip(column.levels.tolist(), meanings, strict=True)))


def _of_positive(column: Column, means: Sequence[Any], positive: Any) -> Prediction:
    """The score of the second of two classes, turned round if the first is the positive one."""
    if positive != means[0]:
        return Prediction("scores", (column,), (means[1],))
    assert column.numeric is not None  # noqa: S101  for mypy: scores
    whole = 1.0 if column.numeric.min() >= 0 and column.numeric.max() <= 1 else 0.0
    levels = (whole - np.asarray(column.levels, dtype=np.float64))[::-1]
    codes = len(levels) - 1 - column.codes
    turned = Column(
        name=column.name,
        kind=column.kind,
        codes=codes,
        levels=levels,
        numeric=whole - column.numeric,
    )
    return Prediction("scores", (turned,), (means[0],))


def _name_classes(
    prediction: Prediction, outcome: Column, positive: Any, classes: Mapping[Any, Any] | None
) -> tuple[Any, ...]:
    """The levels that several columns speak of: by their names, or as numbers by their order."""
    levels = outcome.levels.tolist()
    named = column_classes([column.name for column in prediction.columns], levels, classes)
    if named is not None:
        return tuple(named)
    if len(levels) != len(prediction.columns):
        return ()
    if outcome.numeric is not None:
        return tuple(levels)
    if len(levels) == 2 and positive is not None:
        return tuple(sorted(levels, key=lambda level: bool(level == positive)))
    return ()


def _same_labels(
    prediction: Prediction, outcome: Column, classes: Mapping[Any, Any] | None
) -> Prediction:
    """Labels that are typed in another way than the outcome, as the levels of the outcome."""
    column, levels = prediction.columns[0], outcome.levels.tolist()
    if len(column.levels) > max(MAX_OUTCOME_CLASSES, len(levels)):
        return prediction
    own = column.levels.tolist()
    if not classes and all(label in levels for label in own):
        return prediction
    means = matched_levels([classes_given(classes, label) for label in own], levels)
    if means is None or not all(level in levels for level in means):
        return prediction
    return _relabel(column, dict(zip(own, means, strict=True)))


def _relabel(column: Column, means: Mapping[Any, Any]) -> Prediction:
    levels = column.levels.tolist()
    labels = [means[level] for level in levels]
    if labels == levels:
        return Prediction("labels", (column,))
    kind = object if any(isinstance(level, str) for level in labels) else None
    values = np.array(labels, dtype=kind)[column.codes]
    return Prediction("labels", (column_of(column.name, values, outcome=True),))


def unnamed_scores(name: str, outcome: str, levels: Sequence[Any]) -> InputError:
    """What is said about scores of two classes that do not say of which they speak."""
    listed = some_names([level_text(level) for level in levels])
    return InputError(
        f"The scores in {name!r} do not say which level of {outcome!r} ({listed}) they speak of, "
        "and alphabetical order does not tell. Pass 'positive', the level that high scores mean.",
        argument="positive",
    )


def larger_class(*columns: Column) -> Any:
    """The larger of two classes; None of more. Zeros or ones alone are one of two classes."""
    classes = sorted(set().union(*(column.levels.tolist() for column in columns)))
    if columns[0].numeric is not None and set(classes) <= {0, 1}:
        return 1
    return classes[-1] if len(classes) == 2 else None


def positive_level(positive: Any, outcome: Column, columns: Sequence[Column]) -> Any:
    """The level that the caller means; labels may hold one that no row of the outcome has."""
    if not outcome.kind.is_categorical:
        raise InputError(
            f"The outcome {outcome.name!r} is {outcome.kind}; there is no positive class. "
            "Leave 'positive' out, or pass an outcome with classes.",
            argument="positive",
        )
    levels = outcome.levels.tolist()
    if outcome.numeric is not None and numbered(levels) and len(levels) < 2:
        levels = [0, 1]
    labels = columns[0].levels.tolist() if len(columns) == 1 else []
    if labels and len(labels) <= MAX_OUTCOME_CLASSES and isinstance(labels[0], type(levels[0])):
        levels = sorted({*levels, *labels})
    level = level_named(positive, levels)
    if level is None:
        listed = some_names([level_text(level) for level in outcome.levels.tolist()], 10)
        raise InputError(
            f"'positive' must be a level of {outcome.name!r} ({listed}). Got {positive!r}.",
            argument="positive",
        )
    return level
