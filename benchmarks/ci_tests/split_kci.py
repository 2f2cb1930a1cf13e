"""SplitKCI, a test of X ⟂ Z | Y, written after its paper.

Pogodin, Schrab, Li, Sutherland and Gretton (2024), Practical kernel tests of conditional
independence, arXiv 2402.13196. One half of the rows tests; the other half fits the conditional
means of the kernel features twice, on disjoint quarters, so that errors of the two do not add up to
a bias. Width and ridge of the regressions by leave-one-out; wild bootstrap. (The paper's search for
the share of the test rows, a hundred refits for every share, is left out.)
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist, pdist

WIDTHS = (0.25, 0.5, 1.0, 2.0)
RIDGES = np.logspace(-6, 0, 7)


def gaussian(a: np.ndarray, b: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-0.5 * cdist(a, b, "sqeuclidean") / width**2)


def median_distance(a: np.ndarray) -> float:
    distances = pdist(a[:500])
    return float(np.median(distances[distances > 0]))


def fit_mean(y: np.ndarray, features: np.ndarray, unit: float):
    """Weights of the training rows at new outcomes; `features` is their Gram matrix."""
    n, best = len(y), (np.inf, None)
    for width in unit * np.array(WIDTHS):
        values, vectors = np.linalg.eigh(gaussian(y, y, width))
        values = np.maximum(values, 0)
        for ridge in RIDGES:
            hat = (vectors * (values / (values + n * ridge))) @ vectors.T
            left = np.eye(n) - hat
            errors = ((left @ features) * left).sum(axis=1) / np.diag(left) ** 2
            if errors.mean() < best[0]:
                inverse = (vectors / (values + n * ridge)) @ vectors.T
                best = (errors.mean(), (width, inverse))
    width, inverse = best[1]
    return lambda new: gaussian(new, y, width) @ inverse


def centered(values: np.ndarray, y: np.ndarray, test: np.ndarray, parts: list[np.ndarray]):
    """⟨φ(i) − μ₁(y_i), φ(j) − μ₂(y_j)⟩ for the test rows, symmetrized."""
    width, unit = median_distance(values), median_distance(y)
    rows = [values[test], *(values[part] for part in parts)]
    weights = [
        fit_mean(y[part], gaussian(values[part], values[part], width), unit)(y[test])
        for part in parts
    ]
    first, second = weights
    gram = gaussian(rows[0], rows[0], width)
    gram = gram - first @ gaussian(rows[1], rows[0], width)
    gram = gram - gaussian(rows[0], rows[2], width) @ second.T
    gram = gram + first @ gaussian(rows[1], rows[2], width) @ second.T
    return (gram + gram.T) / 2


def split_kci(x: np.ndarray, z: np.ndarray, y: np.ndarray, seed: int, draws: int = 999) -> float:
    rng = np.random.default_rng(seed)
    x, z, y = (
        (a - a.mean(axis=0)) / np.where(a.std(axis=0) > 0, a.std(axis=0), 1) for a in (x, z, y)
    )
    order = rng.permutation(len(y))
    half, quarter = len(y) // 2, len(y) // 4
    test, parts = order[:half], [order[half : half + quarter], order[half + quarter :]]
    matrix = centered(x, y, test, parts) * centered(z, y, test, parts)
    matrix *= gaussian(y[test], y[test], median_distance(y))
    np.fill_diagonal(matrix, 0)
    signs = rng.choice([-1.0, 1.0], size=(draws, half))
    null = ((signs @ matrix) * signs).sum(axis=1)
    return float((1 + (null >= matrix.sum()).sum()) / (1 + draws))
