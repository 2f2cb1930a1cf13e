"""Means along a continuous outcome: local lines over neighbors, with windows chosen by the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["OutcomeSmoother", "Smoothed"]

NARROWEST = 4  # rows on each side
_MOST_CELLS = 4_096  # beyond, rows of neighboring outcomes are taken together
_WIDER_IS_BETTER = 0.98  # a narrower window must lower the error by this factor
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
        x = columns[self.order]
        scored = np.arange(self.n)
        if self.n > _MOST_CELLS:  # the windows are chosen on some rows, evenly along the outcome
            scored = np.arange(_MOST_CELLS) * self.n // _MOST_CELLS
        sums = _CellSums(self, x)
        best = np.full(x.shape[1], np.inf)
        windows = np.full(x.shape[1], self.n, dtype=np.intp)
        for width in self.list_windows():
            squared = sums.find_residuals(scored, width) ** 2
            bound = _FARTHEST * np.median(squared, axis=0)
            error = np.minimum(squared, np.where(bound > 0, bound, np.inf)).mean(axis=0)
            better = error < _WIDER_IS_BETTER * best
            best[better], windows[better] = error[better], width
        residuals = np.empty_like(x)
        for width in np.unique(windows):
            own = windows == width
            part = _CellSums(self, x[:, own]) if len(own) > own.sum() else sums
            residuals[np.ix_(self.order, own)] = part.find_residuals(np.arange(self.n), int(width))
        return Smoothed(residuals, windows)


class _CellSums:
    """Sums of columns over the cells, from which every window is two lookups."""

    def __init__(self, smoother: OutcomeSmoother, x: Array) -> None:
        self.smoother, self.x = smoother, x
        z = smoother.z[:, None]
        self.total = self._accumulate(x)
        self.product = self._accumulate(x * z)
        self.base = self._accumulate(np.hstack([z, z**2]))

    def _accumulate(self, values: Array) -> Array:
        sums = np.cumsum(values, axis=0)[self.smoother.ends - 1]
        return np.vstack([np.zeros((1, values.shape[1])), sums])

    def find_residuals(self, rows: Index, width: int) -> Array:
        """Rows (in the order of the outcome) minus the line through their neighbors."""
        smoother = self.smoother
        ends, cell = smoother.ends, smoother.cell[rows]
        starts = ends - np.diff(ends, prepend=0)
        low = np.searchsorted(ends, np.maximum(starts - width, 0), side="right")[cell]
        high = np.searchsorted(starts, np.minimum(ends + width, smoother.n), side="left")[cell]
        x, z = self.x[rows], smoother.z[rows]
        edges = np.concatenate([[0], ends])
        count = np.maximum(edges[high] - edges[low] - 1.0, 1.0)
        base = self.base[high] - self.base[low]
        total = self.total[high] - self.total[low] - x
        product = self.product[high] - self.product[low] - x * z[:, None]
        center = (base[:, 0] - z) / count
        square = base[:, 1] - z**2
        spread = square - count * center**2
        sloped = spread > 1e-10 * np.maximum(square, 1e-300)
        slope = (product - total * center[:, None]) / np.where(sloped, spread, 1.0)[:, None]
        slope[~sloped] = 0.0
        return np.asarray(x - total / count[:, None] - slope * (z - center)[:, None])


def _find_cell_ends(z: Array) -> Index:
    """Where cells of equal outcomes end; of about equal size where outcomes are very many."""
    last = np.flatnonzero(np.append(np.diff(z) > 0, True)) + 1
    if len(last) <= _MOST_CELLS:
        return last
    wanted = np.linspace(0, len(z), _MOST_CELLS + 1)[1:]
    return np.unique(last[np.searchsorted(last, wanted - 0.5)])
