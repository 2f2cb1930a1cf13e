"""What models return, as arrays with names for their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.models.safe_pickle import first_line

if TYPE_CHECKING:
    import pandas as pd


class Meaning(str, Enum):
    """What the numbers that a model returns are."""

    LABELS = "labels"
    CLASS_SCORES = "class scores"  # one column: of the second of two classes
    NUMBERS = "numbers"  # of a regressor
    UNKNOWN = "unknown"  # a function or a graph may return anything


class Scores(NamedTuple):
    """What a model of some kind returns, with names for the columns."""

    values: Any
    names: list[str]
    meaning: Meaning


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Predictions for a table, the classes of the model where it names them, and what they mean."""

    table: pd.DataFrame
    classes: list[Any] | None
    meaning: Meaning

    @property
    def of_classes(self) -> bool:
        return self.meaning is Meaning.CLASS_SCORES

    @property
    def of_numbers(self) -> bool:
        return self.meaning is Meaning.NUMBERS


def several_outcomes(n: int) -> InputError:
    return InputError(
        f"The model predicts {n} outcomes at once. "
        "Audit them one by one: wrap the model in a function that returns one of them."
    )


def quietly(read: Callable[[], Any]) -> Any:
    """What `read` returns; None where an estimator does not have it, or not before it is fitted."""
    try:
        return read()
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None


def names_of(values: Any) -> tuple[str, ...] | None:
    names = None if values is None else tuple(str(value) for value in values)
    if not names or names == tuple(f"Column_{j}" for j in range(len(names))):
        return None
    return names


def as_table(values: Any, name: str, meaning: Meaning) -> Scores:
    """`values` with names for its columns: ``name``, or ``name_0``, ``name_1``, …"""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim < 2:
        return Scores(array, [name], meaning)
    return Scores(array, [f"{name}_{j}" for j in range(array.shape[1])], meaning)


def probabilities(values: Any, classes: Sequence[Any] | None) -> Scores:
    array = np.asarray(values)
    if array.ndim < 2 or array.shape[1] == 1:
        return Scores(array.reshape(len(array)), ["score"], Meaning.CLASS_SCORES)
    if array.shape[1] == 2:
        return Scores(array[:, 1], ["score"], Meaning.CLASS_SCORES)
    known = classes is not None and len(classes) == array.shape[1]
    labels = classes if known and classes is not None else range(array.shape[1])
    return Scores(array, [f"P({label})" for label in labels], Meaning.CLASS_SCORES)


def with_categories(rows: Any) -> Any:
    """Text columns as categories; the booster knows the categories that it was fitted with."""
    if isinstance(rows, np.ndarray):
        return rows
    text = [name for name in rows.columns if rows[name].dtype.kind == "O"]
    return rows.astype(dict.fromkeys(text, "category")) if text else rows


def keeps_categories(booster: Any) -> bool:
    """Whether this xgboost model would recognize categories by name (3.1 and later)."""
    return quietly(lambda: not booster.get_categories().empty()) is True


def library(module: str, name: str) -> Any:
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{name} needs {package} ({first_line(error)}). Install it: pip install {package}"
        ) from None
