"""Answers of a classifier on a few levels, with one law given the outcome.

What is known of a person is the chances that a model gives to the classes, and the attributes.
The chances are calibrated given the attributes, each level stands for a vector of chances of the
classes, and a solver (`smooth_laws`, `equal_laws`) finds how likely every level is for a person.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator

from fairaudit._types import Array, Index
from fairaudit.remedy.equal_laws import GroupLaws, find_equal_laws
from fairaudit.remedy.smooth_laws import SmoothLaws, find_basis

__all__ = ["SOLVERS", "CalibratedChances", "LevelAnswers"]

SOLVERS = ("smooth", "program")
_CERTAIN = 1e-4
_FARTHEST = 6.0  # logits
_PENALTY = 0.1  # inverse weight of the squared coefficients: many groups have few rows each
_FREER = 10.0  # times the spread of the model's own logit, which has all rows
_ROUNDS = 3  # of levels and laws in turn
_BINS = 20
_KNOTS = 4  # of the broken lines
_POOLED = 10.0  # rows of all that each group gets in the linear program


class CalibratedChances(BaseEstimator):
    """Chances of the classes given those of a model and functions of attributes, by logits.

    The logit is a broken line of the model's, with a level and a slope along every function of the
    attributes. (A broken line of its own in each group leaves as much on fresh rows, and takes
    four times as long.)
    """

    def fit(self, chances: Array, psi: Array, parts: Index) -> CalibratedChances:
        from sklearn.linear_model import LogisticRegression

        logits = _find_logits(chances)
        inner = np.linspace(0, 1, _KNOTS + 2)[1:-1]
        self.knots = [np.unique(np.quantile(column, inner)) for column in logits.T]
        features = self._find_features(chances, psi)
        self.mean, spread = features.mean(axis=0), features.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, 1.0)
        self.spread[-sum(map(len, self.knots)) :] /= _FREER
        model = LogisticRegression(C=_PENALTY, max_iter=500)
        model.fit((features - self.mean) / self.spread, parts)
        weights, start = np.asarray(model.coef_), np.asarray(model.intercept_)
        if len(weights) == 1:
            weights, start = np.vstack([0 * weights, weights]), np.array([0.0, start[0]])
        self.weights, self.start = weights, start
        return self

    def __call__(self, chances: Array, psi: Array) -> Array:
        features = (self._find_features(chances, psi) - self.mean) / self.spread
        return np.asarray(softmax(features @ self.weights.T + self.start, axis=1))

    def _find_features(self, chances: Array, psi: Array) -> Array:
        logits = _find_logits(chances)
        broken = np.hstack(
            [
                np.maximum(column[:, None] - knots, 0.0)
                for column, knots in zip(logits.T, self.knots, strict=True)
            ]
        )
        sloped = [psi * logits[:, [c]] for c in range(logits.shape[1])]
        return np.hstack([psi, *sloped, broken])


def _find_logits(chances: Array) -> Array:
    logs = np.log(np.clip(chances, _CERTAIN, 1.0))
    return np.asarray(np.clip(logs[:, 1:] - logs[:, :1], -_FARTHEST, _FARTHEST))


class LevelAnswers(BaseEstimator):
    """How likely every level is for a person, and what it says about the classes.

    Parameters
    ----------
    levels : int
        Of two classes; with more there is one per class.
    solver : {"smooth", "program"}
    temperature, shrink : float
        Of `SmoothLaws`.
    error_share : float in [0, 1]
        Weight of misclassified people in the cost; the rest is the Brier score.

    Attributes
    ----------
    values : array
        Level × class: chances of the classes among people at a level.
    common : array
        Chances of the levels among all.
    prior : array
        Chances of the classes among all.
    """

    def __init__(
        self,
        levels: int = 4,
        *,
        solver: str = "smooth",
        temperature: float = 0.003,
        shrink: float = 0.0,
        error_share: float = 0.5,
    ) -> None:
        self.levels, self.solver, self.error_share = levels, solver, error_share
        self.temperature, self.shrink = temperature, shrink

    def fit(self, chances: Array, psi: Array, groups: Index, parts: Index) -> LevelAnswers:
        """Learn from rows: a model's chances, functions of attributes, groups, true classes."""
        self.calibrated = CalibratedChances().fit(chances, psi, parts)
        eta = self.calibrated(chances, psi)
        truth = np.eye(eta.shape[1])[parts]
        self.prior = truth.mean(axis=0)
        values = _choose_values(eta, self.levels)
        solve = self._fit_program if self.solver == "program" else self._fit_smooth
        likely_at = solve(eta, psi, groups, parts)
        for _ in range(_ROUNDS):
            self.cost = _find_cost(values, self.error_share)
            likely = likely_at(self.cost)
            weight = likely.sum(axis=0)
            means = likely.T @ truth / np.maximum(weight, 1e-9)[:, None]
            values = np.where(weight[:, None] > 1e-6 * len(parts), means, values)
        self.values, self.common = values, weight / weight.sum()
        return self

    def __call__(self, chances: Array, psi: Array, groups: Index) -> Array:
        """The chances of every level (columns) for rows."""
        eta = self.calibrated(chances, psi)
        if self.solver == "program":
            return np.asarray(self.table[groups, np.searchsorted(self.edges, eta[:, 1])])
        return self.laws.chances(eta @ self.cost, self._find_moments(eta, psi))

    def values_at(self, noise: float) -> Array:
        """What levels say where a share `noise` of all answers is drawn from the common law."""
        return (1 - noise) * self.values + noise * self.prior

    def _fit_program(
        self, eta: Array, psi: Array, groups: Index, parts: Index
    ) -> Callable[[Array], Array]:
        self.edges = np.unique(np.quantile(eta[:, 1], np.linspace(0, 1, _BINS + 1)[1:-1]))
        bins = np.searchsorted(self.edges, eta[:, 1])
        laws = GroupLaws(bins, groups, parts, shrink=_POOLED)

        def likely_at(cost: Array) -> Array:
            self.table = find_equal_laws(laws, cost)
            return np.asarray(self.table[groups, bins])

        return likely_at

    def _fit_smooth(
        self, eta: Array, psi: Array, groups: Index, parts: Index
    ) -> Callable[[Array], Array]:
        classes = eta.shape[1]
        self.means = [np.average(psi, axis=0, weights=eta[:, c]) for c in range(classes)]
        self.bases = [find_basis(psi - self.means[c], eta[:, c]) for c in range(classes)]
        moments = self._find_moments(eta, psi)
        self.laws = SmoothLaws(self.temperature, self.shrink)

        def likely_at(cost: Array) -> Array:
            start = getattr(self.laws, "multipliers", None)
            self.laws.fit(eta @ cost, moments, start=start)
            return self.laws.chances(eta @ cost, moments)

        return likely_at

    def _find_moments(self, eta: Array, psi: Array) -> Array:
        """A row counts in each class by its chance: less noise than in its true class alone."""
        return np.hstack(
            [eta[:, [c]] * ((psi - self.means[c]) @ self.bases[c]) for c in range(len(self.means))]
        )


def _choose_values(eta: Array, levels: int) -> Array:
    """Chances of the classes that levels begin with."""
    classes = eta.shape[1]
    if classes == 2 and levels > 2:
        share = (np.arange(levels) + 0.5) / levels
        positive = np.quantile(eta[:, 1], share)
        return np.column_stack([1 - positive, positive])
    best = eta.argmax(axis=1)
    return np.vstack(
        [
            eta[best == c].mean(axis=0) if (best == c).any() else np.eye(classes)[c]
            for c in range(classes)
        ]
    )


def _find_cost(values: Array, error_share: float) -> Array:
    """Class × level: whether a level names another class, and its squared distance from it."""
    classes = values.shape[1]
    difference = values[None, :, :] - np.eye(classes)[:, None, :]
    brier = (difference**2).sum(axis=2) / 2
    wrong = values.argmax(axis=1)[None, :] != np.arange(classes)[:, None]
    return np.asarray(error_share * wrong + (1 - error_share) * brier)


def pick_levels(likely: Array, uniform: Array) -> Index:
    """The level of every row by its uniform number."""
    ends = likely.cumsum(axis=1)
    ends /= ends[:, -1:]
    return np.minimum((uniform[:, None] > ends).sum(axis=1), likely.shape[1] - 1)


def check_solver(solver: Any) -> None:
    from fairaudit.errors import InputError

    if solver not in SOLVERS:
        raise InputError(
            f"'solver' must be 'smooth' or 'program'. Got {solver!r}.", argument="solver"
        )
