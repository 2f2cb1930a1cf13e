"""DEO and the equalized-odds difference as test statistics: the gaps people gate on, with a p."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.groups import Groups
from fairaudit.data.rates import deo_of, rates_of, spread
from fairaudit.data.table import AuditTable
from fairaudit.data.threshold import default_threshold
from fairaudit.metrics._labels import binary_labels
from fairaudit.testing.statistic import Bound, Statistic

__all__ = ["DEOStatistic", "OddsDifferenceStatistic", "set_threshold"]


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
        return _bind_counts(table, self.threshold, deo_of)


@dataclass(frozen=True, slots=True)
class OddsDifferenceStatistic:
    """Largest difference between groups in P(Ŷ=1 | z, y), over the classes y."""

    threshold: float | None = None

    name = "equalized_odds_difference"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        return _bind_counts(table, self.threshold, _find_largest_difference)


def set_threshold(
    statistic: Statistic, table: AuditTable, threshold: float | None = None
) -> Statistic:
    """A statistic of labels, with the threshold that the rates of this table take."""
    missing = getattr(statistic, "threshold", 0.0) is None
    if not missing or table.prediction.form == "labels":
        return statistic
    cut = default_threshold(table) if threshold is None else threshold
    return replace(statistic, threshold=cut)  # type: ignore[type-var]


def _find_largest_difference(counts: Array) -> Array:
    differences = spread(rates_of(counts))
    return np.asarray(np.fmax(differences[..., 0], differences[..., 1]))


def _bind_counts(
    table: AuditTable, threshold: float | None, value: Callable[[Array], Array]
) -> Bound:
    """A number of the groups, in which every copy puts the rows anew."""
    labels = binary_labels(table, threshold=threshold)
    groups = Groups.of(table.attributes)

    def of_copies(rows: Index) -> Array:
        counts = [groups.counts(labels, groups.of_row[copy]) for copy in rows]
        return value(np.array(counts, dtype=np.float64))

    return of_copies
