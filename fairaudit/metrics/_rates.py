"""Selection rate, TPR and FPR of every group, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import Groups, GroupTable
from fairaudit.data.rates import ratio
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import binary_labels, check_confidence
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "GroupRates",
    "Rate",
    "RatesInGroup",
    "group_rates",
    "rates_of_groups",
    "rates_of_outcome",
    "wilson",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share of rows predicted positive; value and interval are NaN when there are no rows.

    Attributes
    ----------
    value, low, high : the rate and its Wilson interval
    count : rows predicted positive
    n : rows
    effective_n : rows of equal weight with the same variance, also where people have several; n
        without weights
    """

    value: float
    low: float
    high: float
    count: int
    n: int
    effective_n: float

    @property
    def defined(self) -> bool:
        return not math.isnan(self.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class RatesInGroup:
    """The rates of one group.

    Attributes
    ----------
    levels : the attribute values
    n : rows
    class_counts : rows of each outcome class
    selection, tpr, fpr : P(prediction positive) of all rows, of the positives, of the negatives
    """

    levels: tuple[Any, ...]
    n: int
    class_counts: tuple[int, ...]
    selection: Rate
    tpr: Rate
    fpr: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRates(Measure):
    """The rates of all groups; the value is the largest gap between two groups in TPR or FPR.

    Attributes
    ----------
    attributes : names of the attributes
    classes : names of the outcome classes, in the order of `RatesInGroup.class_counts`
    positive : the positive class
    cells : one per combination of levels, also of those without rows
    unlisted : further combinations without rows, not in `cells` because there are too many
    """

    attributes: tuple[str, ...]
    classes: tuple[str, ...]
    positive: str
    cells: tuple[RatesInGroup, ...] = field(repr=False)
    unlisted: int

    def to_frame(self) -> pd.DataFrame:
        """One row per group and rate."""
        import pandas as pd

        columns = [*self.attributes, "rate", "value", "low", "high", "count", "n", "effective_n"]
        rows = [
            (*group.levels, name, r.value, r.low, r.high, r.count, r.n, r.effective_n)
            for group in self.cells
            for name, r in (("selection", group.selection), ("tpr", group.tpr), ("fpr", group.fpr))
        ]
        return pd.DataFrame(rows, columns=columns)


@swaps_refused
def group_rates(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    positive: Any = None,
    threshold: float | None = None,
    confidence: float = 0.95,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> GroupRates:
    r"""Selection rate, TPR and FPR of every group of the crossed attributes.

    Parameters
    ----------
    y_pred : array-like
        Predicted labels, or scores with `threshold`.
    sensitive : array-like, frame or mapping
        Categorical attributes; several are crossed.
    y_true : array-like
        The outcome classes.
    positive : optional
        The level of the outcome that counts as positive; the larger of two unless given. Needed
        with more than two, of which it is compared with the rest, and for scores where the levels
        are not 0 and 1: it is the level that they speak of.
    threshold : float, optional
        Scores at or above it predict the positive class.
    confidence : float
        Of the Wilson intervals.
    weights : array-like, optional
        Row weights; the rates are then weighted.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    GroupRates

    Notes
    -----
    For a group z, :math:`\mathrm{TPR}(z) = P(\hat Y = 1 \mid Z = z, Y = 1)` and
    :math:`\mathrm{FPR}(z) = P(\hat Y = 1 \mid Z = z, Y = 0)`. Every combination of levels is
    listed. A rate without rows to take it from is undefined (NaN), neither 0 nor 1.

    With weights w the Wilson interval of a rate r counts :math:`r (1 - r) / v` rows, where
    :math:`v = \sum w^2 (\hat y - r)^2 / (\sum w)^2`: weights may be related to the label. Two rows
    are added to v, as heavy as rows of the rarer label are in the table; a rate of 0 or 1 shows no
    variance of its own. More than Kish's effective sample size, :math:`(\sum w)^2 / \sum w^2`, is
    never counted.

    References
    ----------
    Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA.

    Kish (1965). Survey Sampling. Wiley.

    Korn & Graubard (1998). Confidence intervals for proportions with small expected number of
    positive counts estimated from survey data. Survey Methodology 24.

    Examples
    --------
    >>> sex = {"sex": ["f", "f", "f", "m", "m", "m"]}
    >>> result = group_rates([1, 0, 0, 1, 1, 1], sensitive=sex, y_true=[1, 1, 0, 1, 1, 1])
    >>> result.to_frame()[["sex", "rate", "value", "count", "n"]].round(2)
      sex       rate  value  count  n
    0   f  selection   0.33      1  3
    1   f        tpr   0.50      1  2
    2   f        fpr   0.00      0  1
    3   m  selection   1.00      3  3
    4   m        tpr   1.00      3  3
    5   m        fpr    NaN      0  0
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, kinds=kinds, positive=positive
    )
    check_confidence(confidence)
    groups, outcome = Groups.of(table.attributes), table.require_outcome()
    counted = groups.count(binary_labels(table, threshold=threshold), table.weights)
    key = groups.of_row * len(outcome.levels) + outcome.codes
    classes = np.bincount(key, minlength=len(groups) * len(outcome.levels))
    by_group = classes.reshape(len(groups), -1).tolist()
    cells = (
        RatesInGroup(
            levels=levels,
            n=sum(of_class),
            class_counts=tuple(of_class),
            selection=selected,
            tpr=true,
            fpr=false,
        )
        for levels, of_class, selected, true, false in zip(
            groups.levels, by_group, *rates_of_groups(counted, confidence), strict=True
        )
    )
    gaps = [gap for gap in counted.differences() if not math.isnan(gap)]
    return GroupRates(
        value=max(gaps, default=math.nan),
        n=len(table),
        attributes=groups.attributes,
        classes=tuple(str(level) for level in outcome.levels),
        positive=counted.outcomes[1],
        cells=tuple(cells),
        unlisted=groups.unlisted,
    )


def rates_of_groups(
    groups: GroupTable, confidence: float = 0.95
) -> tuple[list[Rate], list[Rate], list[Rate]]:
    """Selection rate, TPR and FPR of groups that have been counted."""
    sizes = groups.worth()
    everybody = (groups.counts.sum(axis=0), groups.weight.sum(axis=0), groups.worth(pooled=True))
    parts = [(groups.counts[y], groups.weight[y], sizes[y]) for y in (1, 0)]
    selection, tpr, fpr = (_rates(*part, confidence) for part in (everybody, *parts))
    return selection, tpr, fpr


def rates_of_outcome(groups: GroupTable, y: int, confidence: float = 0.95) -> list[Rate]:
    """P(prediction positive | outcome y) of groups that have been counted."""
    return _rates(groups.counts[y], groups.weight[y], groups.worth()[y], confidence)


def _rates(counts: Index, weight: Array, size: Array, confidence: float) -> list[Rate]:
    """One rate per group, from counts and weights of groups × labels."""
    from scipy.special import ndtri

    values = ratio(weight[:, 1], weight.sum(axis=1))
    low, high = wilson(values, np.where(size > 0, size, np.nan), float(ndtri((1 + confidence) / 2)))
    columns = {
        "value": values,
        "low": low,
        "high": high,
        "count": counts[:, 1],
        "n": counts.sum(axis=1),
        "effective_n": size,
    }
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [Rate(**dict(zip(columns, row, strict=True))) for row in rows]


def wilson(rate: Array, size: Array, critical: float) -> tuple[Array, Array]:
    """Wilson's limits; `size` need not be whole."""
    shift = critical**2 / size
    middle = (rate + shift / 2) / (1 + shift)
    half = critical / (1 + shift) * np.sqrt(rate * (1 - rate) / size + shift / (4 * size))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
