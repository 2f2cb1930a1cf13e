"""A scorer for scikit-learn's searches that counts equalized odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.columns import columns_from
from fairaudit.errors import InputError

__all__ = ["EqualizedOddsScorer", "equalized_odds_score"]

_RESPONSES = ("auto", "predict_proba", "predict")


def equalized_odds_score(weight: float = 1.0, *, response: str = "auto") -> EqualizedOddsScorer:
    """A scorer, −(loss + weight · KPC): greater is better, 0 is a perfect and fair model.

    Pass it as `scoring` to `cross_validate` or `GridSearchCV`, with metadata routing on; it asks
    for `sensitive_features` by itself. It can also be called: ``scorer(model, X, y,
    sensitive_features=A)``.

    Parameters
    ----------
    weight : float
        How much one unit of KPC counts beside one unit of loss: the share misclassified, or the
        mean squared error over the variance of the outcome. KPC is small (0.05 is a strong
        violation), so that weights of 5 to 20 are usual. It is centered by copies, and estimates
        below 0 count as 0.
    response : {"auto", "predict_proba", "predict"}
        What must not depend on the attributes: probabilities, or predictions (labels of a
        classifier). ``"auto"`` takes probabilities where there are some.

    Returns
    -------
    EqualizedOddsScorer

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_validate
    >>> rng = np.random.default_rng(0)
    >>> y, sex = rng.integers(0, 2, (2, 600))
    >>> fair = np.column_stack([y + rng.normal(size=600), rng.normal(size=600)])
    >>> biased = fair + np.outer(sex, [0, 1]) + np.outer(y, [0, 1])
    >>> scoring = equalized_odds_score(weight=10)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     scores = [
    ...         cross_validate(
    ...             LogisticRegression(), X, y, scoring=scoring, cv=3,
    ...             params={"sensitive_features": sex},
    ...         )["test_score"].mean()
    ...         for X in (fair, biased)
    ...     ]
    >>> [round(float(score), 1) for score in scores]
    [-0.4, -0.7]
    """
    return EqualizedOddsScorer(weight, response)


class EqualizedOddsScorer:
    """What `equalized_odds_score` gives: ``scorer(model, X, y, sensitive_features=A)``."""

    def __init__(self, weight: float = 1.0, response: str = "auto") -> None:
        if not 0 <= weight < np.inf:
            raise InputError(f"'weight' must be at least 0. Got {weight!r}.", argument="weight")
        if response not in _RESPONSES:
            raise InputError(
                f"'response' must be one of {', '.join(_RESPONSES)}. Got {response!r}.",
                argument="response",
            )
        self.weight = weight
        self.response = response

    def __repr__(self) -> str:
        return f"equalized_odds_score(weight={self.weight:g}, response={self.response!r})"

    def __call__(self, estimator: Any, X: Any, y: Any, sensitive_features: Any = None) -> float:
        """−(loss + weight · KPC) of the estimator on these rows."""
        if sensitive_features is None:
            raise InputError(
                "The score needs sensitive_features: switch metadata routing on "
                "(sklearn.set_config(enable_metadata_routing=True)) and pass "
                'params={"sensitive_features": A}.',
                argument="sensitive_features",
            )
        import fairaudit as fa

        truth = np.asarray(y)
        loss, scores = self._answers(estimator, X, truth)
        kpc = 0.0
        if not (scores == scores[0]).all():  # one answer for everybody depends on nothing
            (outcome,) = columns_from({"y": truth}, argument="y", outcome=True)
            attributes = columns_from(sensitive_features, argument="sensitive_features")
            kpc = float(fa.metrics.kpc_centered(scores, sensitive=attributes, y_true=outcome))
        return -(loss + self.weight * max(kpc, 0.0))

    def _answers(self, estimator: Any, X: Any, truth: Array) -> tuple[float, Array]:
        """Loss of the predictions, and the scores whose dependence counts."""
        from sklearn.base import is_classifier

        predicted = np.asarray(estimator.predict(X))
        if not is_classifier(estimator):
            spread = max(float(np.var(truth)), 1e-12)
            return float(np.mean((predicted - truth) ** 2)) / spread, predicted.astype(np.float64)
        loss = float(np.mean(predicted != truth))
        soft = hasattr(estimator, "predict_proba")
        if self.response == "predict_proba" and not soft:
            raise InputError(
                f"{type(estimator).__name__} has no predict_proba. Use response='predict'.",
                argument="response",
            )
        if soft and self.response != "predict":
            chances = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        else:
            chances = (predicted[:, None] == np.asarray(estimator.classes_)).astype(np.float64)
        return loss, chances[:, 1] if chances.shape[1] == 2 else chances

    def get_metadata_routing(self) -> Any:
        """Ask scikit-learn for `sensitive_features`."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sensitive_features", alias=True)
        return request
