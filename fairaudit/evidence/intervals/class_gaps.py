"""Of more than two classes: gaps in the share of each class that is predicted to be of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fairaudit.data.groups import GroupTable
from fairaudit.data.rates import RateTable
from fairaudit.evidence.intervals.bounds import gap_bound
from fairaudit.evidence.intervals.certificates import Gap, GapTable
from fairaudit.evidence.intervals.gaps import gap_table

__all__ = ["bound_confusion_gap", "class_gap_table"]


def class_gap_table(predicted: Sequence[GroupTable], confidence: float, seed: int) -> GapTable:
    """The intervals of all shares of the confusion; `predicted` counts one predicted class each.

    Those of one share hold together as those of a rate do, and Bonferroni's inequality joins the
    shares.
    """
    names = predicted[0].outcomes
    level = 1 - (1 - confidence) / (len(names) * len(predicted))
    critical, gaps, apart = math.nan, list[Gap](), True
    for j, groups in enumerate(predicted):
        rates = groups.rates()
        for y, name in enumerate(names):
            table = gap_table(_one_outcome(rates, y), groups.attributes, level, seed)
            rate = f"{name} → {names[j]}"
            gaps += [replace(gap, rate=rate) for gap in table.gaps]
            apart = apart and table.apart
            critical = float(np.fmax(critical, table.critical))
    return GapTable(
        attributes=predicted[0].attributes,
        confidence=confidence,
        critical=critical,
        gaps=tuple(gaps),
        apart=apart,
        of_classes=True,
    )


def _one_outcome(rates: RateTable, y: int) -> RateTable:
    """The rates of one outcome in the place of the positive one, and no other."""

    def alone(values: np.ndarray) -> np.ndarray:
        return np.stack([np.zeros_like(values[y]), values[y]])

    return replace(
        rates, rate=alone(rates.rate), size=alone(rates.size), weight=alone(rates.weight)
    )


def bound_confusion_gap(
    predicted: Sequence[GroupTable], alpha: float
) -> tuple[float | None, float | None, str]:
    """The largest difference of two groups in any share: estimate, bound, and what it rests on.

    The share and the pair that are largest in truth are fixed: no adjustment is needed.
    """
    pairs = []
    for groups in predicted:
        rates = groups.rates()
        if not (rates.size > 0).all():
            return None, None, "no bound: some group has no rows of some class"
        pairs += [gap_bound(rates, y, alpha) for y in range(len(groups.outcomes))]
    value, upper = (max(values) for values in zip(*pairs, strict=True))
    return value, upper, f"largest bound over all shares and pairs of {len(rates.levels)} groups"
