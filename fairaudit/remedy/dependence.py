"""A differentiable measure of how much of the prediction the attributes explain, given the outcome.

ρ² = explained / total. Total is the variation of features of the prediction (those of the Gaussian
kernel that KPC uses) around their mean given the outcome; explained is the part of it that a
regression on features of the attributes accounts for, after subtracting from each attribute
feature its mean over conditional copies. Pairs of a row with itself are left out, so that ρ² is
centered at 0 under equalized odds and not at (features / rows). For categories this is KPC itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import ndtri
from torch import Tensor

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.geometry.bandwidth import median_distance
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import stream

__all__ = ["Dependence", "attribute_residuals"]

_MOST_CELLS = 40  # of categorical attributes; beyond, features replace cells
_ATTRIBUTE_FEATURES = 40
_OUTCOME_BUMPS = 4
_COPIES = 60
_FREQUENCIES = 4
_BANDWIDTH = 0.95  # median distance of standard normal values
_CELL_RIDGE = 1e-3  # small groups count too
_SMOOTH_RIDGE = 3e-2  # small directions of many features are noise, and cost accuracy


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What is left of the attributes given the outcome.

    Attributes
    ----------
    features : rows × columns, with mean 0 given the outcome if the prediction may not use A
    outcome : rows × columns that span functions of the outcome
    ridge : damps directions of the features that vary little, as a share of the largest variance
    weights : of the rows; None if they count alike
    """

    features: Array
    outcome: Array
    ridge: float
    weights: Array | None = None

    def take(self, rows: Index) -> Residuals:
        weights = None if self.weights is None else self.weights[rows]
        return Residuals(self.features[rows], self.outcome[rows], self.ridge, weights)


def attribute_residuals(
    outcome: Column,
    attributes: Sequence[Column],
    draw: Any,
    seed: int,
    weights: Array | None = None,
) -> Residuals:
    """Features of the attributes minus their mean given the outcome.

    `draw(numbers)` gives encoded attributes of conditional copies, one n × d array each; it is
    asked only for a continuous outcome. Within classes the mean over all permutations is known.
    `weights` count for classes; copies follow the law of the rows as they are.
    """
    psi, features_of, ridge = _attribute_features(attributes, seed)
    if outcome.kind.is_categorical:
        classes = np.eye(len(outcome.levels))[outcome.codes]
        counted = classes if weights is None else classes * weights[:, None]
        means = (counted.T @ psi) / np.maximum(counted.sum(axis=0), 1e-12)[:, None]
        centered = psi - means[outcome.codes]
        blocks = [centered * classes[:, [k]] for k in range(classes.shape[1])]
        return Residuals(np.hstack(blocks), classes, ridge, weights)
    mean = np.zeros_like(psi)
    for number in range(_COPIES):
        mean += features_of(draw(number)) / _COPIES
    y = np.asarray(outcome.numeric)
    y = (y - y.mean()) / y.std()
    bumps = _bumps(y, _OUTCOME_BUMPS)
    blocks = [(psi - mean) * bumps[:, [k]] for k in range(bumps.shape[1])]
    functions = np.column_stack([np.ones(len(y)), y, _bumps(y, 8)])
    return Residuals(np.hstack(blocks), functions, ridge)


def _attribute_features(attributes: Sequence[Column], seed: int) -> tuple[Array, Any, float]:
    """Features of A, the function that makes them from encoded attributes, and their ridge."""
    encoded = encode(attributes)
    n = len(encoded)
    if all(column.kind.is_categorical for column in attributes):
        cells = find_tied_blocks(attributes, n)
        if len(cells) <= _MOST_CELLS:
            points = encoded[cells.first]

            def in_cells(a: Array) -> Array:
                # codes of the nearest cell: copies may be new combinations
                from scipy.spatial import cKDTree

                return np.eye(len(points))[cKDTree(points).query(a)[1]]

            return np.eye(len(cells))[cells.of_row], in_cells, _CELL_RIDGE
    scores = _normal_scores(attributes, encoded)
    rng = stream(seed, 8)
    points = scores(encoded)
    width = median_distance(points[rng.permutation(n)[:2000]])
    omega = rng.normal(size=(points.shape[1], _ATTRIBUTE_FEATURES)) / width
    phase = rng.uniform(0, 2 * np.pi, _ATTRIBUTE_FEATURES)
    scale = encoded.std(axis=0) + 1e-12

    def smooth(a: Array) -> Array:
        z = scores(a)
        return np.hstack([a / scale, z, np.cos(z @ omega + phase) * np.sqrt(2)])

    return smooth(encoded), smooth, _SMOOTH_RIDGE


def _normal_scores(attributes: Sequence[Column], encoded: Array) -> Any:
    """The function that replaces numbers by the normal scores of their ranks among these.

    Features of ranks are as fine as the rows are dense, as are the neighbors that KPC looks at;
    with a skewed attribute, features of its values see the few rows of its tail.
    """
    numbers = np.concatenate(
        [
            np.full(encode([column]).shape[1], not column.kind.is_categorical)
            for column in attributes
        ]
    )
    ranked = [(k, np.sort(encoded[:, k])) for k in np.flatnonzero(numbers)]

    def scores(a: Array) -> Array:
        z = a.copy()
        for k, values in ranked:
            below, upto = (np.searchsorted(values, a[:, k], side) for side in ("left", "right"))
            z[:, k] = ndtri((below + upto + 1) / (2 * len(values) + 2))
        return z

    return scores


def _bumps(y: Array, count: int) -> Array:
    """Gaussian bumps at quantiles of the outcome, adding up to one."""
    centers = np.quantile(y, (np.arange(count) + 0.5) / count)
    width = max(float(np.ptp(centers)) / max(count - 1, 1), 1e-12)
    bumps = np.exp(-0.5 * ((y[:, None] - centers) / width) ** 2) + 1e-9
    return bumps / bumps.sum(axis=1, keepdims=True)


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
        levels = ndtri(0.5 + (np.arange(_FREQUENCIES) + 0.5) / (2 * _FREQUENCIES))
        self.frequencies = torch.tensor(levels / _BANDWIDTH, dtype=torch.float32, device=device)
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
