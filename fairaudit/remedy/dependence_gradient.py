"""The dependence ρ² of `fairaudit.remedy.dependence` in numpy, with weights, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.remedy.attribute_residuals import Residuals, prediction_frequencies

__all__ = ["Field", "Slope", "WeightedDependence"]

_SMALLEST_SPREAD = 1e-4
_SMALLEST_SHARE = 0.05  # of a row's own variation that its fitted mean leaves


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """How ρ² changes at a prediction.

    Attributes
    ----------
    gradient : ∂ρ²/∂prediction, rows × outputs
    curvature : rows × outputs
        A step δ raises ρ² by at most its gradient times δ and half of Σ curvature δ², as far as
        the numerator of ρ² alone is concerned.
    """

    gradient: Array
    curvature: Array


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Field:
    """How ρ² at one prediction changes with the waves of every row.

    Asked at that prediction itself, it gives the gradient of ρ². Asked at another prediction of
    the same rows, it gives that row by row, with moments from the first: such a gradient cannot
    go after the errors of the moments that come from the rows that it trains on.
    """

    value: float
    prediction: Array
    waves: Array
    by_wave: Array
    total: float
    mass: float
    center: Array
    spread: Array
    frequencies: Array
    weights: Array

    def at(self, prediction: Array, rows: Index | slice = slice(None)) -> Slope:
        """The slope at a prediction of these rows."""
        n, outputs = prediction.shape
        weights = self.weights[rows, None]
        around = prediction - self.center
        k = len(self.frequencies)
        own = prediction is self.prediction
        waves = self.waves if own else _waves(around, self.spread, self.frequencies)
        waves = waves.reshape(n, outputs, 2 * k)
        by_wave = self.by_wave[rows].reshape(n, outputs, 2 * k)
        turned = by_wave[:, :, k:] * waves[:, :, :k]
        turned -= by_wave[:, :, :k] * waves[:, :, k:]
        gradient = (turned @ self.frequencies).astype(np.float64) / self.spread
        # the waves are those of the prediction in units of its spread
        share = self.mass / float(weights.sum())
        pull = share * (gradient * around).sum(axis=0) / (self.spread**2 * self.mass)
        gradient = gradient - pull * around * weights
        rate = float((self.frequencies**2).mean()) / outputs
        return Slope(gradient, weights * (2 * rate / self.total / self.spread**2))


class WeightedDependence:
    """ρ² = explained / total of a prediction on some rows, and its gradient.

    Parameters
    ----------
    residuals : Residuals
    weights : array, optional
        Of the rows; a weight of 2 is a row that stands twice.

    Notes
    -----
    With φ the waves of the prediction (rows × waves), R = φ − QQ'Wφ what is left of them beyond
    functions Q of the outcome, and V the whitened features of the attributes,
    ρ² = (‖V'WR‖² − Σ wᵢ |vᵢ|² |rᵢ|²) / Σ wᵢ |rᵢ|² / (1 − |qᵢ|²), a quotient of quadratic forms.
    As W½V has no singular value above 1, Σ wᵢ |δᵢ|² bounds the numerator's second-order part.
    """

    def __init__(self, residuals: Residuals, weights: Array | None = None) -> None:
        n = len(residuals.features)
        self.weights = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        self.mass = float(self.weights.sum())
        column = self.weights[:, None].astype(np.float32)
        white = _whitened(residuals.features, self.weights, residuals.ridge)
        outcome = _whitened(residuals.outcome, self.weights, 0.0)
        own = np.maximum(1 - (outcome**2).sum(axis=1), _SMALLEST_SHARE)
        self._white = white.astype(np.float32)
        self._weighted_white = np.ascontiguousarray((self._white * column).T)
        self._outcome = outcome.astype(np.float32)
        self._weighted_outcome = np.ascontiguousarray((self._outcome * column).T)
        self._leverage = (self._white**2).sum(axis=1) * column[:, 0]
        self._inverse_own = column[:, 0] / own.astype(np.float32)
        self._frequencies: Any = prediction_frequencies().astype(np.float32)
        self._row_weights = column[:, 0]

    def __call__(self, prediction: Array) -> float:
        """ρ² of a prediction, rows × outputs."""
        waves, _, _ = self._waves(prediction)
        return self._quotient(self._beyond(waves))[0]

    def field(self, prediction: Array) -> Field:
        """How ρ² at this prediction changes with the waves of every row."""
        waves, center, spread = self._waves(prediction)
        residual = self._beyond(waves)
        value, moments, total = self._quotient(residual)
        # ∂ρ²/∂R, then back through the projection
        out = self._white @ moments
        out *= self._row_weights[:, None]
        out -= (self._leverage + np.float32(value) * self._inverse_own)[:, None] * residual
        out -= self._weighted_outcome.T @ (self._outcome.T @ out)
        out *= np.float32(2 / total)
        return Field(
            value=value,
            prediction=prediction,
            waves=waves,
            by_wave=out,
            total=total,
            mass=self.mass,
            center=center,
            spread=spread,
            frequencies=self._frequencies,
            weights=self.weights,
        )

    def slope(self, prediction: Array) -> Slope:
        """The gradient of ρ², and the bound of its curvature."""
        return self.field(prediction).at(prediction)

    def _quotient(self, residual: Array) -> tuple[float, Array, float]:
        moments = self._weighted_white @ residual
        size = np.einsum("ij,ij->i", residual, residual)
        explained = float((moments.astype(np.float64) ** 2).sum()) - float(self._leverage @ size)
        total = max(float(self._inverse_own @ size), 1e-8 * self.mass)
        return explained / total, moments, total

    def _beyond(self, waves: Array) -> Array:
        return np.asarray(waves - self._outcome @ (self._weighted_outcome @ waves))

    def _waves(self, prediction: Array) -> tuple[Array, Array, Array]:
        """Features of the Gaussian kernel with the median bandwidth; center, spread."""
        center = (self.weights @ prediction) / self.mass
        around = prediction - center
        spread = np.sqrt((self.weights @ around**2) / self.mass)
        spread = np.maximum(spread, _SMALLEST_SPREAD)
        waves = _waves(around, spread, self._frequencies)
        return waves.reshape(len(prediction), -1), center, spread


def _waves(around: Array, spread: Array, frequencies: Array) -> Array:
    """Cosines and sines of the prediction in units of its spread: rows × outputs × waves."""
    angle = (around / spread).astype(np.float32)[:, :, None] * frequencies
    norm = np.float32((len(frequencies) * around.shape[1]) ** -0.5)
    return np.concatenate([np.cos(angle), np.sin(angle)], axis=2) * norm


def _whitened(features: Array, weights: Array, ridge: float) -> Array:
    """Columns V that span the features with V'WV = 1, small directions damped."""
    gram = features.T @ (features * weights[:, None])
    squares, directions = np.linalg.eigh(gram)
    largest = max(float(squares[-1]), 1e-12)
    large = squares > 1e-10 * largest
    scale = np.sqrt(squares[large] + ridge * largest)
    return np.asarray(features @ (directions[:, large] / scale))
