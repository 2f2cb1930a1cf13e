"""A Gaussian mixture of (Y, A), conditioned on A in closed form: many modes, curved links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp, ndtr

from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import PairDensity
from fairaudit.errors import InputError

__all__ = ["Mixture"]


@dataclass(frozen=True, slots=True)
class Mixture:
    """q(y|a) = Σ_k w_k(a) N(y; m_k(a), s_k²) from a mixture of `components` joint Gaussians.

    Parameters
    ----------
    components : int or None
        None picks 2, 3, 5 or 8 by the Bayesian information criterion.
    """

    components: int | None = None

    @property
    def name(self) -> str:
        return "mixture" if self.components is None else f"mixture ({self.components})"

    def fit(self, y: Array, a: Array, seed: int) -> _FittedMixture:
        from sklearn.mixture import GaussianMixture

        if self.components is not None and self.components < 1:
            raise InputError(
                f"The 'components' parameter must be at least 1. Got {self.components} instead."
            )
        center, spread = float(y.mean()), float(y.std()) or 1.0
        joint = np.column_stack([(y - center) / spread, a])
        most = max(1, len(y) // (2 * (joint.shape[1] + 1)))
        sizes = [self.components] if self.components else [k for k in (2, 3, 5, 8) if k <= most]
        fits = [
            GaussianMixture(k, reg_covar=1e-3, max_iter=200, random_state=seed).fit(joint)
            for k in sizes or [1]
        ]
        best = min(fits, key=lambda fit: fit.bic(joint)) if len(fits) > 1 else fits[0]
        return _FittedMixture(
            weights=best.weights_,
            means=best.means_,
            covariances=best.covariances_,
            center=center,
            spread=spread,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _FittedMixture:
    weights: Array
    means: Array
    covariances: Array
    center: float
    spread: float

    def pairs(self, y: Array, a: Array) -> _MixturePairs:
        log_weight, location = np.empty((2, len(a), len(self.weights)))
        scale = np.empty(len(self.weights))
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances, strict=True)):
            cholesky = np.linalg.cholesky(covariance[1:, 1:])
            white = np.linalg.solve(cholesky, (a - mean[1:]).T)
            slope = np.linalg.solve(cholesky, covariance[1:, 0])
            location[:, k] = mean[0] + slope @ white
            scale[k] = np.sqrt(max(covariance[0, 0] - slope @ slope, 1e-6))
            log_weight[:, k] = (
                np.log(self.weights[k])
                - 0.5 * (white**2).sum(axis=0)
                - np.log(np.diag(cholesky)).sum()
            )
        log_weight -= logsumexp(log_weight, axis=1, keepdims=True)
        unit = (self.center, self.spread)
        return _MixturePairs(y, log_weight, location, scale, unit=unit)


class _MixturePairs(PairDensity):
    def __init__(
        self,
        y: Array,
        log_weight: Array,
        location: Array,
        scale: Array,
        *,
        unit: tuple[float, float],
    ) -> None:
        self.unit = unit
        self.outcome = y
        self.y, self.location, self.scale = (y - unit[0]) / unit[1], location, scale
        self.log_weight = log_weight
        # the constant part of every component's log-density
        self.offset = log_weight - np.log(scale) - 0.5 * np.log(2 * np.pi) - np.log(unit[1])

    def log_density(self, i: Index, j: Index) -> Array:
        value = self.y[j]
        total = np.zeros(np.broadcast(i, j).shape)
        for k, scale in enumerate(self.scale):
            z = (value - self.location[i, k]) / scale
            total += np.exp(self.offset[i, k] - 0.5 * z * z)
        return np.log(np.maximum(total, 1e-300))

    def pit(self) -> Array:
        return self.cdf(self.outcome)

    def cdf(self, y: Array) -> Array:
        z = ((y - self.unit[0]) / self.unit[1])[:, None]
        z = (z - self.location) / self.scale
        return (np.exp(self.log_weight) * ndtr(z)).sum(axis=1)
