"""The KPC statistic from sums over tied blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.geometry.bandwidth import median_of_counted
from fairaudit.geometry.block_kernels import BlockFeatures, BlockKPC, BlockQuestion
from fairaudit.geometry.block_sums import CoarseBlocks, SeenRows
from fairaudit.geometry.kernels import (
    FeatureMap,
    GridFeatures,
    Kernel,
    drawn_features,
    feature_map,
    kernel_named,
    landmark_candidates,
)

__all__ = ["KPCOverBlocks"]

_SMALL: Any = {"tolerance": 1e-8, "max_rank": 64}  # what is summed in shards and sent


class KPCOverBlocks:
    """Kernel features with the median bandwidth of the rows seen, for all rows and for classes.

    Parameters
    ----------
    questions : sequence of CoarseBlocks
    knn : sequence of int
        Of every question.
    seen : SeenRows
        Of a sample, features are few; where so few cannot be exact, they are those of rows drawn at
        random: the test then has another kernel, close to that one.
    centered : bool
        Give the mean over copies beside the value.
    """

    def __init__(
        self,
        questions: Sequence[CoarseBlocks],
        knn: Sequence[int],
        seen: SeenRows,
        *,
        centered: bool = False,
    ) -> None:
        self.centered = centered
        self.questions = [
            BlockQuestion(question.space, question.names, question.of_class, k)
            for question, k in zip(questions, knn, strict=True)
        ]
        classes = {question.of_class for question in questions}
        of_class = [
            _make_map(seen, code) if code in classes else None
            for code in range(len(questions[0].space.outcome.levels))
        ]
        self.columns = BlockFeatures(_make_map(seen, None), of_class)

    def bind(self, observed: Any) -> list[Callable[[Any], Array]]:
        bound: list[Callable[[Any], Array]] = []
        for question in self.questions:
            part = self.columns.part(question.of_class)
            alone = BlockQuestion(question.space, (), question.of_class, question.knn)
            kpc = BlockKPC(question, alone, observed[:, part])
            bound.append(partial(_evaluate, kpc, part, self.centered))
        return bound


def _evaluate(kpc: BlockKPC, part: slice, centered: bool, sums: Any) -> Array:
    own = sums[:, part]
    return np.array([kpc.value(own), *([kpc.mean_of_copies(own)] if centered else [])])


def _make_map(seen: SeenRows, code: int | None) -> FeatureMap | GridFeatures:
    rows = seen.inside(code)
    u = seen.prediction[rows]
    if seen.times is not None:
        width = median_of_counted(u, seen.times[rows]) if len(np.unique(u, axis=0)) > 1 else 1.0
        return feature_map(kernel_named("rbf", u, width)[0], u)
    kernel, _ = kernel_named("rbf", u)
    return feature_map(kernel, u) if seen.whole else _make_small_map(kernel, u)


def _make_small_map(kernel: Kernel, u: Array) -> FeatureMap:
    exact = FeatureMap(kernel, landmark_candidates(u), **_SMALL)
    if exact.residual <= _SMALL["tolerance"]:
        return exact
    return drawn_features(kernel, u, **_SMALL)
