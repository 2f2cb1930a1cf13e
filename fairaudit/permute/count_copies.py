"""Copies of counts: of a class only who has which attributes, and which prediction, is known.

A permutation within a class gives a table (tied blocks of attributes × predictions) with the same
sums of rows and columns; a uniform permutation gives each with its hypergeometric probability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Index
from fairaudit.permute.copies import stream
from fairaudit.permute.large_hypergeometric import draw_hypergeometric

__all__ = ["TOGETHER", "TableSampler", "split_counts"]

#: Copies that share a stream: they are drawn together, whoever asks for one of them.
TOGETHER = 32
_SMALL = 1 << 16  # rows of a class up to which every permutation may be drawn row by row
_IN_ONE_CALL = 1 << 22  # rows: scipy keeps logarithms of as many factorials
_CIRCLED = 24  # rows per cell up to which a turn of all rows costs less than a draw for every cell
_MOST = 10**9  # rows: numpy's limit


class TableSampler:
    """Tables of the copies of several classes, by their numbers.

    Parameters
    ----------
    tables : sequence of int arrays
        Per class: rows of each block (rows) with each prediction (columns).
    seed : int

    Notes
    -----
    Up to 4 million rows of a class that are few per cell, its rows are laid in a circle in random
    order, once, and a copy turns the attributes by a random number of places. Turns are a group of
    permutations that holds the data (no turn), so that uniform draws from it are as exact as those
    of all permutations, at a tenth of the cost. Otherwise tables of all permutations are drawn:
    cell by cell (Patefield 1981), one prediction after the other beyond 4 million rows.
    """

    def __init__(self, tables: Sequence[Index], seed: int) -> None:
        self.seed = seed
        self.margins = [(table.sum(axis=1), table.sum(axis=0)) for table in tables]
        self.circles = [
            _Circle(table, stream(seed, 14, k)) if _is_turned(table) else None
            for k, table in enumerate(tables)
        ]

    def draw(self, chunk: int) -> list[list[Index]]:
        """The copies from ``chunk * TOGETHER`` on: for each a table per class."""
        rng = stream(self.seed, 1, chunk)
        by_class = [
            _draw_class(rng, *margins) if circle is None else circle.draw(rng)
            for margins, circle in zip(self.margins, self.circles, strict=True)
        ]
        return [list(tables) for tables in zip(*by_class, strict=True)]


def _is_turned(table: Index) -> bool:
    rows = int(table.sum())
    return _SMALL < rows <= min(_IN_ONE_CALL, _CIRCLED * table.size) and min(table.shape) > 1


class _Circle:
    """The rows of a class in a circle: their blocks twice, and their predictions."""

    def __init__(self, table: Index, rng: np.random.Generator) -> None:
        cells = np.repeat(np.arange(table.size, dtype=np.int32), table.ravel())
        rng.shuffle(cells)
        self.shape = table.shape
        self.predictions = cells % np.int32(table.shape[1])
        first = cells - self.predictions
        self.blocks = np.concatenate([first, first])

    def draw(self, rng: np.random.Generator) -> list[Index]:
        return [self.turn(int(by)) for by in rng.integers(len(self.predictions), size=TOGETHER)]

    def turn(self, by: int) -> Index:
        """The table where the attributes have moved by so many places."""
        cells = self.blocks[by : by + len(self.predictions)] + self.predictions
        size = self.shape[0] * self.shape[1]
        return np.bincount(cells, minlength=size).reshape(self.shape)


def _draw_class(rng: np.random.Generator, blocks: Index, predictions: Index) -> list[Index]:
    from scipy.stats import random_table

    if min(len(blocks), len(predictions)) == 1:
        only = blocks[:, None] if len(predictions) == 1 else predictions[None, :]
        return [only] * TOGETHER
    rows = int(blocks.sum())
    if rows <= _IN_ONE_CALL:
        method = "boyett" if rows <= _SMALL else "patefield"  # row by row, or cell by cell
        drawn = random_table(blocks, predictions).rvs(TOGETHER, method=method, random_state=rng)
        return list(drawn.astype(np.intp))
    return [_draw_table(rng, blocks, predictions) for _ in range(TOGETHER)]


def _draw_table(rng: np.random.Generator, blocks: Index, predictions: Index) -> Index:
    """One prediction after the other; beyond numpy's limit the blocks are halved first."""
    if int(blocks.sum()) >= _MOST and len(blocks) > 1:
        half = len(blocks) // 2
        above = split_counts(rng, predictions, int(blocks[:half].sum()))
        return np.vstack(
            [
                _draw_table(rng, blocks[:half], above),
                _draw_table(rng, blocks[half:], predictions - above),
            ]
        )
    if len(blocks) == 1:
        return predictions[None, :].copy()
    left, table = blocks.copy(), np.empty((len(blocks), len(predictions)), dtype=np.intp)
    for k, count in enumerate(predictions[:-1].tolist()):
        table[:, k] = rng.multivariate_hypergeometric(left, count, method="marginals")
        left -= table[:, k]
    table[:, -1] = left
    return table


def split_counts(rng: np.random.Generator, counts: Index, drawn: int) -> Index:
    """How many of each kind are among so many that are drawn, of any number."""
    if int(counts.sum()) < _MOST:
        return rng.multivariate_hypergeometric(counts, drawn, method="marginals")
    result, left = np.zeros_like(counts), int(counts.sum())
    for k, count in enumerate(counts.tolist()):
        left -= count
        result[k] = draw_hypergeometric(rng, count, left, drawn)
        drawn -= int(result[k])
    return result
