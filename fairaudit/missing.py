"""Missing values of the columns that an audit uses: found, counted, never dropped in silence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.columns import Kind
from fairaudit.errors import InputError
from fairaudit.result import Excluded
from fairaudit.text_columns import MANY_NUMBERS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING_LEVEL", "without_missing"]

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
            raise InputError(_message(name, missing, declare))
    if frame.empty:
        raise InputError("No row is left after dropping missing values. Leave out --missing drop.")
    return frame, counts, excluded


def _message(name: str, missing: pd.Series, declare: bool) -> str:
    count = int(missing.sum())
    row = missing.index[int(np.flatnonzero(missing)[0])]
    way_out = (
        f"Pass --missing drop, or declare it {name}:categorical"
        if declare
        else "Pass --missing drop to leave these rows out"
    )
    values = "value" if count == 1 else "values"
    return f"Column {name!r} has {count} missing {values}, the first in row {row}. {way_out}."


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
