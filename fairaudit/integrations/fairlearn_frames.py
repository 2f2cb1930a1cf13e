"""fairlearn's `MetricFrame` out of an audit's table, and our test as a metric of its signature.

from fairaudit.integrations.fairlearn_frames import equalized_odds_p_value, metric_frame

equalized_odds_p_value(y_true, y_pred, sensitive_features=A)      # as fairlearn's metrics
metric_frame(y_pred, sensitive=A, y_true=y).by_group              # as our measures
"""

from __future__ import annotations

from typing import Any

from fairaudit.errors import InputError, MissingDependencyError

__all__ = ["equalized_odds_p_value", "metric_frame"]


def equalized_odds_p_value(
    y_true: Any, y_pred: Any, *, sensitive_features: Any, permutations: int = 999, seed: int = 0
) -> float:
    """The p-value of equalized odds, in the order of arguments that fairlearn's metrics have.

    Parameters
    ----------
    y_true, y_pred : array-like
        Labels, scores or numbers.
    sensitive_features : array-like or frame
        One or many, of any kind; numbers are not taken as groups.
    permutations : int
    seed : int

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 300))
    >>> equalized_odds_p_value(y, y + sex + rng.normal(size=300), sensitive_features=sex)
    0.001
    """
    from fairaudit.testing.core import equalized_odds_test
    from fairaudit.testing.permutations import Permutations

    drawn = Permutations(n=permutations, seed=seed)
    return float(
        equalized_odds_test(
            y_pred, y_true=y_true, sensitive=sensitive_features, permutations=drawn
        ).p_value
    )


def metric_frame(
    y_pred: Any, sensitive: Any, y_true: Any, *, threshold: float | None = None, positive: Any = 1
) -> Any:
    """A fairlearn `MetricFrame` with the rates that reports have: selected, TPR and FPR by group.

    Parameters
    ----------
    y_pred : array-like
        Labels; scores need a `threshold`.
    sensitive : array-like or frame
        Categories. Numbers would be a group per value, which is refused beyond 50 of them.
    y_true : array-like
    threshold : float, optional
        Scores at or above it count as positive.
    positive : object
        The level of the outcome that TPR counts.
    """
    try:
        from fairlearn.metrics import (
            MetricFrame,
            count,
            false_positive_rate,
            selection_rate,
            true_positive_rate,
        )
    except ImportError as error:
        raise MissingDependencyError(
            "fairlearn is not installed. Run: pip install fairlearn"
        ) from (error)
    import numpy as np
    import pandas as pd

    groups = pd.DataFrame(sensitive)
    many = [str(name) for name in groups if groups[name].nunique() > 50]
    if many:
        raise InputError(
            f"A MetricFrame makes a group of every value, and {many[0]!r} has more than 50. Name "
            "categories, or use fairaudit.audit, which takes numbers as they are.",
            argument="sensitive",
        )
    said = np.asarray(y_pred)
    labels = (said == positive) if threshold is None else (said >= threshold)
    return MetricFrame(
        metrics={
            "selected": selection_rate,
            "TPR": true_positive_rate,
            "FPR": false_positive_rate,
            "rows": count,
        },
        y_true=(np.asarray(y_true) == positive).astype(int),
        y_pred=labels.astype(int),
        sensitive_features=groups,
    )
