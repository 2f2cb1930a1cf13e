"""Draws of one seed are those of any machine: the root of a covariance is unique."""

from __future__ import annotations

import numpy as np

from fairaudit.geometry.symmetric_root import symmetric_root


def covariance() -> np.ndarray:
    """Of gaps to the mean of equal groups: four directions of equal variance, one without any."""
    return np.eye(5) - 0.2


def test_the_root_of_a_singular_covariance():
    root = symmetric_root(covariance())
    np.testing.assert_allclose(root @ root.T, covariance(), atol=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-12)


def test_rounding_does_not_turn_it():
    """Scaled eigenvectors turn freely where variances are equal, as another machine's do."""
    noise = 1e-14 * np.random.default_rng(0).normal(size=(5, 5))
    moved = covariance() + noise + noise.T
    np.testing.assert_allclose(symmetric_root(moved), symmetric_root(covariance()), atol=1e-6)

    def eigenvectors(matrix: np.ndarray) -> np.ndarray:
        values, vectors = np.linalg.eigh(matrix)
        return vectors * np.sqrt(np.maximum(values, 0.0))

    assert np.abs(eigenvectors(moved) - eigenvectors(covariance())).max() > 0.1
