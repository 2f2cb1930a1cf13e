"""KPC of labels is a number of counts: where groups are masked, it is that of the groups shown.

Rounding it would not do. Whoever knows the program can compute KPC for all counts that masked
groups may have; where the true ones lie at an end of what is possible, few others round alike,
however wide the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array
from fairaudit.data.rates import RATES
from fairaudit.evidence.measured import CellTable, MeasuredValue

__all__ = ["CountedSizes", "kpc_of_shown"]

_EXACT = 1e-9


@dataclass(frozen=True, slots=True)
class CountedSizes:
    """Tells which KPC follow from the counts of a table of groups: those of labels.

    The neighbors of a person who is alone in a group are elsewhere, and not told by counts. That a
    KPC is of labels is known then by those of other attributes, in whose groups nobody is alone.
    """

    table: CellTable | None
    of_labels: bool

    @classmethod
    def of(cls, table: CellTable | None, measures: Sequence[MeasuredValue]) -> CountedSizes:
        exactly = cls(table, False)
        known = [
            exactly.give(measure.attributes, measure.value)
            for measure in measures
            if measure.key == "kpc"
            and table is not None
            and (sums := _pairs_that_differ(table, measure.attributes)) is not None
            and not sums[2]
        ]
        return cls(table, bool(known) and all(known))

    def give(self, attributes: Sequence[str], value: float | None) -> bool:
        """Whether this KPC follows from the counts."""
        sums = None if self.table is None else _pairs_that_differ(self.table, attributes)
        if sums is None or value is None:
            return False
        within, over, alone = sums
        most = within + (alone / 2 if self.of_labels else 0.0)
        return 1 - most / over - _EXACT <= value <= 1 - within / over + _EXACT


def kpc_of_shown(table: CellTable, attributes: Sequence[str]) -> float | None:
    """KPC of the groups that are not masked; None where all of them are predicted alike."""
    sums = _pairs_that_differ(table, attributes)
    return None if sums is None else float(1 - sums[0] / sums[1])


def _pairs_that_differ(
    table: CellTable, attributes: Sequence[str]
) -> tuple[float, float, int] | None:
    """Expected pairs of people with different labels, within groups and over all of an outcome.

    And how many people are alone in their group. Sums over outcomes; KPC is 1 − within / over.
    """
    known = set(RATES) <= set(table.columns) and set(attributes) <= set(table.attributes)
    shown = [group for group in table.cells if not group.masked]
    if not known or not shown:
        return None
    places = [table.attributes.index(name) for name in attributes]
    names: dict[tuple[str, ...], int] = {}
    merged = [names.setdefault(tuple(cell.levels[k] for k in places), len(names)) for cell in shown]
    within = over = 0.0
    alone = 0
    for rate in RATES:
        estimates = [cell.estimates[table.columns.index(rate)] for cell in shown]
        rows = np.array([estimate.rows or 0 for estimate in estimates], dtype=np.float64)
        share = np.array([estimate.value or 0.0 for estimate in estimates])
        people: Array = np.bincount(merged, rows).astype(np.float64)
        positive = np.rint(np.bincount(merged, share * rows))
        within += float(_differing(people, positive).sum())
        over += float(_differing(people.sum(), positive.sum()))
        alone += int((people == 1).sum())
    return None if over <= 0 else (within, over, alone)


def _differing(people: Array, positive: Array) -> Array:
    """People times the chance that one and another of them have different labels, by two."""
    return np.asarray(positive * (people - positive) / np.maximum(people - 1, 1))
