"""The gaps of all groups with simultaneous intervals, whatever the kind of outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import GroupTable
from fairaudit.data.table import AuditTable
from fairaudit.evidence.intervals.certificates import GapTable
from fairaudit.evidence.intervals.class_gaps import class_gap_table
from fairaudit.evidence.intervals.gaps import gap_table
from fairaudit.evidence.intervals.prediction_gaps import prediction_gap_table
from fairaudit.metrics._confusion import count_predicted
from fairaudit.metrics._labels import label_groups
from fairaudit.metrics._prediction_gap import GapFits

__all__ = ["gap_intervals", "tabulate_gaps"]


@swaps_refused
def gap_intervals(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    threshold: float | None = None,
    confidence: float = 0.95,
    weights: Any = None,
    ids: Any = None,
    kinds: Mapping[str, str] | None = None,
    positive: Any = None,
    seed: int = 0,
) -> GapTable:
    r"""The gaps in TPR and FPR between every group and all others, with simultaneous intervals.

    Of a continuous outcome: the gaps of the prediction given the outcome, in its units. Of more
    than two classes without `positive`: the gaps in every share of the confusion.

    Parameters
    ----------
    y_pred, sensitive, y_true, threshold, weights, kinds, positive
        As for `fairaudit.metrics.group_rates`.
    confidence : float
        Of all intervals together.
    ids : array-like, optional
        People with several rows.
    seed : int
        Of the bootstrap.

    Returns
    -------
    GapTable

    Notes
    -----
    The interval of one gap is Newcombe's, from the wider of Wilson's and Jeffreys' limits (for
    groups of a few people and rates near 0 or 1), with the critical value c of the maximum in the
    place of 1.96: the quantile of :math:`\max_j |\hat g^*_j| / s_j` over all groups j and both
    rates, in 20,000 draws of a multiplier bootstrap of the centered rates. A gap is a smooth
    function of the rates, also where it is zero; the largest absolute gap is not, and its own
    bootstrap is not valid there. Where people are in several groups, c is Bonferroni's.

    Of more than two classes the shares of people of a class that are predicted to be of it, or of
    another, are rates like these; Bonferroni's inequality joins them.

    Of a continuous outcome the gaps are those of `fairaudit.metrics.prediction_gap`, of each group
    to all others, and `GapTable.curve` has them in ranges of the outcome; see
    `fairaudit.evidence.intervals.prediction_gaps.prediction_gap_table`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, label = rng.integers(0, 2, (2, 900))
    >>> race = {"race": rng.choice(["a", "b", "c"], 900)}
    >>> table = gap_intervals(label, sensitive=race, y_true=y)
    >>> all(gap.low < 0 < gap.high for gap in table.gaps)
    True
    """
    table = AuditTable.of(
        y_pred, sensitive, y_true, weights=weights, ids=ids, kinds=kinds, positive=positive
    )
    outcome = table.require_outcome()
    if threshold is None and not outcome.kind.is_categorical:
        return tabulate_gaps(GapFits.of(table), confidence, seed)
    if threshold is None and positive is None and len(outcome.levels) > 2:
        return tabulate_gaps(count_predicted(table), confidence, seed)
    return tabulate_gaps(label_groups(table, threshold=threshold), confidence, seed)


def tabulate_gaps(
    measured: GroupTable | Sequence[GroupTable] | GapFits, confidence: float, seed: int
) -> GapTable:
    """Intervals of rates, of shares of several classes (a table for each), or of predictions."""
    if isinstance(measured, GapFits):
        return prediction_gap_table(measured, confidence, seed)
    if isinstance(measured, GroupTable):
        return gap_table(measured.rates(), measured.attributes, confidence, seed)
    return class_gap_table(measured, confidence, seed)
