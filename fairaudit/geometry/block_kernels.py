"""KPC from sums over tied blocks: T(Y, A) sees only sums of kernel features of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.geometry.block_sums import BlockSpace, CoarseBlocks, RowColumns
from fairaudit.geometry.kernels import POOR, FeatureMap, GridFeatures
from fairaudit.geometry.neighbors import block_graph, row_products
from fairaudit.geometry.tied_blocks import TiedBlocks

__all__ = ["BlockFeatures", "BlockKPC", "BlockQuestion"]


class BlockQuestion(CoarseBlocks):
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

        super().__init__(space, names, of_class)
        tied = TiedBlocks(self.place[self.place >= 0], np.arange(0), self.counts)
        graph = block_graph(self.points, tied, knn)
        self.knn = knn
        self.within = graph.within
        self.between = csr_array(
            (graph.weight, (graph.source, graph.target)), shape=(len(self.counts),) * 2
        )

    def mean_kernel(self, sums: Any) -> float:
        """T from the sums over blocks; the last column holds the squared norms."""
        own = self.gather @ sums
        features, norms = own[:, :-1], _last(own)
        total = float(self.within @ (row_products(features, features) - norms))
        if self.between.nnz:
            total += float(row_products(features, self.between @ features).sum())
        return total / self.n

    def mean_of_copies(self, sums: Any) -> float:
        """The mean of T over all copies within classes: an edge sees the mean over all pairs of
        rows of the classes at its ends."""
        from scipy.sparse import csr_array

        count = int(self.classes.max()) + 1
        places = (self.classes, np.arange(len(self.classes)))
        of_class = csr_array((np.ones(len(self.classes)), places), shape=(count, len(self.classes)))
        own = of_class @ (self.gather @ sums)
        features, norms = own[:, :-1], _last(own)
        rows, counts = of_class @ self.counts, self.counts.astype(np.float64)
        weight = (of_class * counts) @ self.between @ (of_class * counts).T
        weight = weight.toarray() + np.diag(of_class @ (self.within * counts * (counts - 1)))
        products = features @ features.T
        products = products if isinstance(products, np.ndarray) else products.toarray()
        pairs = np.outer(rows, rows) - np.diag(rows)
        means = (products - np.diag(norms)) / np.maximum(pairs, 1.0)
        return float((weight * means).sum()) / self.n


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

    def mean_of_copies(self, sums: Any) -> float:
        """The mean of `value` over copies."""
        if not self.defined:
            return 0.0
        return (self.question.mean_of_copies(sums) - self.alone) / self.left


def _last(matrix: Any) -> Array:
    """Its last column, of a dense or sparse one."""
    if isinstance(matrix, np.ndarray):
        return matrix[:, -1]
    return np.asarray(matrix[:, [-1]].toarray()).ravel()


class BlockFeatures(RowColumns):
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

    def row_bytes(self) -> int:
        if not self.sparse:
            return super().row_bytes()
        dense = sum(
            feature_map.rank for feature_map in self.maps if isinstance(feature_map, FeatureMap)
        )
        return 12 * (2 * (GridFeatures.ENTRIES + 1) + dense)

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
