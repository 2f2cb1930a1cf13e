"""The simulations of the FairICP paper: skewed, correlated attributes and a normal outcome."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairaudit.errors import InputError

__all__ = ["Simulation", "simulate_1", "simulate_2", "simulate_quality"]

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """A simulated table and the truth about it: Y | A ~ N(A·slope, variance).

    Attributes
    ----------
    X : array, n × features
        What a predictor sees; without columns where the simulation has no predictor.
    A : array, n × attributes
    Y : array, n
    slope : array
        Coefficients of the mean of Y given A.
    variance : float
        Variance of Y given A.
    """

    X: Array = field(repr=False)
    A: Array = field(repr=False)
    Y: Array = field(repr=False)
    slope: Array = field(repr=False)
    variance: float

    def log_density(self, y: Array, a: Array) -> Array:
        """The true log q(y|a), row by row: pass it as ``density=`` for an oracle test."""
        z = (y - a @ self.slope) ** 2 / self.variance
        return np.asarray(-0.5 * (z + np.log(2 * np.pi * self.variance)))

    def __len__(self) -> int:
        return len(self.Y)


def simulate_1(
    n: int = 400,
    k: int = 1,
    *,
    w: float = 0.9,
    sigma2: float | None = None,
    seed: int = 0,
    settings: str = "text",
) -> Simulation:
    """Simulation 1: all k attributes act on the outcome, through k of 2k features.

    Parameters
    ----------
    n : int
        Rows.
    k : int
        Attributes, and features of each of the two kinds.
    w : float
        Dependence of the features on the attributes, 0 to 1.
    sigma2 : float, optional
        Variance of Y given X, which the paper's text leaves open; 1 unless given.
    seed : int
    settings : {"text", "program"}
        The paper's text, or its authors' program: independent standardized attributes from
        ½Γ(1, 1) + ½Γ(10, 1), and σ² = 2k.

    Notes
    -----
    X* ~ N(√w·A, (1 − w)I), X′ ~ N(0, I), Y ~ N(ΣX* + ΣX′, σ²), hence
    Y | A ~ N(√w·ΣA, σ² + (1 − w)k + k). See `simulate_quality` for A.

    Examples
    --------
    >>> table = simulate_1(100, 5)
    >>> table.X.shape, table.A.shape, round(table.variance, 2)
    ((100, 10), (100, 5), 6.5)
    """
    sigma2 = _variance(sigma2, settings, 2.0 * k)
    _check(n=n, k=k, w=w, sigma2=sigma2)
    rng = np.random.default_rng(seed)
    a = _SETTINGS[settings](n, k, rng)
    acting = np.sqrt(w) * a + np.sqrt(1 - w) * rng.normal(size=(n, k))
    x = np.hstack([acting, rng.normal(size=(n, k))])
    y = x.sum(axis=1) + np.sqrt(sigma2) * rng.normal(size=n)
    return Simulation(x, a, y, np.full(k, np.sqrt(w)), sigma2 + (1 - w) * k + k)


def simulate_2(
    n: int = 400,
    k: int = 1,
    *,
    w: float = 0.9,
    sigma2: float | None = None,
    seed: int = 0,
    settings: str = "text",
) -> Simulation:
    """Simulation 2: of k + 1 attributes only the first acts on the outcome.

    Parameters
    ----------
    n, w, sigma2, seed, settings
        As for `simulate_1`; the program has σ² = 2 here.
    k : int
        Attributes that do not act (but are correlated with the one that does).

    Notes
    -----
    X* ~ N(√w·A₁, 1 − w), X′ ~ N(0, 1), Y ~ N(X* + X′, σ²), hence
    Y | A ~ N(√w·A₁, σ² + (1 − w) + 1).

    Examples
    --------
    >>> table = simulate_2(100, 5)
    >>> table.X.shape, table.A.shape, round(table.variance, 2)
    ((100, 2), (100, 6), 2.1)
    """
    sigma2 = _variance(sigma2, settings, 2.0)
    _check(n=n, k=k, w=w, sigma2=sigma2)
    rng = np.random.default_rng(seed)
    a = _SETTINGS[settings](n, k + 1, rng)
    acting = np.sqrt(w) * a[:, 0] + np.sqrt(1 - w) * rng.normal(size=n)
    x = np.column_stack([acting, rng.normal(size=n)])
    y = x.sum(axis=1) + np.sqrt(sigma2) * rng.normal(size=n)
    slope = np.zeros(k + 1)
    slope[0] = np.sqrt(w)
    return Simulation(x, a, y, slope, sigma2 + (1 - w) + 1)


def simulate_quality(
    n: int = 400,
    relevant: int = 1,
    irrelevant: int = 0,
    *,
    w: float = 0.6,
    sigma2: float = 1.0,
    seed: int = 0,
) -> Simulation:
    """The paper's table for the quality of permutations; there is no predictor.

    Parameters
    ----------
    n : int
        Rows.
    relevant, irrelevant : int
        Attributes that Y depends on, and that it does not (K₀ and K in the paper).
    w : float
        Dependence of Y on the attributes.
    sigma2 : float
        σ²; the paper leaves it open.
    seed : int

    Notes
    -----
    Y ~ N(√w·Σ_{j ≤ K₀} A_j, σ² + (1 − w)K₀). A = U·Θ^{1/2} with Θ^{1/2} symmetric, eigenvalues
    equally spaced in [1, 5] (1 for a single attribute) and uniformly random eigenvectors; U has
    independent entries from ½Γ(1, 1) + ½Γ(1, 10), taken as shape and *rate* (means 1 and 0.1).

    Examples
    --------
    >>> table = simulate_quality(100, 5, 20)
    >>> table.A.shape, table.variance
    ((100, 25), 3.0)
    """
    _check(n=n, relevant=relevant, w=w, sigma2=sigma2)
    rng = np.random.default_rng(seed)
    a = _attributes(n, relevant + irrelevant, rng)
    slope = np.zeros(relevant + irrelevant)
    slope[:relevant] = np.sqrt(w)
    variance = sigma2 + (1 - w) * relevant
    y = a @ slope + np.sqrt(variance) * rng.normal(size=n)
    return Simulation(np.empty((n, 0)), a, y, slope, variance)


def _attributes(n: int, width: int, rng: np.random.Generator) -> Array:
    orthogonal, upper = np.linalg.qr(rng.normal(size=(width, width)))
    orthogonal = orthogonal * np.sign(np.diag(upper))  # uniform over rotations
    root = (orthogonal * np.linspace(1.0, 5.0, width)) @ orthogonal.T
    scale = np.where(rng.random((n, width)) < 0.5, 1.0, 0.1)
    return np.asarray(rng.gamma(1.0, scale) @ root)


def _independent(n: int, width: int, rng: np.random.Generator) -> Array:
    """Attributes of the authors' program: mean 5.5 and variance 25.75 before standardizing."""
    shape = np.where(rng.random((n, width)) < 0.5, 1.0, 10.0)
    return np.asarray((rng.gamma(shape) - 5.5) / np.sqrt(25.75))


_SETTINGS = {"text": _attributes, "program": _independent}


def _variance(sigma2: float | None, settings: str, program: float) -> float:
    if settings not in _SETTINGS:
        raise InputError(f"The 'settings' must be 'text' or 'program'. Got {settings!r}.")
    if sigma2 is not None:
        return sigma2
    return program if settings == "program" else 1.0


def _check(*, w: float, sigma2: float, **counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise InputError(f"The {name!r} parameter must be at least 1. Got {value} instead.")
    if not 0 <= w <= 1:
        raise InputError(f"The 'w' parameter must be between 0 and 1. Got {w} instead.")
    if sigma2 <= 0:
        raise InputError(f"The 'sigma2' parameter must be positive. Got {sigma2} instead.")
