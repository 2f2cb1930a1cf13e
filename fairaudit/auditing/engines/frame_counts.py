"""Counts of frames: one in memory, or the pieces of a table that engines hold elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.auditing.engines.counting import Key, Numbers
from fairaudit.data.quantile_bins import Cells, Grid

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FrameSource"]


class FrameSource:
    """Pieces of a table, which are counted where they lie.

    Parameters
    ----------
    names : sequence of str
        The columns.
    map : callable
        A function of a frame of pandas → what it gives for every piece.
    """

    def __init__(
        self, names: Sequence[Any], map: Callable[[Callable[[pd.DataFrame], Any]], list[Any]]
    ) -> None:
        self.names, self.map = [str(name) for name in names], map

    def columns(self) -> list[str]:
        return self.names

    def summarize(self, names: Sequence[str]) -> tuple[int, dict[str, Numbers]]:
        parts = self.map(lambda frame: (len(frame), {n: _look_at(frame[n]) for n in names}))
        own = {name: _join([part[1][name] for part in parts]) for name in names}
        return sum(part[0] for part in parts), own

    def count_cells(self, name: str, grid: Grid, within: Index | None) -> Cells:
        def count(frame: pd.DataFrame) -> Cells:
            x = _read_numbers(frame[name])
            x = x[~np.isnan(x)]
            if within is not None:
                x = x[np.isin(grid.coarser().find_cells(x), within)]
            return Cells.of(x, grid)

        return Cells.joined(self.map(count))

    def count(self, keys: Sequence[Key], count: str, most: int) -> pd.DataFrame:
        import pandas as pd

        names = [key.name for key in keys]
        parts = self.map(lambda frame: _count_frame(frame, keys, count))
        if len(parts) == 1:
            return parts[0]
        whole = pd.concat(parts, ignore_index=True)
        return (
            whole.groupby(names, dropna=False, observed=True, sort=False)[count].sum().reset_index()
        )


def _look_at(values: pd.Series) -> Numbers | None:
    """None where nothing is known."""
    import pandas as pd

    if len(values) == 0 or values.isna().all():
        return None
    if pd.api.types.is_bool_dtype(values) or not pd.api.types.is_numeric_dtype(values):
        return Numbers(None, None, False)
    whole = bool(pd.api.types.is_integer_dtype(values))
    return Numbers(float(values.min()), float(values.max()), whole)


def _join(parts: Sequence[Numbers | None]) -> Numbers:
    known = [part for part in parts if part is not None]
    if not known or any(part.low is None for part in known):
        return Numbers(None, None, False)
    low, high = [part.low for part in known], [part.high for part in known]
    return Numbers(
        min(x for x in low if x is not None),
        max(x for x in high if x is not None),
        all(part.whole for part in known),
    )


def _read_numbers(values: pd.Series) -> Array:
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def _count_frame(frame: pd.DataFrame, keys: Sequence[Key], count: str) -> pd.DataFrame:
    import pandas as pd

    columns = {}
    for key in keys:
        values = frame[key.name]
        if key.bins is not None:
            x = _read_numbers(values)
            place = np.full(len(x), np.nan)
            place[~np.isnan(x)] = key.bins.place(x[~np.isnan(x)])
            values = pd.Series(place, index=frame.index)
        columns[key.name] = values
    narrow = pd.DataFrame(columns)
    sizes = narrow.groupby(list(columns), dropna=False, observed=True, sort=False).size()
    return sizes.rename(count).reset_index()
