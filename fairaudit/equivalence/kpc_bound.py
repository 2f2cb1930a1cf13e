"""An upper bound of KPC, where one can exist: attributes and outcome with finitely many values."""

from __future__ import annotations

from math import sqrt

import numpy as np

from fairaudit.attributes import cells_of
from fairaudit.errors import InputError
from fairaudit.kernels import Array, Gram, Index, kernel_named
from fairaudit.table import AuditTable

__all__ = ["kpc_bound"]


def kpc_bound(table: AuditTable, alpha: float) -> tuple[float, float]:
    r"""KPC and its upper bound, with the kernel of `fairaudit.metrics.kpc`.

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
    from scipy.stats import norm

    n = len(table)
    u = table.prediction.matrix("standard")
    features = Gram(kernel_named("rbf", u)[0], u).features[0].T.copy()  # n × rank
    outcome = table.require_outcome()
    cell = cells_of((outcome, *table.attributes), n)
    class_of = outcome.codes[cell.first]
    of_class = np.bincount(outcome.codes, minlength=len(outcome.levels)).astype(np.float64)
    means = _sums(features, cell.of_row, len(cell)) / cell.counts[:, None]
    centres = _sums(features, outcome.codes, len(of_class)) / of_class[:, None]
    share = cell.counts / of_class[class_of]
    raw = float(cell.counts @ ((means - centres[class_of]) ** 2).sum(axis=1)) / n
    bias = largest = squares = 0.0
    by_cell = np.split(np.argsort(cell.of_row, kind="stable"), np.cumsum(cell.counts)[:-1])
    for number, members in enumerate(by_cell):
        rows = features[members]
        if len(rows) < 2:  # its spread is unknown: that of its outcome is an upper estimate
            rows = features[outcome.codes == class_of[number]]
        spread = np.atleast_2d(np.cov(rows.T)) if len(rows) > 1 else np.eye(1)
        bias += (1 - share[number]) * float(np.trace(spread)) / n
        largest = max(largest, float(np.linalg.eigvalsh(spread)[-1]) / n)
        squares += float((spread**2).sum()) / n**2
    size = raw - bias
    known = max(size, 0.0)  # a sample far below zero says no more than one at zero
    z = float(norm.ppf(1 - 0.9 * alpha))
    middle = known + 2 * z**2 * largest
    upper = middle + sqrt(middle**2 - known**2 + 2 * z**2 * squares)
    left, low = _left(features, outcome.codes, centres, float(norm.ppf(1 - 0.1 * alpha)))
    if left <= 1e-12:
        raise InputError("KPC is undefined: the outcome determines the prediction completely.")
    return float(size / left), float(min(upper / low, 1.0)) if low > 0 else 1.0


def _left(features: Array, codes: Index, centres: Array, z: float) -> tuple[float, float]:
    """What the outcome leaves of the features: the mean squared distance, and its lower limit."""
    n = len(features)
    rows = np.bincount(codes)[codes]
    distance = ((features - centres[codes]) ** 2).sum(axis=1) * rows / np.maximum(rows - 1, 1)
    left = float(distance.mean())
    return left, left - z * float(distance.std()) / sqrt(n)


def _sums(values: Array, codes: Index, count: int) -> Array:
    return np.column_stack([np.bincount(codes, column, count) for column in values.T])
