"""Bins of about equal numbers of rows, the same to the last bit whoever counts.

A number is placed in a cell by ⌊x·2ᵏ⌋. Multiplication by a power of two is exact, so that every
program and database finds the same cell; bins are runs of cells. Whether x reaches a threshold is
a part of the cell, so that no bin holds both sides of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index

__all__ = [
    "BINS",
    "BINS_OF_SCORES",
    "MOST_LEVELS",
    "Bins",
    "Cells",
    "Grid",
    "choose_bins",
    "describe_bins",
    "share_bins",
]

BINS, BINS_OF_SCORES = 64, 256  # unless another number is asked for
MOST_LEVELS = 256  # different numbers that are kept as they are
_CELLS = 16  # 2^16 cells between the smallest and the largest number
_FINER = 12  # powers of two by which a heavy cell is cut again
_ROUNDS = 3
_LARGEST = 52  # bits of a cell's number
_TAILS = 4  # halvings of the first and the last bin


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of the width 2^−power; their numbers are even, and odd from the threshold on."""

    power: int
    threshold: float | None = None

    def find_cells(self, x: Array) -> Index:
        cells = 2 * np.floor(np.ldexp(x, self.power)).astype(np.intp)
        return cells if self.threshold is None else cells + (x >= self.threshold)

    def finer(self) -> Grid:
        return Grid(self.power + _FINER, self.threshold)

    def coarser(self) -> Grid:
        return Grid(self.power - _FINER, self.threshold)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells that hold rows, sorted: their numbers, rows, smallest and largest values."""

    keys: Index
    counts: Index
    low: Array
    high: Array

    def take(self, some: Index) -> Cells:
        return Cells(self.keys[some], self.counts[some], self.low[some], self.high[some])

    @classmethod
    def of(cls, x: Array, grid: Grid) -> Cells:
        """Of numbers without missing ones."""
        order = np.argsort(x, kind="stable")
        x = x[order]
        keys, first, counts = np.unique(grid.find_cells(x), return_index=True, return_counts=True)
        return cls(keys, counts.astype(np.intp), x[first], x[first + counts - 1])

    @classmethod
    def joined(cls, parts: list[Cells]) -> Cells:
        """Of all parts of a table."""
        keys, place = np.unique(np.concatenate([part.keys for part in parts]), return_inverse=True)
        counts = np.zeros(len(keys), dtype=np.intp)
        np.add.at(counts, place, np.concatenate([part.counts for part in parts]))
        low, high = np.full(len(keys), np.inf), np.full(len(keys), -np.inf)
        np.minimum.at(low, place, np.concatenate([part.low for part in parts]))
        np.maximum.at(high, place, np.concatenate([part.high for part in parts]))
        return cls(keys, counts, low, high)


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Runs of cells: the first cell of each, and the number that stands for all of the run."""

    grid: Grid
    edges: Index
    values: Array

    def __len__(self) -> int:
        return len(self.edges)

    def place(self, x: Array) -> Index:
        """The bin of every number."""
        found = np.searchsorted(self.edges, self.grid.find_cells(x), side="right") - 1
        return np.maximum(found, 0)


def choose_bins(
    count_cells: Callable[[Grid, Index | None], Cells],
    low: float,
    high: float,
    *,
    bins: int,
    threshold: float | None = None,
) -> Bins | None:
    """Bins of numbers between `low` and `high`; None where at most `MOST_LEVELS` are different.

    Parameters
    ----------
    count_cells : callable
        (grid, None) → its cells; (grid, numbers of cells of the grid before) → those in them.
    low, high : float
    bins : int
        The first and the last are halved four times more.
    threshold : float, optional
    """
    if low == high:
        return None
    largest = _LARGEST - math.frexp(max(abs(low), abs(high)))[1]
    grid = Grid(min(_CELLS - math.frexp(high - low)[1], largest), threshold)
    cells = count_cells(grid, None)
    total = int(cells.counts.sum())
    for _ in range(_ROUNDS):
        several = cells.low < cells.high
        heavy = several & (cells.counts > total / (4 * bins))
        if len(cells.keys) <= MOST_LEVELS:
            heavy = several  # perhaps there are few different numbers, some of them close
        if not heavy.any() or grid.power + _FINER > largest:
            break
        within = count_cells(grid.finer(), cells.keys[heavy])
        rest = cells.take(np.flatnonzero(~heavy))
        shifted = Cells(_refine(rest.keys), rest.counts, rest.low, rest.high)
        grid = grid.finer()
        cells = Cells.joined([shifted, within])
    if len(cells.keys) <= MOST_LEVELS and (cells.low == cells.high).all():
        return None
    return _form_bins(cells, grid, total, bins)


def share_bins(asked: int | None, columns: int) -> int:
    """Bins of each of several predictions, of which the last follows from the others."""
    bins = asked or BINS_OF_SCORES
    return bins if columns <= 2 else max(4, round(bins ** (1 / (columns - 1))))


def _refine(keys: Index) -> Index:
    """The first numbers of the cells within, in the finer grid."""
    return ((keys >> 1) << (_FINER + 1)) + (keys & 1)


def _form_bins(cells: Cells, grid: Grid, total: int, bins: int) -> Bins:
    tails = [0.5**k / bins for k in range(1, _TAILS + 1)]
    shares = {k / bins for k in range(1, bins)} | set(tails) | {1 - tail for tail in tails}
    ends = np.cumsum(cells.counts)
    starts = {0} | set(np.searchsorted(ends, [total * s for s in sorted(shares)]).tolist())
    for k in np.flatnonzero(cells.counts >= total / bins).tolist():
        starts |= {k, k + 1}  # many equal numbers are a bin of their own
    above = len(ends)
    if grid.threshold is not None:
        above = int(np.searchsorted(cells.low, grid.threshold))
        starts.add(above)
    first = np.array(sorted(k for k in starts if k < len(ends)), dtype=np.intp)
    last = np.append(first[1:], len(ends)) - 1
    low, high, edges = cells.low[first], cells.high[last], cells.keys[first]
    if grid.threshold is not None:  # of a cell that was not cut again its first part has no row
        reached = grid.find_cells(np.array([grid.threshold]))[0]
        edges = np.where(first == above, np.maximum(edges, reached), edges)
    return Bins(grid, edges, low + (high - low) / 2)


def describe_bins(binned: Mapping[str, int]) -> list[str]:
    """Which columns were cut into how many bins, and what that means."""
    if not binned:
        return []
    cut = ", ".join(f"{name} ({count})" for name, count in binned.items())
    return [
        f"Cut into bins: {cut}. Bins are made of each column alone, so that the test on them is as "
        "exact as without; what differs within a bin is not seen."
    ]
