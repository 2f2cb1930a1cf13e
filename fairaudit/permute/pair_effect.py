"""What rows that are held out tell about the others: trend, spread, and how A moves the prediction.

The held-out rows are a random part. Everything that is learnt on them may steer pairs and weights
of the other rows and costs no validity, however wrong it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from fairaudit._types import Array, Index
from fairaudit.data.encode import second_order
from fairaudit.geometry.bandwidth import median_distance

__all__ = ["PairEffect", "learn_effect"]

_FEWEST = 10  # held-out rows; below, nothing is learnt and nothing can be found
_PER_KNOT = 25  # held-out rows
_MOST_KNOTS = 20
_FOURIER = 40
_PENALTIES = np.geomspace(0.3, 3e4, 16)
_SMALLEST = 3.0  # standard errors: effects below are beyond what n rows can show
_FARTHEST = 3.0  # spreads that count of a prediction's distance from the trend
_CHUNK = 1 << 16  # rows whose features are made at once
_MEAN_OF_SIZE = np.sqrt(2 / np.pi)


@dataclass(frozen=True, slots=True, eq=False)
class PairEffect:
    """Per row of the table, in units of the spread of the prediction given the outcome.

    Attributes
    ----------
    trend, spread : arrays
        Of the prediction given the outcome, in the prediction's own units.
    shift : array
        By how much the attributes raise the prediction.
    widening : array
        By how much they raise the logarithm of its spread.
    """

    trend: Array
    spread: Array
    shift: Array
    widening: Array

    def slopes(self, low: Index, high: Index) -> tuple[Array, Array]:
        """Of the log-likelihood ratio of the two rows: at its center, and per unit from there."""
        fall = np.maximum(self.trend[high] - self.trend[low], 0.0)
        drift = 2 * fall / (self.spread[low] + self.spread[high])
        tilt = 2 * (self.widening[low] - self.widening[high])
        return self.shift[low] - self.shift[high] - drift, tilt

    def gain(self, low: Index, high: Index) -> Array:
        """What a pair is worth: E (level + tilt Z)₊² for a normal Z."""
        level, tilt = self.slopes(low, high)
        size = np.maximum(np.abs(tilt), 1e-9)
        ratio = level / size
        density = np.exp(-0.5 * np.minimum(ratio**2, 1e3)) / np.sqrt(2 * np.pi)
        return np.asarray(
            np.maximum((level**2 + size**2) * ndtr(ratio) + level * size * density, 0.0)
        )

    def value(self, low: Index, high: Index, prediction: Array) -> Array:
        """Score of the lower row's prediction minus that of the upper row's.

        The score is the integral of (level + tilt z)₊, so that it never falls with the prediction:
        the log-likelihood ratio of the pair, made monotone.
        """
        level, tilt = self.slopes(low, high)
        middle = (self.trend[low] + self.trend[high]) / 2
        width = (self.spread[low] + self.spread[high]) / 2
        scores = [
            _integrate(
                level, tilt, np.clip((prediction[row] - middle) / width, -_FARTHEST, _FARTHEST)
            )
            for row in (low, high)
        ]
        return np.asarray(scores[0] - scores[1])


def _integrate(level: Array, tilt: Array, z: Array) -> Array:
    """∫ (level + tilt t)₊ dt from −3 to z."""
    steep = np.abs(tilt) > 1e-9
    slope = np.where(steep, tilt, 1.0)
    start, end = level - tilt * _FARTHEST, level + tilt * z
    curved = (np.maximum(end, 0.0) ** 2 - np.maximum(start, 0.0) ** 2) / (2 * slope)
    return np.where(steep, curved, np.maximum(level, 0.0) * (z + _FARTHEST))


def learn_effect(
    prediction: Array, outcome: Array, attributes: Array, held: Index, rng: np.random.Generator
) -> PairEffect:
    """The effect for all rows, from the predictions of the held-out rows alone.

    Trend and spread are linear splines of the outcome. Shift and widening are ridge regressions of
    the standardized residual, and of the logarithm of its size, on the attributes, their products
    with each other and with the outcome, and random Fourier features; which of these, and the
    penalty, by leave-one-out error; nothing from fewer than ten rows. Effects too small for n rows
    are scaled up to what they can show, so that the direction decides and the trend does not drown
    it.
    """
    n = len(outcome)
    if len(held) < _FEWEST:
        return PairEffect(np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n))
    basis = _make_hats(outcome, held)
    x = prediction[held]
    trend = basis @ _solve(basis[held], x)
    residual = x - trend[held]
    overall = float(np.abs(residual).mean()) / _MEAN_OF_SIZE or 1.0
    sizes = basis @ _solve(basis[held], np.abs(residual)) / _MEAN_OF_SIZE
    spread = np.maximum(sizes, 0.2 * overall)
    z = residual / spread[held]
    features = _Features(attributes, outcome, held, rng)
    center = _choose_ridge(features, np.clip(z, -_FARTHEST, _FARTHEST))
    width = _choose_ridge(features, np.log(np.maximum(np.abs(z), 0.05)), optional=True)
    shift, widening = features.predict(np.column_stack([center, width])).T
    largest = max(float(shift.std()), float(widening.std()))
    if 0 < largest < _SMALLEST / np.sqrt(n):
        shift, widening = (part * _SMALLEST / (np.sqrt(n) * largest) for part in (shift, widening))
    return PairEffect(trend, spread, shift, widening)


def _make_hats(outcome: Array, held: Index) -> Array:
    """Linear B-splines of the outcome with knots at quantiles of the held-out rows."""
    count = int(np.clip(len(held) // _PER_KNOT, 1, _MOST_KNOTS))
    knots = np.unique(np.quantile(outcome[held], np.linspace(0, 1, count + 1)))
    if len(knots) < 2:
        return np.ones((len(outcome), 1))
    inner = np.maximum(outcome[:, None] - knots[1:-1], 0.0)
    return np.column_stack([np.ones(len(outcome)), outcome - knots[0], inner])


def _solve(basis: Array, target: Array) -> Array:
    scale = np.maximum(np.abs(basis).max(axis=0), 1e-300)
    return np.asarray(np.linalg.lstsq(basis / scale, target, rcond=None)[0] / scale)


class _Features:
    """Features of attributes and outcome, centered and scaled by the held-out rows.

    Attributes
    ----------
    held : array
        Of the held-out rows.
    decompositions : list
        Singular ones of the linear features, of these and the products, of all.
    """

    def __init__(
        self, attributes: Array, outcome: Array, held: Index, rng: np.random.Generator
    ) -> None:
        self.attributes = attributes
        ordered = np.sort(outcome)  # ties have one rank, whatever the order of the rows
        sides = [np.searchsorted(ordered, outcome, side) for side in ("left", "right")]
        self.rank = (sides[0] + sides[1]) / (2 * len(outcome)) - 0.5
        width = median_distance(attributes[held[:2_000]])
        self.frequency = rng.normal(size=(attributes.shape[1], _FOURIER)) / width
        self.phase = rng.uniform(0, 2 * np.pi, _FOURIER)
        linear, products, fourier = self._make(held)
        sizes = np.cumsum([part.shape[1] for part in (linear, products, fourier)])
        everything = np.hstack([linear, products, fourier])
        self.center, spread = everything.mean(axis=0), everything.std(axis=0)
        prior = np.repeat([1.0, np.sqrt(0.5), np.sqrt(0.5)], np.diff([0, *sizes]))
        self.scale = np.where(spread > 1e-9, prior / np.maximum(spread, 1e-9), 0.0)
        self.held = (everything - self.center) * self.scale
        self.decompositions = [
            np.linalg.svd(self.held[:, :size], full_matrices=False) for size in sizes
        ]

    def _make(self, rows: Index | slice) -> tuple[Array, Array, Array]:
        a = self.attributes[rows]
        products = np.hstack([second_order(a), a * self.rank[rows, None]])
        return a, products, np.cos(a @ self.frequency + self.phase)

    def predict(self, weights: Array) -> Array:
        """All rows × columns of `weights`."""
        parts = [
            ((np.hstack(self._make(slice(at, at + _CHUNK))) - self.center) * self.scale) @ weights
            for at in range(0, len(self.rank), _CHUNK)
        ]
        return np.concatenate(parts)


def _choose_ridge(features: _Features, target: Array, *, optional: bool = False) -> Array:
    """Weights of the ridge regression with the smallest leave-one-out error.

    An `optional` one is left out (zero) if it does not beat the mean.
    """
    centered, m = target - target.mean(), len(target)
    best, error = np.zeros(features.held.shape[1]), np.inf
    if optional:
        error = float((centered**2).mean()) * (m / max(m - 1, 1)) ** 2
    for left, singular, right in features.decompositions:
        along = left.T @ centered
        shrunk = singular[:, None] ** 2 / (singular[:, None] ** 2 + _PENALTIES)
        left_over = np.maximum(1 - 1 / m - left**2 @ shrunk, 1e-6)
        missed = (centered[:, None] - left @ (shrunk * along[:, None])) / left_over
        errors = (missed**2).mean(axis=0)
        least = int(np.argmin(errors))
        if errors[least] < error:
            error = float(errors[least])
            best = np.zeros_like(best)
            best[: right.shape[1]] = right.T @ (
                shrunk[:, least] * along / np.maximum(singular, 1e-12)
            )
    return best
