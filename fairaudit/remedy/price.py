"""What a model is worth as a predictor, beside its loss: ranking, probabilities, calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.table import AuditTable
from fairaudit.remedy.collapse import auc_lift, class_scores

__all__ = ["Quality", "quality_in", "quality_of"]

_BINS = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """How good predictions are; None where a number does not fit the outcome.

    Attributes
    ----------
    ranking : float or None
        AUC of two classes (the mean over classes against the rest for more); the correlation with
        a continuous outcome.
    brier : float or None
        Mean squared error of the probabilities, summed over classes for more than two.
    calibration_error : float or None
        Expected calibration error over 15 bins of equal size.
    """

    ranking: float | None = None
    brier: float | None = None
    calibration_error: float | None = None


def quality_in(table: AuditTable) -> Quality:
    """Of the predictions in a table; labels have a ranking of two values."""
    outcome = table.require_outcome()
    if not outcome.kind.is_categorical:
        numbers = table.prediction.columns[0].numeric
        return Quality() if numbers is None else quality_of(np.asarray(numbers), outcome)
    scores = class_scores(table, outcome)
    return Quality() if scores is None else _of_classes(scores, outcome)


def quality_of(scores: Array, outcome: Column) -> Quality:
    """Of scores as `scores_of` gives them: of the larger class, of all classes, or a number."""
    if outcome.kind.is_categorical:
        columns = {1: scores} if scores.ndim == 1 else dict(enumerate(scores.T))
        return _of_classes(columns, outcome)
    numbers = np.asarray(outcome.numeric)
    varied = np.std(scores) > 0 and np.std(numbers) > 0
    return Quality(ranking=float(np.corrcoef(scores.ravel(), numbers)[0, 1]) if varied else 0.0)


def _of_classes(scores: Mapping[int, Array], outcome: Column) -> Quality:
    columns = [(score, outcome.codes == level) for level, score in scores.items()]
    ranking = 0.5 + float(np.mean([auc_lift(score, member)[0] for score, member in columns]))
    if any(score.min() < 0 or score.max() > 1 for score, _ in columns):
        return Quality(ranking=ranking)
    brier = float(sum(np.mean((score - member) ** 2) for score, member in columns))
    errors = [_calibration_error(score, member.astype(np.float64)) for score, member in columns]
    return Quality(ranking=ranking, brier=brier, calibration_error=float(np.mean(errors)))


def _calibration_error(chance: Array, truth: Array) -> float:
    """Mean distance of chances from shares, over bins of equal size that keep ties together."""
    bins = _bins_of(chance)
    counts = np.bincount(bins)
    gaps = np.bincount(bins, chance - truth)
    return float(np.abs(gaps).sum() / counts.sum())


def _bins_of(chance: Array) -> Index:
    edges = np.unique(np.quantile(chance, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, chance, side="right"), dtype=np.intp)
