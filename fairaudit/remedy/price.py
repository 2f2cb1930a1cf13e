"""What a model is worth as a predictor, beside its loss: ranking, probabilities, calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column

__all__ = ["Quality", "quality_of"]

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


def quality_of(scores: Array, outcome: Column) -> Quality:
    """Of scores as `scores_of` gives them: of the larger class, of all classes, or a number."""
    if not outcome.kind.is_categorical:
        numbers = np.asarray(outcome.numeric)
        varied = np.std(scores) > 0 and np.std(numbers) > 0
        return Quality(ranking=float(np.corrcoef(scores.ravel(), numbers)[0, 1]) if varied else 0.0)
    one_score = scores.ndim == 1
    chances = scores[:, None] if one_score else scores
    classes = [1] if one_score else range(scores.shape[1])
    truths = [(outcome.codes == level).astype(np.float64) for level in classes]
    columns = list(zip(chances.T, truths, strict=True))
    areas = [area for chance, truth in columns if (area := _auc(chance, truth)) is not None]
    ranking = float(np.mean(areas)) if areas else None
    if chances.min() < 0 or chances.max() > 1:
        return Quality(ranking=ranking)
    brier = float(sum(np.mean((chance - truth) ** 2) for chance, truth in columns))
    errors = [_calibration_error(chance, truth) for chance, truth in columns]
    return Quality(ranking=ranking, brier=brier, calibration_error=float(np.mean(errors)))


def _auc(scores: Array, truth: Array) -> float | None:
    """Chance that a member of the class ranks above another; ties count one half."""
    from scipy.stats import rankdata

    members = int(truth.sum())
    others = len(truth) - members
    if not members or not others:
        return None
    ranks = rankdata(scores)
    total = float(ranks[truth == 1].sum())
    return (total - members * (members + 1) / 2) / (members * others)


def _calibration_error(chance: Array, truth: Array) -> float:
    """Mean distance of chances from shares, over bins of equal size that keep ties together."""
    bins = _bins_of(chance)
    counts = np.bincount(bins)
    gaps = np.bincount(bins, chance - truth)
    return float(np.abs(gaps).sum() / counts.sum())


def _bins_of(chance: Array) -> Index:
    edges = np.unique(np.quantile(chance, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.asarray(np.searchsorted(edges, chance, side="right"), dtype=np.intp)
