"""Gaussian regressions of Y on A: constant or changing variance, normal or estimated residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array
from fairaudit.data.encode import second_order
from fairaudit.density.conditional_density import LocationScale, Normal, Shape, fit_quietly
from fairaudit.density.residuals import KernelShape
from fairaudit.errors import InputError

__all__ = ["Gaussian"]

_LARGEST_SCALE_RATIO = 20.0


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Y = μ(A) + σ(A)·Z with a linear mean.

    Parameters
    ----------
    mean : {"ols", "lasso", "ridge", "quadratic"}
        How the mean is fitted; the LASSO penalty by BIC (by cross-validation with few rows),
        the ridge penalty by cross-validation. ``"quadratic"`` adds squares to
        ordinary least squares, and products of pairs for up to 8 encoded columns.
    heteroscedastic : bool
        Let log σ(a) be linear in the attributes.
    residuals : {"normal", "kernel"}
        Shape of Z: normal, or a kernel estimate from the residuals for skewed or heavy tails.
    """

    mean: str = "ols"
    heteroscedastic: bool = False
    residuals: str = "normal"

    @property
    def name(self) -> str:
        spread = "heteroscedastic " if self.heteroscedastic else ""
        tail = " with kernel residuals" if self.residuals == "kernel" else ""
        return f"{spread}gaussian ({self.mean}){tail}"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedGaussian:
        features = _make_features(a, self.mean)
        model = fit_quietly(_make_mean_model(self.mean, features.shape, seed), features, y)
        fitted = model.predict(features)
        used = int(np.count_nonzero(getattr(model, "coef_", ()))) + 1
        residual = y - fitted
        spread = None
        if self.heteroscedastic:
            spread = _fit_spread(residual, a)
            residual = residual / spread.at(a)
        scale = _keep_positive(np.sqrt((residual**2).sum() / max(len(y) - used, 1)), y)
        shape: Shape = KernelShape(residual / scale) if self.residuals == "kernel" else Normal()
        return _FittedGaussian(mean=self.mean, model=model, spread=spread, scale=scale, shape=shape)


def _make_features(a: Array, mean: str) -> Array:
    return np.hstack([a, second_order(a)]) if mean == "quadratic" else a


def _make_mean_model(mean: str, shape: tuple[int, ...], seed: int) -> Any:
    from sklearn import linear_model

    if mean in ("ols", "quadratic"):
        return linear_model.Ridge(alpha=1e-8)  # least squares that survives collinear columns
    if mean == "lasso" and shape[0] > 2 * shape[1]:
        return linear_model.LassoLarsIC(criterion="bic")  # one path instead of cross-validation
    if mean == "lasso":
        return linear_model.LassoCV(cv=5, random_state=seed)
    if mean == "ridge":
        return linear_model.RidgeCV(alphas=np.logspace(-3, 4, 22))
    raise InputError(
        f"The 'mean' parameter must be 'ols', 'lasso', 'ridge' or 'quadratic'. Got {mean!r}."
    )


def _keep_positive(scale: float, y: Array) -> float:
    smallest = 1e-8 * (float(np.std(y)) or 1.0)
    return float(max(scale, smallest))


@dataclass(frozen=True, slots=True)
class _Spread:
    """σ(a) up to a constant: exp of a linear function, kept within a factor."""

    model: Any
    center: float

    def at(self, a: Array) -> Array:
        limit = np.log(_LARGEST_SCALE_RATIO)
        return np.exp(np.clip(self.model.predict(a) - self.center, -limit, limit))


def _fit_spread(residual: Array, a: Array) -> _Spread:
    from sklearn.linear_model import RidgeCV

    size = np.log(residual**2 + 1e-8 * float(np.mean(residual**2)) + 1e-300) / 2
    model = RidgeCV(alphas=np.logspace(-1, 4, 16)).fit(a, size)
    return _Spread(model, float(np.median(model.predict(a))))


@dataclass(frozen=True, slots=True, kw_only=True)
class _FittedGaussian:
    mean: str
    model: Any
    spread: _Spread | None
    scale: float
    shape: Shape

    def pairs(self, y: Array, a: Array) -> LocationScale:
        scale = np.full(len(y), self.scale)
        if self.spread is not None:
            scale = scale * self.spread.at(a)
        return LocationScale(y, self.model.predict(_make_features(a, self.mean)), scale, self.shape)
