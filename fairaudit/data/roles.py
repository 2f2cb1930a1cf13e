"""Which column is what: the one place where names that a user gives meet those of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._words import clipped, some_names
from fairaudit.data.columns import Kind, parse_kind, split_kinds
from fairaudit.errors import InputError

if TYPE_CHECKING:
    from fairaudit.models import Predictor

__all__ = [
    "MISSING",
    "ResolvedRoles",
    "Roles",
    "column_names",
    "needed_columns",
    "require_column",
    "unknown_column",
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
    count : str or None
        How many rows each row stands for, in a table of counts.
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
    count: str | None = None
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
                    f"'{name}' must be one of {', '.join(known)}. Got {value!r}.", argument=name
                )

    @property
    def asked_of_model(self) -> str:
        """Scores or labels: with a threshold scores, which are cut later."""
        return "scores" if self.threshold is not None else self.on

    def declared(self, kinds: Mapping[str, str] | None) -> Roles:
        """The same with these kinds behind the names."""
        if not kinds:
            return self
        chosen = {name: parse_kind(str(kind), name) for name, kind in kinds.items()}

        def spec(name: str) -> str:
            return f"{name}:{chosen[name]}" if name in chosen else name

        known = [*self.sensitive, *self.predictions, *([self.outcome] if self.outcome else [])]
        for name in kinds:
            if name not in known:
                raise InputError(unknown_column(name, known))
        return replace(
            self,
            sensitive=tuple(map(spec, self.sensitive)),
            predictions=tuple(map(spec, self.predictions)),
            outcome=None if self.outcome is None else spec(self.outcome),
        )

    def resolve(
        self,
        columns: Sequence[str],
        predictor: Predictor | None = None,
        *,
        elsewhere: Mapping[str, Sequence[str]] | None = None,
    ) -> ResolvedRoles:
        """The roles in the columns of a table: names without kinds, the outcome named.

        Parameters
        ----------
        columns : sequence of str
        predictor : Predictor, optional
            The model, whose features are columns too.
        elsewhere : mapping, optional
            Role → names of columns that the caller has beside the table. An outcome among the
            roles is not looked for in the table, and is none without a name.
        """
        beside = elsewhere or {}
        kinds: dict[str, str] = {}
        sensitive = _pick_columns("sensitive", self.sensitive, columns, kinds)
        predictions = _pick_columns("predictions", self.predictions, columns, kinds)
        weights, ids, count = (
            None if name is None else _find(name, columns)
            for name in (self.weights, self.ids, self.count)
        )
        others = [name for name in (weights, ids, count) if name is not None]
        taken = [*sensitive, *predictions, *others]
        outcome = None
        if self.outcome is not None:
            (outcome,) = _pick_columns("outcome", [self.outcome], columns, kinds)
        elif "outcome" not in beside:
            outcome = _inferred_outcome(columns, taken, predictor)
        twice = (
            outcome if outcome in taken else next((n for n in sensitive if n in predictions), "")
        )
        if twice:
            raise InputError(
                f"Column {twice!r} is given two roles. Give it one of the two.", column=twice
            )
        features: Sequence[str] = ()
        if predictor is not None:
            features = predictor.columns(
                columns,
                outcome=outcome,
                sensitive=[*sensitive, *beside.get("sensitive", ())],
                other=others,
                copied=[n for role in ("outcome", "weights", "ids") for n in beside.get(role, ())],
            )
        if len(set(columns)) < len(columns):
            features = [_find(name, columns) for name in features]  # each occurs once
        return ResolvedRoles(
            sensitive=tuple(sensitive),
            outcome=outcome,
            predictions=tuple(predictions),
            weights=weights,
            ids=ids,
            count=count,
            features=tuple(features),
            kinds=kinds,
            request=self,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedRoles:
    """Roles whose names are columns of a table.

    Attributes
    ----------
    sensitive, outcome, predictions, weights, ids, count
        Columns. The outcome is None where it does not come from the table.
    features : tuple of str
        What the model takes, in its order.
    kinds : mapping
        Column → kind that was given with its name.
    request : Roles
        As they were given, with all that is no column.
    """

    sensitive: tuple[str, ...]
    outcome: str | None
    predictions: tuple[str, ...]
    weights: str | None
    ids: str | None
    count: str | None
    features: tuple[str, ...]
    kinds: Mapping[str, str]
    request: Roles

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Role → its columns."""
        single = {
            "outcome": self.outcome,
            "weights": self.weights,
            "ids": self.ids,
            "count": self.count,
        }
        return {
            "sensitive": self.sensitive,
            "predictions": self.predictions,
            **{role: () if name is None else (name,) for role, name in single.items()},
        }

    def with_sensitive(self, names: Sequence[str], kind: Kind | None = None) -> ResolvedRoles:
        """The same with other columns as attributes, perhaps all of one kind."""
        others = {*self.predictions, *self.columns["outcome"]}
        kinds = {name: own for name, own in self.kinds.items() if name in {*names, *others}}
        if kind is not None:
            kinds |= dict.fromkeys(names, kind.value)
        return replace(self, sensitive=tuple(names), kinds=kinds)

    def needed(self, columns: Sequence[str]) -> tuple[set[str], set[str]]:
        """The columns that an audit looks at, and those that neither model nor condition see."""
        where = self.request.where
        used = {name for names in self.columns.values() for name in names}
        read_by_name = {name for name in columns if where is not None and name in where}
        read_by_name |= set(self.features)
        return used | read_by_name, used - read_by_name


def needed_columns(
    columns: Sequence[str], roles: Roles, predictor: Predictor | None
) -> tuple[set[str], set[str]] | None:
    """As `ResolvedRoles.needed`; None where they cannot be told, and `Roles.resolve` says why."""
    if roles.where is not None and roles.outcome is None:
        return None  # the outcome is inferred from all columns
    try:
        return roles.resolve(columns, predictor).needed(columns)
    except InputError:
        return None


def column_names(given: str | Sequence[str]) -> tuple[str, ...]:
    """Names as a list, or as one text with commas.

    Examples
    --------
    >>> column_names("race, age:continuous")
    ('race', 'age:continuous')
    """
    names = given.split(",") if isinstance(given, str) else given
    return tuple(name.strip() for name in names if name.strip())


def require_column(name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        raise InputError(unknown_column(name, columns), column=name)


def unknown_column(name: str, known: Sequence[str]) -> str:
    """What is said about a name that no column has."""
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=3)
    hint = (
        f"Did you mean {' or '.join(map(clipped, near))}?"
        if near
        else f"Columns are: {some_names(list(known))}."
    )
    if any("," in column for column in known):
        hint += " Put names that contain commas in double quotes."
    return f"There is no column {clipped(name)}. {hint}"


def _plain(level: Any) -> Any:
    """A level as records can hold it."""
    return level.item() if isinstance(level, np.generic) else level


def _pick_columns(
    role: str, specs: Sequence[str], columns: Sequence[str], kinds: dict[str, str]
) -> list[str]:
    """The columns that names with or without kinds mean; the kinds go into `kinds`."""
    names: list[str] = []
    for spec in specs:
        name, kind = (spec, None) if spec in columns else split_kinds(spec)
        name = _find(name, columns)
        if name in names:
            raise InputError(
                f"Column {name!r} is given twice as '{role}'. Give it once.", argument=role
            )
        if kind is not None:
            kinds[name] = kind.value
        names.append(name)
    return names


def _find(name: str, columns: Sequence[str]) -> str:
    """The column of this name, also where the header has spaces around it."""
    if name not in columns:
        spaced = [column for column in columns if column.strip() == name.strip()]
        if len(spaced) != 1:
            raise InputError(unknown_column(name, columns), column=name)
        return spaced[0]
    if columns.count(name) > 1:
        raise InputError(f"Column {clipped(name)} occurs more than once. Rename or drop one.")
    return name


def _inferred_outcome(
    columns: Sequence[str], taken: Sequence[str], predictor: Predictor | None
) -> str:
    """The one column that can be the outcome."""
    features = () if predictor is None else predictor.features or ()
    left = [name for name in columns if name not in taken and name not in features]
    known = predictor is None or predictor.features is not None
    if known and len(left) == 1:
        return left[0]
    for name in OUTCOME_NAMES:
        alike = [column for column in left if column.lower() == name]
        if len(alike) == 1:
            return alike[0]
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
