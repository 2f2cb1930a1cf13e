"""Mixed columns → one numeric space with sensible distances, and the cells of equal rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.columns import Column
from fairaudit.errors import InputError

__all__ = ["encode", "second_order", "sort_by_name"]

MAX_LEVELS = 500
_MOST_FOR_PRODUCTS = 8


def encode(
    columns: Sequence[Column], how: str = "standard", rows: NDArray[np.intp] | None = None
) -> NDArray[np.float64]:
    """The columns as an n × d array whose Euclidean distances make sense.

    Parameters
    ----------
    columns : sequence of Column
    how : {"standard", "raw"}
        ``"standard"``: numbers are standardized; two different levels of a categorical column
        are one unit apart. ``"raw"``: the numbers as they are, as R would see the columns.
    rows : int array, optional
        Only these rows, on the scale of all.

    Examples
    --------
    >>> from fairaudit.data.columns import columns_from
    >>> encode(columns_from({"sex": ["f", "m", "f"]}, argument="sensitive")).ravel()
    array([0., 1., 0.])
    """
    if how == "raw":
        return np.column_stack([_raw(column)[_all(rows)] for column in columns])
    if how == "standard":
        return np.column_stack([_standard(column, _all(rows)) for column in columns])
    raise InputError(f"The 'encode' parameter must be 'standard' or 'raw'. Got {how!r} instead.")


def sort_by_name(columns: Sequence[Column]) -> tuple[Column, ...]:
    """For what is drawn column by column: in whatever order columns are given, it is the same."""
    return tuple(sorted(columns, key=lambda column: column.name))


def second_order(a: NDArray[np.float64]) -> NDArray[np.float64]:
    """Squares of the columns, and products of pairs for up to 8 of them."""
    if a.shape[1] > _MOST_FOR_PRODUCTS:
        return a**2
    i, j = np.triu_indices(a.shape[1])
    return a[:, i] * a[:, j]


def _raw(column: Column) -> NDArray[np.float64]:
    if column.numeric is None:
        raise InputError(
            f"Column {column.name!r} holds text, which encode='raw' cannot use. "
            "Turn it into numbers or use encode='standard'."
        )
    return column.numeric


def _all(rows: NDArray[np.intp] | None) -> Any:
    return slice(None) if rows is None else rows


def _standard(column: Column, rows: Any) -> NDArray[np.float64]:
    if not column.kind.is_categorical and column.numeric is not None:
        scale = float(np.abs(column.numeric).max()) or 1.0  # survives values near 1e300
        values = column.numeric / scale
        spread = float(values.std())
        return (values[rows] - values.mean()) / (spread if spread > 0 else 1.0)
    levels, codes = len(column.levels), column.codes[rows]
    if levels <= 2:
        return codes.astype(np.float64)
    if levels > MAX_LEVELS:
        raise InputError(
            f"Column {column.name!r} has {levels} levels; at most {MAX_LEVELS} can be compared as "
            "categories. Group them, leave the column out, or declare numbers continuous."
        )
    onehot = np.zeros((len(codes), levels))
    onehot[np.arange(len(codes)), codes] = np.sqrt(0.5)
    return onehot
