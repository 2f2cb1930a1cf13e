"""The dependence ρ² of `fairaudit.remedy.dependence` in numpy, with weights, and its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array
from fairaudit.remedy.attribute_residuals import Residuals, prediction_frequencies

__all__ = ["Slope", "WeightedDependence"]

_SMALLEST_SPREAD = 1e-4
_SMALLEST_SHARE = 0.05  # of a row's own variation that its fitted mean leaves


@dataclass(frozen=True, slots=True, eq=False)
class Slope:
    """ρ² at a prediction, and how it changes there.

    Attributes
    ----------
    value : ρ²
    gradient : ∂ρ²/∂prediction, rows × outputs
    curvature : rows × outputs
        A step δ raises ρ² by at most its gradient times δ and half of Σ curvature δ², as far as
        the numerator of ρ² alone is concerned.
    """

    value: float
    gradient: Array
    curvature: Array


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
    ρ² = (‖V'WR‖² − Σ wᵢ |vᵢ|² |rᵢ|²) / Σ wᵢ |rᵢ|² / (1 − |qᵢ|²): a quotient of quadratic forms in φ.
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
        self._frequencies = prediction_frequencies().astype(np.float32)
        self._row_weights = column[:, 0]

    def __call__(self, prediction: Array) -> float:
        """ρ² of a prediction, rows × outputs."""
        residual = self._beyond(self._waves(prediction)[0])
        return self._quotient(residual)[0]

    def slope(self, prediction: Array) -> Slope:
        """ρ², its gradient and the bound of its curvature."""
        waves, turned, rate, spread = self._waves_and_turn(prediction)
        residual = self._beyond(waves)
        value, moments, total = self._quotient(residual)
        # ∂ρ²/∂R, then back through the projection
        out = self._white @ moments
        out *= self._row_weights[:, None]
        out -= (self._leverage + np.float32(value) * self._inverse_own)[:, None] * residual
        out -= self._weighted_outcome.T @ (self._outcome.T @ out)
        out *= np.float32(2 / total)
        n, outputs = prediction.shape
        by_output = (out * turned).reshape(n, outputs, -1).sum(axis=2).astype(np.float64)
        gradient = by_output / spread
        # the waves are those of the prediction in units of its spread
        center = (self.weights @ prediction) / self.mass
        around = prediction - center
        pull = (gradient * around).sum(axis=0) / (spread**2 * self.mass)
        gradient = gradient - pull * around * self.weights[:, None]
        size = 2 * rate / total / spread**2
        return Slope(value, gradient, self.weights[:, None] * size)

    def _quotient(self, residual: Array) -> tuple[float, Array, float]:
        moments = self._weighted_white @ residual
        size = np.einsum("ij,ij->i", residual, residual)
        explained = float((moments.astype(np.float64) ** 2).sum()) - float(self._leverage @ size)
        total = max(float(self._inverse_own @ size), 1e-8 * self.mass)
        return explained / total, moments, total

    def _beyond(self, waves: Array) -> Array:
        return np.asarray(waves - self._outcome @ (self._weighted_outcome @ waves))

    def _waves(self, prediction: Array) -> tuple[Array, Array, Array]:
        """Features of the Gaussian kernel with the median bandwidth: cosines and sines."""
        center = (self.weights @ prediction) / self.mass
        variance = (self.weights @ (prediction - center) ** 2) / self.mass
        spread = np.maximum(np.sqrt(variance), _SMALLEST_SPREAD)
        scaled = ((prediction - center) / spread).astype(np.float32)
        angle = scaled[:, :, None] * self._frequencies
        norm = np.float32((len(self._frequencies) * prediction.shape[1]) ** -0.5)
        both = np.concatenate([np.cos(angle), np.sin(angle)], axis=2) * norm
        return both.reshape(len(prediction), -1), both, spread

    def _waves_and_turn(self, prediction: Array) -> tuple[Array, Array, float, Array]:
        """The waves, their derivative by the scaled prediction, its squared length, the spread."""
        waves, both, spread = self._waves(prediction)
        k = len(self._frequencies)
        turned = np.empty_like(both)
        np.multiply(both[:, :, k:], -self._frequencies, out=turned[:, :, :k])
        np.multiply(both[:, :, :k], self._frequencies, out=turned[:, :, k:])
        rate = float((self._frequencies**2).mean()) / prediction.shape[1]
        return waves, turned.reshape(len(waves), -1), rate, spread


def _whitened(features: Array, weights: Array, ridge: float) -> Array:
    """Columns V that span the features with V'WV = 1, small directions damped."""
    gram = features.T @ (features * weights[:, None])
    squares, directions = np.linalg.eigh(gram)
    largest = max(float(squares[-1]), 1e-12)
    large = squares > 1e-10 * largest
    scale = np.sqrt(squares[large] + ridge * largest)
    return np.asarray(features @ (directions[:, large] / scale))
