"""A model of which a share of the people meets a constant in its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.remedy.one_of_models import OneOfModels

__all__ = ["PartlyConstant"]


class PartlyConstant(OneOfModels):
    """Answers of a fitted model; a share of the people, by a keyed hash, gets a constant.

    Whatever the answers depend on, they depend on it less: for an audit it is as if it had fewer
    rows.

    Parameters
    ----------
    estimator : fitted model
    share : float in [0, 1]
        Of the people.
    constant : float or array
        Chances of the classes, or the number.
    ids : str, optional
        Column of `X` that tells people apart. Without it all columns do.
    random_state : int or None
        Of the key.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
    >>> model = PartlyConstant(LogisticRegression().fit(X, y), share=0.2, constant=[0.4, 0.6])
    >>> bool(0.15 < (model.predict_proba(X)[:, 1] == 0.6).mean() < 0.25)
    True
    """

    def __init__(
        self,
        estimator: Any,
        *,
        share: float,
        constant: Any,
        ids: str | None = None,
        random_state: int | None = 0,
    ) -> None:
        super().__init__([estimator], ids=ids, random_state=random_state)
        self.estimator, self.share, self.constant = estimator, share, constant

    def predict(self, X: Any) -> Array:
        if not hasattr(self, "classes_"):
            return super().predict(X)
        return np.asarray(np.asarray(self.classes_)[self.predict_proba(X).argmax(axis=1)])

    def _pick(self, X: Any, answers: list[Any]) -> Array:
        own = np.array(answers[0], dtype=np.float64)
        own[self._find_uniforms(X) < self.share] = self.constant
        return own
