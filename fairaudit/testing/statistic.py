"""Statistics of Yhat ⟂ A | Y: how a table and its copies are summarized by one number each.

A statistic is bound to a table once (everything that copies cannot change is computed there) and
then evaluated on blocks of copies. Large values speak against the null hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from fairaudit._registry import Named, Registry

if TYPE_CHECKING:  # names of statistics are for the command line too, which waits for no numpy
    from fairaudit._types import Array, Index
    from fairaudit.data.table import AuditTable

__all__ = ["STATISTICS", "Bound", "Statistic", "statistic_named"]

#: Row indices of copies (B × n) → B values.
Bound = Callable[["Index"], "Array"]


class Statistic(Protocol):
    """A named statistic."""

    name: str

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        """Bind to a table; `within_outcome` tells that copies only exchange equal outcomes.

        A statistic that has a method `tested_rows(n, seed)` gets copies of these rows only. One
        that has a method `bind_moved_prediction(table, seed=)` works under laws that move the
        prediction too: outcome row k then has the prediction of row rows[k].
        """
        ...


_MAX = ("kpc", "correlation", "features")

STATISTICS = Registry(
    kind="statistic",
    method="bind",
    group="fairaudit.statistics",
    built_in={
        "kpc": Named("fairaudit.testing.neighbor_statistics:KPCStatistic"),
        "codec": Named("fairaudit.testing.neighbor_statistics:CODECStatistic"),
        "deo": Named("fairaudit.testing.rate_statistics:DEOStatistic"),
        "equalized_odds_difference": Named(
            "fairaudit.testing.rate_statistics:OddsDifferenceStatistic"
        ),
        "correlation": Named("fairaudit.testing.linear:Correlation"),
        "features": Named("fairaudit.testing.linear:Features"),
        "ordered": Named("fairaudit.testing.ordered_pairs:OrderedPairs"),
        "hrt": Named("fairaudit.testing.holdout:HoldoutGain"),
        "max": Named("fairaudit.testing.statistic:statistic_named", {"statistic": _MAX}),
    },
)


def statistic_named(statistic: str | Statistic | Sequence[str | Statistic]) -> list[Statistic]:
    """The statistics for a name, an instance, or a list of either (``"max"`` is a list)."""
    if isinstance(statistic, Sequence) and not isinstance(statistic, str) and statistic:
        return [each for item in statistic for each in statistic_named(item)]
    statistics = STATISTICS.get(statistic)
    return statistics if isinstance(statistics, list) else [statistics]
