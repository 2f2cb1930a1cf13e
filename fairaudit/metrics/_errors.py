"""Prediction errors of every group: how well each is calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import Groups
from fairaudit.data.rates import ratio, spread
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._labels import check_confidence, row_weights, score_column
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ErrorsInGroup", "GroupErrors", "errors_of_groups", "group_errors", "numeric_pair"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsInGroup:
    """The errors of one group; NaN where there are no rows, or too few for a standard error.

    Attributes
    ----------
    levels : the attribute values
    n : rows
    mean, standard_error, low, high : the mean error, its standard error and its interval
    quantiles : of the errors, at .05, .25, .5, .75 and .95
    """

    levels: tuple[Any, ...]
    n: int
    mean: float
    standard_error: float
    low: float
    high: float
    quantiles: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupErrors(Measure):
    """The errors of all groups; the value is the largest difference of two groups' mean errors.

    Attributes
    ----------
    attributes : names of the attributes
    cells : one per combination of levels, also of those without rows
    unlisted : further combinations without rows, not in `cells` because there are too many
    """

    attributes: tuple[str, ...]
    cells: tuple[ErrorsInGroup, ...] = field(repr=False)
    unlisted: int

    def to_frame(self) -> pd.DataFrame:
        """One row per group and statistic (the mean, with its interval, and the quantiles)."""
        import pandas as pd

        nan = float("nan")
        rows: list[tuple[Any, ...]] = []
        for c in self.cells:
            rows.append((*c.levels, c.n, "mean", c.mean, c.standard_error, c.low, c.high))
            for q, value in zip(QUANTILES, c.quantiles, strict=True):
                rows.append((*c.levels, c.n, f"q{q:.2f}", value, nan, nan, nan))
        columns = [*self.attributes, "n", "statistic", "value", "standard_error", "low", "high"]
        return pd.DataFrame(rows, columns=columns)


@swaps_refused
def group_errors(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    confidence: float = 0.95,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> GroupErrors:
    r"""Mean and quantiles of the prediction error in every group of the crossed attributes.

    Parameters
    ----------
    y_pred : array-like
        Predicted numbers.
    sensitive : array-like, frame or mapping
        Categorical attributes; several are crossed.
    y_true : array-like
        The outcome, as numbers.
    confidence : float
        Of the intervals for the mean.
    weights : array-like, optional
        Row weights.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    GroupErrors

    Notes
    -----
    The error is :math:`e = \hat y - y`. Per group, with weights w (1 unless given) and Kish's
    effective sample size :math:`m = (\sum w)^2 / \sum w^2`,

    .. math:: \bar e = \frac{\sum w e}{\sum w}, \qquad
        \mathrm{se} = \frac{\sqrt{\sum w^2 (e - \bar e)^2}}{\sum w} \sqrt{\frac{m}{m - 1}},

    which holds also where weights are related to the errors. The interval is Student's with
    :math:`(\sum w^2)^2 / \sum w^4 - 1` degrees of freedom. Without weights this is the usual
    :math:`s / \sqrt n` with n − 1. The q-quantile is the smallest error that at least a share q of
    the weight does not exceed.
    Mean errors are no measure of equalized odds: where the outcome depends on the attributes they
    differ between groups although it holds, as of a constant prediction, and they can be equal
    where it is violated. `prediction_gap` compares at equal outcomes.

    References
    ----------
    Kish (1965). Survey Sampling. Wiley.

    Examples
    --------
    >>> sex = {"sex": ["f", "f", "f", "m", "m", "m"]}
    >>> result = group_errors(
    ...     [1.5, 2.5, 3.5, 1.0, 2.0, 3.6], sensitive=sex, y_true=[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]
    ... )
    >>> [(group.levels, round(group.mean, 3)) for group in result.cells]
    [(('f',), 0.5), (('m',), 0.2)]
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    check_confidence(confidence)
    return errors_of_groups(table, Groups.of(table.attributes), confidence)


def errors_of_groups(table: AuditTable, groups: Groups, confidence: float = 0.95) -> GroupErrors:
    """`group_errors` of a table that has been checked, in groups of its rows."""
    prediction, outcome = numeric_pair(table)
    errors = prediction - outcome
    weights = row_weights(table)
    unit = np.arange(len(table)) if table.ids is None else table.ids.codes
    rows, mean, se, margin = _means(errors, groups, weights, unit=unit, confidence=confidence)
    quantiles = _quantiles(errors, groups, weights)
    cells = (
        ErrorsInGroup(
            levels=levels, n=n, mean=m, standard_error=s, low=m - d, high=m + d, quantiles=tuple(q)
        )
        for levels, n, (m, s, d), q in zip(
            groups.levels,
            rows.tolist(),
            np.column_stack([mean, se, margin]).tolist(),
            quantiles.tolist(),
            strict=True,
        )
    )
    return GroupErrors(
        value=float(spread(mean)),
        n=len(table),
        attributes=groups.attributes,
        cells=tuple(cells),
        unlisted=groups.unlisted,
    )


def numeric_pair(table: AuditTable) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Prediction and outcome as numbers."""
    prediction, outcome = score_column(table.prediction), table.require_outcome()
    for column in (prediction, outcome):
        if column.numeric is None:
            raise InputError(
                f"Column {column.name!r} holds text; errors need numbers. "
                "Use group_rates for labels, or turn it into numbers."
            )
    assert prediction.numeric is not None  # noqa: S101  for mypy: checked above
    assert outcome.numeric is not None  # noqa: S101  for mypy: checked above
    return prediction.numeric, outcome.numeric


def _means(
    errors: NDArray[np.float64],
    groups: Groups,
    weights: NDArray[np.float64],
    *,
    unit: NDArray[np.intp],
    confidence: float,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Per group: rows, mean error, its standard error, and half the width of its interval.

    Rows of one `unit` (a person) in a group are summed up.
    """
    from scipy.special import stdtrit

    def total(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(groups.of_row, values, minlength=len(groups)).astype(np.float64)

    weight = total(weights)
    mean = ratio(total(weights * errors), weight)
    share = np.nan_to_num(ratio(weights, weight[groups.of_row]))
    many = int(unit.max()) + 1
    pairs, of_pair = np.unique(groups.of_row * many + unit, return_inverse=True)

    def power(values: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
        sums = np.bincount(of_pair, values) ** exponent
        return np.bincount(pairs // many, sums, minlength=len(groups)).astype(np.float64)

    squares = power(share * (errors - np.nan_to_num(mean)[groups.of_row]), 2)
    concentration = power(share, 2)  # 1 / m, m Kish's size
    freedom = _freedom(concentration, power(share, 4))
    se = np.sqrt(ratio(np.where(freedom > 0, squares, np.nan), 1 - concentration))
    margin = np.full(len(groups), np.nan)
    some = freedom > 0
    margin[some] = se[some] * stdtrit(freedom[some], (1 + confidence) / 2)
    return np.bincount(groups.of_row, minlength=len(groups)), mean, se, margin


def _freedom(squares: NDArray[np.float64], fourth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Degrees of freedom of a variance, from sums of powers of the shares of the weight."""
    freedom = np.nan_to_num(ratio(squares**2, fourth)) - 1
    return np.where(freedom < 1e-9, 0.0, freedom)  # one row has all the weight: no standard error


def _quantiles(
    errors: NDArray[np.float64], groups: Groups, weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Groups × quantiles, by one sort of all rows and one search in the cumulated weights."""
    order = np.lexsort((errors, groups.of_row))
    weight = np.bincount(groups.of_row, weights, minlength=len(groups))
    upto = np.cumsum(weights[order])
    rows = np.bincount(groups.of_row, minlength=len(groups))
    last = np.cumsum(rows) - 1
    first = last + 1 - rows
    base = np.where(last >= 0, upto[last], 0.0) - weight
    share = np.array(QUANTILES) * (1 - 1e-12)  # a rounding error must not skip a row
    where = np.searchsorted(upto, base[:, None] + weight[:, None] * share)
    result = errors[order[np.clip(where, first[:, None], last[:, None])]]
    result[weight <= 0] = np.nan
    return result
