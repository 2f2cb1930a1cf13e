"""Missing values of the columns that an audit uses: found, counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.data.column_summary import numbers_among_marks, summarize
from fairaudit.data.columns import Kind
from fairaudit.data.facts import Excluded
from fairaudit.data.text_columns import MANY_NUMBERS
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "MISSING_LEVEL",
    "Complete",
    "RoleColumn",
    "complete",
    "missing_is_level",
    "missing_values",
    "numbers_unmarked",
]

MISSING_LEVEL = "(missing)"
#: Roles that are looked at first; the others follow in the order of the columns.
_FIRST = {"outcome": 0, "sensitive": 1}


@dataclass(frozen=True, slots=True, eq=False)
class RoleColumn:
    """A column in its role: ``"outcome"``, ``"sensitive"``, ``"predictions"``, …"""

    role: str
    name: str
    values: pd.Series

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Complete:
    """The columns of all roles without missing values, and what was done to get there.

    `rows` are the rows that are left, by the index of the columns.
    """

    columns: tuple[RoleColumn, ...]
    kinds: dict[str, str]
    rows: pd.Index
    excluded: list[Excluded]
    missing: dict[str, int]

    def of(self, role: str) -> dict[str, Any]:
        """The columns of a role by name."""
        return {column.name: column.values for column in self.columns if column.role == role}


def numbers_unmarked(column: RoleColumn, kinds: Mapping[str, str]) -> RoleColumn:
    """Of numbers among which some cells say ``?`` or the like, these are missing."""
    if kinds.get(column.name) in (Kind.BINARY.value, Kind.CATEGORICAL.value):
        return column
    few = column.role == "sensitive"  # few numbers may be codes, and the mark a code like them
    values = _unmark(column.values, MANY_NUMBERS if few else 1)
    return column if values is column.values else replace(column, values=values)


def complete(columns: Sequence[RoleColumn], kinds: Mapping[str, str], policy: str) -> Complete:
    """The columns without missing values, how many each had, and the rows left out.

    Sensitive values may be missing, as a category; of the others rows can only be dropped.
    """
    import pandas as pd

    chosen = dict(kinds)
    order = sorted(range(len(columns)), key=lambda k: _FIRST.get(columns[k].role, len(_FIRST)))
    frame = pd.DataFrame({k: column.values for k, column in enumerate(columns)}, copy=False)
    times = _count_times(columns)
    counts = {columns[k].name: int(times[frame[k].isna()].sum()) for k in order}
    excluded: list[Excluded] = []
    for k in order:
        name, sensitive = columns[k].name, columns[k].role == "sensitive"
        missing = frame[k].isna()  # rows may have gone with another column
        if not missing.any():
            continue
        if policy == "drop":
            excluded.append(
                Excluded(int(times[missing[missing].index].sum()), f"{name} is missing")
            )
            frame = frame[~missing]
        elif sensitive and missing_is_level(_kind_of(columns[k], chosen.get(name)), policy):
            chosen.setdefault(name, Kind.CATEGORICAL.value)
            frame[k] = _with_missing_level(frame[k])
        else:
            declare = sensitive and policy != "error"
            row = missing.index[int(np.flatnonzero(missing)[0])]
            count = int(times[missing[missing].index].sum())
            message = missing_values(name, count, row=row, declare=declare)
            raise InputError(message, argument="missing", column=name)
    if excluded and frame.empty:
        raise InputError("No row is left after dropping missing values. Do not drop them.")
    return Complete(
        columns=tuple(replace(column, values=frame[k]) for k, column in enumerate(columns)),
        kinds=chosen,
        rows=frame.index,
        excluded=excluded,
        missing=counts,
    )


def _count_times(columns: Sequence[RoleColumn]) -> pd.Series:
    """How many rows each row stands for."""
    import pandas as pd

    for column in columns:
        if column.role == "count":
            numbers = pd.to_numeric(column.values, errors="coerce")
            return numbers.where(np.isfinite(numbers), 1).fillna(1).astype(np.int64)
    return pd.Series(1, index=columns[0].values.index)


def _kind_of(column: RoleColumn, declared: str | None) -> Kind:
    if declared is not None:
        return Kind(declared)
    return summarize(column.name, column.values).kind(outcome=False)


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


def _unmark(values: pd.Series, fewest: int) -> pd.Series:
    """A column of numbers in which some cells say ``?`` or the like: these become missing."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values) or not pd.api.types.is_object_dtype(values.dtype) | (
        pd.api.types.is_string_dtype(values.dtype)
    ):
        return values
    try:
        levels = np.asarray(values.dropna().unique()).tolist()
    except TypeError:  # lists and records, which are refused elsewhere
        return values
    known = numbers_among_marks(levels)
    if known is None or not fewest <= len(known) < len(levels):
        return values
    return values.map(known).astype(float)


def missing_is_level(kind: Kind, policy: str) -> bool:
    """Whether missing values of an attribute of this kind are a category of their own."""
    return policy in ("auto", "category") and kind.is_categorical


def _with_missing_level(values: pd.Series) -> Any:
    import pandas as pd

    whole = pd.api.types.is_float_dtype(values) and (values.dropna() % 1 == 0).all()
    present = values.notna()
    text = (values[present].astype(int) if whole else values[present]).astype(str)
    return text.reindex(values.index, fill_value=MISSING_LEVEL).astype(object)
