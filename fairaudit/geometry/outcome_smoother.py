"""Means along a continuous outcome: local lines over neighbors, with windows chosen by the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["OutcomeLines", "OutcomeSmoother", "Smoothed"]

NARROWEST = 4  # rows on each side
_MOST_CELLS = 4_096  # beyond, rows of neighboring outcomes are taken together
_WIDER_IS_BETTER = 0.98  # a narrower window must lower the error by this factor
_AT_ONCE = 1 << 13  # rows of which columns are held
_FLAT, _OWN_LINE = 1e-10, 1 - 1e-9  # outcomes of a window, and a row's weight, without a line
_FOR_MEDIAN = 2_048  # rows that their median is taken over
_FARTHEST = 25.0  # squared errors count up to this multiple of their median


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """What the outcome does not explain of columns.

    Attributes
    ----------
    residuals : array
        Each row minus the line through its neighbors, without the row itself.
    windows : int array
        Rows on each side, per column.
    """

    residuals: Array
    windows: Index


class OutcomeSmoother:
    """Local lines along an outcome, of many columns at once: O(rows × columns) per window.

    Every column has the window with the smallest leave-one-out error, wide ones first. Rows of
    equal outcome always share their neighbors. With many rows, neighboring outcomes form cells of
    about equal size, and windows consist of cells.

    Parameters
    ----------
    outcome : array
        One number per row.

    Examples
    --------
    >>> y = np.linspace(0, 1, 200)
    >>> smoothed = OutcomeSmoother(y).remove(np.column_stack([3 * y, np.sin(40 * y)]))
    >>> bool(np.abs(smoothed.residuals).max() < 0.2), int(smoothed.windows[0])
    (True, 200)
    """

    def __init__(self, outcome: Array) -> None:
        self.n = len(outcome)
        self.order = np.argsort(outcome, kind="stable")
        ordered = outcome[self.order]
        spread = float(ordered.std())
        self.z = (ordered - ordered.mean()) / (spread if spread > 0 else 1.0)
        self.ends = _find_cell_ends(self.z)
        self.place = np.empty(self.n, dtype=np.intp)
        self.place[self.order] = np.arange(self.n)
        self.cell = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def list_windows(self) -> list[int]:
        """From all rows to the narrowest, halving."""
        widths = [self.n]
        width = 1 << max(0, int(np.log2(max(1, self.n - 1))))
        while width >= NARROWEST:
            if width < self.n:
                widths.append(width)
            width //= 2
        return widths

    def remove(self, columns: Array) -> Smoothed:
        """The columns without what the outcome explains, row by row as they came."""
        lines = self.fit(lambda rows: columns[rows])
        residuals = np.empty(columns.shape)
        for rows in self._split(self.order):
            residuals[rows] = lines.find_residuals(rows, columns[rows])
        return Smoothed(residuals, lines.windows)

    def fit(self, make_columns: Callable[[Index], Array]) -> OutcomeLines:
        """The lines of columns that are made for some rows at a time, and never all at once."""
        sums = _CellSums(self, make_columns)
        scored = np.arange(self.n)
        if self.n > _MOST_CELLS:  # the windows are chosen on some rows, evenly along the outcome
            scored = np.arange(_MOST_CELLS) * self.n // _MOST_CELLS
        x = make_columns(self.order[scored])
        best = np.full(x.shape[1], np.inf)
        windows = np.full(x.shape[1], self.n, dtype=np.intp)
        for width in self.list_windows():
            lines = OutcomeLines(self, sums, np.full(x.shape[1], width))
            squared = lines.find_residuals_at(scored, x) ** 2
            bound = _FARTHEST * np.median(squared[:: 1 + len(squared) // _FOR_MEDIAN], axis=0)
            error = np.minimum(squared, np.where(bound > 0, bound, np.inf)).mean(axis=0)
            better = error < _WIDER_IS_BETTER * best
            best[better], windows[better] = error[better], width
        return OutcomeLines(self, sums, windows)

    def _split(self, rows: Index) -> list[Index]:
        return [rows[at : at + _AT_ONCE] for at in range(0, len(rows), _AT_ONCE)]

    def find_window(self, width: int) -> tuple[Index, Index]:
        """Per cell its first neighbor, and the first cell that is none."""
        starts = self.ends - np.diff(self.ends, prepend=0)
        low = np.searchsorted(self.ends, np.maximum(starts - width, 0), side="right")
        high = np.searchsorted(starts, np.minimum(self.ends + width, self.n), side="left")
        return low, high


class _CellSums:
    """Sums of columns over the cells, from the first on: every window is two lookups."""

    def __init__(self, smoother: OutcomeSmoother, make_columns: Callable[[Index], Array]) -> None:
        starts = smoother.ends - np.diff(smoother.ends, prepend=0)
        cells = len(starts)
        self.total: Array = np.zeros((cells + 1, 0))
        for at in range(0, cells, step := max(1, cells * _AT_ONCE // smoother.n)):
            first, last = starts[at], smoother.ends[min(at + step, cells) - 1]
            x, z = make_columns(smoother.order[first:last]), smoother.z[first:last, None]
            if not at:
                self.total, self.product = (np.zeros((cells + 1, x.shape[1])) for _ in range(2))
            places = starts[at : at + step] - first
            own = slice(at + 1, at + 1 + len(places))
            self.total[own] = np.add.reduceat(x, places, axis=0)
            self.product[own] = np.add.reduceat(x * z, places, axis=0)
        z = smoother.z[:, None]
        self.base = np.zeros((cells + 1, 3))
        self.base[1:] = np.add.reduceat(np.hstack([np.ones_like(z), z, z**2]), starts, axis=0)
        for sums in (self.total, self.product, self.base):
            np.cumsum(sums, axis=0, out=sums)


class OutcomeLines:
    """Lines through the neighbors of every cell, each column with its own window.

    Attributes
    ----------
    windows : int array
        Rows on each side, per column.
    """

    def __init__(self, smoother: OutcomeSmoother, sums: _CellSums, windows: Index) -> None:
        self.smoother, self.windows = smoother, windows
        self.kinds: list[tuple[Any, Array]] = []
        widths = np.unique(windows)
        if len(widths) > 1:
            self.mean, self.slope = np.empty((2, len(smoother.ends), len(windows)))
        for width in widths:
            own: Any = np.flatnonzero(windows == width) if len(widths) > 1 else slice(None)
            low, high = smoother.find_window(int(width))
            count, first, second = (sums.base[high] - sums.base[low]).T
            center = first / count
            spread = second - count * center**2
            spread = np.where(spread > _FLAT * np.maximum(second, 1e-300), spread, np.inf)
            total, slope = sums.total[:, own], sums.product[:, own]
            total, slope = total[high] - total[low], slope[high] - slope[low]
            slope -= total * center[:, None]
            slope /= spread[:, None]
            total /= count[:, None]
            if len(widths) > 1:
                self.mean[:, own], self.slope[:, own] = total, slope
            else:
                self.mean, self.slope = total, slope
            self.kinds.append((own, np.column_stack([count, center, spread])))

    def find_residuals(self, rows: Index, x: Array) -> Array:
        """Columns of rows, minus the line through their neighbors without the row itself."""
        return self.find_residuals_at(self.smoother.place[rows], x)

    def find_residuals_at(self, places: Index, x: Array) -> Array:
        """Rows by their places in the order of the outcome."""
        cell, z = self.smoother.cell[places], self.smoother.z[places]
        residuals = x - self.mean[cell]
        slope = self.slope[cell]
        for own, base in self.kinds:
            count, center, spread = base[cell].T
            away = z - center
            weight = 1 / count + away**2 / spread  # of the row in its own line
            flat = weight > _OWN_LINE  # without the row there is no line, but a mean
            away[flat], weight[flat] = 0.0, (1 / count)[flat]
            rest = 1 - np.where(count > 1, weight, 0.0)
            slope[:, own] *= away[:, None]
            residuals[:, own] -= slope[:, own]
            residuals[:, own] /= rest[:, None]
        return np.asarray(residuals)


def _find_cell_ends(z: Array) -> Index:
    """Where cells of equal outcomes end; of about equal size where outcomes are very many."""
    last = np.flatnonzero(np.append(np.diff(z) > 0, True)) + 1
    if len(last) <= _MOST_CELLS:
        return last
    wanted = np.linspace(0, len(z), _MOST_CELLS + 1)[1:]
    return np.unique(last[np.searchsorted(last, wanted - 0.5)])
