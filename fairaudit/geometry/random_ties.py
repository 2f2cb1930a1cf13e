"""Neighbors with ties broken at random, as R's KPC and FOCI do it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairaudit.geometry.neighbors import NeighborGraph

__all__ = ["random_neighbors"]

Index = NDArray[np.intp]


def random_neighbors(graph: NeighborGraph, rng: np.random.Generator) -> Index:
    """K neighbors of every row (n × K), drawn without replacement where they are tied."""
    n, knn, blocks = graph.n, graph.knn, graph.blocks
    order = np.argsort(blocks.of_row, kind="stable")
    start = np.cumsum(blocks.counts) - blocks.counts
    place = np.empty(n, dtype=np.intp)  # position of a row within its block
    place[order] = np.arange(n) - np.repeat(start, blocks.counts)
    block = blocks.of_row
    others = blocks.counts[block] - 1

    # Every block's outside candidates, closer ones first; tied ones share what is left.
    edges = np.lexsort((-graph.weight, graph.source))
    source, target, weight = graph.source[edges], graph.target[edges], graph.weight[edges]
    size = blocks.counts[target]
    sure = weight > (1 - 1e-9) / knn
    edge_start = np.searchsorted(source, np.arange(len(blocks)))
    edge_ends = np.concatenate([[0], np.cumsum(size)])
    outside_sure = np.bincount(source, np.where(sure, size, 0), minlength=len(blocks)).astype(int)
    outside_tied = np.bincount(source, np.where(sure, 0, size), minlength=len(blocks)).astype(int)

    inside = np.minimum(others, knn)
    sampled_inside = others > knn
    fixed = np.where(sampled_inside, 0, inside + outside_sure[block])
    pool = np.where(sampled_inside, others, outside_tied[block])
    ticket = np.tile(np.arange(knn), (n, 1))  # number of a candidate, fixed ones first
    sample = _sample(pool, knn - fixed, knn, rng)
    for k in range(knn):
        chosen = np.flatnonzero(k >= fixed)
        ticket[chosen, k] = fixed[chosen] + sample[chosen, k - fixed[chosen]]

    result = np.empty((n, knn), dtype=np.intp)
    for k in range(knn):
        number = ticket[:, k]
        own = number < others
        member = number + (number >= place)  # skip the row itself
        result[own, k] = order[start[block[own]] + member[own]]
        rest = np.flatnonzero(~own)
        offset = edge_ends[edge_start[block[rest]]] + number[rest] - others[rest]
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
        repeated = (picks[active, :k] == pick[:, None]).any(axis=1)
        picks[active, k] = np.where(repeated, top, pick)
    return picks
