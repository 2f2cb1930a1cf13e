"""Several statistics as one while copies are still being drawn, so that drawing can stop early."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit._types import Array
from fairaudit.testing.evaluation import Evaluation
from fairaudit.testing.p_value import Combination
from fairaudit.testing.trust import Trust

__all__ = ["CombinedEvaluation"]

_COPIES = 99  # that the statistics are calibrated on


class CombinedEvaluation:
    """Another evaluation with one column: its statistics, combined.

    They are calibrated on copies that are not counted: data and counted copies stay exchangeable,
    and the number of a copy does not depend on how many have been drawn.

    Parameters
    ----------
    whole : Evaluation
    weights : sequence of float
        Of its statistics.
    first : int
        The number of a copy from which on none is counted.
    """

    def __init__(self, whole: Evaluation, weights: Sequence[float], first: int) -> None:
        self.whole, self.batch = whole, whole.batch
        pools: list[list[Array]] = [[] for _ in whole.observed]
        for start in range(first, first + _COPIES, whole.batch):
            block = whole.values(range(start, min(start + whole.batch, first + _COPIES)))
            for pool, values in zip(pools, block, strict=True):
                pool.extend(values)
        self.combinations = [Combination(np.array(pool), weights) for pool in pools]
        self.observed = [
            combination(values[None])
            for combination, values in zip(self.combinations, whole.observed, strict=True)
        ]

    def values(self, numbers: range) -> list[Array]:
        return self._combine(self.whole.values(numbers), range(len(self.observed)))

    def see(self, numbers: range, questions: Sequence[int]) -> list[Array]:
        return self._combine(self.whole.see(numbers, questions), questions)

    def _combine(self, values: list[Array], questions: Sequence[int]) -> list[Array]:
        return [
            self.combinations[k](part)[:, None] for k, part in zip(questions, values, strict=True)
        ]

    def trust(self, question: int) -> Trust:
        return self.whole.trust(question)

    def summarize_check(self, question: int) -> tuple[float, Array | None]:
        return self.whole.summarize_check(question)

    def seconds(self, question: int) -> float:
        return self.whole.seconds(question)
