"""How far the predictions of two groups differ given the outcome: 0 under equalized odds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.columns import level_text
from fairaudit.data.groups import Groups
from fairaudit.data.rates import spread
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._errors import numeric_pair
from fairaudit.metrics._gap_regression import gaps_given_outcome
from fairaudit.metrics._labels import row_weights
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "FEWEST",
    "FittedGaps",
    "GapFits",
    "GapInGroup",
    "PredictionGap",
    "fit_gaps",
    "half_widths",
    "prediction_gap",
]

#: People that a gap must rest on; of fewer the variance is not known well enough for an interval.
FEWEST = 5.0
MOST_GROUPS = 1_000  # their covariance is kept
FEWEST_RANGES, MOST_RANGES = 3, 8  # of the outcome, for a curve
ROWS_OF_RANGE = 400
FEWEST_IN_RANGE = 30  # rows; fewer are no part of a curve


@dataclass(frozen=True, slots=True)
class GapInGroup:
    """One group: its rows, its gap to all rows of the same outcome, and the standard error."""

    levels: tuple[Any, ...]
    n: int
    gap: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class PredictionGap(Measure):
    """The gaps of all groups that have rows; the value is the largest difference of two.

    Attributes
    ----------
    attributes : names of the attributes
    cells : one per combination of levels that occurs
    """

    attributes: tuple[str, ...]
    cells: tuple[GapInGroup, ...] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """One row per group."""
        import pandas as pd

        rows = [(*c.levels, c.n, c.gap, c.standard_error) for c in self.cells]
        return pd.DataFrame(rows, columns=[*self.attributes, "n", "gap", "standard_error"])


@swaps_refused
def prediction_gap(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> PredictionGap:
    r"""By how much predictions differ between groups among people with the same outcome.

    Parameters
    ----------
    y_pred : array-like
        Predicted numbers.
    sensitive : array-like, frame or mapping
        Categorical attributes; several are crossed.
    y_true : array-like
        The outcome, as numbers.
    weights : array-like, optional
        Row weights.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    PredictionGap

    Notes
    -----
    Least squares in

    .. math:: \hat Y = m(Y) + \theta_{A} + \varepsilon

    with m a cubic spline of the outcome (knots at quantiles, as many as the cube root of the rows,
    20 at most, and some more in the tails), and a mean of its own for each value that many rows
    share. The gap of a group is :math:`\theta_a`, with mean 0 over all rows. Under equalized odds
    :math:`E[\hat Y \mid Y, A] = m(Y)`, so all gaps are 0, however the outcome depends on the
    group; a constant prediction has none. Where the gap changes with the outcome,
    :math:`\theta_a - \theta_b` is its mean over outcomes that both groups have, and a gap that
    changes its sign can average out: 0 is necessary for equalized odds and not sufficient.

    By the theorem of Frisch and Waugh :math:`\theta` is a linear function of the predictions whose
    weights are orthogonal to all splines; the error of the spline enters only as far as both m
    and the shares of the groups given the outcome are no splines (Robinson 1988). Standard errors
    allow for unequal variances and for weights: each residual is that of a fit without its row
    (HC3), which matters most for heavy rows, since the fit follows them.

    References
    ----------
    Robinson (1988). Root-N-consistent semiparametric regression. Econometrica 56.
    MacKinnon and White (1985). Some heteroskedasticity-consistent covariance matrix estimators
    with improved finite sample properties. Journal of Econometrics 29.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 4000)
    >>> y = 2 * sex + rng.normal(size=4000)
    >>> fair = 0.5 * y + rng.normal(size=4000)
    >>> round(float(prediction_gap(fair, sensitive=sex, y_true=y)), 2)
    0.0
    >>> round(float(prediction_gap(fair + 0.3 * sex, sensitive=sex, y_true=y)), 2)
    0.3
    """
    return _prediction_gap(AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds))


def _prediction_gap(table: AuditTable) -> PredictionGap:
    """The same of a table that has been checked."""
    fit = fit_gaps(table)
    errors = np.where(fit.rows > 1, np.sqrt(np.diag(fit.covariance)), np.nan)
    cells = (
        GapInGroup(levels, int(rows), float(gap), float(error))
        for levels, rows, gap, error in zip(fit.levels, fit.rows, fit.gap, errors, strict=True)
    )
    return PredictionGap(fit.largest, len(table), fit.attributes, tuple(cells))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FittedGaps:
    """The gaps of all groups that occur in some rows, and what is known of their errors.

    Attributes
    ----------
    attributes : tuple of str
    levels : tuple of tuple
        The attribute values of each group.
    rows : int array
    weight : array
        Sums of the weights.
    gap : array
        Of each group to all rows of the same outcome; their weighted mean is 0.
    covariance : array, groups × groups
    size : array
        People that each gap rests on.
    common : float
        The mean prediction of all rows.
    low, high : float
        The smallest and the largest outcome.
    apart : bool
        Nobody has several rows.
    """

    attributes: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    rows: Index
    weight: Array
    gap: Array
    covariance: Array
    size: Array
    common: float
    low: float
    high: float
    apart: bool

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The levels of every group for people."""
        return tuple(tuple(level_text(level) for level in levels) for levels in self.levels)

    @property
    def largest(self) -> float:
        """The largest difference of two gaps."""
        return float(spread(self.gap))

    def against_others(self) -> tuple[Array, Array]:
        """Of each group to all *others* of the same outcome, and the covariance of these."""
        scale = 1 / (1 - self.weight / self.weight.sum())
        return self.gap * scale, self.covariance * np.outer(scale, scale)


@dataclass(frozen=True, slots=True, eq=False)
class GapFits:
    """The gaps of all rows, and of those in each range of the outcome."""

    whole: FittedGaps
    ranges: tuple[FittedGaps, ...]

    @property
    def unit(self) -> float:
        """About how far predictions of one group and outcome spread: 1, 2 or 5 times 10^k."""
        some = self.whole.size >= FEWEST
        errors = np.sqrt(np.maximum(np.diag(self.whole.covariance), 0.0))
        far = float((errors * np.sqrt(self.whole.size))[some].max(initial=0.0))
        if not far:
            return 0.0
        power = 10.0 ** math.floor(math.log10(far))
        return next(times * power for times in (1.0, 2.0, 5.0, 10.0) if far <= times * power)

    @classmethod
    def of(cls, table: AuditTable, *, ranges: bool = True) -> GapFits:
        """Of a table whose attributes are categories; without `ranges` of all rows only."""
        return cls(fit_gaps(table), _fit_ranges(table) if ranges else ())


def fit_gaps(table: AuditTable) -> FittedGaps:
    """The gaps of a table whose attributes are categories."""
    prediction, outcome = numeric_pair(table)
    return _fit(table, prediction, outcome, np.arange(len(table)))


def _fit_ranges(table: AuditTable) -> tuple[FittedGaps, ...]:
    """The same in ranges of the outcome, each fitted by itself: a curve of the gaps.

    There are as many ranges as the rows allow; those in which groups cannot be compared are left
    out.
    """
    prediction, outcome = numeric_pair(table)
    count = min(max(len(table) // ROWS_OF_RANGE, FEWEST_RANGES), MOST_RANGES)
    cuts = np.unique(np.quantile(outcome, np.arange(1, count) / count))
    number = np.searchsorted(cuts, outcome, side="left")  # a range has its upper end
    fits = []
    for k in range(len(cuts) + 1):
        rows = np.flatnonzero(number == k)
        if len(rows) < FEWEST_IN_RANGE:
            continue
        try:
            fit = _fit(table, prediction, outcome, rows)
        except InputError:  # the outcome tells the groups apart, here
            continue
        if len(fit.levels) > 1:
            fits.append(fit)
    return tuple(fits)


def _fit(table: AuditTable, prediction: Array, outcome: Array, some: Index) -> FittedGaps:
    groups = Groups.of(table.attributes)
    rows = np.bincount(groups.of_row[some], minlength=len(groups))
    occurs = np.flatnonzero(rows)
    if len(occurs) > MOST_GROUPS:
        raise InputError(
            f"There are {len(occurs):,} groups, more than the {MOST_GROUPS:,} whose predictions "
            "given the outcome can be compared. Pass fewer attributes, or coarser groups."
        )
    place = np.zeros(len(groups), dtype=np.intp)
    place[occurs] = np.arange(len(occurs))
    group, weights = place[groups.of_row[some]], row_weights(table)[some]
    unit = None if table.ids is None else table.ids.codes[some]
    gaps, covariance, size = gaps_given_outcome(
        prediction[some, None], outcome[some], group, weights, unit
    )
    return FittedGaps(
        attributes=groups.attributes,
        levels=tuple(groups.levels[k] for k in occurs),
        rows=rows[occurs],
        weight=np.asarray(np.bincount(group, weights), dtype=np.float64),
        gap=gaps[0],
        covariance=covariance,
        size=size,
        common=float(np.average(prediction[some], weights=weights)),
        low=float(outcome[some].min()),
        high=float(outcome[some].max()),
        apart=table.ids is None or len(table.ids.levels) == len(table),
    )


def half_widths(fit: FittedGaps, confidence: float = 0.95) -> Array:
    """Of an interval for each gap to *all* rows of the same outcome, alone; NaN: too few people."""
    from scipy.special import stdtrit

    errors = np.sqrt(np.maximum(np.diag(fit.covariance), 0.0))
    width = errors * stdtrit(np.maximum(fit.size, FEWEST) - 1, (1 + confidence) / 2)
    return np.where(fit.size >= FEWEST, width, np.nan)
