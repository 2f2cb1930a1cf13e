"""Least squares with a ridge penalty that leaving out one row at a time chooses, in numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array

__all__ = ["OLS_PENALTY", "RIDGE_PENALTIES", "LinearFit", "fit_ridge"]

#: Least squares that survives collinear columns.
OLS_PENALTY = np.array([1e-8])
RIDGE_PENALTIES = np.logspace(-3, 4, 22)
_LARGEST_LEVERAGE = 0.99


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LinearFit:
    """intercept + x · slope, and how it did on the rows that it was fitted to.

    Attributes
    ----------
    fitted : array
    left_out : array
        Residual of every row under the fit without it.
    used : float
        Effective number of parameters, the intercept among them.
    """

    intercept: float
    slope: Array
    fitted: Array
    left_out: Array
    used: float

    def predict(self, x: Array) -> Array:
        return self.intercept + x @ self.slope


def fit_ridge(x: Array, y: Array, penalties: Array = RIDGE_PENALTIES) -> LinearFit:
    """The penalty with the smallest squared error of rows that are left out.

    Columns are scaled to unit spread first; the intercept is free.

    Examples
    --------
    >>> x = np.arange(5.0)[:, None]
    >>> fit = fit_ridge(x, 1 + 2 * x[:, 0], OLS_PENALTY)
    >>> round(fit.intercept, 6), fit.slope.round(6)
    (1.0, array([2.]))
    """
    n = len(y)
    center, level = x.mean(axis=0), float(y.mean())
    spread = x.std(axis=0)
    spread = np.where(spread > 1e-12 * (np.abs(center) + 1.0), spread, np.inf)
    z = (x - center) / spread
    values, vectors = np.linalg.eigh(z.T @ z)
    values = np.maximum(values, 0.0)
    along = z @ vectors
    target = along.T @ (y - level)
    shrink = 1.0 / (values[:, None] + penalties)
    shrink[values <= 1e-12 * max(float(values.max(initial=0.0)), 1e-300)] = 0.0
    fitted = along @ (target[:, None] * shrink)
    kept = 1.0 - np.minimum(1.0 / n + along**2 @ shrink, _LARGEST_LEVERAGE)
    left_out = (y[:, None] - level - fitted) / kept
    best = int((left_out**2).sum(axis=0).argmin())
    slope = vectors @ (target * shrink[:, best]) / spread
    return LinearFit(
        intercept=level - float(center @ slope),
        slope=slope,
        fitted=level + fitted[:, best],
        left_out=left_out[:, best],
        used=1.0 + float((values * shrink[:, best]).sum()),
    )
