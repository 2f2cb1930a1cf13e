"""From a table, wherever it lies, to counts: bins are chosen, then combinations are counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fairaudit._types import Index
from fairaudit.data.columns import Kind
from fairaudit.data.quantile_bins import (
    BINS,
    MOST_LEVELS,
    Bins,
    Cells,
    Grid,
    choose_bins,
    share_bins,
)
from fairaudit.data.threshold import DEFAULT_THRESHOLD
from fairaudit.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from fairaudit.data.roles import ResolvedRoles

__all__ = [
    "MOST_COMBINATIONS",
    "CountSource",
    "Counts",
    "Key",
    "Numbers",
    "choose_keys",
    "make_counts",
]

MOST_COMBINATIONS = 5_000_000


@dataclass(frozen=True, slots=True)
class Numbers:
    """Of a column: the range of its numbers; None of text. `whole`: stored as whole numbers."""

    low: float | None
    high: float | None
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class Key:
    """A column as it is counted: by its values, or by bins."""

    name: str
    bins: Bins | None = None


class CountSource(Protocol):
    """Where rows are counted. All sources give the same numbers for the same rows."""

    def columns(self) -> list[str]: ...

    def summarize(self, names: Sequence[str]) -> tuple[int, dict[str, Numbers]]:
        """How many rows there are, and the ranges of columns."""
        ...

    def count_cells(self, name: str, grid: Grid, within: Index | None) -> Cells:
        """The cells of a grid that hold numbers; `within` cells of the coarser one, if given."""
        ...

    def count(self, keys: Sequence[Key], count: str, most: int) -> pd.DataFrame:
        """Combinations that occur, with their numbers of rows in the column `count`.

        A column in bins has the numbers of its bins. Beyond `most` combinations none is promised.
        """
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Combinations with their numbers of rows, and which columns were cut into how many bins."""

    frame: pd.DataFrame
    binned: Mapping[str, int]
    kinds: Mapping[str, str]


def choose_keys(
    source: CountSource, roles: ResolvedRoles, *, bins: int | None, threshold: float | None
) -> tuple[int, list[Key], dict[str, str]]:
    """Rows, the columns to count by, and the kinds of those in bins."""
    if roles.outcome is None or not roles.predictions:
        raise InputError("Counting needs the names of outcome and predictions.")
    names = [roles.outcome, *roles.sensitive, *roles.predictions]
    rows, numbers = source.summarize(names)
    if rows == 0:
        raise InputError("The table has no rows. Pass at least two.")
    keys: list[Key] = []
    kinds, several = dict(roles.kinds), len(roles.predictions)
    for name in names:
        own = numbers[name]
        numeric = own.low is not None and own.high is not None
        declared = roles.kinds.get(name) in (Kind.BINARY.value, Kind.CATEGORICAL.value)
        made = None
        if numeric and name != roles.outcome and not declared:
            cut, count = None, bins or BINS
            if name in roles.predictions:
                cut, count = _choose_threshold(own, threshold, several), share_bins(bins, several)
            made = _choose_bins(source, name, own, bins=count, threshold=cut)
        if made is not None:
            kinds.setdefault(name, str(Kind.INTEGER if own.whole else Kind.CONTINUOUS))
        keys.append(Key(name, made))
    return rows, keys, kinds


def _choose_threshold(own: Numbers, threshold: float | None, several: int) -> float | None:
    """As `default_threshold` has it for tables in memory."""
    if threshold is not None or several > 2 or own.low is None or own.high is None:
        return threshold
    return DEFAULT_THRESHOLD if own.low >= 0 and own.high <= 1 else None


def _choose_bins(
    source: CountSource, name: str, own: Numbers, *, bins: int, threshold: float | None
) -> Bins | None:
    assert own.low is not None and own.high is not None  # noqa: S101  for mypy: numbers
    for value in (own.low, own.high):
        if not np.isfinite(value):
            raise InputError(
                f"Column {name!r} has an infinite value. Remove or cap such values.", column=name
            )
    if own.whole and own.high - own.low < MOST_LEVELS:
        return None
    return choose_bins(
        lambda grid, within: source.count_cells(name, grid, within),
        own.low,
        own.high,
        bins=bins,
        threshold=threshold,
    )


def make_counts(
    source: CountSource,
    roles: ResolvedRoles,
    *,
    count: str = "n",
    bins: int | None = None,
    threshold: float | None = None,
) -> Counts:
    """Count the combinations of outcome, attributes and prediction."""
    rows, keys, kinds = choose_keys(source, roles, bins=bins, threshold=threshold)
    if count in {key.name for key in keys}:
        raise InputError(
            f"The column of counts is called {count!r}, and so is a column of the table. Choose "
            "another name with 'count'.",
            argument="count",
        )
    frame = source.count(keys, count, MOST_COMBINATIONS)
    if len(frame) > MOST_COMBINATIONS:
        raise InputError(
            f"There are more than {MOST_COMBINATIONS:,} combinations of "
            f"{', '.join(key.name for key in keys)}. Name fewer attributes, cut numbers into fewer "
            "bins, or declare codes that are numbers integer.",
            argument="sensitive",
        )
    counted = int(frame[count].sum())
    if counted != rows:
        raise InputError(
            f"The table changed while it was counted: {rows:,} rows at first, {counted:,} then. "
            "Wait until it is written, or count a snapshot."
        )
    for key in keys:
        if key.bins is not None:
            frame[key.name] = _name_bins(frame[key.name], key.bins)
    order = [key.name for key in keys]
    frame = frame[[*order, count]].sort_values(order, kind="stable", ignore_index=True)
    binned = {key.name: len(key.bins) for key in keys if key.bins is not None}
    return Counts(frame, binned, kinds)


def _name_bins(places: pd.Series, bins: Bins) -> Any:
    """The numbers that stand for bins; missing ones stay so."""
    import pandas as pd

    place = pd.to_numeric(places).to_numpy(dtype=np.float64, na_value=np.nan)
    known = ~np.isnan(place)
    values = np.full(len(place), np.nan)
    values[known] = bins.values[place[known].astype(np.intp)]
    return values
