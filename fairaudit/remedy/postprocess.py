"""A correction on top of a model that stays: post-processing by the same objective."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from fairaudit.attributes import encode
from fairaudit.columns import Column
from fairaudit.errors import InputError
from fairaudit.kernels import Array
from fairaudit.remedy.base import Remedy, sensitive_columns
from fairaudit.remedy.estimators import _ByICP

__all__ = ["ICPPostProcessor"]


class ICPPostProcessor(_ByICP, Remedy):
    """Corrects the scores of any fitted model towards equalized odds.

    The corrected score is the model's own (as a logit, or standardized) plus a small network of
    that score and of the numeric features; with `use_sensitive` also of the attributes, which
    prediction then needs too. Fit it on rows that the model was not trained on.

    Parameters
    ----------
    estimator : fitted model
        With `predict_proba`, or a regressor.
    mu : float in [0, 1]
    use_sensitive : bool
    objective, density, hidden, epochs, steps, batch_size, learning_rate, ... :
        As for `FairICPClassifier`.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, (2, 600))
    >>> X = np.column_stack([y + rng.normal(size=600), sex + rng.normal(size=600) / 3 + y / 2])
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X[:300], y[:300])
    >>> corrected = ICPPostProcessor(model, mu=0.8, steps=50).fit(
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
        objective: str = "kernel",
        density: Any = "auto",
        hidden: int = 32,
        epochs: int = 100,
        steps: int = 300,
        batch_size: int = 128,
        learning_rate: float = 1e-2,
        discriminator_learning_rate: float = 1e-3,
        weight_decay: float = 1e-4,
        validation_fraction: float = 0.1,
        random_state: int = 0,
        device: str = "cpu",
        progress: bool = False,
    ) -> None:
        super().__init__(
            mu, predictor="mlp", objective=objective, density=density, hidden=hidden,
            epochs=epochs, steps=steps, batch_size=batch_size, learning_rate=learning_rate,
            discriminator_learning_rate=discriminator_learning_rate, weight_decay=weight_decay,
            validation_fraction=validation_fraction, random_state=random_state, device=device,
            progress=progress,
        )  # fmt: skip
        self.estimator = estimator
        self.use_sensitive = use_sensitive
