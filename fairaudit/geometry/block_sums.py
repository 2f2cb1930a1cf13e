"""Sums over tied blocks (equal outcome and attributes), which make large tables cheap.

Many statistics see the predictions only through sums of functions of them over the blocks. A copy
within classes moves rows between the blocks of a class, so that all questions of an audit are
answered by one matrix of sums per copy: attributes alone are coarser blocks, classes some of the
blocks. Sums of parts of the table add up to those of the whole.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode, sort_by_name
from fairaudit.geometry.neighbors import times
from fairaudit.geometry.tied_blocks import find_tied_blocks

__all__ = [
    "DRAWN_BYTES",
    "BlockSpace",
    "ClassRows",
    "CoarseBlocks",
    "RowColumns",
    "SeenRows",
    "add_sums",
    "blocks_pay",
    "draw_blocks",
    "sum_copies",
]

_FEWEST_ROWS = 1 << 15  # below, the rows themselves are quick enough
_ROWS_PER_BLOCK = 8
_CHUNK = 1 << 16  # rows whose features are summed at once: they stay in the cache
_DENSE_SUMS = 1 << 26  # bytes of a copy's sums up to which they are not sparse
_DRAWN = 1 << 18  # rows whose blocks are drawn at once; other numbers make other copies
DRAWN_BYTES = 4 * _DRAWN  # of a copy's stretch, at most
_MADE = 1 << 17  # rows whose columns are made at once


def blocks_pay(rows: int, blocks: int, *, narrow: bool = False) -> bool:
    """Whether rows are many and tied; fewer are enough where little is summed of each."""
    fewest, per_block = _FEWEST_ROWS, _ROWS_PER_BLOCK
    if narrow:
        fewest, per_block = fewest // 8, per_block // 2
    return rows >= fewest and blocks * per_block <= rows


@dataclass(frozen=True, slots=True, eq=False)
class BlockSpace:
    """The blocks, sorted by outcome: columns with one entry per block, and rows per block."""

    outcome: Column
    attributes: tuple[Column, ...]
    counts: Index

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(
        cls, outcome: Column, attributes: Sequence[Column], times: Index | None = None
    ) -> tuple[BlockSpace, Index]:
        """The blocks of a table, and the block of every row, which may stand for several."""
        blocks = find_tied_blocks((outcome, *attributes), len(outcome))
        codes = np.column_stack([c.codes[blocks.first] for c in (outcome, *attributes)])
        order = np.lexsort(codes.T[::-1])
        first = blocks.first[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        columns = [_at(column, first) for column in (outcome, *attributes)]
        of_row, counts = place[blocks.of_row], blocks.counts[order]
        if times is not None:
            counts = np.zeros_like(counts)
            np.add.at(counts, of_row, times)
        return cls(columns[0], tuple(columns[1:]), counts), of_row


def _at(column: Column, rows: Index) -> Column:
    """The column at these rows; all levels stay."""
    numeric = None if column.numeric is None else column.numeric[rows]
    return replace(column, codes=column.codes[rows], numeric=numeric)


def _points(columns: Sequence[Column], counts: Index) -> Array:
    """One point per block, on the scale of all rows."""
    parts = []
    for column in columns:
        if column.kind.is_categorical or column.numeric is None:
            parts.append(encode((column,)))
            continue
        values = column.numeric / (float(np.abs(column.numeric).max()) or 1.0)
        centered = values - np.average(values, weights=counts)
        spread = float(np.sqrt(np.average(centered**2, weights=counts)))
        parts.append((centered / (spread if spread > 0 else 1.0))[:, None])
    return np.hstack(parts)


class CoarseBlocks:
    """What a question looks at: blocks of some attributes, in all rows or in one outcome class.

    Parameters
    ----------
    space : BlockSpace
    names : sequence of str
        Attributes; none leaves the outcome alone.
    of_class : int or None
        Code of the outcome class.

    Attributes
    ----------
    n : int
        Rows.
    attributes : tuple of Column
        At the blocks.
    classes, counts : int arrays
        Outcome and rows of every block.
    points : array
        Outcome and attributes as numbers, on the scale of all rows.
    place : int array
        Which of these blocks each block of the space belongs to; −1 for none.
    gather : sparse matrix
        Adds up what belongs to the same block.
    """

    def __init__(self, space: BlockSpace, names: Sequence[str], of_class: int | None) -> None:
        from scipy.sparse import csr_array

        inside = np.arange(len(space))
        if of_class is not None:
            inside = np.flatnonzero(space.outcome.codes == of_class)
        chosen = (space.outcome, *(c for c in space.attributes if c.name in names))
        columns = [_at(column, inside) for column in chosen]
        weights = space.counts[inside]
        blocks = find_tied_blocks(columns, len(inside))
        counts = np.bincount(blocks.of_row, weights).astype(np.intp)
        shape = (len(counts), len(space))
        self.n = int(counts.sum())
        self.space, self.names, self.of_class = space, tuple(names), of_class
        self.counts = counts
        self.classes = columns[0].codes[blocks.first]
        self.attributes = tuple(column.take(blocks.first) for column in columns[1:])
        self.points = _points(columns, weights)[blocks.first]
        self.place = np.full(len(space), -1, dtype=np.intp)
        self.place[inside] = blocks.of_row
        self.gather = csr_array((np.ones(len(inside)), (blocks.of_row, inside)), shape=shape)

    def encode_attributes(self) -> Array:
        """One point per block, as all of its rows would have; levels that are absent have none."""
        return _points(sort_by_name(self.attributes), self.counts)

    def log_copies(self) -> float:
        """Logarithm of the number of different copies."""
        from scipy.special import gammaln

        of_class = np.bincount(self.classes, self.counts)
        return float(gammaln(of_class + 1).sum() - gammaln(self.counts + 1.0).sum())

    def moved(self) -> float:
        """Share of rows whose attributes differ in a copy, on average."""
        of_class = np.bincount(self.classes, self.counts)
        stay = (self.counts / of_class[self.classes]) @ self.counts
        return float(1 - stay / self.n)


class RowColumns(ABC):
    """Functions of predictions and classes whose sums over blocks a statistic needs.

    Attributes
    ----------
    width : int
        Columns.
    sparse : bool
        Whether the columns of rows are a sparse matrix.
    """

    width: int
    sparse = False

    @abstractmethod
    def __call__(self, u: Array, code: int) -> Any:
        """The columns of rows of a class, by their predictions."""

    def of_rows(self, u: Array, code: int) -> Any:
        """The same for many rows, made bit by bit."""
        if not self.sparse or len(u) <= _CHUNK:
            return self(u, code)
        from scipy.sparse import vstack

        parts = [self(u[at : at + _CHUNK], code) for at in range(0, len(u), _CHUNK)]
        return vstack(parts, format="csr")

    def row_bytes(self) -> int:
        """That the columns of a row take, at most."""
        return 8 * self.width

    def copy_bytes(self, blocks: int, rows: int) -> int:
        """That the sums of a copy take, at most."""
        dense = 8 * self.width * blocks
        return dense if self._dense_sums(blocks) else min(3 * dense // 2, self.row_bytes() * rows)

    def no_sums(self, copies: int, blocks: int) -> Any:
        """To be added to, one matrix (blocks × width) per copy."""
        if self._dense_sums(blocks):
            return np.zeros((copies, blocks, self.width))
        from scipy.sparse import csr_array

        return [csr_array((blocks, self.width)) for _ in range(copies)]

    def _dense_sums(self, blocks: int) -> bool:
        return not self.sparse or 8 * self.width * blocks <= _DENSE_SUMS


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SeenRows:
    """Rows that functions are drawn and scaled on: the whole table, or a sample of it.

    Attributes
    ----------
    prediction : array
    codes : int array
        Outcomes.
    blocks : int array
        Tied blocks.
    whole : bool
        Whether they are all rows of the table.
    times : int array, optional
        How many rows each prediction stands for, where equal ones of a class are put together:
        whose they are is not told then, and `blocks` is empty.
    """

    prediction: Array
    codes: Index
    blocks: Index
    whole: bool
    times: Index | None = None

    def inside(self, of_class: int | None) -> Index:
        """The rows of a class, or all."""
        if of_class is None:
            return np.arange(len(self.codes))
        return np.flatnonzero(self.codes == of_class)


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """The rows of an outcome class: their tied blocks, and the columns of a slice of them."""

    blocks: Index
    columns: Callable[[slice], Any]


def sum_copies(
    classes: Sequence[ClassRows],
    columns: RowColumns,
    blocks: int,
    generators: Sequence[np.random.Generator | None],
) -> Any:
    """The sums of copies within classes, one matrix (blocks × width) each.

    A generator per copy; None stands for the data.
    """
    sums = columns.no_sums(len(generators), blocks)
    for rows in classes:
        for stretch, drawn in draw_blocks(rows.blocks, blocks, generators):
            for at in range(stretch.start, stretch.stop, _MADE):
                some = slice(at, min(at + _MADE, stretch.stop))
                here = slice(some.start - stretch.start, some.stop - stretch.start)
                add_sums(sums, drawn[:, here], rows.columns(some))
    return sums


def draw_blocks(
    blocks: Index, count: int, generators: Sequence[np.random.Generator | None]
) -> Iterator[tuple[slice, Index]]:
    """Uniform permutations of the blocks of a class, a stretch of rows at a time: copies × rows.

    How often each of the `count` blocks occurs in a stretch is hypergeometric; within it all orders
    are alike. Together that is a uniform permutation, which is never held as a whole. Without a
    generator the blocks stay as they are.
    """
    n = len(blocks)
    if n <= _DRAWN or not any(generators):
        drawn = [blocks if rng is None else rng.permutation(blocks) for rng in generators]
        yield slice(0, n), np.stack(drawn)
        return
    left = np.tile(np.bincount(blocks, minlength=count), (len(generators), 1))
    labels = np.arange(count, dtype=blocks.dtype)
    for at in range(0, n, _DRAWN):
        size = min(_DRAWN, n - at)
        permuted = np.empty((len(generators), size), blocks.dtype)
        for copy, rng in enumerate(generators):
            if rng is None:
                permuted[copy] = blocks[at : at + size]
                continue
            here = rng.multivariate_hypergeometric(left[copy], size, method="marginals")
            left[copy] -= here
            permuted[copy] = np.repeat(labels, here)
            rng.shuffle(permuted[copy])
        yield slice(at, at + size), permuted


def add_sums(total: Any, blocks: Index, features: Any) -> None:
    """Add the features of rows to their blocks, copy by copy.

    Parameters
    ----------
    total : one matrix (blocks × width) per copy
        Is added to.
    blocks : int array, copies × rows
    features : matrix, rows × width
    """
    from scipy.sparse import csc_array

    dense = isinstance(total, np.ndarray)
    for at in range(0, features.shape[0], _CHUNK):
        some = features[at : at + _CHUNK]
        rows = some.shape[0]
        place, pointer = np.zeros(rows, dtype=np.int32), np.arange(rows + 1, dtype=np.int32)
        members = csc_array((np.ones(rows), place, pointer), shape=(total[0].shape[0], rows))
        for copy, block in enumerate(blocks):
            members.indices[:] = block[at : at + _CHUNK]  # one per column: sorted as they are
            added = times(members, some)
            total[copy] += added.toarray() if dense and not isinstance(added, np.ndarray) else added
