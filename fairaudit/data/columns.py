"""One column of an audit: its name, its kind and its values, however the caller held them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._words import clipped, round_outwards
from fairaudit.data.facts import ColumnFacts
from fairaudit.data.text_columns import numbers_in, reject_non_text, reject_odd_text
from fairaudit.errors import InputError

__all__ = [
    "LARGEST_WHOLE",
    "Column",
    "Kind",
    "beyond_whole",
    "column_facts",
    "columns_from",
    "inferred_kind",
    "level_text",
    "named_values",
    "not_binary",
    "one_dimensional",
    "parse_kind",
    "read_numbers",
    "reject_extreme",
    "reject_infinite",
    "require_unique_names",
    "split_kinds",
]

MAX_OUTCOME_CLASSES = 20
_LARGEST = 1e150  # numbers, and differences of numbers, whose squares are still numbers
LARGEST_WHOLE = 2**53  # from here on floating-point numbers skip whole ones


class Kind(str, Enum):
    """What a column means; it decides distances, cells and which copies are valid."""

    BINARY = "binary"
    CATEGORICAL = "categorical"
    INTEGER = "integer"
    CONTINUOUS = "continuous"

    @property
    def is_categorical(self) -> bool:
        return self in (Kind.BINARY, Kind.CATEGORICAL)

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Column:
    """A named column without missing values.

    Attributes
    ----------
    name : str
    kind : Kind
    codes : int array
        Position of each value in `levels`.
    levels : array
        The distinct values, sorted.
    numeric : float array or None
        The values as numbers; None when they are text.
    """

    name: str
    kind: Kind
    codes: NDArray[np.intp] = field(repr=False)
    levels: NDArray[Any] = field(repr=False)
    numeric: NDArray[np.float64] | None = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def describe(self, *, rounded: bool = False) -> str:
        """``race: categorical, 4 levels (a, b, c, d)`` or ``age: continuous, 18 to 90``."""
        if self.kind.is_categorical:
            listed = ", ".join(_short(level_text(level)) for level in self.levels[:6])
            more = ", …" if len(self.levels) > 6 else ""
            return f"{self.name}: {self.kind}, {len(self.levels)} levels ({listed}{more})"
        low, high = float(self.levels[0]), float(self.levels[-1])
        low, high = round_outwards(low, high) if rounded else (low, high)
        return f"{self.name}: {self.kind}, {low:g} to {high:g}"

    def take(self, rows: NDArray[Any]) -> Column:
        """The column at `rows` (indices or mask); levels that no longer occur are dropped."""
        codes, numeric = self.codes[rows], None if self.numeric is None else self.numeric[rows]
        occurs = np.zeros(len(self.levels), dtype=bool)
        occurs[codes] = True
        place = np.cumsum(occurs) - 1
        return Column(
            name=self.name,
            kind=self.kind,
            codes=place[codes],
            levels=self.levels[occurs],
            numeric=numeric,
        )


def level_text(level: Any) -> str:
    """A level for people: whole numbers without a point.

    Examples
    --------
    >>> level_text(2.0), level_text("a"), level_text(True)
    ('2', 'a', 'True')
    """
    whole = isinstance(level, (float, np.floating)) and float(level).is_integer()
    return f"{level:.0f}" if whole else str(level)


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:59]}…"


def parse_kind(text: str, name: str) -> Kind:
    try:
        return Kind(text)
    except ValueError:
        known = ", ".join(kind.value for kind in Kind)
        raise InputError(
            f"The kind of column {name!r} must be one of {known}. Got {text!r} instead."
        ) from None


def split_kinds(spec: str) -> tuple[str, Kind | None]:
    """``"age:continuous"`` → ``("age", Kind.CONTINUOUS)``; ``"age"`` → ``("age", None)``."""
    name, colon, kind = spec.rpartition(":")
    if colon and name and kind in {k.value for k in Kind}:
        return name, Kind(kind)
    return spec, None


def columns_from(
    data: Any,
    *,
    argument: str,
    kinds: Mapping[str, str] | None = None,
    outcome: bool = False,
    rows: NDArray[np.intp] | None = None,
) -> tuple[Column, ...]:
    """Columns from a frame or series (pandas, polars, Arrow), a mapping, an array or a list.

    Parameters
    ----------
    data
        What the caller passed. `Column` objects pass through unchanged.
    argument
        Name of the caller's argument, for messages and for unnamed columns.
    kinds
        Overrides of the inferred kinds, by column name.
    outcome
        Infer as an outcome (an integer with few values is a class) and not as an attribute.
    rows
        Numbers of the rows in the caller's own table, for messages; default: 0, 1, …
    """
    named = named_values(data, argument)
    if not named:
        raise InputError(f"The {argument!r} argument has no columns. Pass at least one.")
    require_unique_names([name for name, _ in named], argument)
    chosen = {name: parse_kind(str(kind), name) for name, kind in (kinds or {}).items()}
    return tuple(
        values
        if isinstance(values, Column)
        else column_of(name, values, kind=chosen.get(name), outcome=outcome, rows=rows)
        for name, values in named
    )


def require_unique_names(names: list[str], argument: str) -> None:
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"Column {clipped(twice)} occurs twice in {argument!r}. Rename or drop one."
        )


def one_dimensional(name: str, values: Any) -> NDArray[Any]:
    """The values as an array of one dimension; a table of one column is a column."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(
            f"Column {name!r} must hold one value per row. Got shape {array.shape} instead."
        )
    return array


def named_values(data: Any, argument: str) -> list[tuple[str, Any]]:
    if isinstance(data, Column):
        return [(data.name, data)]
    if isinstance(data, (tuple, list)) and data and all(isinstance(c, Column) for c in data):
        return [(column.name, column) for column in data]
    if isinstance(data, Mapping):
        return [(str(name), _to_array(values, str(name))) for name, values in data.items()]

    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        native = nw.from_native(data, allow_series=True, pass_through=True)
    except DuplicateError as error:
        name = str(error).partition("- ")[2].rpartition(" ")[0].rpartition(" ")[0]
        raise InputError(
            f"Column {name} occurs more than once in {argument!r}. Rename or drop one."
        ) from None
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    if isinstance(native, nw.Series):
        return [(str(native.name) if native.name is not None else argument, native.to_numpy())]
    if isinstance(native, nw.DataFrame):
        return [(str(name), native[name].to_numpy()) for name in native.columns]
    array = _to_array(data, argument)
    if array.ndim == 1:
        return [(argument, array)]
    if array.ndim == 2:
        width = array.shape[1]
        prefix = {"sensitive": "a"}.get(argument, argument)
        names = [f"{prefix}{j + 1}" for j in range(width)] if width > 1 else [argument]
        return [(name, array[:, j]) for j, name in enumerate(names)]
    raise InputError(
        f"The {argument!r} argument must have one or two dimensions. Got {array.ndim} instead."
    )


def _to_array(values: Any, name: str) -> NDArray[Any]:
    import narwhals as nw

    native = nw.from_native(values, allow_series=True, pass_through=True)
    if isinstance(native, nw.Series):
        return np.asarray(native.to_numpy())
    try:
        array = np.asarray(values)
    except ValueError as error:  # ragged lists
        raise InputError(f"{name!r} cannot be read as an array: {error}.") from None
    if array.dtype.kind in "US" and not (isinstance(values, np.ndarray)):
        array = np.asarray(values, dtype=object)  # keep None and mixed types visible
    return array


def column_of(
    name: str,
    values: Any,
    *,
    kind: Kind | None = None,
    outcome: bool = False,
    rows: NDArray[np.intp] | None = None,
) -> Column:
    """Check the values of one column and infer its kind."""
    import pandas as pd

    values = one_dimensional(name, values)
    if len(values) == 0:
        raise InputError(f"Column {name!r} is empty. Pass at least two rows.")
    rows = np.arange(len(values)) if rows is None else rows
    _reject_missing(name, np.asarray(pd.isna(values)), rows)
    dtype = pd.api.types.infer_dtype(values, skipna=False)
    if dtype == "string" and kind in (Kind.INTEGER, Kind.CONTINUOUS):
        values, dtype = numbers_in(values)
    numeric = read_numbers(name, values, dtype)
    if numeric is None:
        reject_non_text(name, values, dtype)
        codes, levels = pd.factorize(values.astype(object), sort=True)
        declared = None if kind is None else kind.value
        reject_odd_text(name, codes, levels, declared, rows)
    else:
        reject_infinite(name, numeric, rows)
        if outcome and (kind is None or not kind.is_categorical):  # attributes are standardized
            reject_extreme(name, float(numeric.min()), float(numeric.max()))
        codes, levels = _number_levels(name, values, numeric, dtype, kind)
    whole = numeric is not None and bool((np.floor(numeric) == numeric).all())
    inferred = inferred_kind(
        text=numeric is None, distinct=len(levels), whole=whole, outcome=outcome
    )
    if kind is Kind.BINARY and len(levels) > 2:
        raise not_binary(name, len(levels))
    return Column(
        name=name,
        kind=kind or inferred,
        codes=codes.astype(np.intp, copy=False),
        levels=levels,
        numeric=numeric,
    )


def _reject_missing(name: str, missing: NDArray[np.bool_], rows: NDArray[np.intp]) -> None:
    if missing.any():
        count = int(missing.sum())
        raise InputError(
            f"Column {name!r} has {count} missing value{'s' if count > 1 else ''}, the first in "
            f"row {rows[missing][0]}. "
            "Drop those rows, fill them, or give them a category of their own."
        )


def reject_infinite(name: str, numeric: NDArray[np.float64], rows: NDArray[np.intp]) -> None:
    infinite = ~np.isfinite(numeric)
    if infinite.any():
        raise InputError(
            f"Column {name!r} has an infinite value in row {rows[infinite][0]}. "
            "Remove or cap such values."
        )


def reject_extreme(name: str, low: float, high: float) -> None:
    """Squares of such numbers are infinite or zero, and with them every distance."""
    largest = max(abs(low), abs(high))
    if largest > _LARGEST or 0 < high - low < 1 / _LARGEST:
        raise InputError(
            f"Column {name!r} has values from {low:g} to {high:g}, beyond what can be squared. "
            "Multiply it by a constant that brings it near 1."
        )


def read_numbers(name: str, values: NDArray[Any], dtype: str) -> NDArray[np.float64] | None:
    """The values as numbers; None where they are not, by what pandas calls their type."""
    if dtype not in ("boolean", "integer", "floating", "mixed-integer-float", "decimal"):
        return None
    try:
        return values.astype(np.float64) + 0.0  # no negative zero
    except OverflowError:
        raise InputError(
            f"Column {name!r} holds a whole number beyond 1e308. Turn it into text, or scale it."
        ) from None


def _number_levels(
    name: str, values: NDArray[Any], numeric: NDArray[np.float64], dtype: str, kind: Kind | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Codes and levels; whole numbers keep all their digits, which ids need."""
    import pandas as pd

    largest = max(abs(numeric.max()), abs(numeric.min()))
    if dtype == "integer" and largest >= LARGEST_WHOLE:
        codes, levels = pd.factorize(values, sort=True)
        if not (kind and kind.is_categorical) and len(np.unique(numeric)) < len(levels):
            raise InputError(beyond_whole(name))
        return codes, levels
    codes, levels = pd.factorize(numeric, sort=True)
    if values.dtype.kind in "biu":
        return codes, levels.astype(values.dtype)
    return codes, levels.astype(bool) if dtype == "boolean" else levels


def not_binary(name: str, distinct: int | str) -> InputError:
    return InputError(
        f"Column {name!r} has {distinct} distinct values and cannot be binary. "
        "Declare it categorical."
    )


def beyond_whole(name: str) -> str:
    """What is said about whole numbers that become equal as floating-point numbers."""
    return (
        f"Column {name!r} holds whole numbers beyond 2^53 that cannot be told apart as numbers. "
        f"Subtract a constant, or declare {name}:categorical."
    )


def inferred_kind(*, text: bool, distinct: int, whole: bool, outcome: bool) -> Kind:
    """What a column is by its different values; `whole` numbers of an outcome may be classes."""
    if distinct <= 2:
        return Kind.BINARY
    if text:
        return Kind.CATEGORICAL
    if not whole:
        return Kind.CONTINUOUS
    if not outcome:
        return Kind.INTEGER
    return Kind.CATEGORICAL if distinct <= MAX_OUTCOME_CLASSES else Kind.CONTINUOUS


def column_facts(column: Column, missing: int = 0) -> ColumnFacts:
    """A column for the record."""
    if column.kind.is_categorical:
        levels = tuple(level_text(level) for level in column.levels)
        return ColumnFacts(
            name=column.name,
            kind=str(column.kind),
            levels=levels,
            low=None,
            high=None,
            missing=missing,
        )
    low, high = float(column.levels[0]), float(column.levels[-1])
    return ColumnFacts(
        name=column.name, kind=str(column.kind), levels=(), low=low, high=high, missing=missing
    )
