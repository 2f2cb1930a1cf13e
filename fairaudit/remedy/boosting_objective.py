"""Gradients and second derivatives of loss and dependence by the scores of boosted trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from fairaudit._types import Array, Index
from fairaudit.remedy.dependence_gradient import Field, WeightedDependence

__all__ = ["DEPENDENCE_WEIGHT", "Penalized", "Ramp"]

DEPENDENCE_WEIGHT = 1.5  # of ρ² beside a loss of order one, as in the networks
_LARGEST_RATIO = 20.0  # of μ / (1 − μ), so that μ = 1 has finite gradients
CURVATURE = 0.5  # learning rates of the bound: with less, steps may be longer than twice the best


@dataclass(frozen=True, slots=True)
class Ramp:
    """The penalty's share in every round: 0 up to `start`, 1 from `full` on."""

    start: float
    full: float

    def at(self, done: int) -> float:
        if done < self.start:
            return 0.0
        return min((done + 1 - self.start) / max(self.full - self.start, 1.0), 1.0)


class Penalized:
    """(1 − μ) loss + 1.5 μ ρ² of scores (rows × outputs), divided by 1 − μ in its derivatives.

    Parameters
    ----------
    y : array
        Class codes, or standardized numbers.
    classes : int
        0 for a continuous outcome.
    mu : float
    dependence : WeightedDependence
        Of the same rows; it has their weights.
    rate : float
        Learning rate, by which the learner shortens its steps.
    """

    def __init__(
        self,
        y: Array,
        classes: int,
        mu: float,
        dependence: WeightedDependence,
        *,
        rate: float = 1.0,
    ) -> None:
        self.y, self.classes, self.mu, self.dependence = y, classes, mu, dependence
        self.rate = rate
        self.hot = np.eye(classes)[y.astype(np.intp)] if classes > 2 else y[:, None]
        self.column = dependence.weights[:, None]

    def predicted(self, scores: Array) -> Array:
        if self.classes == 0:
            return scores
        return expit(scores) if self.classes == 2 else np.asarray(softmax(scores, axis=1))

    def field(self, scores: Array, strength: float) -> Field | None:
        """How ρ² changes at these scores of all rows; None while the penalty does not count."""
        if strength == 0.0 or self.mu == 0.0:
            return None
        return self.dependence.field(self.predicted(scores))

    def derivatives(
        self, scores: Array, field: Field | None, strength: float = 1.0, rows: Index | None = None
    ) -> tuple[Array, Array]:
        """First and second derivatives of the sum over rows, the penalty times `strength`.

        The `field` comes from these scores; or, with `rows`, from others, of all rows, and the
        scores are those of `rows`.
        """
        places = slice(None) if rows is None else rows
        own = field if rows is None else None
        prediction = self.predicted(scores) if own is None else own.prediction
        weights = self.column[places]
        gradient = weights * (prediction - self.hot[places])
        factor = self._by_score(prediction)
        hessian = weights * factor if self.classes else weights + np.zeros_like(scores)
        if self.classes > 2:
            hessian = hessian * (self.classes / (self.classes - 1))
        if field is None:
            return gradient, hessian
        ratio = self.mu / max(1 - self.mu, 1 / _LARGEST_RATIO)
        # half of the squared error is what is learned: half of the penalty beside it
        size = strength * ratio * DEPENDENCE_WEIGHT * self.dependence.mass
        size *= 0.5 if self.classes == 0 else 1.0
        slope = field.at(prediction, places)
        if self.classes > 2:
            inner = (slope.gradient * prediction).sum(axis=1, keepdims=True)
            by_scores = prediction * (slope.gradient - inner)
        else:
            by_scores = slope.gradient * factor
        bound = CURVATURE * self.rate * slope.curvature * factor**2
        return gradient + size * by_scores, hessian + size * bound

    def _by_score(self, prediction: Array) -> Array:
        """∂prediction/∂score, of the same output."""
        if self.classes == 0:
            return np.ones_like(prediction)
        return np.asarray(prediction * (1 - prediction))

    def measures(self, scores: Array) -> dict[str, float]:
        """Loss, ρ² and the criterion by which rounds are chosen."""
        loss = float(np.average(self._losses(scores), weights=self.dependence.weights))
        rho = self.dependence(self.predicted(scores))
        criterion = (1 - self.mu) * loss + self.mu * DEPENDENCE_WEIGHT * max(rho, 0.0)
        return {"loss": loss, "dependence": rho, "criterion": criterion}

    def _losses(self, scores: Array) -> Array:
        if self.classes == 0:
            return np.asarray((scores[:, 0] - self.y) ** 2)
        if self.classes == 2:
            return -log_expit(np.where(self.y > 0, 1.0, -1.0) * scores[:, 0])
        return -(self.hot * log_softmax(scores, axis=1)).sum(axis=1)
