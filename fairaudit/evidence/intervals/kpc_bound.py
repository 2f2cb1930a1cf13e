"""An upper bound of KPC, where one can exist: attributes and outcome with finitely many values."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.data.table import AuditTable
from fairaudit.errors import InputError
from fairaudit.geometry.kernels import Gram, has_grid, kernel_named, low_rank_features
from fairaudit.geometry.neighbors import row_products
from fairaudit.geometry.tied_blocks import find_tied_blocks

__all__ = ["kpc_bound"]

_MOST_FEATURES, _TOO_POOR = 512, 1e-6  # of predictions in several columns


def kpc_bound(table: AuditTable, alpha: float) -> float:
    r"""The upper bound of KPC, with the kernel of `fairaudit.metrics.kpc`.

    Notes
    -----
    With φ the features of the kernel, KPC = N / D, where N = Σ π_zy ‖μ_zy − μ_y‖² compares the
    mean features of the groups z within the outcomes y, with their shares π in the table, and D
    is what the outcome leaves of φ. N is estimated without bias by N̂, and

    .. math:: \hat N - N = 2\langle\theta, e\rangle + (\|e\|^2 - E\|e\|^2)

    for the error e of the estimated means. The first part is normal with variance 4Nσ² at most, σ²
    the largest eigenvalue of the covariance of e; the second has variance 2 tr(Cov²), and
    its lower tail is lighter than normal. The bound is the largest N that is not rejected at
    level .9 alpha, over the lower limit of D at level .1 alpha. This holds at N = 0 too.
    """
    from scipy.special import ndtri

    n = len(table)
    features = _features(table.prediction.matrix("standard"))
    outcome = table.require_outcome()
    blocks = find_tied_blocks((outcome, *table.attributes), n)
    class_of = outcome.codes[blocks.first]
    of_class = np.bincount(outcome.codes, minlength=len(outcome.levels))
    centers = [_mean(features[outcome.codes == code]) for code in range(len(of_class))]
    raw = bias = largest = squares = 0.0
    by_block = np.split(np.argsort(blocks.of_row, kind="stable"), np.cumsum(blocks.counts)[:-1])
    for members, code in zip(by_block, class_of, strict=True):
        rows = features[members]
        raw += len(members) * float(((_mean(rows) - centers[code]) ** 2).sum()) / n
        if len(members) < 2:  # its spread is unknown: that of its outcome is an upper estimate
            rows = features[outcome.codes == code]
        total, most, square = _spread(rows)
        bias += (1 - len(members) / of_class[code]) * total / n
        largest = max(largest, most / n)
        squares += square / n**2
    size = raw - bias
    known = max(size, 0.0)  # a sample far below zero says no more than one at zero
    z = float(ndtri(1 - 0.9 * alpha))
    middle = known + 2 * z**2 * largest
    upper = middle + sqrt(middle**2 - known**2 + 2 * z**2 * squares)
    left, low = _left(features, outcome.codes, centers, float(ndtri(1 - 0.1 * alpha)))
    if left <= 1e-12:
        raise InputError("KPC is undefined: the outcome determines the prediction completely.")
    return float(min(upper / low, 1.0)) if low > 0 else 1.0


def _features(u: Array) -> Any:
    """Features of the kernel, one row per person, dense or sparse."""
    kernel, _ = kernel_named("rbf", u)
    if has_grid(kernel, u):
        return Gram(kernel, u).features
    dense, error = low_rank_features(kernel, u, max_rank=_MOST_FEATURES)
    if error > _TOO_POOR:
        raise InputError(
            "KPC cannot be bounded for these predictions: most of them are close together, some "
            "far away, in several columns. Certify tpr_gap or deo, or KPC of the labels."
        )
    return np.ascontiguousarray(dense.T)


def _mean(rows: Any) -> Array:
    return np.asarray(rows.mean(axis=0)).ravel()


def _spread(rows: Any) -> tuple[float, float, float]:
    """Of the covariance of the rows: trace, largest eigenvalue, sum of squares."""
    n, mean = rows.shape[0], _mean(rows)
    if n < 2:
        return 1.0, 1.0, 1.0
    products = rows.T @ rows
    if isinstance(products, np.ndarray):
        covariance = (products - n * np.outer(mean, mean)) / (n - 1)
        largest = float(np.linalg.eigvalsh(covariance)[-1])
        return float(np.trace(covariance)), largest, float((covariance**2).sum())
    trace = float(products.trace()) - n * float(mean @ mean)
    square = float(products.multiply(products).sum())
    square += n**2 * float(mean @ mean) ** 2 - 2 * n * float(mean @ (products @ mean))
    return trace / (n - 1), _largest(products, mean, n) / (n - 1), square / (n - 1) ** 2


def _largest(products: Any, mean: Array, n: int) -> float:
    """The largest eigenvalue of Σφφ' − n·mean·mean'."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    def times(vector: Array) -> Array:
        return np.asarray(products @ vector - n * mean * (mean @ vector))

    operator = LinearOperator(products.shape, matvec=times, dtype=np.float64)
    start = np.random.default_rng(0).random(len(mean))
    return float(eigsh(operator, k=1, which="LA", v0=start, return_eigenvectors=False)[0])


def _left(features: Any, codes: Index, centers: list[Array], z: float) -> tuple[float, float]:
    """What the outcome leaves of the features: the mean squared distance, and its lower limit."""
    n = features.shape[0]
    rows = np.bincount(codes)[codes]
    middle = np.array(centers)
    along = (features @ middle.T)[np.arange(n), codes]
    distance = row_products(features, features) - 2 * along + (middle**2).sum(axis=1)[codes]
    distance *= rows / np.maximum(rows - 1, 1)
    left = float(distance.mean())
    return left, left - z * float(distance.std()) / sqrt(n)
