"""Equalized odds difference and ratio: the extreme groups against each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import GroupTable
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "EqualizedOdds",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "odds_difference_of_groups",
    "odds_ratio_of_groups",
]

AGGREGATIONS = ("worst_case", "mean")


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualizedOdds(Measure):
    """The difference or ratio, with its two parts.

    Attributes
    ----------
    tpr, fpr : float
        The same for the true and the false positive rate alone; NaN when it does not exist.
    attributes : names of the attributes
    undefined : (levels, ``"tpr"`` or ``"fpr"``) of every group without rows to take that rate from
    unlisted : further combinations without rows, left out of `undefined` because of their number
    """

    tpr: float
    fpr: float
    attributes: tuple[str, ...]
    undefined: tuple[tuple[tuple[Any, ...], str], ...]
    unlisted: int

    def to_frame(self) -> pd.DataFrame:
        """One row for each of the two rates."""
        import pandas as pd

        missing = [sum(name == rate for _, name in self.undefined) for rate in ("tpr", "fpr")]
        return pd.DataFrame(
            {"rate": ["tpr", "fpr"], "value": [self.tpr, self.fpr], "undefined_cells": missing}
        )


@swaps_refused
def equalized_odds_difference(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    agg: str = "worst_case",
    positive: Any = None,
    threshold: float | None = None,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> EqualizedOdds:
    r"""Largest difference between two groups in the true or the false positive rate.

    Parameters
    ----------
    y_pred : array-like
        Predicted labels, or scores with `threshold`.
    sensitive : array-like, frame or mapping
        Categorical attributes; several are crossed.
    y_true : array-like
        The outcome classes.
    agg : {"worst_case", "mean"}
        The larger of the two differences, or their mean.
    positive : optional
        The level of the outcome that counts as positive; the larger of two unless given. Needed
        with more than two, of which it is compared with the rest, and for scores where the levels
        are not 0 and 1: it is the level that they speak of.
    threshold : float, optional
        Scores at or above it predict the positive class.
    weights : array-like, optional
        Row weights; the rates are then weighted.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    EqualizedOdds

    Notes
    -----
    With :math:`r_y(z) = P(\hat Y = 1 \mid Z = z, Y = y)`, the value is

    .. math:: \max_{y \in \{0, 1\}} \left( \max_z r_y(z) - \min_z r_y(z) \right).

    It equals fairlearn's function of that name whenever every occurring group has rows of both
    outcomes. Otherwise the rate of a group does not exist. fairlearn counts it as 0; here it is
    left out of the extremes and listed in `EqualizedOdds.undefined`. A rate that exists in fewer
    than two groups has no difference (NaN), and the value is taken from the other rate.

    References
    ----------
    Hardt, Price & Srebro (2016). Equality of opportunity in supervised learning. NeurIPS.

    Agarwal et al. (2018). A reductions approach to fair classification. ICML.

    Examples
    --------
    >>> sex = {"sex": ["f", "f", "f", "m", "m", "m"]}
    >>> result = equalized_odds_difference(
    ...     [1, 0, 0, 1, 1, 0], sensitive=sex, y_true=[1, 1, 0, 1, 1, 0]
    ... )
    >>> result.value, result.tpr, result.fpr
    (0.5, 0.5, 0.0)
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, kinds=kinds, positive=positive
    )
    return odds_difference_of_groups(label_groups(table, threshold=threshold), agg=agg)


@swaps_refused
def equalized_odds_ratio(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    agg: str = "worst_case",
    positive: Any = None,
    threshold: float | None = None,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> EqualizedOdds:
    r"""Smallest ratio between two groups of the true or the false positive rate.

    Parameters
    ----------
    y_pred, sensitive, y_true, positive, threshold, weights, kinds
        As in `equalized_odds_difference`.
    agg : {"worst_case", "mean"}
        The smaller of the two ratios, or their mean.

    Returns
    -------
    EqualizedOdds

    Notes
    -----
    With :math:`r_y(z) = P(\hat Y = 1 \mid Z = z, Y = y)`, the value is

    .. math:: \min_{y \in \{0, 1\}} \frac{\min_z r_y(z)}{\max_z r_y(z)}.

    Undefined rates are treated as in `equalized_odds_difference`. When a rate is 0 in every group
    its ratio is 0/0: it is NaN, and the value is taken from the other rate. (What fairlearn
    answers then depends on which of the two rates is 0.)

    References
    ----------
    Agarwal et al. (2018). A reductions approach to fair classification. ICML.

    Examples
    --------
    >>> sex = {"sex": ["f", "f", "f", "m", "m", "m"]}
    >>> result = equalized_odds_ratio([1, 0, 0, 1, 1, 0], sensitive=sex, y_true=[1, 1, 0, 1, 1, 0])
    >>> result.value, result.tpr, result.fpr
    (0.5, 0.5, nan)
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, kinds=kinds, positive=positive
    )
    return odds_ratio_of_groups(label_groups(table, threshold=threshold), agg=agg)


def odds_difference_of_groups(groups: GroupTable, *, agg: str = "worst_case") -> EqualizedOdds:
    """`equalized_odds_difference` of groups that have been counted."""
    return _compared(groups, groups.differences(), max, agg)


def odds_ratio_of_groups(groups: GroupTable, *, agg: str = "worst_case") -> EqualizedOdds:
    """`equalized_odds_ratio` of groups that have been counted."""
    return _compared(groups, groups.ratios(), min, agg)


def _compared(
    groups: GroupTable, values: list[float], worst: Callable[[list[float]], float], agg: str
) -> EqualizedOdds:
    if agg not in AGGREGATIONS:
        raise InputError(
            f"The 'agg' parameter must be 'worst_case' or 'mean'. Got {agg!r} instead."
        )
    fpr, tpr = values
    parts = [part for part in (tpr, fpr) if not math.isnan(part)]
    combine = worst if agg == "worst_case" else lambda values: sum(values) / len(values)
    return EqualizedOdds(
        value=combine(parts) if parts else math.nan,
        n=int(groups.counts.sum()),
        tpr=tpr,
        fpr=fpr,
        attributes=groups.attributes,
        undefined=tuple(
            (groups.levels[z], ("fpr", "tpr")[y]) for z, y in np.argwhere(np.isnan(groups.rate().T))
        ),
        unlisted=2 * groups.unlisted,
    )
