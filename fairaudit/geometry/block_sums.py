"""KPC from sums over tied blocks (equal outcome and attributes), which makes large tables cheap.

T(Y, A) sees the predictions only through the sums of their kernel features over the blocks. A copy
within classes moves rows between the blocks of a class, so that all questions of an audit are
answered by one matrix of sums per copy: attributes alone are coarser blocks, classes some of the
blocks. Sums of parts of the table add up to those of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.geometry.kernels import POOR, FeatureMap, GridFeatures
from fairaudit.geometry.neighbors import block_graph, row_products, times
from fairaudit.geometry.tied_blocks import TiedBlocks, find_tied_blocks

__all__ = [
    "DRAWN_BYTES",
    "BlockFeatures",
    "BlockKPC",
    "BlockQuestion",
    "BlockSpace",
    "add_sums",
    "blocks_pay",
    "draw_blocks",
]

_FEWEST_ROWS = 1 << 15  # below, the rows themselves are quick enough
_ROWS_PER_BLOCK = 8
_CHUNK = 1 << 16  # rows whose features are summed at once: they stay in the cache
_DENSE_SUMS = 1 << 26  # bytes of a copy's sums up to which they are not sparse
_DRAWN = 1 << 18  # rows whose blocks are drawn at once; other numbers make other copies
DRAWN_BYTES = 4 * _DRAWN  # of a copy's stretch, at most


def blocks_pay(rows: int, blocks: int) -> bool:
    """Whether rows are many and tied."""
    return rows >= _FEWEST_ROWS and blocks * _ROWS_PER_BLOCK <= rows


@dataclass(frozen=True, slots=True, eq=False)
class BlockSpace:
    """The blocks, sorted by outcome: columns with one entry per block, and rows per block."""

    outcome: Column
    attributes: tuple[Column, ...]
    counts: Index

    def __len__(self) -> int:
        return len(self.counts)

    @classmethod
    def of(cls, outcome: Column, attributes: Sequence[Column]) -> tuple[BlockSpace, Index]:
        """The blocks of a table, and the block of every row."""
        blocks = find_tied_blocks((outcome, *attributes), len(outcome))
        codes = np.column_stack([c.codes[blocks.first] for c in (outcome, *attributes)])
        order = np.lexsort(codes.T[::-1])
        first = blocks.first[order]
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        columns = [_at(column, first) for column in (outcome, *attributes)]
        return cls(columns[0], tuple(columns[1:]), blocks.counts[order]), place[blocks.of_row]


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


class BlockQuestion:
    """KPC of some attributes, in all rows or in one outcome class.

    Parameters
    ----------
    space : BlockSpace
    names : sequence of str
        Attributes; none gives T(Y) alone.
    of_class : int or None
        Code of the outcome class.
    knn : int
    """

    def __init__(
        self, space: BlockSpace, names: Sequence[str], of_class: int | None, knn: int
    ) -> None:
        from scipy.sparse import csr_array

        inside = np.arange(len(space))
        if of_class is not None:
            inside = np.flatnonzero(space.outcome.codes == of_class)
        chosen = (space.outcome, *(c for c in space.attributes if c.name in names))
        columns = [_at(column, inside) for column in chosen]
        weights = space.counts[inside]
        blocks = find_tied_blocks(columns, len(inside))
        counts = np.bincount(blocks.of_row, weights).astype(np.intp)
        points = _points(columns, weights)[blocks.first]
        graph = block_graph(points, TiedBlocks(blocks.of_row, blocks.first, counts), knn)
        shape = (len(counts), len(space))
        self.n = int(counts.sum())
        self.knn = knn
        self.of_class = of_class
        self.counts = counts
        self.classes = columns[0].codes[blocks.first]
        self.gather = csr_array((np.ones(len(inside)), (blocks.of_row, inside)), shape=shape)
        self.within = graph.within
        self.between = csr_array(
            (graph.weight, (graph.source, graph.target)), shape=(len(counts),) * 2
        )

    def mean_kernel(self, sums: Any) -> float:
        """T from the sums over blocks; the last column holds the squared norms."""
        own = self.gather @ sums
        features, norms = own[:, :-1], _last(own)
        total = float(self.within @ (row_products(features, features) - norms))
        if self.between.nnz:
            total += float(row_products(features, self.between @ features).sum())
        return total / self.n

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


class BlockKPC:
    """A question's statistic: (T(Y, Ã) − T(Y)) / (1 − T(Y)) from the sums of a copy."""

    def __init__(self, question: BlockQuestion, alone: BlockQuestion, observed: Any) -> None:
        self.question = question
        self.alone = alone.mean_kernel(observed)
        self.left = 1.0 - self.alone  # k(u, u) = 1

    @property
    def defined(self) -> bool:
        """Whether the outcome leaves more of the prediction than features can be wrong by."""
        return self.left > 10 * POOR

    def value(self, sums: Any) -> float:
        if not self.defined:
            return 0.0
        return (self.question.mean_kernel(sums) - self.alone) / self.left


def _last(matrix: Any) -> Array:
    """Its last column, of a dense or sparse one."""
    if isinstance(matrix, np.ndarray):
        return matrix[:, -1]
    return np.asarray(matrix[:, [-1]].toarray()).ravel()


class BlockFeatures:
    """Kernel features of predictions: of the kernel for all rows, then of that of their class.

    Each has a last column with the squared norms. Where one of the maps is sparse, so are the
    features and their sums.
    """

    def __init__(
        self, whole: FeatureMap | GridFeatures, of_class: Sequence[FeatureMap | GridFeatures | None]
    ) -> None:
        self.whole, self.of_class = whole, of_class
        self.maps = [whole, *(feature_map for feature_map in of_class if feature_map is not None)]
        self.split = whole.rank + 1
        self.width = self.split + max(
            (feature_map.rank + 1 for feature_map in self.maps[1:]), default=0
        )
        self.sparse = any(isinstance(feature_map, GridFeatures) for feature_map in self.maps)

    def __call__(self, u: Array, code: int) -> Any:
        own = self.of_class[code] if self.of_class else None
        parts = [(self.whole, slice(0, self.split)), (own, slice(self.split, self.width))]
        if self.sparse:
            return _side_by_side(u, parts)
        result = np.zeros((len(u), self.width))
        for feature_map, at in parts:
            if feature_map is not None:
                features = feature_map(u)
                result[:, at][:, : features.shape[1]] = features
                result[:, at.stop - 1] = row_products(features, features)
        return result

    def of_rows(self, u: Array, code: int) -> Any:
        """The same for many rows, made bit by bit."""
        if not self.sparse or len(u) <= _CHUNK:
            return self(u, code)
        from scipy.sparse import vstack

        parts = [self(u[at : at + _CHUNK], code) for at in range(0, len(u), _CHUNK)]
        return vstack(parts, format="csr")

    def row_bytes(self) -> int:
        """That the features of a row take, at most."""
        if not self.sparse:
            return 8 * self.width
        dense = sum(
            feature_map.rank for feature_map in self.maps if isinstance(feature_map, FeatureMap)
        )
        return 12 * (2 * (GridFeatures.ENTRIES + 1) + dense)

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

    def part(self, of_class: int | None) -> slice:
        """The columns for all rows, or for a class."""
        return slice(0, self.split) if of_class is None else slice(self.split, self.width)


def _side_by_side(u: Array, parts: Sequence[tuple[Any, slice]]) -> Any:
    """Sparse features of the maps, each with its squared norms, in their columns."""
    from scipy.sparse import csr_array, hstack

    columns = []
    for feature_map, at in parts:
        width = at.stop - at.start
        if feature_map is None:
            columns.append(csr_array((len(u), width)))
            continue
        features = csr_array(feature_map(u))
        norms = csr_array(row_products(features, features)[:, None])
        features.resize(len(u), width - 1)
        columns += [features, norms]
    return hstack(columns, format="csr")


def draw_blocks(
    blocks: Index, count: int, generators: Sequence[np.random.Generator]
) -> Iterator[tuple[slice, Index]]:
    """Uniform permutations of the blocks of a class, a stretch of rows at a time: copies × rows.

    How often each of the `count` blocks occurs in a stretch is hypergeometric; within it all orders
    are alike. Together that is a uniform permutation, which is never held as a whole.
    """
    n = len(blocks)
    if n <= _DRAWN:
        yield slice(0, n), np.stack([rng.permutation(blocks) for rng in generators])
        return
    left = np.tile(np.bincount(blocks, minlength=count), (len(generators), 1))
    labels = np.arange(count, dtype=blocks.dtype)
    for at in range(0, n, _DRAWN):
        size = min(_DRAWN, n - at)
        permuted = np.empty((len(generators), size), blocks.dtype)
        for copy, rng in enumerate(generators):
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
        ones, pointer = np.ones(rows), np.arange(rows + 1, dtype=np.int32)
        for copy, block in enumerate(blocks):
            place = block[at : at + _CHUNK].astype(np.int32)
            members = csc_array((ones, place, pointer), shape=(total[copy].shape[0], rows))
            added = times(members, some)
            total[copy] += added.toarray() if dense and not isinstance(added, np.ndarray) else added
