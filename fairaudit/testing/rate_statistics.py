"""DEO and the equalized-odds difference as test statistics: the gaps people gate on, with a p."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.groups import Groups
from fairaudit.data.rates import deo_of, rates_of, spread
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
        return _bound(table, self.threshold, deo_of)


@dataclass(frozen=True, slots=True)
class OddsDifferenceStatistic:
    """Largest difference between groups in P(Ŷ=1 | z, y), over the classes y."""

    threshold: float | None = None

    name = "equalized_odds_difference"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return _bound(table, self.threshold, _largest_difference)


def _largest_difference(counts: Array) -> Array:
    differences = spread(rates_of(counts))
    return np.asarray(np.fmax(differences[..., 0], differences[..., 1]))


def _bound(table: AuditTable, threshold: float | None, value: Callable[[Array], Array]) -> Bound:
    """A number of the groups, in which every copy puts the rows anew."""
    labels = binary_labels(table, threshold=threshold)
    groups = Groups.of(table.attributes)

    def of_copies(rows: Index) -> Array:
        counts = [groups.counts(labels, groups.of_row[copy]) for copy in rows]
        return value(np.array(counts, dtype=np.float64))

    return of_copies
