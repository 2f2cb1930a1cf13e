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

    def largest(self, columns: Array) -> float:
        """The largest squared standardized sum over nodes and columns; columns have variance 1."""
        best = 0.0
        for column in columns.T:
            weights = np.tile(column, self.count)
            leaves = np.bincount(self.places, weights, self.count * self.width).astype(float)
            sums = self._add_up(leaves.reshape(self.count, self.width))[self.usable]
            sums -= self.share @ np.bincount(self.strata, column)
            if len(sums):
                best = max(best, float(np.max((sums / self.scale) ** 2)))
        return best
