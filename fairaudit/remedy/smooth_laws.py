"""Answers on a few levels whose law given the outcome does not change with attributes.

A person gets level k with probability

    π_k ∝ exp(−(expense_k + z · λ_k) / τ),

with what level k is expected to cost for that person, and z their expected contribution to moments
that must vanish: functions of the attributes without their mean given the outcome, times functions
of the outcome. The multipliers λ are the minimum of a convex function, the dual of least expense
plus τ times negative entropy under the constraint that the moments of every level are zero.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator

from fairaudit._types import Array

__all__ = ["SmoothLaws", "find_basis"]

_SMALL = 1e-6  # directions of the functions that vary less, as a share, are left out
_STEPS = 200
_LEAST_SHRINK = 0.1  # rows


class SmoothLaws(BaseEstimator):
    """The multipliers, and the probabilities at any rows.

    Parameters
    ----------
    temperature : float
        How soft the probabilities are.
    shrink : float
        Ridge of the multipliers, in rows: moments that are costly to remove are left in part.

    Attributes
    ----------
    multipliers : array
        Moment × level.
    """

    def __init__(self, temperature: float = 0.003, shrink: float = 0.0) -> None:
        self.temperature, self.shrink = temperature, shrink

    def fit(
        self,
        expense: Array,
        moments: Array,
        weights: Array | None = None,
        start: Array | None = None,
    ) -> SmoothLaws:
        """Find the multipliers.

        Parameters
        ----------
        expense : array
            Row × level.
        moments : array
            Row × moment, of mean 0 and about unit size over the rows.
        weights : array, optional
            How many people a row stands for.
        start : array, optional
            Multipliers to begin with.
        """
        n, levels = expense.shape
        people = np.full(n, 1.0) if weights is None else weights
        share = (people / people.sum())[:, None]
        ridge = max(self.shrink, _LEAST_SHRINK) / float(people.sum())

        def value(flat: Array) -> tuple[float, Array]:
            raised = -(expense + moments @ flat.reshape(-1, levels)) / self.temperature
            chances, total = _normalize(raised)
            slopes = moments.T @ (chances * share)
            dual = self.temperature * float((total * share).sum()) + ridge / 2 * float(flat @ flat)
            return dual, ridge * flat - slopes.ravel()

        begin = np.zeros(moments.shape[1] * levels) if start is None else start.ravel()
        options = {"maxiter": _STEPS, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-6}
        found = minimize(value, begin, jac=True, method="L-BFGS-B", options=options)
        self.multipliers = np.asarray(found.x).reshape(-1, levels)
        return self

    def chances(self, expense: Array, moments: Array) -> Array:
        """Of every level (columns) for rows."""
        raised = -(expense + moments @ self.multipliers) / self.temperature
        return _normalize(raised)[0]


def _normalize(raised: Array) -> tuple[Array, Array]:
    """Chances that are proportional to exponentials, and the logarithms of their sums."""
    largest = raised.max(axis=1, keepdims=True)
    grown = np.exp(raised - largest)
    total = grown.sum(axis=1, keepdims=True)
    return grown / total, largest + np.log(total)


def find_basis(centered: Array, weights: Array, ridge: float = 1e-3) -> Array:
    """Columns that make functions uncorrelated; directions that vary little are damped.

    `ridge` is a share of the largest variance.
    """
    scaled = centered * np.sqrt(weights / weights.sum())[:, None]
    _, size, right = np.linalg.svd(scaled, full_matrices=False)
    largest = float(size[0])
    large = size > _SMALL * max(largest, 1e-12)
    return np.asarray(right[large].T / np.sqrt(size[large] ** 2 + ridge * largest**2))
