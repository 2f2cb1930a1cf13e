"""From a table and names of its columns, or from columns one by one, to an AuditTable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit._words import clipped
from fairaudit.data.cautions import cautions
from fairaudit.data.columns import Column, named_values, one_dimensional, require_unique_names
from fairaudit.data.counted_table import check_whole_counts, set_times
from fairaudit.data.facts import Excluded
from fairaudit.data.missing_values import Complete, RoleColumn, complete, numbers_unmarked
from fairaudit.data.reading.frames import as_pandas
from fairaudit.data.roles import ResolvedRoles, Roles, column_names
from fairaudit.data.row_filter import rows_where
from fairaudit.data.table import AuditTable, check_lengths
from fairaudit.data.threshold import as_labels
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor
    from fairaudit.models.answers import Answer

__all__ = [
    "ChosenRows",
    "Prepared",
    "choose_rows",
    "prepare",
    "prepare_given",
    "prepare_resolved",
    "selected_rows",
]

#: What columns without a name are called, by role.
_UNNAMED = {"outcome": "y_true", "predictions": "y_pred"}


class Answering(Protocol):
    """A model, or what stands in its place: predictions that were made before."""

    @property
    def kind(self) -> str: ...

    def answer(self, frame: pd.DataFrame, *, on: str = "scores") -> Answer: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table ready to be audited, and what was done to get there."""

    table: AuditTable
    features: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    missing: Mapping[str, int]
    notes: tuple[str, ...] = ()
    weights: str | None = None  # name of their column


def prepare(frame: Any, roles: Roles, predictor: Predictor | None = None) -> Prepared:
    """Assign the roles, handle missing values, predict, and check everything."""
    table = as_pandas(frame)
    return prepare_resolved(table, roles.resolve(list(table.columns), predictor), predictor)


def prepare_resolved(
    frame: pd.DataFrame,
    roles: ResolvedRoles,
    predictor: Answering | None = None,
    beside: Sequence[RoleColumn] = (),
) -> Prepared:
    """The same for roles that are columns; `beside` has columns that the table does not hold."""
    chosen = choose_rows(frame, roles, beside)
    columns, request = chosen.columns, roles.request
    answer = None
    if predictor is not None:
        answer = predictor.answer(chosen.frame[list(roles.features)], on=request.asked_of_model)
    table = AuditTable.of(
        columns.of("predictions") if answer is None else answer.table,
        columns.of("sensitive"),
        columns.of("outcome"),
        weights=columns.of("weights") or None,
        ids=columns.of("ids") or None,
        kinds=columns.kinds,
        rows=columns.rows.to_numpy(),
        positive=request.positive,
        classes=request.classes,
        model_classes=None if answer is None else answer.classes,
        class_scores=answer is not None and answer.of_classes,
    )
    table = set_times(table, columns.of("count"))
    table.require_named_scores()
    numbers = answer is not None and answer.of_numbers
    regressor = predictor.kind if predictor is not None and numbers else None
    notes = cautions(table, roles.features, regressor)
    return Prepared(
        table=as_labels(table, request.threshold) if request.on == "labels" else table,
        features=roles.features,
        excluded=chosen.excluded,
        missing=columns.missing,
        notes=notes,
        weights=next(iter(columns.of("weights")), None),
    )


def prepare_given(
    X: Any,
    given: Mapping[str, Any],
    roles: Roles,
    *,
    kinds: Mapping[str, str] | None = None,
    predictor: Predictor | None = None,
) -> Prepared:
    """The same for what a caller passes role by role: columns, or names of columns of `X`.

    `roles` has all that is no column; an outcome that is not given is looked for in `X`.
    """
    import pandas as pd

    frame = None if X is None else _as_frame(X)
    named: dict[str, Any] = {}
    beside: list[RoleColumn] = []
    declared = dict(kinds or {})
    for role, value in given.items():
        if value is None:
            continue
        names = _names_in(role, value, X)
        if names is None:
            beside += _columns_in(role, value, declared)
        else:
            named[role] = names if role in ("sensitive", "predictions") else names[0]
    if frame is None:
        frame = pd.DataFrame(index=pd.RangeIndex(len(beside[0])))
    elsewhere: dict[str, list[str]] = {}
    for column in beside:
        elsewhere.setdefault(column.role, []).append(column.name)
    resolved = replace(roles, **named).resolve(list(frame.columns), predictor, elsewhere=elsewhere)
    resolved = replace(resolved, kinds={**declared, **resolved.kinds})
    return prepare_resolved(frame, resolved, predictor, beside)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ChosenRows:
    """The rows that are left: all their columns as the model sees them, and those with a role.

    What is missing is a level of its own in the columns with a role, and missing for the model.
    """

    frame: pd.DataFrame
    columns: Complete
    excluded: tuple[Excluded, ...]


def choose_rows(
    frame: pd.DataFrame, roles: ResolvedRoles, beside: Sequence[RoleColumn] = ()
) -> ChosenRows:
    """Leave out the rows that are not asked for, and handle missing values."""
    for name in roles.columns.get("count", ()):
        check_whole_counts(name, frame[name])
    for column in beside:
        if column.role == "count":
            check_whole_counts(column.name, column.values)
    frame, excluded = selected_rows(frame, roles.request.where)
    own = [
        RoleColumn(role, name, frame[name])
        for role, names in roles.columns.items()
        for name in names
    ]
    if excluded:
        beside = [replace(column, values=column.values.loc[frame.index]) for column in beside]
    columns = [numbers_unmarked(column, roles.kinds) for column in (*own, *beside)]
    changed = {
        new.name: new.values for new, old in zip(columns, own, strict=False) if new is not old
    }
    frame = frame.assign(**changed) if changed else frame
    check_lengths([*columns, *([RoleColumn("features", "X", frame)] if roles.features else [])])
    complete_rows = complete(columns, roles.kinds, roles.request.missing)
    left = frame if len(complete_rows.rows) == len(frame) else frame.loc[complete_rows.rows]
    return ChosenRows(
        frame=left, columns=complete_rows, excluded=(*excluded, *complete_rows.excluded)
    )


def selected_rows(frame: pd.DataFrame, where: str | None) -> tuple[pd.DataFrame, list[Excluded]]:
    """The rows that meet a condition, and how many do not."""
    if where is None:
        return frame, []
    mask = rows_where(frame, where)
    if not mask.any():
        raise InputError(
            f"No row of {len(frame)} meets 'where' {clipped(where, 200)}. Check the condition.",
            argument="where",
        )
    left_out = int((~mask).sum())
    return frame[mask], [Excluded(left_out, f"not {where}")] if left_out else []


def _as_frame(X: Any) -> pd.DataFrame:
    if hasattr(X, "columns"):
        return as_pandas(X)
    if isinstance(X, (str, PathLike)):
        raise InputError(
            f"X must be a table. Got the text {clipped(X)} instead. "
            "Read the file first, for instance with pandas.read_csv."
        )
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(np.asarray(X))
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _names_in(role: str, value: Any, X: Any) -> tuple[str, ...] | None:
    """The names of columns of `X` that a value is; None where it is a column itself."""
    if isinstance(value, str):
        if not hasattr(X, "columns"):
            raise InputError(
                f"The '{role}' argument names columns ({clipped(value)}). Pass X, a frame that has "
                "them, or pass the columns.",
                argument=role,
            )
        return column_names(value) if role in ("sensitive", "predictions") else (value,)
    listed = isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    if not listed or not value or not hasattr(X, "columns") or len(value) == len(X):
        return None
    return tuple(value)


def _columns_in(role: str, value: Any, kinds: dict[str, str]) -> list[RoleColumn]:
    """The columns that a value is; those that are checked already have a kind."""
    import pandas as pd

    columns = []
    for name, values in named_values(value, _UNNAMED.get(role, role)):
        if isinstance(values, Column):
            kinds.setdefault(name, values.kind.value)
            values = values.levels[values.codes]
        columns.append(RoleColumn(role, name, pd.Series(one_dimensional(name, values))))
    require_unique_names([column.name for column in columns], _UNNAMED.get(role, role))
    return columns
