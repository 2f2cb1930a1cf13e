"""The root of a covariance that is the same on every machine."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array

__all__ = ["symmetric_root"]


def symmetric_root(covariance: Array) -> Array:
    """The symmetric R with R R = covariance; negative eigenvalues (rounding) count as 0.

    Normal numbers times R have this covariance. Other roots, such as scaled eigenvectors, do too,
    but their signs, and directions of equal variance, depend on the linear algebra of the machine,
    and so would the draws of one seed. This root is unique.

    Examples
    --------
    >>> symmetric_root(np.array([[2.0, 0.0], [0.0, 4.0]])).round(3).tolist()
    [[1.414, 0.0], [0.0, 2.0]]
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
