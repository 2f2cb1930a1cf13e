"""Regressions of Y on A: a mean, constant or changing spread, normal or estimated residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array
from fairaudit.density.bases import Basis, Linear, Quadratic, Smooth, select_terms
from fairaudit.density.conditional_density import (
    LocationScale,
    Normal,
    Shape,
    Transform,
    fit_quietly,
)
from fairaudit.density.least_squares import OLS_PENALTY, LinearFit, fit_ridge
from fairaudit.density.residuals import GroupedShapes, KernelShape
from fairaudit.density.transforms import fit_transform
from fairaudit.errors import InputError

__all__ = ["Gaussian", "Spread", "fit_spread"]

_LARGEST_SCALE_RATIO = 20.0
_SPREAD_PENALTIES = np.logspace(-1, 4, 16)
_TRANSFORMED = {"none": "", "log": "log-", "scores": "normal-score "}


@dataclass(frozen=True, slots=True)
class Gaussian:
    """T(Y) = μ(A) + σ(A)·Z.

    Parameters
    ----------
    mean : {"ols", "lasso", "ridge", "quadratic", "selected", "smooth"}
        How the mean is fitted; the LASSO penalty by BIC (by cross-validation with few rows),
        the ridge penalty by leaving out rows. ``"quadratic"`` adds squares to ordinary least
        squares, and products of pairs for up to 8 encoded columns; ``"selected"`` those squares,
        products and hinges that earn their place; ``"smooth"`` is a ridge regression on many
        smooth functions.
    heteroscedastic : bool
        Let log σ(a) be linear in what the mean uses.
    residuals : {"normal", "kernel", "grouped"}
        Shape of Z: normal, or a kernel estimate from the residuals for skewed or heavy tails; or
        one for each third of the rows, from the most left-skewed to the most right-skewed as the
        attributes predict it.
    transform : {"none", "log", "scores"}
        T: the outcome as it is, its logarithm, or a monotone spline toward normal scores. The
        density is that of Y all the same.
    """

    mean: str = "ols"
    heteroscedastic: bool = False
    residuals: str = "normal"
    transform: str = "none"

    @property
    def name(self) -> str:
        spread = "heteroscedastic " if self.heteroscedastic else ""
        tail = "" if self.residuals == "normal" else f" with {self.residuals} residuals"
        return f"{spread}{_TRANSFORMED[self.transform]}gaussian ({self.mean}){tail}"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedGaussian:
        transform = fit_transform(self.transform, y)
        if transform is not None:
            y = transform(y)
        basis, mean = _fit_mean(self.mean, y, a, seed)
        estimated = self.mean in ("ridge", "selected", "smooth")
        residual = mean.left_out if estimated else y - mean.fitted
        spread = None
        if self.heteroscedastic:
            spread = fit_spread(residual, a, basis)
            residual = residual / spread.at(a)
        freedom = len(y) if estimated else max(len(y) - mean.used, 1)
        scale = _keep_positive(np.sqrt((residual**2).sum() / freedom), y)
        residual = residual / scale
        shape: Shape | GroupedShapes = Normal()
        if self.residuals == "kernel":
            shape = KernelShape(residual)
        elif self.residuals == "grouped":
            shape = GroupedShapes(residual, a, basis)
        return _FittedGaussian(
            basis=basis, mean=mean, spread=spread, scale=scale, shape=shape, transform=transform
        )


def _fit_mean(mean: str, y: Array, a: Array, seed: int) -> tuple[Basis, LinearFit]:
    if mean == "ols":
        return Linear(), fit_ridge(a, y, OLS_PENALTY)
    if mean == "quadratic":
        basis: Basis = Quadratic()
        return basis, fit_ridge(basis(a), y, OLS_PENALTY)
    if mean == "ridge":
        return Linear(), fit_ridge(a, y)
    if mean == "selected":
        basis = select_terms(a, fit_ridge(a, y).left_out)
        return basis, fit_ridge(basis(a), y)
    if mean == "smooth":
        basis = Smooth(a, seed)
        return basis, fit_ridge(basis(a), y)
    if mean == "lasso":
        return Linear(), _fit_lasso(a, y, seed)
    raise InputError(
        "The 'mean' parameter must be 'ols', 'lasso', 'ridge', 'quadratic', 'selected' or "
        f"'smooth'. Got {mean!r}."
    )


def _fit_lasso(a: Array, y: Array, seed: int) -> LinearFit:
    from sklearn import linear_model

    if len(y) > 2 * a.shape[1]:  # one path instead of cross-validation
        model = fit_quietly(linear_model.LassoLarsIC(criterion="bic"), a, y)
    else:
        model = fit_quietly(linear_model.LassoCV(cv=5, random_state=seed), a, y)
    fitted = model.predict(a)
    return LinearFit(
        intercept=float(model.intercept_),
        slope=model.coef_,
        fitted=fitted,
        left_out=y - fitted,
        used=1.0 + int(np.count_nonzero(model.coef_)),
    )


def _keep_positive(scale: float, y: Array) -> float:
    smallest = 1e-8 * (float(np.std(y)) or 1.0)
    return float(max(scale, smallest))


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """σ(a) up to a constant: exp of a linear function, kept within a factor."""

    basis: Basis
    model: LinearFit
    center: float

    def at(self, a: Array) -> Array:
        limit = np.log(_LARGEST_SCALE_RATIO)
        return np.exp(np.clip(self.model.predict(self.basis(a)) - self.center, -limit, limit))


def fit_spread(residual: Array, a: Array, basis: Basis) -> Spread:
    """Ridge regression of the log size of residuals on the columns of the basis."""
    size = np.log(residual**2 + 1e-8 * float(np.mean(residual**2)) + 1e-300) / 2
    model = fit_ridge(basis(a), size, _SPREAD_PENALTIES)
    return Spread(basis, model, float(np.median(model.fitted)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _FittedGaussian:
    basis: Basis
    mean: LinearFit
    spread: Spread | None
    scale: float
    shape: Shape | GroupedShapes
    transform: Transform | None

    def pairs(self, y: Array, a: Array) -> LocationScale:
        scale = np.full(len(y), self.scale)
        if self.spread is not None:
            scale = scale * self.spread.at(a)
        location = self.mean.predict(self.basis(a))
        shape = self.shape.at(a) if isinstance(self.shape, GroupedShapes) else self.shape
        return LocationScale(y, location, scale, shape, transform=self.transform)
