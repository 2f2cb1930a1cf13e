"""From a table and the names of its columns to an AuditTable: roles, missing values, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._words import clipped, some_names
from fairaudit.data.cautions import cautions
from fairaudit.data.columns import split_kinds
from fairaudit.data.facts import Excluded
from fairaudit.data.missing_values import without_missing
from fairaudit.data.row_filter import rows_where
from fairaudit.data.table import AuditTable, unknown_column
from fairaudit.data.threshold import as_labels
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.models import Predictor

__all__ = [
    "MISSING",
    "Prepared",
    "Roles",
    "as_asked",
    "needed_columns",
    "outcome_name",
    "picked",
    "prepare",
    "require_column",
    "selected_rows",
    "without_missing",
]

MISSING = ("auto", "error", "category", "drop")
#: Names by which an outcome is recognized, in this order.
OUTCOME_NAMES = ("y", "label", "target", "outcome", "y_true")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """Which column is what.

    Attributes
    ----------
    sensitive : tuple of str
        A kind may follow the name: ``"age:continuous"``.
    outcome : str or None
        None: inferred. A kind may follow.
    predictions : tuple of str
        Empty where a model predicts.
    weights, ids : str or None
    where : str or None
        A condition that rows must meet.
    missing : str
        What happens to missing sensitive values: ``"auto"`` (a category of their own, an error in
        a continuous column), ``"error"``, ``"category"`` or ``"drop"``.
    on : str
        ``"scores"`` or ``"labels"``.
    threshold : float or None
        Scores at or above it count as the positive class.
    positive : str or None
        The level of the outcome that counts as positive, and that the positive class of a model
        (the second of two) and scores mean where their names do not tell. None: the larger of two.
    classes : mapping
        Class of the model, or prediction column or label → level of the outcome.
    """

    sensitive: tuple[str, ...]
    outcome: str | None = None
    predictions: tuple[str, ...] = ()
    weights: str | None = None
    ids: str | None = None
    where: str | None = None
    missing: str = "auto"
    on: str = "scores"
    threshold: float | None = None
    positive: Any = None
    classes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        plain = {str(name): _plain(level) for name, level in self.classes.items()}
        object.__setattr__(self, "classes", plain)
        object.__setattr__(self, "positive", _plain(self.positive))
        for name, value, known in (
            ("missing", self.missing, MISSING),
            ("on", self.on, ("scores", "labels")),
        ):
            if value not in known:
                raise InputError(
                    f"The '{name}' option must be one of {', '.join(known)}. Got {value!r}."
                )


def _plain(level: Any) -> Any:
    """A level as records can hold it."""
    return level.item() if isinstance(level, np.generic) else level


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A table ready to be audited, and what was done to get there."""

    table: AuditTable
    features: tuple[str, ...]
    excluded: tuple[Excluded, ...]
    missing: Mapping[str, int]
    notes: tuple[str, ...] = ()


def prepare(frame: pd.DataFrame, roles: Roles, predictor: Predictor | None = None) -> Prepared:
    """Assign the roles, handle missing values, predict, and check everything."""
    columns = [str(name) for name in frame.columns]
    frame = frame.set_axis(columns, axis=1).reset_index(drop=True)  # rows keep their numbers
    kinds: dict[str, str] = {}
    sensitive = picked(roles.sensitive, columns, kinds, "sensitive")
    predictions = picked(roles.predictions, columns, kinds, "predictions")
    others = [name for name in (roles.weights, roles.ids) if name is not None]
    for name in others:
        require_column(name, columns)
    taken = [*sensitive, *predictions, *others]
    outcome = outcome_name(roles.outcome, columns, taken, predictor, kinds)
    if outcome in taken:
        raise InputError(f"Column {outcome!r} is given two roles. Give it one of the two.")
    frame, excluded = selected_rows(frame, roles.where)
    frame, missing, dropped = without_missing(
        frame, sensitive, outcome, kinds, roles.missing, others=[*predictions, *others]
    )
    excluded += dropped
    features: list[str] = []
    named = None
    if predictor is not None:
        features = predictor.columns(columns, outcome=outcome, sensitive=sensitive, other=others)
        on = "scores" if roles.threshold is not None else roles.on  # cut below, in as_labels
        predicted, named = predictor.answers(frame[features], on=on)
    else:
        predicted = frame[predictions]
    table = AuditTable.of(
        predicted,
        frame[sensitive],
        frame[[outcome]],
        weights=None if roles.weights is None else frame[roles.weights],
        ids=None if roles.ids is None else frame[roles.ids],
        kinds=kinds,
        rows=frame.index.to_numpy(),
        positive=roles.positive,
        classes=roles.classes,
        model_classes=named,
    )
    table, notes = as_asked(table, roles, features, predictor)
    return Prepared(
        table=table,
        features=tuple(features),
        excluded=tuple(excluded),
        missing=missing,
        notes=notes,
    )


def as_asked(
    table: AuditTable, roles: Roles, features: Sequence[str], predictor: Predictor | None
) -> tuple[AuditTable, tuple[str, ...]]:
    """The table with scores that say of what, or labels, as asked for; and what to warn of."""
    table.require_named_scores()
    notes = cautions(table, features, predictor)
    if roles.on == "labels":
        table = as_labels(table, roles.threshold)
    return table, notes


def needed_columns(
    columns: Sequence[str], roles: Roles, predictor: Predictor | None
) -> tuple[set[str], set[str]] | None:
    """The columns that `prepare` will look at, and those that the model does not see.

    None where they cannot be told; `prepare` then says why.
    """
    if roles.where is not None and roles.outcome is None:
        return None  # the outcome is inferred from all columns
    try:
        used = [
            *picked(roles.sensitive, columns, {}, "sensitive"),
            *picked(roles.predictions, columns, {}, "predictions"),
        ]
        others = [name for name in (roles.weights, roles.ids) if name is not None]
        for name in others:
            require_column(name, columns)
        taken = [*used, *others]
        outcome = outcome_name(roles.outcome, columns, taken, predictor, {})
        features: list[str] = []
        if predictor is not None:
            features = predictor.columns(columns, outcome=outcome, sensitive=used, other=others)
    except InputError:
        return None
    asked = [name for name in columns if roles.where is not None and name in roles.where]
    plain = {*taken, outcome} - {*features, *asked}
    return plain | {*features, *asked}, plain


def picked(
    specs: Sequence[str], columns: Sequence[str], kinds: dict[str, str], option: str
) -> list[str]:
    names: list[str] = []
    for spec in specs:
        name, kind = (spec, None) if spec in columns else split_kinds(spec)
        name = found_name(name, columns)
        if name in names:
            raise InputError(
                f"Column {name!r} is given twice as '{option}'. Give it once.", argument=option
            )
        if kind is not None:
            kinds[name] = kind.value
        names.append(name)
    return names


def found_name(name: str, columns: Sequence[str]) -> str:
    """The column of this name, also where the header has spaces around it."""
    if name not in columns:
        spaced = [column for column in columns if column.strip() == name.strip()]
        if len(spaced) != 1:
            raise InputError(unknown_column(name, columns))
        return spaced[0]
    return name


def require_column(name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        raise InputError(unknown_column(name, columns))


def outcome_name(
    given: str | None,
    columns: Sequence[str],
    taken: Sequence[str],
    predictor: Predictor | None,
    kinds: dict[str, str],
) -> str:
    """The outcome that was named, or the one column that can be it."""
    if given is not None:
        return picked([given], columns, kinds, "outcome")[0]
    features = () if predictor is None else predictor.features or ()
    left = [name for name in columns if name not in taken and name not in features]
    known = predictor is None or predictor.features is not None
    if known and len(left) == 1:
        return left[0]
    for name in OUTCOME_NAMES:
        found = [column for column in left if column.lower() == name]
        if len(found) == 1:
            return found[0]
    if not left:
        raise InputError(
            "No column is left to be the outcome: all are features, sensitive or predictions. "
            "Name it with 'outcome'.",
            argument="outcome",
        )
    raise InputError(
        f"The outcome is not clear. Name it with 'outcome'; candidates: {some_names(left)}.",
        argument="outcome",
    )


def selected_rows(frame: pd.DataFrame, where: str | None) -> tuple[pd.DataFrame, list[Excluded]]:
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
