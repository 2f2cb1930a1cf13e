"""Answers on a few levels whose law given the outcome does not change with smooth attributes.

A person with chances η of the classes and attributes a gets level k with probability

    π(k | η, a) ∝ exp(−(Σ_c η_c (cost_ck + λ_ck · ψ_c(a))) / τ),

ψ_c being functions of the attributes without their mean in class c. The multipliers λ make the
moments of every level with ψ_c vanish within each class. They are the minimum of a convex
function: the dual of least cost plus τ times negative entropy under these constraints.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from fairaudit._types import Array

__all__ = ["SmoothLaws"]

_SMALL = 1e-6  # directions of the functions that vary less, as a share, are left out
_STEPS = 300
_LEAST_SHRINK = 1e-3  # rows


class SmoothLaws(BaseEstimator):
    """The multipliers, and the probabilities at any rows.

    Parameters
    ----------
    cost : array
        Class × level.
    temperature : float
        How soft the probabilities are.
    ridge : float
        Of the functions, as a share of their largest variance: directions that vary little are
        followed less.
    shrink : float
        Of the multipliers, in rows: moments of a size that this many rows could show by chance
        are left.
    """

    def __init__(
        self, cost: Array, *, temperature: float, ridge: float = 1e-3, shrink: float = 0.0
    ) -> None:
        self.cost, self.temperature, self.ridge, self.shrink = cost, temperature, ridge, shrink

    def fit(self, eta: Array, psi: Array) -> SmoothLaws:
        """Find the multipliers on rows with chances `eta` (rows × classes) and functions `psi`.

        A row counts in each class by its chance of it: less noise than in its true class alone.
        """
        classes, levels = self.cost.shape
        self.means = [np.average(psi, axis=0, weights=eta[:, c]) for c in range(classes)]
        self.bases = [
            _find_basis(psi - self.means[c], eta[:, c], self.ridge) for c in range(classes)
        ]
        features = self._find_features(psi)
        start = np.zeros(sum(block.shape[1] for block in features) * levels)
        self.multipliers = self._minimize(eta, features, start)
        return self

    def chances(self, eta: Array, psi: Array) -> Array:
        """Of every level (columns) for rows."""
        return self._find_chances(eta, self._find_features(psi), self.multipliers)

    def _find_features(self, psi: Array) -> list[Array]:
        return [(psi - mean) @ basis for mean, basis in zip(self.means, self.bases, strict=True)]

    def _find_energies(self, eta: Array, features: list[Array], multipliers: Array) -> Array:
        levels = self.cost.shape[1]
        energies = eta @ self.cost
        at = 0
        for c, block in enumerate(features):
            size = block.shape[1] * levels
            own = multipliers[at : at + size].reshape(-1, levels)
            energies = energies + eta[:, [c]] * (block @ own)
            at += size
        return energies

    def _find_chances(self, eta: Array, features: list[Array], multipliers: Array) -> Array:
        raised = -self._find_energies(eta, features, multipliers) / self.temperature
        return np.exp(raised - logsumexp(raised, axis=1, keepdims=True))

    def _minimize(self, eta: Array, features: list[Array], start: Array) -> Array:
        n = len(eta)
        ridge = max(self.shrink, _LEAST_SHRINK) / n

        def value(multipliers: Array) -> tuple[float, Array]:
            raised = -self._find_energies(eta, features, multipliers) / self.temperature
            total = logsumexp(raised, axis=1, keepdims=True)
            chances = np.exp(raised - total)
            moments = np.concatenate(
                [
                    (block.T @ (chances * eta[:, [c]]) / n).ravel()
                    for c, block in enumerate(features)
                ]
            )
            dual = self.temperature * float(total.mean()) 
            dual += 0.5 * ridge / self.temperature * float(multipliers @ multipliers)
            return dual, -moments + ridge / self.temperature * multipliers

        found = minimize(
            value, start, jac=True, method="L-BFGS-B",
            options={"maxiter": _STEPS, "maxcor": 20, "ftol": 1e-12, "gtol": 1e-7},
        )
        return np.asarray(found.x)


def _find_basis(centered: Array, weights: Array, ridge: float) -> Array:
    """Columns that make functions uncorrelated, small directions damped."""
    scaled = centered * np.sqrt(weights / weights.sum())[:, None]
    _, size, right = np.linalg.svd(scaled, full_matrices=False)
    large = size > _SMALL * max(float(size[0]), 1e-12)
    size, right = size[large], right[large]
    return np.asarray(right.T / np.sqrt(size**2 + ridge * float(size[0]) ** 2))
