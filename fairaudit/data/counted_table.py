"""Tables of counts: rows that are all different, and how many rows each stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fairaudit._types import Index
from fairaudit.data.columns import Column, column_of
from fairaudit.data.quantile_bins import (
    BINS,
    MOST_LEVELS,
    Bins,
    Cells,
    Grid,
    choose_bins,
    share_bins,
)
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError

__all__ = [
    "bin_columns",
    "check_whole_counts",
    "count_rows",
    "draw_rows",
    "merge_rows",
    "repeat_rows",
    "set_times",
]

_LARGEST = 2**62


def count_rows(table: AuditTable) -> int:
    """How many rows a table stands for."""
    return len(table) if table.times is None else int(table.times.sum())


def check_whole_counts(name: str, values: Any) -> None:
    """Refuse masked counts, whose rows `missing` would leave out otherwise."""
    if np.asarray(values.isna()).any():
        raise InputError(
            f"The counts {name!r} are not all there: some are masked or missing, and nobody knows "
            "how many rows they stand for. Count again without masks.",
            argument="count",
        )


def set_times(table: AuditTable, given: Mapping[str, Any]) -> AuditTable:
    """The table whose rows stand for so many, where a column of counts is given."""
    if not given:
        return table
    ((name, values),) = given.items()
    for other, role in ((table.weights, "weights"), (table.ids, "ids")):
        if other is not None:
            raise InputError(
                f"A table of counts has no {role}: each of its rows stands for many people. Leave "
                f"'{role}' out.",
                argument=role,
            )
    numbers = column_of(name, values).numeric
    if numbers is None or (numbers < 0).any() or (np.floor(numbers) != numbers).any():
        raise InputError(
            f"The counts {name!r} must be whole numbers of 0 or more. Masked or rounded counts "
            "cannot be audited: count again without masks.",
            argument="count",
        )
    if float(numbers.sum()) >= _LARGEST:
        raise InputError(f"The counts {name!r} add up to more than 2^62 rows.", argument="count")
    if numbers.max() >= 2**53:
        raise InputError(f"A count in {name!r} is beyond 2^53 and not exact.", argument="count")
    some = np.flatnonzero(numbers > 0)
    if not len(some):
        raise InputError(f"The counts {name!r} are all 0: there are no rows.", argument="count")
    times = numbers.astype(np.intp)
    if len(some) < len(times):
        table, times = table.take(some), times[some]
    return replace(table, times=times)


def bin_columns(
    table: AuditTable, bins: int | None, threshold: float | None
) -> tuple[AuditTable, dict[str, int]]:
    """Numbers with many different values in bins, and how many bins each column has.

    No bin of a prediction holds both sides of the threshold.
    """
    binned: dict[str, int] = {}
    several = len(table.prediction.columns)
    predictions = tuple(
        _bin_column(column, share_bins(bins, several), threshold, binned)
        for column in table.prediction.columns
    )
    attributes = tuple(
        _bin_column(column, bins or BINS, None, binned) for column in table.attributes
    )
    prediction = replace(table.prediction, columns=predictions)
    return replace(table, prediction=prediction, attributes=attributes), binned


def _bin_column(
    column: Column, bins: int, threshold: float | None, binned: dict[str, int]
) -> Column:
    x = column.numeric
    if x is None or column.kind.is_categorical or len(column.levels) <= MOST_LEVELS:
        return column
    made = choose_bins(
        lambda grid, within: _count_cells(x, grid, within),
        float(x.min()),
        float(x.max()),
        bins=bins,
        threshold=threshold,
    )
    if made is None:
        return column
    binned[column.name] = len(made)
    return _place_in_bins(column, made)


def _count_cells(x: Any, grid: Grid, within: Index | None) -> Cells:
    if within is not None:
        x = x[np.isin(grid.coarser().find_cells(x), within)]
    return Cells.of(x, grid)


def _place_in_bins(column: Column, bins: Bins) -> Column:
    codes = bins.place(np.asarray(column.numeric))
    whole = replace(column, codes=codes, levels=bins.values, numeric=bins.values[codes])
    return whole.take(np.arange(len(codes)))


def merge_rows(table: AuditTable) -> AuditTable:
    """Equal rows as one, sorted by outcome, attributes and prediction; all rows count.

    However a table was counted, and in whatever order, this is the same.
    """
    columns = [table.require_outcome(), *table.attributes, *table.prediction.columns]
    key = np.zeros(len(table), dtype=np.intp)
    for column in columns:  # numbers stay below those of the rows, and keep the order
        key = np.unique(key * len(column.levels) + column.codes, return_inverse=True)[1]
    first = np.unique(key, return_index=True)[1]
    times = np.zeros(len(first), dtype=np.intp)
    np.add.at(times, key, 1 if table.times is None else table.times)
    return replace(table.take(first), times=times)


def repeat_rows(table: AuditTable) -> AuditTable:
    """The rows that a table of counts stands for, one by one, in an order that tells nothing."""
    if table.times is None:
        return table
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(table)), table.times))
    return replace(table, times=None).take(rows)


def draw_rows(table: AuditTable, count: int, seed: Any) -> AuditTable:
    """So many of the rows that a table of counts stands for, at random; all, if they are fewer."""
    rows = count_rows(table)
    if rows <= count:
        return repeat_rows(table)
    chosen = np.random.default_rng(seed).choice(rows, count, replace=False)
    ends: Index = np.cumsum(np.ones(len(table), np.intp) if table.times is None else table.times)
    return replace(table, times=None).take(np.searchsorted(ends, chosen, side="right"))
