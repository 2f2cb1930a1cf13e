"""Several models of one kind, of which every person always meets the same one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.metaestimators import available_if

from fairaudit._types import Array, Index
from fairaudit.remedy.keyed_uniforms import draw_key, draw_uniforms

__all__ = ["OneOfModels"]


class OneOfModels(BaseEstimator):
    """Answers of one of several fitted models, by a keyed hash of the person's row.

    A last stage that was calibrated on out-of-fold scores knows the law of the scores of all
    models of the folds together. New rows get scores of that law if each is asked of one of them.

    Parameters
    ----------
    estimators : sequence of fitted models
        Of the same columns and classes.
    ids : str, optional
        Column of `X` that tells people apart. Without it all columns do.
    random_state : int or None
        Of the key.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    >>> models = [LogisticRegression().fit(X[k::2], y[k::2]) for k in (0, 1)]
    >>> one = OneOfModels(models)
    >>> first, second = (model.predict_proba(X)[:, 1] for model in models)
    >>> own = one.predict_proba(X)[:, 1]
    >>> bool(((own == first) | (own == second)).all())
    True
    """

    def __init__(
        self, estimators: Sequence[Any], *, ids: str | None = None, random_state: int | None = 0
    ) -> None:
        self.estimators = estimators
        self.ids = ids
        self.random_state = random_state
        self.key_ = draw_key(random_state)

    def fit(self, X: Any, y: Any = None) -> OneOfModels:
        """The models are fitted already."""
        return self

    @available_if(lambda self: is_classifier(self.estimators[0]))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        own = self._own_columns(X)
        return self._pick(X, [model.predict_proba(own) for model in self.estimators])

    def predict(self, X: Any) -> Array:
        own = self._own_columns(X)
        return self._pick(X, [model.predict(own) for model in self.estimators])

    def _own_columns(self, X: Any) -> Any:
        """Without the column that only tells people apart."""
        return X if self.ids is None else X[list(self.estimators[0].feature_names_in_)]

    def _pick(self, X: Any, answers: list[Any]) -> Array:
        picked = self._members(X)
        return np.asarray(np.stack(answers)[picked, np.arange(len(picked))])

    def _members(self, X: Any) -> Index:
        return np.asarray((self._find_uniforms(X) * len(self.estimators)).astype(np.intp))

    def _find_uniforms(self, X: Any) -> Array:
        """Of every person."""
        names = [self.ids] if self.ids is not None else getattr(X, "columns", ())
        columns = (
            {str(name): X[name] for name in names}
            if hasattr(X, "columns")
            else {f"column {k}": column for k, column in enumerate(np.asarray(X).T)}
        )
        return np.asarray(draw_uniforms(columns, self.key_)[:, 0])

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        """Classifier or regressor as its members."""
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimators[0])
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    @property
    def classes_(self) -> Any:
        return self.estimators[0].classes_

    @property
    def feature_names_in_(self) -> Any:
        names = [str(name) for name in self.estimators[0].feature_names_in_]
        more = [] if self.ids is None or self.ids in names else [self.ids]
        return np.array([*names, *more], dtype=object)

    @property
    def n_features_in_(self) -> int:
        return int(self.estimators[0].n_features_in_)
