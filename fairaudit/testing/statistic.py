"""Statistics of Yhat ⟂ A | Y: how a table and its copies are summarized by one number each.

A statistic is bound to a table once (everything that copies cannot change is computed there) and
then evaluated on blocks of copies. Large values speak against the null hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit._registry import Named, Registry

if TYPE_CHECKING:  # names of statistics are for the command line too, which waits for no numpy
    from fairaudit._types import Array, Index
    from fairaudit.data.table import AuditTable
    from fairaudit.geometry.block_sums import RowColumns

__all__ = ["STATISTICS", "Bound", "OverBlocks", "Statistic", "list_parts", "statistic_named"]

#: Row indices of copies (B × n) → B values, or B × parts of a statistic that has parts.
Bound = Callable[["Index"], "Array"]


class Statistic(Protocol):
    """A named statistic."""

    name: str

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        """Bind to a table; `within_outcome` tells that copies only exchange equal outcomes.

        A statistic that has a method `tested_rows(n, seed)` gets copies of these rows only. One
        that has `parts` (names) and `weights` (numbers) has a column for each, to be combined. One
        that has `bind_near_outcome(table, seed)` is bound by it where copies exchange attributes
        between neighbors in a continuous outcome. One that has `bind_moved_prediction(table, seed)`
        works under laws that move the prediction too: outcome row k then has the prediction of
        row rows[k]. One that has `over_blocks(questions, seen, seed)` needs of copies within
        classes only sums over tied blocks (`OverBlocks`); it returns None where it needs more, and
        `narrow_sums` tells that they are of few columns. One that has
        `over_shifts(table, groups, seed)` needs of copies that shift groups of blocks of neighbors
        in the outcome only what each shift does to each group (`OverShifts`).
        """
        ...


class OverBlocks(Protocol):
    """A statistic of questions (`CoarseBlocks`) from sums over the tied blocks of a copy.

    Attributes
    ----------
    columns : RowColumns
        What is summed.
    """

    columns: RowColumns

    def bind(self, observed: Any) -> list[Callable[[Any], Array]]:
        """Per question: the sums of a copy → its parts. `observed` are the sums of the data."""
        ...


_MAX = ("kpc", "correlation", "features")
_OMNIBUS = "fairaudit.testing.omnibus:Omnibus"
_FEATURES = ("smooth", "curves", "smooth along the outcome")

STATISTICS = Registry(
    kind="statistic",
    method="bind",
    group="fairaudit.statistics",
    built_in={
        "omnibus": Named(_OMNIBUS),
        "kpc": Named("fairaudit.testing.neighbor_statistics:KPCStatistic"),
        "codec": Named("fairaudit.testing.neighbor_statistics:CODECStatistic"),
        "deo": Named("fairaudit.testing.rate_statistics:DEOStatistic"),
        "equalized_odds_difference": Named(
            "fairaudit.testing.rate_statistics:OddsDifferenceStatistic"
        ),
        "correlation": Named(_OMNIBUS, {"parts": ("linear",), "name": "correlation"}),
        "features": Named(_OMNIBUS, {"parts": _FEATURES, "name": "features"}),
        "scan": Named(_OMNIBUS, {"parts": ("scan", "scan in spread"), "name": "scan"}),
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


def list_parts(statistics: Sequence[Statistic]) -> tuple[list[str], list[float]]:
    """Names and weights of the columns that the statistics have together."""
    names: list[str] = []
    weights: list[float] = []
    for statistic in statistics:
        parts = getattr(statistic, "parts", ())
        parts = parts if len(parts) > 1 else (statistic.name,)
        names += parts
        weights += getattr(statistic, "weights", (1.0,) * len(parts))
    return names, weights
