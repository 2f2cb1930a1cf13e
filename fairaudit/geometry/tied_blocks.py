"""Blocks of rows that are equal in every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.columns import Column

__all__ = ["TiedBlocks", "find_tied_blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class TiedBlocks:
    """Rows with equal values share a tied block.

    Attributes
    ----------
    of_row : block number of each row
    first : one row of each block
    counts : rows in each block
    """

    of_row: NDArray[np.intp]
    first: NDArray[np.intp]
    counts: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.first)


def find_tied_blocks(columns: Sequence[Column | NDArray[np.intp]], n: int) -> TiedBlocks:
    """Blocks of rows that are equal in every column; with no columns, one block of all rows."""
    import pandas as pd

    key = np.zeros(n, dtype=np.int64)
    for column in columns:
        codes, size = (
            (column.codes, len(column.levels))
            if isinstance(column, Column)
            else (column, int(column.max()) + 1)
        )
        # keys stay below n, so the product with the number of levels cannot overflow
        key = pd.factorize(key * size + codes)[0] if size > 1 else key
    of_row = np.asarray(key, dtype=np.intp)
    counts = np.bincount(of_row)
    first = np.zeros(len(counts), dtype=np.intp)
    first[of_row[::-1]] = np.arange(n - 1, -1, -1)
    return TiedBlocks(of_row, first, counts)
