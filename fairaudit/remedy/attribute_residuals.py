"""What the sensitive attributes are beyond the outcome, as features: arrays alone, no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.geometry.bandwidth import median_distance
from fairaudit.geometry.tied_blocks import find_tied_blocks
from fairaudit.permute.copies import stream

__all__ = ["Residuals", "attribute_residuals", "prediction_frequencies"]

_MOST_CELLS = 40  # of categorical attributes; beyond, features replace cells
_ATTRIBUTE_FEATURES = 40
_FINE_SCALES, _FINE_FEATURES = (1.0, 2.0, 4.0, 8.0), 20  # frequencies, in those of the median
_OUTCOME_BUMPS = 4
_COPIES = 60
_FREQUENCIES = 4
_BANDWIDTH = 0.95  # median distance of standard normal values
_CELL_RIDGE = 1e-3  # small groups count too
_SMOOTH_RIDGE = 3e-2  # small directions of many features are noise, and cost accuracy
_FINE_RIDGE = 1e-2


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
    *,
    fine: bool = False,
) -> Residuals:
    """Features of the attributes minus their mean given the outcome.

    `draw(numbers)` gives encoded attributes of conditional copies, one n × d array each; it is
    asked only for a continuous outcome. Within classes the mean over all permutations is known,
    and `weights` of rows count there. With `fine`, features of numbers are as fine as trees can
    split: a score that rises and falls with the age within few years is seen too.
    """
    psi, features_of, ridge = _attribute_features(attributes, seed, fine=fine)
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


def _attribute_features(
    attributes: Sequence[Column], seed: int, *, fine: bool = False
) -> tuple[Array, Any, float]:
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
    scales = np.repeat(_FINE_SCALES, _FINE_FEATURES) if fine else np.ones(_ATTRIBUTE_FEATURES)
    omega = rng.normal(size=(points.shape[1], len(scales))) / width * scales
    phase = rng.uniform(0, 2 * np.pi, len(scales))
    scale = encoded.std(axis=0) + 1e-12

    def smooth(a: Array) -> Array:
        z = scores(a)
        return np.hstack([a / scale, z, np.cos(z @ omega + phase) * np.sqrt(2)])

    return smooth(encoded), smooth, _FINE_RIDGE if fine else _SMOOTH_RIDGE


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


def prediction_frequencies() -> Array:
    """Of the waves that stand for the Gaussian kernel of a prediction with unit variance."""
    levels = ndtri(0.5 + (np.arange(_FREQUENCIES) + 0.5) / (2 * _FREQUENCIES))
    return np.asarray(levels / _BANDWIDTH)
