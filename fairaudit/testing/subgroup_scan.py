"""The largest standardized mean over many subgroups: nodes of random trees on the attributes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.testing.attribute_functions import RandomTrees

__all__ = ["SubgroupScan", "TreeNodes", "add_up_leaves"]

_FEWEST = 8  # rows in a node and outside of it


class TreeNodes:
    """All nodes of trees, and how far their sums vary by chance.

    Parameters
    ----------
    trees : RandomTrees
    n : float
        Rows.
    inside : array
        Of every node: its rows.
    variance : array
        The sum over rows of what belonging to the node varies by, given the stretch of the outcome.
    """

    def __init__(self, trees: RandomTrees, n: float, inside: Array, variance: Array) -> None:
        self.depth, self.count = trees.depth, trees.count
        few = np.minimum(inside, n - inside) < _FEWEST
        self.usable = ~few & (variance / n > 1e-6)
        self.scale = np.sqrt(variance[self.usable])

    def find_largest(self, sums: Array) -> Array:
        """Per copy the largest squared standardized sum; `sums` over nodes × copies."""
        if not len(self.scale):
            return np.zeros(sums.shape[1])
        return np.asarray(np.max((sums[self.usable] / self.scale[:, None]) ** 2, axis=0))


def add_up_leaves(of_leaves: Array) -> Array:
    """Leaves (trees × leaves × …) to all nodes (nodes × …), level by level."""
    levels, (count, width, *rest) = [of_leaves], of_leaves.shape
    while width > 2:
        width //= 2
        levels.append(levels[-1].reshape(count, width, 2, *rest).sum(axis=2))
    return np.concatenate([level.reshape(-1, *rest) for level in levels])


class SubgroupScan:
    """Sums of columns over all nodes of random trees; rows that share all leaves are added first.

    Parameters
    ----------
    trees : RandomTrees
    a : array
        Attributes as numbers.
    strata : int array
        Stretches of the outcome; what their rows have in common is taken out of the nodes.
    counts : array, optional
        How many rows of the table each row here stands for.
    """

    def __init__(
        self, trees: RandomTrees, a: Array, strata: Index, counts: Array | None = None
    ) -> None:
        self.count, self.strata = trees.count, strata
        leaves = trees.find_leaves(a)
        self.width = 1 << trees.depth
        self.places = leaves + self.width * np.arange(trees.count)[:, None]
        sizes = np.bincount(strata, counts).astype(np.float64)
        joint = np.stack(
            [
                np.bincount(leaf * len(sizes) + strata, counts, self.width * len(sizes))
                for leaf in leaves
            ]
        ).reshape(self.count, self.width, len(sizes))
        self.share_of_leaves = joint / np.where(sizes > 0, sizes, 1.0)
        self.share = add_up_leaves(self.share_of_leaves)
        self.inside = add_up_leaves(joint.astype(float)).sum(axis=1)
        self.variance = (self.share * (1 - self.share)) @ sizes
        self.nodes = TreeNodes(trees, sizes.sum(), self.inside, self.variance)

    @cached_property
    def members(self) -> tuple[Any, Any, Any]:
        """Sparse matrices that add up: rows to those that share all leaves, these to leaves, rows
        to stretches."""
        alike = find_tied_blocks(list(self.places), len(self.strata))
        leaves, stretches = self.count * self.width, self.share.shape[1]
        return (
            _add_up(alike.of_row[None], len(alike)),
            _add_up(self.places[:, alike.first], leaves),
            _add_up(self.strata[None], stretches),
        )

    def find_largest(self, columns: Array) -> Array:
        """Per copy the largest squared standardized sum over nodes and columns.

        `columns` (copies × columns × rows) have variance 1.
        """
        copies, width, rows = columns.shape
        if not width:
            return np.zeros(copies)
        by_row = np.ascontiguousarray(columns.reshape(copies * width, rows).T)
        of_alike, of_leaves, of_stretches = self.members
        leaves = of_leaves @ (of_alike @ by_row)
        leaves = leaves.reshape(self.count, self.width, copies * width)
        sums = add_up_leaves(leaves) - self.share @ (of_stretches @ by_row)
        return self.nodes.find_largest(sums).reshape(copies, width).max(axis=1, initial=0.0)


def _add_up(places: Index, count: int) -> Any:
    """The sparse matrix that adds rows up at their places: trees × rows, of `count` in all."""
    from scipy.sparse import csr_array

    trees, n = places.shape
    rows = np.tile(np.arange(n, dtype=np.int32), trees)
    return csr_array((np.ones(places.size), (places.ravel(), rows)), shape=(count, n))
