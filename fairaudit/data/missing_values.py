"""Missing values of the columns that an audit uses: found, counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Index
from fairaudit.data.columns import Column, Kind, named_values
from fairaudit.data.facts import Excluded
from fairaudit.data.text_columns import MANY_NUMBERS
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING_LEVEL", "Complete", "complete_roles", "missing_values", "without_missing"]

MISSING_LEVEL = "(missing)"
#: What people write into a column of numbers where they have none; pandas knows NA, null and such.
_MARKS = {"?", "-", "--", ".", "", "*", "na", "n.a.", "none", "missing", "unknown"}


def without_missing(
    frame: pd.DataFrame,
    sensitive: list[str],
    outcome: str,
    kinds: dict[str, str],
    policy: str,
    others: Sequence[str] = (),
) -> tuple[pd.DataFrame, dict[str, int], list[Excluded]]:
    """The table without missing values, how many each column had, and the rows left out.

    `others` are columns of predictions, weights and ids: rows without them can only be dropped.
    """
    used = list(dict.fromkeys([outcome, *sensitive, *others]))
    frame = frame.copy(deep=False)
    for name in used:
        few = name in sensitive  # few numbers may be codes, and the mark a code like them
        if kinds.get(name) not in (Kind.BINARY.value, Kind.CATEGORICAL.value):
            frame[name] = _unmarked(frame[name], MANY_NUMBERS if few else 1)
    counts = {name: int(frame[name].isna().sum()) for name in used}
    excluded: list[Excluded] = []
    for name in used:
        missing = frame[name].isna()  # rows may have gone with another column
        if not missing.any():
            continue
        categorical = name in sensitive and _categorical(frame[name], kinds.get(name))
        if policy == "drop":
            excluded.append(Excluded(int(missing.sum()), f"{name} is missing"))
            frame = frame[~missing]
        elif policy in ("auto", "category") and categorical:
            kinds.setdefault(name, Kind.CATEGORICAL.value)
            frame[name] = _with_missing_level(frame[name])
        else:
            declare = name in sensitive and policy != "error"
            row = missing.index[int(np.flatnonzero(missing)[0])]
            count = int(missing.sum())
            raise InputError(missing_values(name, count, row=row, declare=declare))
    if frame.empty:
        raise InputError("No row is left after dropping missing values. Do not drop them.")
    return frame, counts, excluded


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """The columns of all roles without missing values, and what was done to get there.

    `columns` maps each role to its columns; `rows` are the rows that are left.
    """

    columns: dict[str, Any]
    kinds: dict[str, str]
    rows: Index
    excluded: list[Excluded]
    missing: dict[str, int]


def complete_roles(
    given: Mapping[str, Any], kinds: Mapping[str, str] | None, policy: str
) -> Complete | None:
    """The policy of `without_missing` for columns that were passed one by one.

    `given` maps roles to what the caller passed: ``"sensitive"``, ``"y_true"`` and others. None
    where the columns do not fit together, which the table will say.
    """
    import pandas as pd

    found = {role: named_values(data, role) for role, data in given.items() if data is not None}
    every = [values for columns in found.values() for _, values in columns]
    if any(isinstance(values, Column) or values.ndim != 1 for values in every):
        return None
    if len({len(values) for values in every}) > 1 or not len(every[0]):
        return None
    if len(found["y_true"]) > 1:
        return None
    keys: dict[str, dict[str, str]] = {}  # role → name → key; a column may have two roles
    frame: dict[str, Any] = {}
    for role, columns in found.items():
        keys[role] = {}
        for name, values in columns:
            key = name if name not in frame else f"{name} ({role})"
            keys[role][name], frame[key] = key, values
    ((_, outcome),) = keys["y_true"].items()
    chosen = dict(kinds or {})
    others = [
        key
        for role, names in keys.items()
        if role not in ("sensitive", "y_true")
        for key in names.values()
    ]
    sensitive = list(keys["sensitive"].values())
    kept, missing, excluded = without_missing(
        pd.DataFrame(frame), sensitive, outcome=outcome, kinds=chosen, policy=policy, others=others
    )
    known = {
        role: {name: kept[key].to_numpy() for name, key in names.items()}
        for role, names in keys.items()
    }
    return Complete(
        columns=known, kinds=chosen, rows=kept.index.to_numpy(), excluded=excluded, missing=missing
    )


def missing_values(name: str, count: int, *, row: Any = None, declare: bool = False) -> str:
    """What is said about missing values that the policy does not take."""
    way_out = (
        f"Set 'missing' to drop, or declare it {name}:categorical"
        if declare
        else "Set 'missing' to drop to leave these rows out"
    )
    values = "value" if count == 1 else "values"
    first = "" if row is None else f", the first in row {row}"
    return f"Column {name!r} has {count} missing {values}{first}. {way_out}."


def _unmarked(values: pd.Series, fewest: int) -> pd.Series:
    """A column of numbers in which some cells say ``?`` or the like: these become missing."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values) or not pd.api.types.is_object_dtype(values.dtype) | (
        pd.api.types.is_string_dtype(values.dtype)
    ):
        return values
    try:
        levels = pd.Series(values.dropna().unique(), dtype=object)
    except TypeError:  # lists and records, which are refused elsewhere
        return values
    if any(not isinstance(level, (str, int, float)) for level in levels):
        return values
    marks = levels.map(lambda level: isinstance(level, str) and level.strip().lower() in _MARKS)
    if not marks.any():
        return values
    numbers = levels[~marks].map(_number)
    if numbers.isna().any() or len(numbers) < fewest:
        return values
    known = dict(zip(levels[~marks], numbers, strict=True))
    return values.map(known).astype(float)


def _number(level: Any) -> float:
    try:
        return float(level)
    except (ValueError, OverflowError):
        return np.nan


def _categorical(values: pd.Series, kind: str | None) -> bool:
    if kind is not None:
        return Kind(kind).is_categorical
    import pandas as pd

    numbers = pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)
    return not numbers or values.nunique() <= 2


def _with_missing_level(values: pd.Series) -> Any:
    import pandas as pd

    whole = pd.api.types.is_float_dtype(values) and (values.dropna() % 1 == 0).all()
    present = values.notna()
    text = (values[present].astype(int) if whole else values[present]).astype(str)
    return text.reindex(values.index, fill_value=MISSING_LEVEL).astype(object)
