"""The largest standardized mean over many subgroups: nodes of random trees on the attributes."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.testing.attribute_functions import RandomTrees

__all__ = ["SubgroupScan"]

_FEWEST = 8  # rows in a node and outside of it


class SubgroupScan:
    """Sums of columns over all nodes of random trees, in one pass over the rows per tree.

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
        self.depth, self.count = trees.depth, trees.count
        self.strata = strata
        leaves = trees.find_leaves(a)
        self.width = 1 << trees.depth
        self.places = (leaves + self.width * np.arange(trees.count)[:, None]).ravel()
        sizes = np.bincount(strata, counts).astype(np.float64)
        self.n = sizes.sum()
        joint = (
            np.stack(
                [
                    np.bincount(leaf * len(sizes) + strata, counts, self.width * len(sizes))
                    for leaf in leaves
                ]
            )
            .reshape(self.count, self.width, len(sizes))
            .astype(float)
        )
        share = self._add_up(joint / np.where(sizes > 0, sizes, 1.0))
        inside = self._add_up(joint).sum(axis=1)
        variance = (share * (1 - share)) @ sizes / self.n
        usable = (np.minimum(inside, self.n - inside) >= _FEWEST) & (variance > 1e-6)
        self.share = share[usable]
        self.usable = usable
        self.scale = np.sqrt(self.n * variance[usable])

    def _add_up(self, of_leaves: Array) -> Array:
        """Leaves (trees × leaves × …) to all nodes (nodes × …), level by level."""
        levels, rest = [of_leaves], of_leaves.shape[2:]
        for _ in range(self.depth - 1):
            last = levels[-1]
            levels.append(last.reshape(self.count, -1, 2, *rest).sum(axis=2))
        return np.concatenate([level.reshape(-1, *rest) for level in levels])

    def find_largest(self, columns: Array) -> Array:
        """Per copy the largest squared standardized sum over nodes and columns.

        `columns` (copies × columns × rows) have variance 1.
        """
        copies, width = len(columns), self.count * self.width
        if not len(self.scale):
            return np.zeros(copies)
        number = np.arange(copies)[:, None]
        places = (self.places + width * number).ravel()
        strata = (self.strata + self.share.shape[1] * number).ravel()
        best = np.zeros(copies)
        for column in columns.transpose(1, 0, 2):
            weights = np.repeat(column[:, None, :], self.count, axis=1).ravel()
            leaves = np.bincount(places, weights, copies * width).astype(float)
            leaves = leaves.reshape(copies, self.count, self.width).transpose(1, 2, 0)
            in_strata = np.bincount(strata, column.ravel(), copies * self.share.shape[1])
            sums = self._add_up(leaves)[self.usable]
            sums -= self.share @ in_strata.reshape(copies, -1).T
            best = np.maximum(best, np.max((sums / self.scale[:, None]) ** 2, axis=0))
        return best
