"""Slow, plain versions of the fast code, to compare with."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist


def naive_tied_mean(kernel_matrix, points, knn):
    """T(x): for every row the expected mean kernel to its K nearest, ties at random. O(n²)."""
    n = len(kernel_matrix)
    if points is None:
        return (kernel_matrix.sum() - np.trace(kernel_matrix)) / (n * (n - 1))
    distance = cdist(points, points)
    np.fill_diagonal(distance, np.inf)
    total = 0.0
    for i in range(n):
        kth = np.sort(distance[i])[knn - 1]
        closer = distance[i] < kth * (1 - 1e-9)
        tied = (distance[i] <= kth * (1 + 1e-9)) & ~closer
        left = knn - closer.sum()
        total += (kernel_matrix[i, closer].sum() + left * kernel_matrix[i, tied].mean()) / knn
    return total / n


def naive_kpc(u, attributes, outcome, knn, kernel="rbf", bandwidth=None):
    """KPC from the full kernel and distance matrices."""
    u = np.asarray(u, dtype=float).reshape(len(u), -1)
    distance = cdist(u, u)
    if kernel == "rbf":
        pairs = distance[np.triu_indices(len(u), 1)]
        median = np.median(pairs)
        width = bandwidth or (median if median > 0 else np.median(pairs[pairs > 0]))
        matrix = np.exp(-(distance**2) / (2 * width**2))
    elif kernel == "laplace":
        matrix = np.exp(-distance / (bandwidth or 1.0))
    elif kernel == "linear":
        matrix = u @ u.T
    else:
        matrix = (distance == 0).astype(float)
    joint = attributes if outcome is None else np.hstack([outcome, attributes])
    alone = naive_tied_mean(matrix, outcome, knn)
    both = naive_tied_mean(matrix, joint, knn)
    return (both - alone) / (np.trace(matrix) / len(u) - alone)
