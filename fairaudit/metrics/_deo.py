"""DEO: how far the groups' positive rates lie from the overall ones, summed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.table import AuditTable
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Deo", "DeoTerm", "deo"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeoTerm:
    """One term of the sum: a group within one outcome class.

    Attributes
    ----------
    levels : the attribute values
    outcome : the outcome class
    n : rows
    rate : P(prediction positive | group, outcome)
    overall : P(prediction positive | outcome)
    """

    levels: tuple[Any, ...]
    outcome: str
    n: int
    rate: float
    overall: float

    @property
    def gap(self) -> float:
        return abs(self.rate - self.overall)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deo(Measure):
    """The DEO with its terms.

    Attributes
    ----------
    attributes : names of the attributes
    cells : the terms
    empty : (levels, outcome) of every combination without rows; they are no terms of the sum
    unlisted : further combinations without rows, left out of `empty` because there are too many
    """

    attributes: tuple[str, ...]
    cells: tuple[DeoTerm, ...] = field(repr=False)
    empty: tuple[tuple[tuple[Any, ...], str], ...]
    unlisted: int

    def to_frame(self) -> pd.DataFrame:
        """One row per group and outcome class; the empty ones have n = 0 and undefined rates."""
        import pandas as pd

        rows = [(*c.levels, c.outcome, c.n, c.rate, c.overall, c.gap) for c in self.cells]
        rows += [(*levels, name, 0, np.nan, np.nan, np.nan) for levels, name in self.empty]
        columns = [*self.attributes, "outcome", "n", "rate", "overall", "gap"]
        return pd.DataFrame(rows, columns=columns)


@swaps_refused
def deo(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    positive: Any = None,
    threshold: float | None = None,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> Deo:
    r"""Difference in equalized odds, summed over the groups that all attributes make.

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
    weights : array-like, optional
        Row weights; the rates are then weighted.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    Deo

    Notes
    -----
    .. math:: \mathrm{DEO} = \sum_{y \in \{0,1\}} \sum_{z}
        \left| P(\hat Y=1 \mid Z=z, Y=y) - P(\hat Y=1 \mid Y=y) \right|

    where z runs over the groups that occur among the rows with outcome y. A group that does not
    occur has no rate: it adds nothing to the sum and is listed in `Deo.empty`. The sum grows
    with the number of groups, so compare it only between models on the same attributes.

    References
    ----------
    Cho, Hwang & Suh (2020). A fair classifier using kernel density estimation. NeurIPS.

    Examples
    --------
    >>> result = deo([1, 0, 1, 1], sensitive={"sex": list("ffmm")}, y_true=[1, 1, 1, 0])
    >>> round(result.value, 3)  # |1/2 − 2/3| + |1 − 2/3| given 1, |1 − 1| given 0
    0.5
    >>> result.empty
    ((('f',), '0'),)
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, kinds=kinds, positive=positive
    )
    groups = label_groups(table, threshold=threshold)
    rates, overall = groups.rate(), groups.overall()
    rows = groups.counts.sum(axis=2)
    terms, empty = [], []
    for y, name in enumerate(groups.outcomes):
        for z, levels in enumerate(groups.levels):
            if np.isnan(rates[y, z]):
                empty.append((levels, name))
                continue
            n, rate = int(rows[y, z]), float(rates[y, z])
            terms.append(
                DeoTerm(levels=levels, outcome=name, n=n, rate=rate, overall=float(overall[y]))
            )
    return Deo(
        value=groups.deo(),
        n=int(rows.sum()),
        attributes=groups.attributes,
        cells=tuple(terms),
        empty=tuple(empty),
        unlisted=2 * groups.unlisted,
    )
