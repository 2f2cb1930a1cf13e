"""Functions of the attributes that effects are looked for in: lines, products, curves, waves.

They are drawn and scaled on rows that are shown, and can then be had of any rows.
"""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.geometry.bandwidth import median_distance

__all__ = ["FAMILIES", "AttributeFunctions", "RandomTrees", "show_counted", "show_rows"]

FAMILIES = ("lines", "products", "curves", "waves")
_MOST_SHOWN = 4_000
_MOST_FOR_BANDWIDTH = 500
_MOST_PRODUCTS = 60
_CURVES = 8  # of each attribute
_MOST_CURVES = 120
_TRIES = 5  # at a split that separates anything


def show_rows(n: int, rng: np.random.Generator) -> Index:
    """All rows, or some of very many."""
    return np.arange(n) if n <= _MOST_SHOWN else np.sort(rng.permutation(n)[:_MOST_SHOWN])


def show_counted(counts: Index, rng: np.random.Generator) -> Index:
    """The same of rows that are counted: the place of each one shown."""
    ends = np.cumsum(counts)
    if ends[-1] <= _MOST_SHOWN:
        return rng.permutation(np.repeat(np.arange(len(counts)), counts))
    rows = rng.choice(int(ends[-1]), _MOST_SHOWN, replace=False)
    return np.searchsorted(ends, rows, side="right")


class AttributeFunctions:
    """Families of functions of attributes, side by side.

    Parameters
    ----------
    shown : array
        Rows of attributes as numbers, on which functions are scaled.
    waves : int
    rng : Generator

    Attributes
    ----------
    places : dict
        Family → its columns.
    """

    def __init__(self, shown: Array, *, waves: int, rng: np.random.Generator) -> None:
        i, j = np.triu_indices(shown.shape[1])
        if len(i) > _MOST_PRODUCTS:
            kept = rng.permutation(len(i))[:_MOST_PRODUCTS]
            i, j = i[kept], j[kept]
        products = shown[:, i] * shown[:, j]
        varying = products.std(axis=0) > 1e-12
        self.pairs = i[varying], j[varying]
        self.mean, self.spread = products[:, varying].mean(axis=0), products[:, varying].std(axis=0)
        several = [k for k, x in enumerate(shown.T) if np.any((x > x.min()) & (x < x.max()))]
        self.curved = several[: _MOST_CURVES // _CURVES]
        self.sorted = np.sort(shown[:, self.curved], axis=0)
        few = shown[:_MOST_FOR_BANDWIDTH]
        if not np.ptp(few, axis=0).any():  # a table that is sorted by its attributes
            few = shown[:: -(-len(shown) // _MOST_FOR_BANDWIDTH)]
        bandwidth = median_distance(few)
        self.frequency = rng.normal(size=(shown.shape[1], waves)) / bandwidth
        self.phase = rng.uniform(0, 2 * np.pi, waves)
        widths = (shown.shape[1], int(varying.sum()), _CURVES * len(self.curved), waves)
        ends = np.cumsum(widths)
        self.places = {
            family: slice(end - width, end)
            for family, width, end in zip(FAMILIES, widths, ends, strict=True)
        }

    def __call__(self, a: Array) -> Array:
        """The functions (columns) of rows."""
        i, j = self.pairs
        products = (a[:, i] * a[:, j] - self.mean) / self.spread
        waves = np.sqrt(2.0) * np.cos(a @ self.frequency + self.phase)
        return np.hstack([a, products, *self._draw_curves(a), waves])

    def _draw_curves(self, a: Array) -> list[Array]:
        """Cosines of the rank of each attribute by itself."""
        curves = []
        for column, known in zip(self.curved, self.sorted.T, strict=True):
            x = a[:, column]
            below = np.searchsorted(known, x) + np.searchsorted(known, x, side="right")
            rank = np.clip(below / (2 * len(known)), 0.0, 1.0)
            curves.append(np.sqrt(2.0) * np.cos(np.pi * rank[:, None] * np.arange(1, _CURVES + 1)))
        return curves


class RandomTrees:
    """Trees that never see a prediction.

    A node is split at the value of one of the rows shown in it, drawn at random, of an attribute
    drawn at random.

    Parameters
    ----------
    shown : array
        Rows of attributes as numbers.
    count, depth : int
        Trees, and splits from root to leaf.
    rng : Generator
    """

    def __init__(self, shown: Array, *, count: int, depth: int, rng: np.random.Generator) -> None:
        self.count, self.depth = count, depth
        self.splits = []
        for _ in range(count):
            at = np.zeros(len(shown), dtype=np.intp)
            levels = []
            for level in range(depth):
                levels.append(_draw_splits(shown, at, 1 << level, rng))
                at = _descend(shown, at, *levels[-1])
            self.splits.append(levels)

    def find_leaves(self, a: Array) -> Index:
        """Of every row (columns) in every tree (rows); leaf // 2 is the parent."""
        leaves = np.zeros((self.count, len(a)), dtype=np.intp)
        for tree, levels in enumerate(self.splits):
            for columns, cuts in levels:
                leaves[tree] = _descend(a, leaves[tree], columns, cuts)
        return leaves


def _draw_splits(
    shown: Array, at: Index, nodes: int, rng: np.random.Generator
) -> tuple[Index, Array]:
    """Per node the column and the value up to which rows go left."""
    columns = np.zeros(nodes, dtype=np.intp)
    cuts = np.full(nodes, np.inf)
    for node in np.unique(at):
        rows = np.flatnonzero(at == node)
        for _ in range(_TRIES):
            column = int(rng.integers(shown.shape[1]))
            values = np.sort(shown[rows, column])
            cut = float(values[rng.integers(len(rows))])
            if values[-1] > cut:
                columns[node], cuts[node] = column, cut
                break
    return columns, cuts


def _descend(a: Array, at: Index, columns: Index, cuts: Array) -> Index:
    return 2 * at + (a[np.arange(len(a)), columns[at]] > cuts[at])
