"""Answers of a regressor on a few levels, with one law given the outcome.

What is known of a person is the model's number and the attributes. The outcome given both is a
location, a scale and a residual; by it every person's expected contribution to the moments

    E[b_j(Y) (ψ(A) − E[ψ(A) | Y]) 1{level k}],

b_j being bumps along the outcome, is known, and `smooth_laws` makes them vanish.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from fairaudit._types import Array, Index
from fairaudit.remedy.smooth_laws import SmoothLaws, find_basis

__all__ = ["NumberAnswers"]

_KNOTS = 4  # of broken lines in the model's number
_BUMPS = 3  # along the outcome, where moments vanish
_FINE_BUMPS = 8  # along the outcome, for means of the functions of attributes
_RESIDUALS = 25  # quantiles
_ROUNDS = 4


class NumberAnswers(BaseEstimator):
    """How likely every level is for a person, and the number that it stands for.

    Parameters
    ----------
    levels : int
    temperature : float
        In variances of the outcome.
    shrink : float
        Of `SmoothLaws`.
    bumps : int
        Along the outcome.

    Attributes
    ----------
    values : array
        Level × 1: mean outcome of people at a level.
    common : array
        Chances of the levels among all.
    prior : array
        Mean outcome of all.
    """

    def __init__(
        self,
        levels: int = 6,
        *,
        temperature: float = 0.003,
        shrink: float = 0.0,
        bumps: int = _BUMPS,
    ) -> None:
        self.levels, self.temperature, self.shrink, self.bumps = levels, temperature, shrink, bumps

    def fit(self, prediction: Array, psi: Array, y: Array) -> NumberAnswers:
        """Learn from rows: a model's numbers, functions of attributes, true outcomes."""
        self.y_mean, self.y_scale = float(y.mean()), float(y.std())
        self.mean, self.scale = float(prediction.mean()), float(prediction.std()) or 1.0
        goal = (y - self.y_mean) / self.y_scale
        x = (prediction - self.mean) / self.scale
        self.knots = np.unique(np.quantile(x, np.linspace(0, 1, _KNOTS + 2)[1:-1]))
        self._fit_outcome(x, psi, goal)
        self.fine, self.coarse = _Bumps(goal, _FINE_BUMPS), _Bumps(goal, self.bumps)
        self.psi_basis = find_basis(psi - psi.mean(axis=0), np.ones(len(psi)))
        self.psi_mean = psi.mean(axis=0)
        white = (psi - self.psi_mean) @ self.psi_basis
        along = self.fine(goal)
        ridge = 1e-3 * len(goal) / _FINE_BUMPS * np.eye(along.shape[1])
        self.given = np.linalg.solve(along.T @ along + ridge, along.T @ white)
        expected, moments = self._expect(x, psi)
        self.offset = moments.mean(axis=0)
        moments = moments - self.offset
        values = np.quantile(expected, (np.arange(self.levels) + 0.5) / self.levels)
        self.laws = SmoothLaws(self.temperature, self.shrink)
        for _ in range(_ROUNDS):
            self.points = values
            expense = (values - expected[:, None]) ** 2
            start = getattr(self.laws, "multipliers", None)
            likely = self.laws.fit(expense, moments, start=start).chances(expense, moments)
            weight = likely.sum(axis=0)
            means = likely.T @ goal / np.maximum(weight, 1e-9)
            values = np.where(weight > 1e-6 * len(y), means, values)
        self.values = (values * self.y_scale + self.y_mean)[:, None]
        self.common, self.prior = weight / weight.sum(), np.array([self.y_mean])
        return self

    def __call__(self, prediction: Array, psi: Array, groups: Index | None = None) -> Array:
        """The chances of every level (columns) for rows."""
        expected, moments = self._expect((prediction - self.mean) / self.scale, psi)
        return self.laws.chances((self.points - expected[:, None]) ** 2, moments - self.offset)

    def values_at(self, noise: float) -> Array:
        """What levels say where a share `noise` of all answers is drawn from the common law."""
        return (1 - noise) * self.values + noise * self.prior

    def _find_features(self, x: Array, psi: Array) -> Array:
        broken = np.maximum(x[:, None] - self.knots, 0.0)
        return np.hstack([np.ones((len(x), 1)), x[:, None], broken, psi, psi * x[:, None]])

    def _fit_outcome(self, x: Array, psi: Array, goal: Array) -> None:
        """Location and scale of the outcome given what is known."""
        features = self._find_features(x, psi)
        ridge = np.eye(features.shape[1])
        square = features.T @ features + ridge
        self.location = np.linalg.solve(square, features.T @ goal)
        residual = goal - features @ self.location
        logs = np.log(residual**2 + 1e-2 * residual.var())
        self.log_scale = np.linalg.solve(square + 9 * ridge, features.T @ logs) / 2
        scale = np.exp(features @ self.log_scale)
        places = (np.arange(_RESIDUALS) + 0.5) / _RESIDUALS
        self.residuals = np.quantile(residual / scale, places)

    def _expect(self, x: Array, psi: Array) -> tuple[Array, Array]:
        """The expected outcome, and the expected contributions to the moments."""
        features = self._find_features(x, psi)
        location, scale = features @ self.location, np.exp(features @ self.log_scale)
        white = (psi - self.psi_mean) @ self.psi_basis
        width = white.shape[1]
        total = np.zeros((len(x), self.bumps * width))
        for residual in self.residuals:
            outcome = location + scale * residual
            bumps = self.coarse(outcome)
            centered = white - self.fine(outcome) @ self.given
            total += (bumps[:, :, None] * centered[:, None, :]).reshape(len(x), -1)
        return location, total / len(self.residuals)


class _Bumps(BaseEstimator):
    """Gaussian bumps at quantiles, adding up to one."""

    def __init__(self, values: Array, count: int) -> None:
        self.centers = np.quantile(values, (np.arange(count) + 0.5) / count)
        gaps = np.diff(self.centers)
        self.width = max(float(gaps.mean()) if len(gaps) else 1.0, 1e-9)

    def __call__(self, y: Array) -> Array:
        near = np.clip(y, self.centers[0] - self.width, self.centers[-1] + self.width)
        logs = -0.5 * ((near[:, None] - self.centers) / self.width) ** 2
        raised = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
