"""The K-nearest-neighbor graph with tied neighbors averaged, and kernel means over it.

For a point with K neighbors the mean kernel to them is random when the K-th distance is tied.
Here every tied neighbor gets the same share of what is left, which is the expectation over
random tie-breaking. Rows at the same point form a block, and all weights are weights between
blocks, so that heavy ties make the graph small and not large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.geometry.kernels import Gram
from fairaudit.geometry.tied_blocks import TiedBlocks

__all__ = ["NeighborGraph", "block_graph", "neighbor_graph", "row_products", "times"]

_TIE = 1e-9  # distances that agree to this relative precision are equal
_QUERY = 1 << 21  # neighbors per tree query
_PAIRS = 1 << 20  # kernel values per evaluation
_MOST_PAIRS = 1 << 28  # of rows that are all looked at
_DRAWN = 64  # of a row, where pairs are more
_DIRECT = 64  # up to this many pairs per row the kernel is evaluated pair by pair


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NeighborGraph:
    """Weights w_ij with Σ_j w_ij = 1, stored between blocks of equal points.

    Attributes
    ----------
    blocks : TiedBlocks
    within : one weight per block, for each ordered pair of different rows in it
    source, target, weight : one entry per pair of blocks, for each pair of rows (i in source,
        j in target)
    knn : int
    """

    blocks: TiedBlocks
    within: Array
    source: Index
    target: Index
    weight: Array
    knn: int

    @property
    def n(self) -> int:
        return len(self.blocks.of_row)

    def mean_kernel(
        self, gram: Gram, *, within_sums: Callable[[TiedBlocks], Array] | None = None
    ) -> float:
        """mean_i Σ_j w_ij k(u_i, u_j).

        `within_sums` gives Σ_{i≠j in block} k(u_i, u_j) per block, where there is a fast formula.
        """
        if within_sums is not None:
            total = self._between(gram) + float(self.within @ within_sums(self.blocks))
            return total / self.n
        if self.count_row_pairs() > _DIRECT * self.n and gram.features is not None:
            return self.mean_of_features(gram.features)(self.blocks.of_row)
        inside = np.flatnonzero(self.within > 0)
        if self.count_row_pairs() > _MOST_PAIRS:
            close = gram.from_drawn_rows()
            rest = _Rest(gram, close.features)
            known = self.mean_of_features(close.features)(self.blocks.of_row)
            return known + (self._between(rest) + self._drawn_inside(rest)) / self.n
        return (self._between(gram) + self._inside(gram, inside)) / self.n

    def row_pairs(self) -> tuple[Index, Index, Array]:
        """Every pair of rows with a weight: (i, j, w_ij)."""
        pairs = [(i, j, self.weight[e]) for e, i, j in self._row_pairs(self.source, self.target)]
        inside = np.flatnonzero(self.within > 0)
        for edge, i, j in self._row_pairs(inside, inside):
            other = i != j
            pairs.append((i[other], j[other], self.within[inside[edge]][other]))
        i, j, weight = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return i, j, weight

    def count_row_pairs(self) -> float:
        """How many pairs of rows have a weight."""
        counts = self.blocks.counts.astype(np.float64)
        inside = counts[self.within > 0]
        between = (counts[self.source] * counts[self.target]).sum()
        return float(between + (inside * (inside - 1)).sum())

    def mean_of_features(self, features: Any) -> Callable[[Index], float]:
        """The function blocks of the rows → mean_i Σ_j w_ij φ_i·φ_j."""
        from scipy.sparse import csc_array, csr_array

        count, norms = len(self.blocks), row_products(features, features)
        ones, pointer = np.ones(self.n), np.arange(self.n + 1)
        between = csr_array((self.weight, (self.source, self.target)), shape=(count, count))

        def mean(block: Index) -> float:
            sums = times(csc_array((ones, block, pointer), shape=(count, self.n)), features)
            total = float(
                self.within @ (row_products(sums, sums) - np.bincount(block, norms, count))
            )
            if between.nnz:
                total += float(row_products(sums, between @ sums).sum())
            return total / self.n

        return mean

    def _between(self, gram: Gram | _Rest) -> float:
        return sum(
            float(self.weight[edge] @ gram.pairs(i, j))
            for edge, i, j in self._row_pairs(self.source, self.target)
        )

    def _inside(self, gram: Gram, blocks: Index) -> float:
        total = -float(self.within[self.blocks.of_row] @ gram.diagonal) if len(blocks) else 0.0
        for edge, i, j in self._row_pairs(blocks, blocks):
            total += float(self.within[blocks[edge]] @ gram.pairs(i, j))
        return total

    def _drawn_inside(self, gram: Gram | _Rest) -> float:
        """Within blocks: an estimate from a few other rows for every row, drawn at random."""
        rng, counts = np.random.default_rng(0), self.blocks.counts
        order = np.argsort(self.blocks.of_row, kind="stable")
        start = np.cumsum(counts) - counts
        total, rows = 0.0, np.flatnonzero(self.within[self.blocks.of_row] > 0)
        block = self.blocks.of_row[rows]
        place = np.empty(self.n, dtype=np.intp)
        place[order] = np.arange(self.n) - start[self.blocks.of_row[order]]
        weight = self.within[block] * (counts[block] - 1)
        for _ in range(_DRAWN):
            other = rng.integers(0, counts[block] - 1)
            other += other >= place[rows]  # not the row itself
            total += float(weight @ gram.pairs(rows, order[start[block] + other])) / _DRAWN
        return total

    def _row_pairs(self, source: Index, target: Index) -> Iterator[tuple[Index, Index, Index]]:
        """All pairs of rows between paired blocks, in batches: (position of the pair, i, j)."""
        if len(self.blocks) == self.n:  # no ties: blocks are rows
            for at in range(0, len(source), _PAIRS):
                edge = np.arange(at, min(at + _PAIRS, len(source)))
                yield edge, self.blocks.first[source[edge]], self.blocks.first[target[edge]]
            return
        order = np.argsort(self.blocks.of_row, kind="stable")
        start = np.cumsum(self.blocks.counts) - self.blocks.counts
        # one unit of work: one row of the source block against the whole target block
        edge = np.repeat(np.arange(len(source)), self.blocks.counts[source])
        row = order[_ranges(start[source], self.blocks.counts[source])]
        width = self.blocks.counts[target[edge]]
        ends = np.cumsum(width)
        at = 0
        while at < len(edge):
            done = ends[at] - width[at]
            stop = max(at + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
            batch = slice(at, stop)
            j = order[_ranges(start[target[edge[batch]]], width[batch])]
            yield np.repeat(edge[batch], width[batch]), np.repeat(row[batch], width[batch]), j
            at = stop


@dataclass(frozen=True, slots=True)
class _Rest:
    """What features leave of a kernel: of its entries little, so that a few of them will do."""

    gram: Gram
    features: Array

    def pairs(self, i: Index, j: Index) -> Array:
        return self.gram.pairs(i, j) - row_products(self.features[i], self.features[j])


def row_products(a: Any, b: Any) -> Array:
    """Σ_r a_ir·b_ir of two matrices, both dense or both sparse."""
    if isinstance(a, np.ndarray):
        return np.asarray(np.einsum("ir,ir->i", a, b))
    return np.asarray(a.multiply(b).sum(axis=1)).ravel()


def times(members: Any, features: Any) -> Any:
    """Their product; of two sparse matrices both should be stored by rows."""
    return members @ features if isinstance(features, np.ndarray) else members.tocsr() @ features


def _ranges(start: Index, length: Index) -> Index:
    """start[0], start[0]+1, … (length[0] of them), start[1], …"""
    shift = np.repeat(start - (np.cumsum(length) - length), length)
    return np.arange(len(shift)) + shift


def neighbor_graph(points: Array, blocks: TiedBlocks, knn: int) -> NeighborGraph:
    """The graph of the K nearest neighbors of every row, ties averaged.

    Parameters
    ----------
    points : array, n × d
    blocks : TiedBlocks
        The rows that are equal in `points`.
    knn : int
        Less than n.
    """
    return block_graph(points[blocks.first], blocks, knn)


def block_graph(points: Array, blocks: TiedBlocks, knn: int) -> NeighborGraph:
    """`neighbor_graph` from one point per block; only the counts of the blocks are looked at."""
    others = blocks.counts - 1
    within = np.where(others >= knn, 1.0 / np.maximum(others, 1), 1.0 / knn)
    within[others == 0] = 0.0
    empty = np.empty(0, dtype=np.intp)
    parts: list[tuple[Index, Index, Array]] = [(empty, empty, np.empty(0))]
    waiting = np.flatnonzero(others < knn)
    if len(waiting):
        distinct = np.ascontiguousarray(points)
        query, order = _nearest(distinct, knn)
        waiting = order[others[order] < knn]  # neighbors in turn: the tree is read in order
        reach = min(len(distinct), knn + 2)
        while len(waiting):  # blocks whose ties reach further than the query go round again
            again = []
            for at in range(0, len(waiting), step := max(1, _QUERY // reach)):
                batch = waiting[at : at + step]
                distance, neighbor = query(batch, reach)
                edges, done = _edges(distance, neighbor, blocks.counts, batch, knn)
                if reach == len(distinct):
                    done[:] = True
                complete = done[edges[0]]
                source = batch[edges[0][complete]]
                parts.append((source, edges[1][complete].astype(np.intp), edges[2][complete]))
                again.append(batch[~done])
            waiting = np.concatenate(again)
            reach = min(len(distinct), 4 * reach)
    source, target, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return NeighborGraph(
        blocks=blocks, within=within, source=source, target=target, weight=weight, knn=knn
    )


def _nearest(points: Array, knn: int) -> tuple[Callable[[Index, int], tuple[Array, Index]], Index]:
    """A function (rows, k) → distances and indices of the k nearest points, itself included.

    And an order of the rows in which neighbors follow each other.
    """
    if points.shape[1] > 1:
        from scipy.spatial import cKDTree

        tree = cKDTree(points, leafsize=32 if knn > 8 else 16)

        def by_tree(rows: Index, k: int) -> tuple[Array, Index]:
            distance, neighbor = tree.query(points[rows], k=k)
            return distance.reshape(len(rows), k), neighbor.reshape(len(rows), k)

        return by_tree, tree.indices
    order = np.argsort(points[:, 0])
    x = points[order, 0]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))

    def on_line(rows: Index, k: int) -> tuple[Array, Index]:
        window = place[rows][:, None] + np.arange(1 - k, k)
        gap = np.abs(x[np.clip(window, 0, len(x) - 1)] - points[rows])
        gap[(window < 0) | (window >= len(x))] = np.inf
        near = np.argsort(gap, axis=1, kind="stable")[:, :k]
        nearest = np.clip(np.take_along_axis(window, near, axis=1), 0, len(x) - 1)
        return np.take_along_axis(gap, near, axis=1), order[nearest]

    return on_line, order


def _edges(
    distance: Array, neighbor: Index, counts: Index, blocks: Index, knn: int
) -> tuple[tuple[Index, Index, Array], NDArray[np.bool_]]:
    """Edges (position in `blocks`, neighbor, weight), and which blocks have seen all their ties."""
    if neighbor.shape[1] > knn + 1 and _untied(distance, neighbor, counts, blocks, knn):
        position = np.repeat(np.arange(len(blocks)), knn)
        nearest = neighbor[:, 1 : knn + 1].ravel()
        return (position, nearest, np.full(len(nearest), 1.0 / knn)), np.ones(
            len(blocks), dtype=bool
        )
    own = neighbor == blocks[:, None]
    size = np.where(own, 0, counts[neighbor])
    need = knn - (counts[blocks] - 1)
    full = size.cumsum(axis=1) >= need[:, None]
    kth = np.take_along_axis(distance, full.argmax(axis=1)[:, None], axis=1)
    done = full[:, -1] & (distance[:, -1] > kth[:, 0] * (1 + _TIE))
    closer = (distance < kth * (1 - _TIE)) & ~own
    tied = (distance <= kth * (1 + _TIE)) & ~closer & ~own
    left = need - np.where(closer, size, 0).sum(axis=1)
    share = left / np.maximum(np.where(tied, size, 0).sum(axis=1), 1)
    weight = np.where(closer, 1.0, np.where(tied, share[:, None], 0.0)) / knn
    position, place = np.nonzero(weight)
    return (position, neighbor[position, place], weight[position, place]), done


def _untied(distance: Array, neighbor: Index, counts: Index, blocks: Index, knn: int) -> bool:
    """Single rows throughout, each its own nearest, and nothing tied with the K-th neighbor."""
    return bool(
        counts.max() == 1
        and (neighbor[:, 0] == blocks).all()
        and (distance[:, knn + 1] > distance[:, knn] * (1 + _TIE)).all()
    )
