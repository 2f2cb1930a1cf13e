"""How large the gap of one batch is, where the outcome is continuous."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairaudit.data.groups import Groups, Labels
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.evidence.intervals.certify import certificates
from fairaudit.results import SUPPRESS

__all__ = ["measure_gap"]


def measure_gap(table: AuditTable, alpha: float) -> dict[str, float | None]:
    """The largest prediction gap of the batch and its upper bound, of groups of 10 or more people.

    Empty for classes, and where there are no such groups that share outcomes.
    """
    some = tuple(column for column in table.attributes if column.kind.is_categorical)
    if table.require_outcome().kind.is_categorical or not some:
        return {}
    groups = Groups.of(some)
    ids = None if table.ids is None else table.ids.codes
    people = groups.count(Labels.none(len(table)), ids=ids).persons()[0]
    rows = np.flatnonzero((people >= SUPPRESS)[groups.of_row])
    if len(np.unique(groups.of_row[rows])) < 2:
        return {}
    try:
        (bound,) = certificates(
            replace(table, attributes=some).take(rows),
            {"prediction_gap": 1.0},
            alpha=alpha,
            threshold=None,
        )
    except InputError:  # groups that share no outcomes
        return {}
    return {"gap": bound.value, "gap_at_most": bound.upper}
