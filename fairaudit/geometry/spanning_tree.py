"""Kernel means over the Euclidean minimum spanning tree (``knn="mst"``)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.errors import InputError
from fairaudit.geometry.kernels import Gram
from fairaudit.geometry.tied_blocks import find_tied_blocks

__all__ = ["spanning_tree", "tree_mean_kernel"]

_NEAR = 16  # neighbors looked at before a component searches its complement
_FEW = 8  # components left when every one may search its complement


def tree_mean_kernel(
    columns: Sequence[Column], points: Array, gram: Gram, ties: str, seed: int
) -> float:
    """mean_i of the mean kernel between row i and its neighbors in the tree."""
    n = len(points)
    if ties != "random" and len(find_tied_blocks(columns, n)) < n:
        raise InputError(
            "Rows are tied and the minimum spanning tree is not unique. Pass ties='random' with a "
            "seed, or an integer knn (which averages over ties)."
        )
    shuffled = np.random.default_rng(seed).permutation(n)
    i, j = (shuffled[end] for end in spanning_tree(points[shuffled]))
    values = gram.pairs(i, j)
    degree = np.bincount(i, minlength=n) + np.bincount(j, minlength=n)
    sums = np.bincount(i, values, minlength=n) + np.bincount(j, values, minlength=n)
    return float((sums / degree).mean())


def spanning_tree(points: Array) -> tuple[Index, Index]:
    """Edges (i, j) of the Euclidean minimum spanning tree; Borůvka's algorithm on a k-d tree."""
    n = len(points)
    if points.shape[1] == 1:
        order = np.argsort(points[:, 0], kind="stable")
        return order[:-1], order[1:]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    distance, neighbor = cKDTree(points).query(points, k=min(n, _NEAR + 1))
    parts: list[tuple[Index, Index]] = []
    component = np.arange(n)
    count = n
    while count > 1:
        i, j = _nearest_outside(points, distance, neighbor, component, count)
        parts.append((i, j))
        # scipy 1.11.0 to 1.11.2 walk 32-bit indices only: others give wrong parts and no error
        edges = tuple(np.concatenate(ends).astype(np.int32) for ends in zip(*parts, strict=True))
        links = coo_array((np.ones(len(edges[0])), edges), shape=(n, n))
        count, component = connected_components(links, directed=False)
    i, j = (np.concatenate(ends) for ends in zip(*parts, strict=True))
    pairs = np.unique(np.sort(np.column_stack([i, j]), axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


def _nearest_outside(
    points: Array, distance: Array, neighbor: Index, component: Index, count: int
) -> tuple[Index, Index]:
    """For every component (that can tell) its shortest edge to another one.

    A component can tell from the precomputed neighbors if its best edge is no longer than the
    horizon of each of its points; the others wait, unless few are left and may search on.
    """
    outside = component[neighbor] != component[:, None]
    place = outside.argmax(axis=1)
    known = outside.any(axis=1)
    gap = np.where(known, np.take_along_axis(distance, place[:, None], 1)[:, 0], np.inf)
    order = np.lexsort((neighbor[np.arange(len(place)), place], gap, component))
    best = order[np.searchsorted(component[order], np.arange(count))]
    horizon = np.full(count, np.inf)
    np.minimum.at(horizon, component, np.where(known, np.inf, distance[:, -1]))
    certain = gap[best] <= horizon
    i, j = best[certain], neighbor[best, place[best]][certain]
    if not certain.any() or count <= _FEW:
        unsure = np.flatnonzero(~certain)[: max(_FEW, 1)]
        searched = [_search(points, component == c) for c in unsure]
        i = np.concatenate([i, np.array([a for a, _ in searched], dtype=np.intp)])
        j = np.concatenate([j, np.array([b for _, b in searched], dtype=np.intp)])
    return i, j


def _search(points: Array, inside: NDArray[np.bool_]) -> tuple[int, int]:
    """The shortest edge between a component and its complement."""
    from scipy.spatial import cKDTree

    mine, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    distance, nearest = cKDTree(points[others]).query(points[mine])
    at = int(distance.argmin())
    return int(mine[at]), int(others[nearest[at]])
