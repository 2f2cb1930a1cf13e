"""The K-nearest-neighbour graph with tied neighbours averaged, and kernel means over it.

For a point with K neighbours the mean kernel to them is random when the K-th distance is tied.
Here every tied neighbour gets the same share of what is left, which is the expectation over
random tie-breaking. Rows at the same point form a cell, and all weights are weights between
cells, so that heavy ties make the graph small and not large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.geometry.kernels import Gram
from fairaudit.geometry.tied_blocks import Cells

__all__ = ["NeighbourGraph", "cell_graph", "neighbour_graph", "row_products", "times"]

_TIE = 1e-9  # distances that agree to this relative precision are equal
_QUERY = 1 << 21  # neighbours per tree query
_PAIRS = 1 << 20  # kernel values per evaluation
_MOST_PAIRS = 1 << 28  # of rows that are all looked at
_DRAWN = 64  # of a row, where pairs are more
_DIRECT = 64  # up to this many pairs per row the kernel is evaluated pair by pair


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NeighbourGraph:
    """Weights w_ij with Σ_j w_ij = 1, stored between cells of equal points.

    Attributes
    ----------
    cells : Cells
    within : one weight per cell, for each ordered pair of different rows in it
    source, target, weight : one entry per pair of cells, for each pair of rows (i in source,
        j in target)
    knn : int
    """

    cells: Cells
    within: Array
    source: Index
    target: Index
    weight: Array
    knn: int

    @property
    def n(self) -> int:
        return len(self.cells.of_row)

    def mean_kernel(
        self, gram: Gram, *, within_sums: Callable[[Cells], Array] | None = None
    ) -> float:
        """mean_i Σ_j w_ij k(u_i, u_j).

        `within_sums` gives Σ_{i≠j in cell} k(u_i, u_j) per cell, where there is a fast formula.
        """
        if within_sums is not None:
            total = self._between(gram) + float(self.within @ within_sums(self.cells))
            return total / self.n
        if self.count_row_pairs() > _DIRECT * self.n and gram.features is not None:
            return self.mean_of_features(gram.features)(self.cells.of_row)
        inside = np.flatnonzero(self.within > 0)
        if self.count_row_pairs() > _MOST_PAIRS:
            close = gram.from_drawn_rows()
            rest = _Rest(gram, close.features)
            known = self.mean_of_features(close.features)(self.cells.of_row)
            return known + (self._between(rest) + self._drawn_inside(rest)) / self.n
        return (self._between(gram) + self._inside(gram, inside)) / self.n

    def row_pairs(self) -> tuple[Index, Index, Array]:
        """Every pair of rows with a weight: (i, j, w_ij)."""
        blocks = [(i, j, self.weight[e]) for e, i, j in self._row_pairs(self.source, self.target)]
        inside = np.flatnonzero(self.within > 0)
        for edge, i, j in self._row_pairs(inside, inside):
            other = i != j
            blocks.append((i[other], j[other], self.within[inside[edge]][other]))
        i, j, weight = (np.concatenate(part) for part in zip(*blocks, strict=True))
        return i, j, weight

    def count_row_pairs(self) -> float:
        """How many pairs of rows have a weight."""
        counts = self.cells.counts.astype(np.float64)
        inside = counts[self.within > 0]
        between = (counts[self.source] * counts[self.target]).sum()
        return float(between + (inside * (inside - 1)).sum())

    def mean_of_features(self, features: Any) -> Callable[[Index], float]:
        """The function cells of the rows → mean_i Σ_j w_ij φ_i·φ_j."""
        from scipy.sparse import csc_array, csr_array

        count, norms = len(self.cells), row_products(features, features)
        ones, pointer = np.ones(self.n), np.arange(self.n + 1)
        between = csr_array((self.weight, (self.source, self.target)), shape=(count, count))

        def mean(cell: Index) -> float:
            sums = times(csc_array((ones, cell, pointer), shape=(count, self.n)), features)
            total = float(
                self.within @ (row_products(sums, sums) - np.bincount(cell, norms, count))
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

    def _inside(self, gram: Gram, cells: Index) -> float:
        total = -float(self.within[self.cells.of_row] @ gram.diagonal) if len(cells) else 0.0
        for edge, i, j in self._row_pairs(cells, cells):
            total += float(self.within[cells[edge]] @ gram.pairs(i, j))
        return total

    def _drawn_inside(self, gram: Gram | _Rest) -> float:
        """Within cells: an estimate from a few other rows for every row, drawn at random."""
        rng, counts = np.random.default_rng(0), self.cells.counts
        order = np.argsort(self.cells.of_row, kind="stable")
        start = np.cumsum(counts) - counts
        total, rows = 0.0, np.flatnonzero(self.within[self.cells.of_row] > 0)
        cell = self.cells.of_row[rows]
        place = np.empty(self.n, dtype=np.intp)
        place[order] = np.arange(self.n) - start[self.cells.of_row[order]]
        weight = self.within[cell] * (counts[cell] - 1)
        for _ in range(_DRAWN):
            other = rng.integers(0, counts[cell] - 1)
            other += other >= place[rows]  # not the row itself
            total += float(weight @ gram.pairs(rows, order[start[cell] + other])) / _DRAWN
        return total

    def _row_pairs(self, source: Index, target: Index) -> Iterator[tuple[Index, Index, Index]]:
        """All pairs of rows between paired cells, in blocks: (position of the pair, i, j)."""
        if len(self.cells) == self.n:  # no ties: cells are rows
            for at in range(0, len(source), _PAIRS):
                edge = np.arange(at, min(at + _PAIRS, len(source)))
                yield edge, self.cells.first[source[edge]], self.cells.first[target[edge]]
            return
        order = np.argsort(self.cells.of_row, kind="stable")
        start = np.cumsum(self.cells.counts) - self.cells.counts
        # one unit of work: one row of the source cell against the whole target cell
        edge = np.repeat(np.arange(len(source)), self.cells.counts[source])
        row = order[_ranges(start[source], self.cells.counts[source])]
        width = self.cells.counts[target[edge]]
        ends = np.cumsum(width)
        at = 0
        while at < len(edge):
            done = ends[at] - width[at]
            stop = max(at + 1, int(np.searchsorted(ends, done + _PAIRS, side="right")))
            block = slice(at, stop)
            j = order[_ranges(start[target[edge[block]]], width[block])]
            yield np.repeat(edge[block], width[block]), np.repeat(row[block], width[block]), j
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


def neighbour_graph(points: Array, cells: Cells, knn: int) -> NeighbourGraph:
    """The graph of the K nearest neighbours of every row, ties averaged.

    Parameters
    ----------
    points : array, n × d
    cells : Cells
        The rows that are equal in `points`.
    knn : int
        Less than n.
    """
    return cell_graph(points[cells.first], cells, knn)


def cell_graph(points: Array, cells: Cells, knn: int) -> NeighbourGraph:
    """`neighbour_graph` from one point per cell; only the counts of the cells are looked at."""
    others = cells.counts - 1
    within = np.where(others >= knn, 1.0 / np.maximum(others, 1), 1.0 / knn)
    within[others == 0] = 0.0
    empty = np.empty(0, dtype=np.intp)
    parts: list[tuple[Index, Index, Array]] = [(empty, empty, np.empty(0))]
    waiting = np.flatnonzero(others < knn)
    if len(waiting):
        distinct = np.ascontiguousarray(points)
        query, order = _nearest(distinct, knn)
        waiting = order[others[order] < knn]  # neighbours in turn: the tree is read in order
        reach = min(len(distinct), knn + 2)
        while len(waiting):  # cells whose ties reach further than the query go round again
            again = []
            for at in range(0, len(waiting), step := max(1, _QUERY // reach)):
                block = waiting[at : at + step]
                distance, neighbour = query(block, reach)
                edges, done = _edges(distance, neighbour, cells.counts, block, knn)
                if reach == len(distinct):
                    done[:] = True
                kept = done[edges[0]]
                source = block[edges[0][kept]]
                parts.append((source, edges[1][kept].astype(np.intp), edges[2][kept]))
                again.append(block[~done])
            waiting = np.concatenate(again)
            reach = min(len(distinct), 4 * reach)
    source, target, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    return NeighbourGraph(
        cells=cells, within=within, source=source, target=target, weight=weight, knn=knn
    )


def _nearest(points: Array, knn: int) -> tuple[Callable[[Index, int], tuple[Array, Index]], Index]:
    """A function (rows, k) → distances and indices of the k nearest points, itself included.

    And an order of the rows in which neighbours follow each other.
    """
    if points.shape[1] > 1:
        from scipy.spatial import cKDTree

        tree = cKDTree(points, leafsize=32 if knn > 8 else 16)

        def by_tree(rows: Index, k: int) -> tuple[Array, Index]:
            distance, neighbour = tree.query(points[rows], k=k)
            return distance.reshape(len(rows), k), neighbour.reshape(len(rows), k)

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
        found = np.clip(np.take_along_axis(window, near, axis=1), 0, len(x) - 1)
        return np.take_along_axis(gap, near, axis=1), order[found]

    return on_line, order


def _edges(
    distance: Array, neighbour: Index, counts: Index, cells: Index, knn: int
) -> tuple[tuple[Index, Index, Array], NDArray[np.bool_]]:
    """Edges (position in `cells`, neighbour, weight), and which cells have seen all their ties."""
    if neighbour.shape[1] > knn + 1 and _untied(distance, neighbour, counts, cells, knn):
        position = np.repeat(np.arange(len(cells)), knn)
        found = neighbour[:, 1 : knn + 1].ravel()
        return (position, found, np.full(len(found), 1.0 / knn)), np.ones(len(cells), dtype=bool)
    own = neighbour == cells[:, None]
    size = np.where(own, 0, counts[neighbour])
    need = knn - (counts[cells] - 1)
    full = size.cumsum(axis=1) >= need[:, None]
    kth = np.take_along_axis(distance, full.argmax(axis=1)[:, None], axis=1)
    done = full[:, -1] & (distance[:, -1] > kth[:, 0] * (1 + _TIE))
    closer = (distance < kth * (1 - _TIE)) & ~own
    tied = (distance <= kth * (1 + _TIE)) & ~closer & ~own
    left = need - np.where(closer, size, 0).sum(axis=1)
    share = left / np.maximum(np.where(tied, size, 0).sum(axis=1), 1)
    weight = np.where(closer, 1.0, np.where(tied, share[:, None], 0.0)) / knn
    position, place = np.nonzero(weight)
    return (position, neighbour[position, place], weight[position, place]), done


def _untied(distance: Array, neighbour: Index, counts: Index, cells: Index, knn: int) -> bool:
    """Single rows throughout, each its own nearest, and nothing tied with the K-th neighbour."""
    return bool(
        counts.max() == 1
        and (neighbour[:, 0] == cells).all()
        and (distance[:, knn + 1] > distance[:, knn] * (1 + _TIE)).all()
    )
