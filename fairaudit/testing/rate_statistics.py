"""DEO and the equalized-odds difference as test statistics: the gaps people gate on, with a p."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Index
from fairaudit.data.groups import Groups, GroupTable
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import binary_labels
from fairaudit.testing.statistic import Bound

__all__ = ["DEOStatistic", "OddsDifferenceStatistic"]


@dataclass(frozen=True, slots=True)
class DEOStatistic:
    """Σ_y Σ_z |P(Ŷ=1 | z, y) − P(Ŷ=1 | y)| over the groups that occur.

    Parameters
    ----------
    threshold : float, optional
        Turns scores into labels; needed for scores.
    """

    threshold: float | None = None

    name = "deo"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return _bound(table, self.threshold, GroupTable.deo)


@dataclass(frozen=True, slots=True)
class OddsDifferenceStatistic:
    """Largest difference between groups in P(Ŷ=1 | z, y), over the classes y."""

    threshold: float | None = None

    name = "equalized_odds_difference"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return _bound(table, self.threshold, _largest_difference)


def _largest_difference(groups: GroupTable) -> float:
    known = [gap for gap in groups.differences() if not math.isnan(gap)]
    return max(known, default=math.nan)


def _bound(
    table: AuditTable, threshold: float | None, value: Callable[[GroupTable], float]
) -> Bound:
    """A number of the groups, in which every copy puts the rows anew."""
    labels = binary_labels(table, threshold=threshold)
    groups = Groups.of(table.attributes)

    def of_copy(copy: Index) -> float:
        return value(replace(groups, of_row=groups.of_row[copy]).count(labels))

    return lambda rows: np.array([of_copy(copy) for copy in rows])
