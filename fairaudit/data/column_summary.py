"""What some rows hold of a column: enough to decide its kind, and to be joined with other rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.columns import LARGEST_WHOLE, Kind, inferred_kind, read_numbers, reject_infinite
from fairaudit.data.text_columns import reject_non_text
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_LEVELS", "ColumnSummary", "numbers_among_marks", "summarize"]

MOST_LEVELS = 2_000  # of a column whose levels are listed
#: What people write into a column of numbers where they have none; pandas knows NA, null and such.
_MARKS = {"?", "-", "--", ".", "", "*", "na", "n.a.", "none", "missing", "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """What one partition, or several, hold of a column.

    Attributes
    ----------
    text : bool
    levels : frozenset or None
        The different values; None where there are more than `MOST_LEVELS`.
    low, high : float
        Of numbers.
    whole : bool
        Whether all numbers are whole.
    missing : int
    where : str
        Name of the first of the partitions.
    merged : bool
        Whether whole numbers beyond 2^53 become equal as floating-point numbers.
    numbers : ColumnSummary or None
        Of text that is numbers, but for marks such as ``?``: the numbers, the marks being missing.
    marked : bool
        Whether there are marks.
    """

    text: bool
    levels: frozenset[Any] | None
    low: float
    high: float
    whole: bool
    missing: int
    where: str
    merged: bool = False
    numbers: ColumnSummary | None = None
    marked: bool = False

    def merge(self, other: ColumnSummary) -> ColumnSummary:
        """The summary of all rows of both."""
        if self.levels == frozenset():  # nothing but missing values has no type
            return replace(other, missing=self.missing + other.missing, where=self.where)
        if other.levels == frozenset():
            return replace(self, missing=self.missing + other.missing)
        if self.text != other.text:
            first, second = (self, other) if self.text else (other, self)
            raise InputError(f"holds text in {first.where} and numbers in {second.where}")
        both = None
        if self.levels is not None and other.levels is not None:
            both = self.levels | other.levels
        equal = not self.text and both is not None and len(set(map(float, both))) < len(both)
        numbers = None
        if self.numbers is not None and other.numbers is not None:
            numbers = self.numbers.merge(other.numbers)
        return ColumnSummary(
            text=self.text,
            levels=both if both is None or len(both) <= MOST_LEVELS else None,
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            whole=self.whole and other.whole,
            missing=self.missing + other.missing,
            where=self.where,
            merged=self.merged or other.merged or equal,
            numbers=numbers,
            marked=self.marked or other.marked,
        )

    def kind(self, *, outcome: bool) -> Kind:
        """What the column is, unless the caller says otherwise."""
        distinct = MOST_LEVELS + 1 if self.levels is None else len(self.levels)
        return inferred_kind(text=self.text, distinct=distinct, whole=self.whole, outcome=outcome)

    def as_declared(self, kind: Kind | None, fewest: int) -> ColumnSummary:
        """Text as the numbers that it is: with marks among at least so many, or if declared so."""
        if self.numbers is None or (kind is not None and kind.is_categorical):
            return self
        levels = self.numbers.levels
        many = levels is None or len(levels) >= fewest
        declared = kind is not None and not self.marked
        return self.numbers if (self.marked and many) or declared else self


def summarize(
    name: str, values: pd.Series, where: str = "", rows: Sequence[int] | None = None
) -> ColumnSummary:
    """Look at some rows of a column; `rows` are the numbers that messages give to them."""
    import pandas as pd

    known = values.dropna()
    array = np.asarray(known.unique())
    dtype = pd.api.types.infer_dtype(array, skipna=False) if len(array) else "floating"
    missing = len(values) - len(known)
    numeric = read_numbers(name, array, dtype)
    if numeric is not None:
        if not np.isfinite(numeric).all():
            numbered = np.arange(len(values)) if rows is None else np.asarray(rows)
            reject_infinite(name, np.asarray(known, float), numbered[values.notna().to_numpy()])
        return _of_numbers(array, numeric, dtype, missing, where)
    parsed = numbers_among_marks(array.tolist())
    if parsed is None:
        reject_non_text(name, array, dtype)
    numbers = None
    if parsed:
        marks = int(known.isin([value for value in array if value not in parsed]).sum())
        distinct = np.unique(np.array(list(parsed.values())))
        if np.isfinite(distinct).all():
            numbers = _of_numbers(distinct, distinct, "floating", missing + marks, where)
    return ColumnSummary(
        text=True,
        levels=frozenset(map(str, array)) if len(array) <= MOST_LEVELS else None,
        low=np.inf,
        high=-np.inf,
        whole=False,
        missing=missing,
        where=where,
        numbers=numbers,
        marked=numbers is not None and len(parsed or ()) < len(array),
    )


def _of_numbers(
    values: NDArray[Any], numeric: NDArray[np.float64], dtype: str, missing: int, where: str
) -> ColumnSummary:
    large = dtype == "integer" and len(numeric) > 0 and np.abs(numeric).max() >= LARGEST_WHOLE
    exact: list[Any] = [int(value) for value in values] if large else numeric.tolist()
    return ColumnSummary(
        text=False,
        levels=frozenset(exact) if len(numeric) <= MOST_LEVELS else None,
        low=float(numeric.min(initial=np.inf)),
        high=float(numeric.max(initial=-np.inf)),
        whole=bool((np.floor(numeric) == numeric).all()),
        missing=missing,
        where=where,
        merged=bool(large) and len(np.unique(numeric)) < len(numeric),
    )


def numbers_among_marks(levels: Sequence[Any]) -> dict[Any, float] | None:
    """Different values that are numbers, but for marks: value → number, without the marks.

    None where other values are among them.
    """
    if any(not isinstance(level, (str, int, float)) for level in levels):
        return None
    known: dict[Any, float] = {}
    for level in levels:
        if isinstance(level, str) and level.strip().lower() in _MARKS:
            continue
        try:
            known[level] = float(level)
        except (ValueError, OverflowError):
            return None
        if np.isnan(known[level]):
            return None
    return known
