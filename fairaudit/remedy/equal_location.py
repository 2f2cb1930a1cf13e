"""A number whose law given the outcome does not change with attributes: location, slope, noise.

The prediction given outcome y and attributes a is taken to be h(y) (1 + γ(a)) + α(a) + r, with a
residual r of variance v(a). Then (Ŷ − α(a)) / (1 + γ(a)) has the mean h(y) whatever the
attributes, and noise of variance v* − v(a) / (1 + γ(a))² gives it the same spread.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator

from fairaudit._types import Array

__all__ = ["EqualLocation"]

_KNOTS = 5  # bumps along the outcome
_LEAST_SLOPE = 0.3
_STEEPEST = 3.0
_SPREAD_QUANTILE = 0.9  # of the variances that noise levels out


class EqualLocation(BaseEstimator):
    """Corrections of a prediction, learned on rows that its model has not seen.

    Parameters
    ----------
    shrink : float
        Ridge of the functions of attributes, in rows.

    Attributes
    ----------
    mean, scale : float
        Of the prediction.
    center, factor : float
        The straight line that makes the corrected prediction best.
    """

    def __init__(self, *, shrink: float = 1.0) -> None:
        self.shrink = shrink

    def fit(self, prediction: Array, psi: Array, y: Array) -> EqualLocation:
        self.mean, self.scale = float(prediction.mean()), float(prediction.std()) or 1.0
        z = (prediction - self.mean) / self.scale
        self.psi_mean = psi.mean(axis=0)
        _, size, right = np.linalg.svd((psi - self.psi_mean) / np.sqrt(len(psi)), full_matrices=False)
        large = size > 1e-4 * max(float(size[0]), 1e-12)
        self.basis = right[large].T / size[large]
        a = self._see(psi)
        along = _draw_bumps((y - y.mean()) / (y.std() or 1.0))
        curve = along @ np.linalg.lstsq(along, z, rcond=None)[0]
        self.location, self.slope = np.zeros(a.shape[1]), np.zeros(a.shape[1])
        for _ in range(3):  # the curve is one of the corrected prediction
            design = np.hstack([along, a, a * curve[:, None]])
            ridge = np.r_[np.full(along.shape[1], 1e-6), np.full(2 * a.shape[1], self.shrink)]
            solved = np.linalg.solve(design.T @ design + np.diag(ridge), design.T @ z)
            self.location, self.slope = np.split(solved[along.shape[1] :], 2)
            curve = along @ solved[: along.shape[1]]
        residual = self._straighten(z, a) - along @ np.linalg.lstsq(
            along, self._straighten(z, a), rcond=None
        )[0]
        self._fit_spread(residual, a)
        straight = self._straighten(z, a)
        noise = self._find_noise(a)
        slope = np.cov(straight, y)[0, 1] / (straight.var() + float((noise**2).mean()))
        self.center = float(y.mean() - slope * straight.mean())
        self.factor, self.typical = float(slope), float(straight.mean())
        self.spread = float(np.sqrt(straight.var() + (noise**2).mean()))
        return self

    def __call__(
        self, prediction: Array, psi: Array, uniform: Array, *, strength: float
    ) -> Array:
        """Corrected predictions; `uniform` has two numbers per row.

        Up to strength 1 a share of the correction; beyond it more and more noise.
        """
        z, a = (prediction - self.mean) / self.scale, self._see(psi)
        share = min(strength, 1.0)
        corrected = self._straighten(z, a) + self._find_noise(a) * ndtri(uniform[:, 0])
        kept = 2.0 - max(strength, 1.0)
        around = corrected - self.typical
        noisy = kept * (
            kept * around + np.sqrt(1 - kept**2) * self.spread * ndtri(uniform[:, 1])
        )
        full = self.center + self.factor * (self.typical + noisy)
        return np.asarray((1 - share) * prediction + share * full)

    def _see(self, psi: Array) -> Array:
        return np.clip((psi - self.psi_mean) @ self.basis, -6.0, 6.0)

    def _straighten(self, z: Array, a: Array) -> Array:
        slope = np.clip(1 + a @ self.slope, _LEAST_SLOPE, _STEEPEST)
        return np.asarray((z - a @ self.location) / slope)

    def _fit_spread(self, residual: Array, a: Array) -> None:
        """log v(a), by least squares on the logarithms of squares."""
        squares = np.log(residual**2 + 1e-3 * residual.var())
        design = np.hstack([np.ones((len(a), 1)), a])
        ridge = np.r_[1e-6, np.full(a.shape[1], 3 * self.shrink)]
        self.log_spread = np.linalg.solve(design.T @ design + np.diag(ridge), design.T @ squares)
        fitted = np.exp(design @ self.log_spread)
        self.level = float(residual.var() / fitted.mean())
        self.goal = float(np.quantile(self.level * fitted, _SPREAD_QUANTILE))

    def _find_noise(self, a: Array) -> Array:
        variance = self.level * np.exp(self.log_spread[0] + a @ self.log_spread[1:])
        return np.sqrt(np.maximum(self.goal - variance, 0.0))


def _draw_bumps(y: Array) -> Array:
    """A constant, a line and Gaussian bumps at quantiles of the outcome."""
    centers = np.quantile(y, (np.arange(_KNOTS) + 0.5) / _KNOTS)
    width = max(float(np.ptp(centers)) / (_KNOTS - 1), 1e-12)
    bumps = np.exp(-0.5 * ((y[:, None] - centers) / width) ** 2)
    return np.column_stack([np.ones(len(y)), y, bumps[:, 1:]])
