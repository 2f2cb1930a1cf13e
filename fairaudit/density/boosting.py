"""Gradient boosting for the mean of Y given A, with a kernel estimate of the residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.density.conditional_density import LocationScale
from fairaudit.density.residuals import KernelShape

__all__ = ["Boosting"]


@dataclass(frozen=True, slots=True)
class Boosting:
    """Y = μ(A) + σ·Z, μ by gradient-boosted trees, Z by cross-fitted residuals.

    Residuals come from two folds, so that an over-fitted mean does not make them too small.
    """

    max_iter: int = 50
    learning_rate: float = 0.15
    max_leaf_nodes: int = 8

    name = "boosting"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedBoosting:
        fold = np.random.default_rng(seed).permutation(len(y)) % 2
        residual = np.empty_like(y)
        for k in range(2):
            residual[fold == k] = y[fold == k] - self._model(seed).fit(
                a[fold != k], y[fold != k]
            ).predict(a[fold == k])
        scale = max(float(residual.std()), 1e-8 * (float(y.std()) or 1.0))
        shape = KernelShape((residual - residual.mean()) / scale)
        return _FittedBoosting(self._model(seed).fit(a, y), scale, shape)

    def _model(self, seed: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingRegressor

        return HistGradientBoostingRegressor(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            early_stopping=False,
            random_state=seed,
        )


@dataclass(frozen=True, slots=True)
class _FittedBoosting:
    model: Any
    scale: float
    shape: KernelShape

    def pairs(self, y: Array, a: Array) -> LocationScale:
        return LocationScale(y, self.model.predict(a), np.full(len(y), self.scale), self.shape)
