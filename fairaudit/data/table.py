"""AuditTable: everything an audit looks at, checked once, here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.columns import Column, Kind, columns_from, level_text
from fairaudit.data.missing_values import RoleColumn
from fairaudit.data.prediction import (
    Prediction,
    larger_class,
    positive_level,
    read_prediction,
    unnamed_scores,
)
from fairaudit.data.reading.frames import read_frame
from fairaudit.data.roles import Roles, column_names, unknown_column
from fairaudit.errors import InputError

__all__ = ["AuditTable", "Prediction", "check_lengths"]


@dataclass(frozen=True, slots=True, eq=False)
class AuditTable:
    """Prediction, outcome, sensitive attributes, and optional weights and ids, all checked.

    Build one with `AuditTable.of` (arrays or columns) or `AuditTable.from_frame` (one table and
    column names). Nothing downstream checks input again. `positive` is the level of the outcome
    that rates count as positive; None where it has more than two and none was named. `times` is
    for tables of counts: how many rows each row stands for (`fairaudit.data.counted_table`).
    """

    prediction: Prediction
    outcome: Column | None
    attributes: tuple[Column, ...]
    weights: NDArray[np.float64] | None = field(default=None, repr=False)
    ids: Column | None = field(default=None, repr=False)
    positive: Any = None
    times: NDArray[np.intp] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.attributes[0])

    @classmethod
    def of(
        cls,
        y_pred: Any,
        sensitive: Any,
        y_true: Any = None,
        *,
        weights: Any = None,
        ids: Any = None,
        kinds: Mapping[str, str] | None = None,
        positive: Any = None,
        classes: Mapping[Any, Any] | None = None,
        model_classes: Sequence[Any] | None = None,
        class_scores: bool = False,
        rows: NDArray[np.intp] | None = None,
    ) -> AuditTable:
        """Build from arrays, series, frames (pandas, polars, Arrow) or mappings of columns.

        `positive` is the level of the outcome that counts as positive, and that scores without a
        class name speak of; `classes` maps names of classes or of prediction columns to levels;
        `model_classes` are the classes of the model that made the prediction, in its own order;
        `class_scores` tells that a single column has scores of the second of two.
        `rows` are the numbers that messages give to the rows (default: 0, 1, …).

        Examples
        --------
        >>> table = AuditTable.of([0.1, 0.9, 0.4], {"sex": ["f", "m", "f"]}, [0, 1, 1])
        >>> print(table.describe())
        3 rows
        prediction  scores (y_pred: continuous, 0.1 to 0.9)
        outcome     y_true: binary, 2 levels (0, 1)
        sensitive   sex: binary, 2 levels (f, m)
        """
        attributes = columns_from(sensitive, argument="sensitive", kinds=kinds, rows=rows)
        outcome = None
        like_outcome: dict[str, Any] = {"kinds": kinds, "outcome": True, "rows": rows}
        if y_true is not None:
            outcome = _single(columns_from(y_true, argument="y_true", **like_outcome))
        predicted = columns_from(y_pred, argument="y_pred", **like_outcome)
        id_column = _ids(ids)
        check_lengths(
            [
                *predicted,
                *([outcome] if outcome else []),
                *attributes,
                *([id_column] if id_column else []),
            ]
        )
        n = len(attributes[0])
        if n < 2:
            raise InputError(f"The table must have at least 2 rows. Got {n} instead.")
        for column in attributes:
            if len(column.levels) == 1:
                raise InputError(
                    f"Sensitive column {column.name!r} has a single value "
                    f"({level_text(column.levels[0])}). "
                    "There is nothing to compare: leave it out or pass rows that differ."
                )
        _check_known_kinds(kinds, [*predicted, *([outcome] if outcome else []), *attributes])
        if outcome is not None and positive is not None:
            positive = positive_level(positive, outcome, predicted)
        prediction = read_prediction(
            predicted,
            outcome,
            rows,
            positive=positive,
            classes=classes,
            model=model_classes,
            class_scores=class_scores,
        )
        if outcome is not None and positive is None and outcome.kind.is_categorical:
            labels = prediction.columns if prediction.form == "labels" else ()
            same = [
                column for column in labels if (column.numeric is None) == (outcome.numeric is None)
            ]
            positive = larger_class(outcome, *same)
        return cls(
            prediction, outcome, attributes, _weights(weights, n), id_column, positive=positive
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        predictions: str | Sequence[str],
        sensitive: str | Sequence[str],
        outcome: str | None = None,
        weights: str | None = None,
        ids: str | None = None,
        kinds: Mapping[str, str] | None = None,
        positive: Any = None,
        classes: Mapping[Any, Any] | None = None,
    ) -> AuditTable:
        """Build from one table and the names of its columns.

        Names are given as a list or with commas, and may carry a kind: ``"race,age:continuous"``.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"p": [0.2, 0.7, 0.6], "y": [0, 1, 0], "age": [31, 45, 62]})
        >>> table = AuditTable.from_frame(frame, predictions="p", outcome="y", sensitive="age")
        >>> table.attributes[0].describe()
        'age: integer, 31 to 62'
        """
        table = read_frame(frame)
        roles = Roles(
            sensitive=column_names(sensitive),
            predictions=column_names(predictions),
            outcome=outcome,
            weights=weights,
            ids=ids,
        )
        resolved = roles.resolve(table.columns, elsewhere={"outcome": ()})
        values = {
            role: {name: table[name].to_numpy() for name in names} or None
            for role, names in resolved.columns.items()
        }
        return cls.of(
            values["predictions"],
            values["sensitive"],
            values["outcome"],
            weights=values["weights"],
            ids=values["ids"],
            kinds={**(kinds or {}), **resolved.kinds},
            positive=positive,
            classes=classes,
        )

    def describe(self) -> str:
        """What is audited, one line per role."""
        lines = [f"{len(self)} rows", f"prediction  {self.prediction.describe()}"]
        if self.outcome is not None:
            lines.append(f"outcome     {self.outcome.describe()}")
        lines += [f"sensitive   {column.describe()}" for column in self.attributes]
        return "\n".join(lines)

    def take(self, rows: NDArray[np.intp]) -> AuditTable:
        """The table at these rows."""
        columns = tuple(column.take(rows) for column in self.prediction.columns)
        return AuditTable(
            replace(self.prediction, columns=columns),
            None if self.outcome is None else self.outcome.take(rows),
            tuple(column.take(rows) for column in self.attributes),
            None if self.weights is None else self.weights[rows],
            None if self.ids is None else self.ids.take(rows),
            positive=self.positive,
            times=None if self.times is None else self.times[rows],
        )

    def keep_one_row_each(self, rng: np.random.Generator | None = None) -> AuditTable:
        """One row of every person, drawn at random; itself where there are no ids."""
        if self.ids is None:
            return self
        order = (rng or np.random.default_rng(0)).permutation(len(self))
        first = np.unique(self.ids.codes[order], return_index=True)[1]
        return replace(self.take(np.sort(order[first])), ids=None)

    def require_outcome(self) -> Column:
        if self.outcome is None:
            raise InputError("The 'y_true' argument is missing. Pass the true outcome.")
        return self.outcome

    def require_named_scores(self) -> None:
        """Refuse scores of two classes that do not say of which they speak."""
        outcome, prediction = self.require_outcome(), self.prediction
        two = outcome.kind.is_categorical and len(outcome.levels) == 2
        if not two or prediction.form == "labels" or prediction.classes:
            return
        name = prediction.columns[-1].name
        raise unnamed_scores(name, outcome.name, outcome.levels.tolist())

    def require_varying_prediction(self) -> None:
        if self.prediction.constant:
            raise InputError(
                f"The prediction {self.prediction.columns[0].name!r} is constant. It carries no "
                "information about anything; check that the right column was passed."
            )

    def reject_weights(self, measure: str) -> None:
        if self.weights is not None:
            raise InputError(
                f"{measure} has no weighted form. Leave the weights out, "
                "or use a measure that takes them (deo, group_rates)."
            )


def _single(columns: tuple[Column, ...]) -> Column:
    if len(columns) > 1:
        raise InputError(
            f"Expected one column. Got {len(columns)} ({', '.join(c.name for c in columns)})."
        )
    return columns[0]


def check_lengths(columns: Sequence[Column | RoleColumn]) -> None:
    first = columns[0]
    for column in columns[1:]:
        if len(column) != len(first):
            raise InputError(
                f"Columns differ in length: {first.name!r} has {len(first)} rows, "
                f"{column.name!r} has {len(column)}. Pass arrays for the same rows."
            )


def _check_known_kinds(kinds: Mapping[str, str] | None, columns: Sequence[Column]) -> None:
    names = [column.name for column in columns]
    for name in kinds or {}:
        if name not in names:
            raise InputError(unknown_column(name, names))


def _ids(ids: Any) -> Column | None:
    """Who is who: any values, and never two people in one."""
    if ids is None:
        return None
    names = [str(name) for name in getattr(ids, "columns", [getattr(ids, "name", None) or "ids"])]
    names = list(map(str, ids)) if isinstance(ids, Mapping) else names
    kinds = dict.fromkeys(names, Kind.CATEGORICAL.value)
    column = _single(columns_from(ids, argument="ids", kinds=kinds))
    rounded = column.levels.dtype.kind == "f" and np.abs(column.levels).max() >= 2**53
    if rounded:
        raise InputError(
            f"The ids {column.name!r} were read as floating-point numbers beyond 2^53, where "
            "neighboring numbers become equal. Store them as text or as whole numbers without gaps."
        )
    return column


def _weights(weights: Any, n: int) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    column = _single(columns_from(weights, argument="weights"))
    if column.numeric is None:
        raise InputError(f"Weights {column.name!r} must be numbers. Got text instead.")
    if len(column) != n:
        raise InputError(f"Weights have {len(column)} rows, the table has {n}. Pass one per row.")
    if column.numeric.min() < 0 or column.numeric.sum() <= 0:
        raise InputError(
            f"Weights {column.name!r} must be non-negative with a positive sum. "
            f"The smallest is {column.numeric.min():g}."
        )
    return column.numeric
