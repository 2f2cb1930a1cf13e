"""Which class is predicted among people of each class, by group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.argument_order import swaps_refused
from fairaudit.data.groups import GroupTable
from fairaudit.data.rates import spread
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.metrics._labels import binary_labels, check_confidence
from fairaudit.metrics._rates import Rate, rates_of_outcome
from fairaudit.metrics.measure import Measure

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["GroupConfusion", "ShareInGroup", "confusion_gap", "count_predicted", "group_confusion"]


@dataclass(frozen=True, slots=True)
class ShareInGroup:
    """Of one group: the share of people of a class that is predicted to be of another (or it)."""

    levels: tuple[Any, ...]
    outcome: str
    predicted: str
    share: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfusion(Measure):
    """The confusion of all groups; the value is the largest gap between two in any share.

    Attributes
    ----------
    attributes : names of the attributes
    classes : names of the classes
    largest : the outcome and the predicted class of the largest gap; None without a gap
    cells : one per group, outcome and predicted class
    unlisted : further combinations of levels without rows
    """

    attributes: tuple[str, ...]
    classes: tuple[str, ...]
    largest: tuple[str, str] | None
    cells: tuple[ShareInGroup, ...] = field(repr=False)
    unlisted: int

    def to_frame(self) -> pd.DataFrame:
        """One row per group, outcome and predicted class."""
        import pandas as pd

        rows = []
        for cell in self.cells:
            share = cell.share
            numbers = (share.value, share.low, share.high, share.count, share.n)
            rows.append((*cell.levels, cell.outcome, cell.predicted, *numbers))
        columns = ["outcome", "predicted", "share", "low", "high", "count", "n"]
        return pd.DataFrame(rows, columns=[*self.attributes, *columns])


@swaps_refused
def group_confusion(
    y_pred: Any,
    sensitive: Any,
    y_true: Any,
    *,
    confidence: float = 0.95,
    weights: Any = None,
    kinds: Mapping[str, str] | None = None,
) -> GroupConfusion:
    r"""The confusion matrix of every group of the crossed attributes.

    Parameters
    ----------
    y_pred : array-like
        Predicted labels, or a score of each of more than two classes, of which the largest decides.
    sensitive : array-like, frame or mapping
        Categorical attributes; several are crossed.
    y_true : array-like
        The outcome classes.
    confidence : float
        Of the Wilson intervals.
    weights : array-like, optional
        Row weights; the shares are then weighted, as those of `group_rates`.
    kinds : mapping, optional
        Kinds of columns that are not to be inferred.

    Returns
    -------
    GroupConfusion

    Notes
    -----
    For a group z the shares are :math:`P(\hat Y = j \mid Z = z, Y = i)` for all classes i and j.
    Equalized odds of labels says that none of them depends on the group. The diagonal has the TPR
    of each class against the rest; `group_rates` with ``positive`` has its FPR too.

    Examples
    --------
    >>> sex = {"sex": ["f"] * 4 + ["m"] * 4}
    >>> y = ["a", "a", "b", "c"] * 2
    >>> result = group_confusion(["a", "b", "b", "c", "a", "a", "b", "c"], sensitive=sex, y_true=y)
    >>> result.value, result.largest
    (0.5, ('a', 'a'))
    """
    table = AuditTable.of(y_pred, sensitive, y_true, weights=weights, kinds=kinds)
    check_confidence(confidence)
    counted, classes = count_predicted(table), _classes(table)
    value, largest = confusion_gap(counted, classes)
    groups = counted[0]
    shares = [
        [rates_of_outcome(groups, y, confidence) for groups in counted] for y in range(len(classes))
    ]
    cells = (
        ShareInGroup(levels, outcome, predicted, shares[y][j][z])
        for z, levels in enumerate(groups.levels)
        for y, outcome in enumerate(classes)
        for j, predicted in enumerate(classes)
    )
    return GroupConfusion(
        value=value,
        n=len(table),
        attributes=groups.attributes,
        classes=classes,
        largest=largest,
        cells=tuple(cells),
        unlisted=groups.unlisted,
    )


def _classes(table: AuditTable) -> tuple[str, ...]:
    return tuple(str(level) for level in table.require_outcome().levels)


def count_predicted(table: AuditTable) -> list[GroupTable]:
    """For each class of the outcome: who is predicted to be of it, by outcome and group."""
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        raise InputError(
            f"The outcome {outcome.name!r} is {outcome.kind}; a confusion needs classes. "
            "Use prediction_gap, or pass an outcome with classes."
        )
    counted = []
    for level in outcome.levels.tolist():
        labels = binary_labels(replace(table, positive=level))
        every = replace(labels, actual=outcome.codes, names=_classes(table))
        counted.append(GroupTable.of(table, every))
    return counted


def confusion_gap(
    counted: list[GroupTable], classes: tuple[str, ...]
) -> tuple[float, tuple[str, str] | None]:
    """The largest difference between two groups, and of which outcome and predicted class."""
    gaps: Array = np.stack([spread(groups.rate()) for groups in counted], axis=1)
    if np.isnan(gaps).all():
        return float("nan"), None
    y, j = np.unravel_index(int(np.nanargmax(gaps)), gaps.shape)
    return float(gaps[y, j]), (classes[y], classes[j])
