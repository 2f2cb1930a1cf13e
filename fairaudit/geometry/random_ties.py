"""Neighbours with ties broken at random, as R's KPC and FOCI do it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairaudit.geometry.neighbors import NeighbourGraph

__all__ = ["random_neighbours"]

Index = NDArray[np.intp]


def random_neighbours(graph: NeighbourGraph, rng: np.random.Generator) -> Index:
    """K neighbours of every row (n × K), drawn without replacement where they are tied."""
    n, knn, cells = graph.n, graph.knn, graph.cells
    order = np.argsort(cells.of_row, kind="stable")
    start = np.cumsum(cells.counts) - cells.counts
    place = np.empty(n, dtype=np.intp)  # position of a row within its cell
    place[order] = np.arange(n) - np.repeat(start, cells.counts)
    cell = cells.of_row
    others = cells.counts[cell] - 1

    # Every cell's outside candidates, closer ones first; tied ones share what is left.
    edges = np.lexsort((-graph.weight, graph.source))
    source, target, weight = graph.source[edges], graph.target[edges], graph.weight[edges]
    size = cells.counts[target]
    sure = weight > (1 - 1e-9) / knn
    edge_start = np.searchsorted(source, np.arange(len(cells)))
    edge_ends = np.concatenate([[0], np.cumsum(size)])
    outside_sure = np.bincount(source, np.where(sure, size, 0), minlength=len(cells)).astype(int)
    outside_tied = np.bincount(source, np.where(sure, 0, size), minlength=len(cells)).astype(int)

    inside = np.minimum(others, knn)
    sampled_inside = others > knn
    fixed = np.where(sampled_inside, 0, inside + outside_sure[cell])
    pool = np.where(sampled_inside, others, outside_tied[cell])
    ticket = np.tile(np.arange(knn), (n, 1))  # number of a candidate, fixed ones first
    drawn = _sample(pool, knn - fixed, knn, rng)
    for k in range(knn):
        chosen = np.flatnonzero(k >= fixed)
        ticket[chosen, k] = fixed[chosen] + drawn[chosen, k - fixed[chosen]]

    result = np.empty((n, knn), dtype=np.intp)
    for k in range(knn):
        number = ticket[:, k]
        own = number < others
        member = number + (number >= place)  # skip the row itself
        result[own, k] = order[start[cell[own]] + member[own]]
        rest = np.flatnonzero(~own)
        offset = edge_ends[edge_start[cell[rest]]] + number[rest] - others[rest]
        edge = np.searchsorted(edge_ends, offset, side="right") - 1
        result[rest, k] = order[start[target[edge]] + offset - edge_ends[edge]]
    return result


def _sample(pool: Index, wanted: Index, width: int, rng: np.random.Generator) -> Index:
    """For each row `wanted` different numbers below `pool` (Floyd's algorithm, vectorized)."""
    picks = np.full((len(pool), width), -1, dtype=np.intp)
    for k in range(width):
        active = np.flatnonzero(k < wanted)
        top = pool[active] - wanted[active] + k
        pick = rng.integers(0, top + 1)
        seen = (picks[active, :k] == pick[:, None]).any(axis=1)
        picks[active, k] = np.where(seen, top, pick)
    return picks
