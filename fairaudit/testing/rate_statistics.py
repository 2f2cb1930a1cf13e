"""DEO and the equalized-odds difference as test statistics: the gaps people gate on, with a p."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import binary_labels, groups_of, ratio, spread
from fairaudit.testing.statistic import Bound

__all__ = ["DEOStatistic", "OddsDifferenceStatistic"]


@dataclass(frozen=True, slots=True)
class DEOStatistic:
    """Σ_y Σ_z |P(Ŷ=1 | z, y) − P(Ŷ=1 | y)| over the cells that occur.

    Parameters
    ----------
    threshold : float, optional
        Turns scores into labels; needed for scores.
    """

    threshold: float | None = None

    name = "deo"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        rates = _CellRates(table, self.threshold)

        def value(copy: Index) -> float:
            return float(np.nansum(np.abs(rates.of(copy) - rates.overall)))

        return lambda rows: np.array([value(copy) for copy in rows])


@dataclass(frozen=True, slots=True)
class OddsDifferenceStatistic:
    """Largest difference between groups in P(Ŷ=1 | z, y), over the classes y."""

    threshold: float | None = None

    name = "equalized_odds_difference"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        rates = _CellRates(table, self.threshold)

        def value(copy: Index) -> float:
            return max(spread(row) for row in rates.of(copy))

        return lambda rows: np.array([value(copy) for copy in rows])


class _CellRates:
    """Share of positive predictions per outcome class and attribute cell, for any copy."""

    def __init__(self, table: AuditTable, threshold: float | None) -> None:
        labels = binary_labels(table, threshold=threshold)
        groups = groups_of(table)
        self.predicted = labels.predicted.astype(np.float64)
        self.actual = labels.actual.astype(np.intp)
        self.group = groups.of_row
        self.shape = (2, len(groups))
        self.overall = ratio(
            _sums(self.actual, self.predicted, 2), _sums(self.actual, np.ones(len(table)), 2)
        )[:, None]

    def of(self, copy: Index) -> Array:
        key = self.actual * self.shape[1] + self.group[copy]
        size = self.shape[0] * self.shape[1]
        counts = _sums(key, np.ones(len(key)), size)
        return ratio(_sums(key, self.predicted, size), counts).reshape(self.shape)


def _sums(key: Index, values: Array, size: int) -> Array:
    return np.asarray(np.bincount(key, values, size), dtype=np.float64)
