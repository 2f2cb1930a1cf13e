"""A differentiable measure of how much of the prediction the attributes explain, given the outcome.

ρ² = explained / total. Total is the variation of features of the prediction (those of the Gaussian
kernel that KPC uses) around their mean given the outcome; explained is the part of it that a
regression on features of the attributes accounts for, after subtracting from each attribute
feature its mean over conditional copies. Pairs of a row with itself are left out, so that ρ² is
centered at 0 under equalized odds and not at (features / rows). For categories this is KPC itself.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from fairaudit._types import Array
from fairaudit.remedy.attribute_residuals import (
    Residuals,
    attribute_residuals,
    prediction_frequencies,
)

__all__ = ["Dependence", "attribute_residuals"]


class Dependence:
    """ρ² of stacked predictions on some rows."""

    def __init__(self, residuals: Residuals, device: str = "cpu") -> None:
        n = len(residuals.features)
        features, outcome = residuals.features, residuals.outcome
        self.root: Tensor | None = None  # of the weights: sums of squares are then weighted
        if residuals.weights is not None:
            root = np.sqrt(residuals.weights / residuals.weights.mean())[:, None]
            features, outcome, self.root = features * root, outcome * root, _tensor(root, device)
        self.white = _tensor(_whiten(features, residuals.ridge), device)
        self.leverage = (self.white**2).sum(dim=1)
        self.outcome = _tensor(_orthonormal(outcome), device)
        self.outcome_leverage = (self.outcome**2).sum(dim=1)
        self.frequencies = _tensor(prediction_frequencies(), device)
        self.n = n

    def __call__(self, prediction: Tensor, rows: Tensor | None = None) -> Tensor:
        """One number per model; `prediction` is models × rows × outputs.

        With `rows` the prediction is of these rows only, a random part of all.
        """
        white, leverage, outcome, own = (
            self.white,
            self.leverage,
            self.outcome,
            self.outcome_leverage,
        )
        share = 1.0
        if rows is not None:
            white, leverage, outcome, own = (part[rows] for part in (white, leverage, outcome, own))
            share = self.n / len(rows)
        phi = self._features(prediction)
        if self.root is not None:
            phi = phi * (self.root if rows is None else self.root[rows])
        # variation around the mean given the outcome
        fitted = outcome @ (share * (outcome.T @ phi))
        residual = phi - fitted
        size = (residual**2).sum(dim=2)
        explained = (white.T @ residual).pow(2).sum(dim=(1, 2)) * share**2
        explained = explained - share * (size @ leverage)
        total = share * (size / (1 - own).clamp_min(0.05)).sum(dim=1)
        return explained / total.clamp_min(1e-8 * self.n)

    def _features(self, prediction: Tensor) -> Tensor:
        """Features of the Gaussian kernel with the median bandwidth, of unit length."""
        spread = prediction.detach().std(dim=1, keepdim=True).clamp_min(1e-4)
        angle = (prediction / spread).unsqueeze(-1) * self.frequencies
        waves = torch.cat([angle.cos(), angle.sin()], dim=-1).flatten(start_dim=2)
        return waves / (self.frequencies.numel() * prediction.shape[2]) ** 0.5


def _whiten(features: Array, ridge: float) -> Array:
    """Orthonormal columns that span the features, small directions damped."""
    left, size, _ = np.linalg.svd(features, full_matrices=False)
    large = size > 1e-6 * max(float(size[0]), 1e-12)
    if not large.any():  # the outcome says everything about the attributes
        return np.zeros((len(features), 1))
    size = size[large]
    damped = size / np.sqrt(size**2 + ridge * float(size[0]) ** 2)
    return left[:, large] * damped


def _orthonormal(features: Array) -> Array:
    q, r = np.linalg.qr(features)
    return q[:, np.abs(np.diag(r)) > 1e-8 * max(float(np.abs(r).max()), 1e-12)]


def _tensor(values: Array, device: str) -> Tensor:
    return torch.as_tensor(np.ascontiguousarray(values), dtype=torch.float32, device=device)
