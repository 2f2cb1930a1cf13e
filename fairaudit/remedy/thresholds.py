"""Thresholds of each group for equalized odds (Hardt, Price & Srebro 2016), by fairlearn.

fairlearn finds the thresholds; the draws between two of them are keyed to the person here, and
prediction needs no fairlearn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from fairaudit._types import Array, Index
from fairaudit.errors import InputError, MissingDependencyError
from fairaudit.remedy.derived import DerivedPredictor

__all__ = ["ThresholdAnswers", "ThresholdPredictor"]


class ThresholdAnswers(BaseEstimator):
    """Chances of the two labels given score and group.

    Attributes
    ----------
    rules : array
        Per group: the share that gets a constant chance, that chance, and twice a weight, a sign
        and a threshold (the score, times the sign, must exceed the threshold, times the sign).
    values, common, prior : array
        As of `LevelAnswers`.
    """

    def fit(self, chances: Array, psi: Array, groups: Index, parts: Index) -> ThresholdAnswers:
        try:
            from fairlearn.postprocessing import ThresholdOptimizer
        except ImportError:
            raise MissingDependencyError(
                "The method thresholds needs fairlearn: pip install fairlearn"
            ) from None
        if chances.shape[1] != 2:
            raise InputError("The method thresholds is for two classes.")
        score = chances[:, [1]]
        optimizer = ThresholdOptimizer(
            estimator=_Identity().fit(score),
            constraints="equalized_odds",
            objective="accuracy_score",
            prefit=True,
            predict_method="predict",
        )
        optimizer.fit(score, parts, sensitive_features=groups)
        found = optimizer.interpolated_thresholder_.interpolation_dict
        self.rules = np.array([_read_rule(found[group]) for group in sorted(found)])
        likely = self(chances, psi, groups)
        weight = likely.sum(axis=0)
        truth = np.eye(2)[parts]
        self.prior = truth.mean(axis=0)
        means = likely.T @ truth / np.maximum(weight, 1e-9)[:, None]
        self.values = np.where(weight[:, None] > 1e-6 * len(parts), means, self.prior)
        self.common = weight / weight.sum()
        return self

    def __call__(self, chances: Array, psi: Array, groups: Index) -> Array:
        """The chances of both labels (columns) for rows."""
        rule = self.rules[groups].T
        ignored, constant = rule[:2]
        positive = ignored * constant
        for weight, sign, threshold in (rule[2:5], rule[5:8]):
            positive = positive + (1 - ignored) * weight * (sign * (chances[:, 1] - threshold) > 0)
        positive = np.clip(positive, 0.0, 1.0)
        return np.column_stack([1 - positive, positive])

    def values_at(self, noise: float) -> Array:
        """What labels say where a share `noise` of all answers is drawn from the common law."""
        return np.asarray((1 - noise) * self.values + noise * self.prior)


class ThresholdPredictor(DerivedPredictor):
    """Labels of a fitted classifier by thresholds of each group, found by fairlearn.

    Wraps `fairlearn.postprocessing.ThresholdOptimizer` with equalized odds. Attributes must be
    categorical; they are crossed, small groups are joined, and prediction needs them.

    Parameters
    ----------
    estimator : fitted classifier
        Of two classes, with `predict_proba`.
    strength : float in [0, 2]
        As of `DerivedPredictor`.
    use_sensitive : bool
        Must be true.
    ids : str, optional
        As of `DerivedPredictor`.
    random_state : int or None
        Of the key.
    """

    levels, solver = 2, "program"
    temperature, shrink, error_share = 1.0, 0.0, 1.0

    def __init__(
        self,
        estimator: Any,
        strength: float = 1.0,
        *,
        use_sensitive: bool = True,
        ids: str | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.strength = strength
        self.use_sensitive = use_sensitive
        self.ids = ids
        self.random_state = random_state

    def _make_answers(self) -> Any:
        if not self.use_sensitive:
            raise InputError(
                "Thresholds of groups need the attributes at prediction time (use_sensitive). "
                "Without them use the method derived.",
                argument="use_sensitive",
            )
        return ThresholdAnswers()


class _Identity(BaseEstimator):
    """Its own score is what it is given."""

    def fit(self, score: Array) -> _Identity:
        self.fitted_ = True
        return self

    def predict(self, score: Any) -> Array:
        return np.asarray(score, dtype=np.float64)[:, 0]


def _read_rule(rule: Any) -> list[float]:
    """What fairlearn says about one group, in numbers."""
    numbers = [float(rule.get("p_ignore", 0.0)), float(rule.get("prediction_constant", 0.0))]
    for weight, operation in ((rule["p0"], rule["operation0"]), (rule["p1"], rule["operation1"])):
        sign = 1.0 if operation.operator == ">" else -1.0
        numbers += [float(weight), sign, float(operation.threshold)]
    return numbers
