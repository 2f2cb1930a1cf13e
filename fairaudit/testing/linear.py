"""Statistics that are linear in features of A: O(n) per copy.

Both regress the prediction on the outcome once and correlate what is left with the attributes of
every copy. Copies permute rows of A, so that it is the few columns of residuals that are moved.
Where copies move the prediction, the regression is done for every copy as for the data: one fitted
to the data alone would make them differ from their copies under the null too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.columns import Column
from fairaudit.data.encode import encode
from fairaudit.data.table import AuditTable
from fairaudit.geometry.bandwidth import median_distance
from fairaudit.permute.copies import gathered, stream
from fairaudit.testing.statistic import Bound

__all__ = ["Correlation", "Features", "remove_outcome"]

_MOST_FOR_BANDWIDTH = 2_000
_NOTHING = 1e-12  # spread of a column that is constant


@dataclass(frozen=True, slots=True)
class Correlation:
    """Squared multiple correlation of A with the part of Yhat that Y does not explain.

    The outcome's part is removed by class means, or by a cubic regression for a continuous outcome.
    """

    name = "correlation"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        table.require_varying_prediction()
        residual = remove_outcome(
            _standardize(table.prediction.matrix()), table.require_outcome(), 3
        )
        return _bind_products(residual, _whiten(encode(table.attributes)))

    def bind_moved_prediction(self, table: AuditTable, *, seed: int) -> Bound:
        table.require_varying_prediction()
        u, attributes = _standardize(table.prediction.matrix()), _whiten(encode(table.attributes))

        def residual(moved: Array) -> Array:
            return remove_outcome(moved, table.require_outcome(), 3)

        return _bind_moved_products(u, attributes, residual)


@dataclass(frozen=True, slots=True)
class Features:
    """Random Fourier features of A against those of Yhat, given Y (what RCIT computes).

    Parameters
    ----------
    of_attributes, of_prediction : int
        Number of random features; the attributes and the prediction themselves are added.
    """

    of_attributes: int = 100
    of_prediction: int = 5

    name = "features"

    def bind(self, table: AuditTable, *, within_outcome: bool, seed: int) -> Bound:
        predicted, attributes = self._make_features(table, seed)
        residual = remove_outcome(predicted, table.require_outcome(), 5)
        return _bind_products(_standardize(residual), attributes)

    def bind_moved_prediction(self, table: AuditTable, *, seed: int) -> Bound:
        predicted, attributes = self._make_features(table, seed)

        def residual(moved: Array) -> Array:
            left = remove_outcome(moved, table.require_outcome(), 5)
            spread = left.std(axis=0)
            return left / np.where(spread > _NOTHING, spread, np.inf)

        return _bind_moved_products(predicted, attributes, residual)

    def _make_features(self, table: AuditTable, seed: int) -> tuple[Array, Array]:
        """Of the prediction and of the attributes."""
        table.require_varying_prediction()
        rng = stream(seed, 2)
        u = _standardize(table.prediction.matrix())
        predicted = np.hstack([u, _make_fourier(u, self.of_prediction, rng)])
        a = encode(table.attributes)
        attributes = _standardize(np.hstack([a, a**2, _make_fourier(a, self.of_attributes, rng)]))
        return predicted, attributes / np.sqrt(attributes.shape[1])


def _bind_products(residual: Array, attributes: Array) -> Bound:
    """‖Rᵀ Ã / n‖² for every copy, over the number of residual columns."""
    n, width = residual.shape

    def values(rows: Index) -> Array:
        moved = np.stack([gathered(copy, residual) for copy in rows])
        products = np.matmul(moved.transpose(0, 2, 1), attributes) / n
        return (products**2).sum(axis=(1, 2)) / width

    return values


def _bind_moved_products(
    predicted: Array, attributes: Array, residual: Callable[[Array], Array]
) -> Bound:
    """The same where the prediction moves, and the attributes stay."""
    n, width = predicted.shape

    def values(rows: Index) -> Array:
        # copy by copy: in one product their last digits would depend on how many they are
        products = np.stack([residual(predicted[copy]).T @ attributes for copy in rows]) / n
        return (products**2).sum(axis=(1, 2)) / width

    return values


def _standardize(x: Array) -> Array:
    spread = x.std(axis=0)
    varying = spread > _NOTHING
    return (x[:, varying] - x[:, varying].mean(axis=0)) / spread[varying]


def _whiten(a: Array) -> Array:
    """Uncorrelated columns of unit variance that span the same space."""
    left, singular, _ = np.linalg.svd(a - a.mean(axis=0), full_matrices=False)
    return left[:, singular > 1e-9 * singular[0]] * np.sqrt(len(a))


def remove_outcome(x: Array, outcome: Column, degree: int) -> Array:
    """What is left of the columns of x after regression on the outcome."""
    if outcome.kind.is_categorical:
        counts = np.bincount(outcome.codes)
        means = np.column_stack([np.bincount(outcome.codes, column) / counts for column in x.T])
        return x - means[outcome.codes]
    z = encode((outcome,))[:, 0]
    basis = np.polynomial.legendre.legvander(z / np.abs(z).max(), degree)
    coefficients, *_ = np.linalg.lstsq(basis, x, rcond=None)
    return x - basis @ coefficients


def _make_fourier(x: Array, count: int, rng: np.random.Generator) -> Array:
    """Random features of the Gaussian kernel with the median bandwidth."""
    width = median_distance(x[:_MOST_FOR_BANDWIDTH])
    angle = x @ (rng.normal(size=(x.shape[1], count)) / width) + rng.uniform(0, 2 * np.pi, count)
    return np.sqrt(2.0) * np.cos(angle)
