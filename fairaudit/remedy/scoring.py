"""A score for model selection that counts equalized odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit.data.columns import columns_from

__all__ = ["equalized_odds_score"]


def equalized_odds_score(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, weight: float = 1.0
) -> float:
    """−(loss + weight · KPC): larger is better, for scikit-learn's searches.

    Parameters
    ----------
    y_true, y_pred : array
        Outcome; scores, or predictions of a regression.
    sensitive_features : frame or array
        Routed by scikit-learn: ``make_scorer(equalized_odds_score,
        response_method="predict_proba").set_score_request(sensitive_features=True)``.
    weight : float
        Of KPC beside the loss (share misclassified, or mean squared error).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 400))
    >>> score = 0.2 + 0.6 * y + 0.2 * rng.random(400)
    >>> bool(equalized_odds_score(y, score, sensitive_features=sex) > -0.05)
    True
    """
    from fairaudit.remedy.tradeoff import evaluate

    (outcome,) = columns_from({"y": np.asarray(y_true)}, argument="y_true", outcome=True)
    attributes = columns_from(sensitive_features, argument="sensitive_features")
    measures = evaluate(np.asarray(y_pred, dtype=np.float64), outcome, attributes)
    return -(float(measures["loss"]) + weight * max(float(measures["kpc"]), 0.0))
