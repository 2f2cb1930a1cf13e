"""Answers of a classifier on a few levels, with one law given the outcome.

What is known of a person is the chances that a model gives to the classes, and the attributes.
The chances are calibrated given the attributes, each level stands for a vector of chances of the
classes, and a solver (`smooth_laws`, `equal_laws`) finds how likely every level is for a person.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator

from fairaudit._types import Array, Index
from fairaudit.remedy.equal_laws import GroupLaws, find_equal_laws
from fairaudit.remedy.smooth_laws import SmoothLaws

__all__ = ["CalibratedChances", "LevelAnswers", "SOLVERS"]

SOLVERS = ("smooth", "program")
_CERTAIN = 1e-4
_FARTHEST = 6.0  # logits
_PENALTY = 10.0  # inverse weight of the squared coefficients
_ROUNDS = 3  # of levels and laws in turn
_BINS = 20
_POOLED = 10.0  # rows of all that each group gets in the linear program


class CalibratedChances(BaseEstimator):
    """Chances of the classes given those of a model and functions of attributes, by logits."""

    def fit(self, chances: Array, psi: Array, parts: Index) -> CalibratedChances:
        from sklearn.linear_model import LogisticRegression

        features = self._find_features(chances, psi)
        self.mean, spread = features.mean(axis=0), features.std(axis=0)
        self.spread = np.where(spread > 1e-9, spread, 1.0)
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
        logs = np.log(np.clip(chances, _CERTAIN, 1.0))
        logits = np.clip(logs[:, 1:] - logs[:, :1], -_FARTHEST, _FARTHEST)
        products = [psi * logits[:, [c]] for c in range(logits.shape[1])]
        return np.hstack([logits, logits**2 / 4, psi, *products])


class LevelAnswers(BaseEstimator):
    """How likely every level is for a person, and what it says about the classes.

    Parameters
    ----------
    levels : int
        Of two classes; with more there is one per class.
    solver : {"smooth", "program"}
    temperature, shrink : float
        Of `SmoothLaws`.

    Attributes
    ----------
    values : array
        Level × class: chances of the classes among people at a level.
    common : array
        Chances of the levels among all.
    """

    def __init__(
        self, levels: int, *, solver: str, temperature: float, shrink: float = 0.0
    ) -> None:
        self.levels, self.solver = levels, solver
        self.temperature, self.shrink = temperature, shrink

    def fit(self, chances: Array, psi: Array, groups: Index, parts: Index) -> LevelAnswers:
        """Learn from rows: a model's chances, functions of attributes, groups, true classes."""
        self.calibrated = CalibratedChances().fit(chances, psi, parts)
        eta = self.calibrated(chances, psi)
        truth = np.eye(eta.shape[1])[parts]
        values = _choose_values(eta, self.levels)
        bins = None
        if self.solver == "program":
            quantiles = np.quantile(eta[:, 1], np.linspace(0, 1, _BINS + 1)[1:-1])
            self.edges = np.unique(quantiles)
            bins = np.searchsorted(self.edges, eta[:, 1])
            laws = GroupLaws(bins, groups, parts, shrink=_POOLED)
        for _ in range(_ROUNDS):
            cost = _find_cost(values)
            if bins is not None:
                self.table = find_equal_laws(laws, cost)
                likely = self.table[groups, bins]
            else:
                self.laws = SmoothLaws(cost, temperature=self.temperature, shrink=self.shrink)
                likely = self.laws.fit(eta, psi).chances(eta, psi)
            weight = likely.sum(axis=0)
            means = likely.T @ truth / np.maximum(weight, 1e-9)[:, None]
            values = np.where(weight[:, None] > 1e-6 * len(parts), means, values)
        self.values, self.common = values, weight / weight.sum()
        # what is still known of the classes at a level when a share of answers is drawn anew
        self.prior = truth.mean(axis=0)
        return self

    def __call__(self, chances: Array, psi: Array, groups: Index) -> Array:
        """The chances of every level (columns) for rows."""
        eta = self.calibrated(chances, psi)
        if self.solver == "program":
            return np.asarray(self.table[groups, np.searchsorted(self.edges, eta[:, 1])])
        return self.laws.chances(eta, psi)

    def values_at(self, noise: float) -> Array:
        """What levels say where a share `noise` of all answers is drawn from the common law."""
        return (1 - noise) * self.values + noise * self.prior


def _choose_values(eta: Array, levels: int) -> Array:
    """Chances of the classes that levels begin with."""
    classes = eta.shape[1]
    if classes == 2:
        share = np.array([0.2, 0.8]) if levels == 2 else (np.arange(levels) + 0.5) / levels
        positive = np.quantile(eta[:, 1], share)
        return np.column_stack([1 - positive, positive])
    best = eta.argmax(axis=1)
    return np.vstack(
        [
            eta[best == c].mean(axis=0) if (best == c).any() else np.eye(classes)[c]
            for c in range(classes)
        ]
    )


def _find_cost(values: Array) -> Array:
    """Class × level: squared distance of what a level says from the truth (the Brier score)."""
    classes = values.shape[1]
    difference = values[None, :, :] - np.eye(classes)[:, None, :]
    return np.asarray((difference**2).sum(axis=2) / 2)


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
