"""A correction on top of a model that stays: post-processing by the objective of FairICP."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fairaudit._types import Array
from fairaudit.data.classes import in_classes_of
from fairaudit.data.columns import columns_from
from fairaudit.errors import InputError
from fairaudit.remedy.estimators import FairICPClassifier, FairICPRegressor
from fairaudit.remedy.inputs import FitsPath, sensitive_columns

__all__ = ["ICPPostProcessor"]

_CERTAIN = 1e-6


class ICPPostProcessor(FitsPath, MetaEstimatorMixin, BaseEstimator):
    """Corrects the scores of any fitted model towards equalized odds.

    The corrected score is the model's own (as a logit, or standardized) plus a small network of
    that score and of the numeric features; with `use_sensitive` also of the attributes, which
    prediction then needs too. Fit it on rows that the model was not trained on.

    Parameters
    ----------
    estimator : fitted model
        A classifier of two classes with `predict_proba`, or a regressor.
    mu : float in [0, 1]
        Weight of equalized odds.
    use_sensitive : bool
    options : dict, optional
        Further parameters of `FairICPClassifier` or `FairICPRegressor`.
    random_state : int, numpy generator or None

    Attributes
    ----------
    correction_ : FairICPClassifier or FairICPRegressor
        The network that is added.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 600))
    >>> X = np.column_stack([y + rng.normal(size=600), sex + rng.normal(size=600) / 3 + y / 2])
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X[:300], y[:300])
    >>> corrected = ICPPostProcessor(model, mu=0.8).fit(
    ...     X[300:], y[300:], sensitive_features={"sex": sex[300:]})
    >>> corrected.predict_proba(X).shape
    (600, 2)
    """

    def __init__(
        self,
        estimator: Any,
        mu: float = 0.7,
        *,
        use_sensitive: bool = False,
        options: dict[str, Any] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.mu = mu
        self.use_sensitive = use_sensitive
        self.options = options
        self.random_state = random_state

    def fit_path(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        mus: Sequence[float],
        *,
        sample_weight: Any = None,
    ) -> list[ICPPostProcessor]:
        """Fitted copies for every μ, trained in one pass; the first is `self`."""
        attributes = sensitive_columns(sensitive_features, len(X), self)
        self.levels_ = {
            column.name: column.levels.tolist() if column.kind.is_categorical else None
            for column in attributes
        }
        options = {"random_state": self.random_state} | (self.options or {})
        target = np.asarray(y)
        if is_classifier(self.estimator):
            self.classes_ = np.asarray(self.estimator.classes_)
            if len(self.classes_) != 2:
                raise InputError("The correction is for two classes or a continuous outcome.")
            (column,) = columns_from({"y": target}, argument="y", outcome=True)
            target = in_classes_of(self.classes_.tolist(), column)
            correction: Any = FairICPClassifier(**options)
        else:
            self.mean_, self.scale_ = float(target.mean()), float(target.std()) or 1.0
            correction = FairICPRegressor(**options)
        own = self._own(X)
        inputs = self._inputs(X, own, self._encoded(attributes) if self.use_sensitive else None)
        corrections = correction.fit_path(
            inputs, target, attributes, mus, offset=own, sample_weight=sample_weight
        )
        fitted = [self, *(copy.copy(self) for _ in mus[1:])]
        for estimator, mu, network in zip(fitted, mus, corrections, strict=True):
            estimator.mu, estimator.correction_ = mu, network
        return fitted

    @available_if(lambda self: is_classifier(self.estimator))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, sensitive_features: Any = None) -> Array:
        """Corrected probabilities of the two classes."""
        corrected = self._corrected(X, sensitive_features)
        return np.asarray(self.correction_._chances(corrected[:, None]))

    def predict(self, X: Any, sensitive_features: Any = None) -> Array:
        corrected = self._corrected(X, sensitive_features)
        if is_classifier(self.estimator):
            return np.asarray(self.classes_[(corrected >= 0).astype(int)])
        return corrected * self.scale_ + self.mean_

    def __sklearn_tags__(self) -> Any:
        """Classifier or regressor as the model that is corrected."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @property
    def feature_names_in_(self) -> Any:
        return self.estimator.feature_names_in_

    def _corrected(self, X: Any, sensitive_features: Any) -> Array:
        check_is_fitted(self, "correction_")
        encoded = None
        if self.use_sensitive:
            if sensitive_features is None:
                raise InputError(
                    "This correction was fitted with use_sensitive=True: pass sensitive_features."
                )
            encoded = self._encoded(sensitive_features)
        own = self._own(X)
        return own + self.correction_._raw(self._inputs(X, own, encoded))[:, 0]

    def _encoded(self, sensitive_features: Any) -> Array:
        """Attributes as numbers: one column per level, or the value itself."""
        parts = []
        for column in columns_from(sensitive_features, argument="sensitive_features"):
            if column.name not in self.levels_:
                raise InputError(f"The sensitive column {column.name!r} was not there in fit.")
            levels = self.levels_[column.name]
            values = column.levels[column.codes]
            parts += [values] if levels is None else [values == level for level in levels]
        return np.column_stack(parts).astype(np.float64)

    def _own(self, X: Any) -> Array:
        """The model's own score: a logit, or standardized."""
        if is_classifier(self.estimator):
            chance = np.asarray(self.estimator.predict_proba(X))[:, 1]
            return np.asarray(logit(np.clip(chance, _CERTAIN, 1 - _CERTAIN)))
        return (np.asarray(self.estimator.predict(X), dtype=np.float64) - self.mean_) / self.scale_

    def _inputs(self, X: Any, own: Array, encoded: Array | None) -> Array:
        numeric = X.select_dtypes(["number", "bool"]) if hasattr(X, "select_dtypes") else X
        parts = [own[:, None], np.asarray(numeric, dtype=np.float64)]
        return np.column_stack(parts if encoded is None else [*parts, encoded])
