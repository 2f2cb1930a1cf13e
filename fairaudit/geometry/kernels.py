"""Kernels on predictions: values on pairs of rows, and their features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.errors import InputError
from fairaudit.geometry.bandwidth import median_distance, on_a_line

__all__ = [
    "EXACT",
    "MOST_FEATURES",
    "POOR",
    "FeatureMap",
    "Gaussian",
    "Gram",
    "GridFeatures",
    "Kernel",
    "drawn_features",
    "feature_map",
    "has_grid",
    "kernel_named",
    "landmark_candidates",
    "low_rank_features",
]

#: Paired rows (m × d), (m × d) → m values; broadcasts over leading axes.
Kernel = Callable[[Array, Array], Array]

_INT32 = 1 << 31
POOR = 1e-10  # features that leave out more of a kernel than this are not used for large tables
MOST_FEATURES, _FEW = 256, 64  # of low rank; fewer where sparse ones can be had
EXACT = 1e-12  # features are used where no kernel value is off by more than this


def kernel_named(
    kernel: str | Kernel, u: Array, bandwidth: float | None = None
) -> tuple[Kernel, float | None]:
    """The kernel function for a name (or a callable as it is) and the bandwidth it uses.

    Parameters
    ----------
    kernel : {"rbf", "linear", "laplace", "discrete"} or callable
        ``rbf``: exp(−‖u−v‖²/(2b²)), b the median distance unless given; ``laplace``:
        exp(−‖u−v‖/b), b = 1 unless given; ``linear``: u·v; ``discrete``: 1 where u = v, else 0.
        A callable gets two arrays of paired rows and returns one value per pair.
    u : array, n × d
        The predictions, for the median distance.
    bandwidth : float, optional
    """
    if bandwidth is not None and not (np.isfinite(bandwidth) and bandwidth > 0):
        raise InputError(f"The 'bandwidth' parameter must be positive. Got {bandwidth} instead.")
    if callable(kernel) or kernel in ("linear", "discrete"):
        if bandwidth is not None:
            raise InputError("The 'bandwidth' parameter goes with kernel='rbf' or 'laplace' only.")
        if callable(kernel):
            return kernel, None
        return (_linear if kernel == "linear" else _discrete), None
    if kernel == "rbf":
        width = bandwidth if bandwidth is not None else median_distance(u)
        return Gaussian(width), width
    if kernel == "laplace":
        width = bandwidth if bandwidth is not None else 1.0
        return _laplace(width), width
    raise InputError(
        "The 'kernel' parameter must be 'rbf', 'linear', 'laplace', 'discrete' or a callable. "
        f"Got {kernel!r} instead."
    )


@dataclass(frozen=True, slots=True)
class Gaussian:
    """exp(−‖u−v‖²/(2·width²))."""

    width: float

    def __call__(self, u: Array, v: Array) -> Array:
        with np.errstate(over="ignore"):  # infinitely far apart: 0
            if u.shape[-1] == 1:
                gap = (u[..., 0] - v[..., 0]) / self.width  # the square of a width may be 0
                return np.exp(-0.5 * gap * gap)
            scaled = (u - v) / self.width
            return np.exp(-0.5 * np.einsum("...k,...k->...", scaled, scaled))


def _laplace(width: float) -> Kernel:
    def kernel(u: Array, v: Array) -> Array:
        scaled = (u - v) / width
        return np.exp(-np.sqrt(np.einsum("...k,...k->...", scaled, scaled)))

    return kernel


def _linear(u: Array, v: Array) -> Array:
    return np.asarray(np.einsum("...k,...k->...", u, v))


def _discrete(u: Array, v: Array) -> Array:
    return np.asarray((u == v).all(axis=-1), dtype=np.float64)


class Gram:
    """The kernel matrix of the rows of `u`, never formed: entries and features on demand."""

    def __init__(self, kernel: Kernel, u: Array) -> None:
        self.kernel = kernel
        self.u = u

    def from_drawn_rows(self) -> Gram:
        """A close kernel that has features: see `drawn_features`. Its diagonal is that of this."""
        close = Gram(self.kernel, self.u)
        close.features = drawn_features(self.kernel, self.u)(self.u)
        return close

    def pairs(self, i: Index, j: Index) -> Array:
        return self.kernel(self.u[i], self.u[j])

    @cached_property
    def diagonal(self) -> Array:
        return np.array(self.kernel(self.u, self.u), dtype=np.float64)

    @cached_property
    def features(self) -> Any:
        """Features (n × r, dense or sparse) whose products are the entries; None if there are none.

        A Gaussian kernel on a line has always some.
        """
        sparse = has_grid(self.kernel, self.u)
        rank = _FEW if sparse else MOST_FEATURES
        dense, error = low_rank_features(self.kernel, self.u, max_rank=rank)
        if error <= EXACT:
            return np.ascontiguousarray(dense.T)
        return GridFeatures(self.kernel, self.u)(self.u) if sparse else None


def low_rank_features(
    kernel: Kernel, u: Array, *, tolerance: float = EXACT, max_rank: int = MOST_FEATURES
) -> tuple[Array, float]:
    """Features Φ (r × n) with ``kernel(u_i, u_j) ≈ Φ[:, i]·Φ[:, j]``, and the largest error.

    Pivoted Cholesky decomposition: each step adds the row that is explained worst. The error of
    any kernel value is at most the returned residual (Cauchy–Schwarz on the residual kernel).

    Examples
    --------
    >>> u = np.linspace(0, 1, 1000)[:, None]
    >>> features, residual = low_rank_features(kernel_named("rbf", u)[0], u)
    >>> len(features) < 25, residual < 1e-12
    (True, True)
    """
    phi, residual, _ = _pivoted_cholesky(kernel, u, tolerance, max_rank)
    return phi, residual


def _pivoted_cholesky(
    kernel: Kernel, u: Array, tolerance: float, max_rank: int
) -> tuple[Array, float, list[int]]:
    n = len(u)
    pivots: list[int] = []
    residual = np.array(kernel(u, u), dtype=np.float64)
    scale = float(residual.max())
    phi = np.empty((min(32, n, max_rank), n))
    rank = 0
    while rank < min(n, max_rank) and residual.max() > tolerance * scale:
        if rank == len(phi):
            phi = np.concatenate([phi, np.empty((min(rank, max_rank - rank), n))])
        pivot = int(residual.argmax())
        pivots.append(pivot)
        column = kernel(u, u[pivot]) - phi[:rank, pivot] @ phi[:rank]
        phi[rank] = column / np.sqrt(residual[pivot])
        residual -= phi[rank] ** 2
        np.maximum(residual, 0.0, out=residual)
        residual[pivot] = 0.0
        rank += 1
    return phi[:rank], float(residual.max()) / (scale or 1.0), pivots


class FeatureMap:
    """Features φ with ``kernel(u, v) ≈ φ(u)·φ(v)`` for any rows, from a few landmarks.

    The landmarks are the pivots of a Cholesky decomposition on some points; what they leave out
    there is at most `residual`, as a share of the diagonal. φ(u)·φ(v) is itself a kernel.

    Parameters
    ----------
    kernel : Kernel
    points : array, m × d
        Where the kernel will be needed; see `landmark_candidates`.
    tolerance, max_rank
        Of `low_rank_features`.

    Examples
    --------
    >>> u = np.random.default_rng(0).normal(size=(10_000, 1))
    >>> kernel, _ = kernel_named("rbf", u)
    >>> features = FeatureMap(kernel, landmark_candidates(u))(u)
    >>> error = features[:100] @ features[100:200].T - kernel(u[:100, None], u[None, 100:200])
    >>> bool(np.abs(error).max() < 1e-8)
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        points: Array,
        *,
        tolerance: float = POOR,
        max_rank: int = MOST_FEATURES,
    ) -> None:
        phi, self.residual, pivots = _pivoted_cholesky(kernel, points, tolerance, max_rank)
        self.kernel = kernel
        self.landmarks = points[pivots]
        self.factor = phi[:, pivots].T.copy()  # lower triangular

    @property
    def rank(self) -> int:
        return len(self.landmarks)

    def __call__(self, u: Array) -> Array:
        from scipy.linalg import solve_triangular

        values = np.stack([self.kernel(u, landmark) for landmark in self.landmarks])
        return np.ascontiguousarray(
            solve_triangular(self.factor, values, lower=True, overwrite_b=True).T
        )


class GridFeatures:
    """Sparse features of a Gaussian kernel on a line, for any width: a few entries per row.

    exp(−(u−v)²/2b²) is b⁻¹√(2/π) times the integral over t of exp(−(u−t)²/b²)·exp(−(v−t)²/b²). The
    sum over a grid of step h has the relative error 2·exp(−π²b²/2h²), here below 4e-13, and the
    factors left out are below 5e-13. Few low-rank features do not suffice where most predictions
    lie close together and some far away, as those of a rare event do.

    Parameters
    ----------
    kernel : Gaussian
        With the width b.
    u : array, n × 1 (or n × 2 on a line)
        Where the features will be needed.

    Examples
    --------
    >>> u = np.random.default_rng(0).lognormal(sigma=3, size=(1000, 1))
    >>> kernel, _ = kernel_named("rbf", u)
    >>> features = GridFeatures(kernel, u)(u)
    >>> error = (features[:100] @ features[100:].T).toarray() - kernel(u[:100, None], u[None, 100:])
    >>> bool(np.abs(error).max() < EXACT)
    True
    """

    residual = EXACT
    _STEP = 0.41  # in widths; what is left out is 13 steps or more away
    _AROUND = np.arange(-12, 14)
    ENTRIES = len(_AROUND)  # of a row that are not 0
    _FAR = 16.0  # widths without a row, beyond which the grid is not continued

    def __init__(self, kernel: Kernel, u: Array) -> None:
        line = on_a_line(u)
        assert isinstance(kernel, Gaussian) and line is not None  # noqa: S101  `has_grid`
        self.scale = 1.0 if u.shape[1] == 1 else float(np.sqrt(2.0))  # as in `on_a_line`
        self.step = self._STEP * kernel.width
        ordered = np.unique(line)
        gaps = np.flatnonzero(np.diff(ordered) > self._FAR * kernel.width)
        self.starts = ordered[np.concatenate([[0], gaps + 1])]
        lengths = ordered[np.concatenate([gaps, [len(ordered) - 1]])] - self.starts
        widths = np.floor(lengths / self.step).astype(np.int64) + self.ENTRIES
        self.first = np.cumsum(widths) - widths
        self.intervals = np.unique(self._interval(line)[0])
        around = self.intervals[:, None] + self._AROUND
        columns = np.unique(around)
        self.rank = len(columns)
        self.place = np.searchsorted(columns, around)

    def _interval(self, line: Array) -> tuple[Index, Array]:
        """The grid point below, and how far the rows are above it, in steps."""
        stretch = np.searchsorted(self.starts, line, side="right") - 1
        position = (line - self.starts[stretch]) / self.step
        below = np.floor(position)
        return self.first[stretch] + below.astype(np.int64), position - below

    def __call__(self, u: Array) -> Any:
        from scipy.sparse import csr_array

        interval, above = self._interval(self.scale * u[:, 0])
        gap = (self._AROUND - above[:, None]) * self._STEP
        values = np.exp(-gap * gap) * np.sqrt(self._STEP * np.sqrt(2 / np.pi))
        small = np.int32 if max(self.rank, values.size) < _INT32 else np.int64
        index = self.place[np.searchsorted(self.intervals, interval)].astype(small)
        pointer = np.arange(0, values.size + 1, values.shape[1], dtype=small)
        return csr_array((values.ravel(), index.ravel(), pointer), shape=(len(u), self.rank))


def has_grid(kernel: Kernel, u: Array) -> bool:
    """Whether `GridFeatures` can be had."""
    return isinstance(kernel, Gaussian) and on_a_line(u) is not None


def feature_map(kernel: Kernel, u: Array) -> FeatureMap | GridFeatures:
    """Features for the rows of `u`: dense ones if few of them do, otherwise sparse if possible.

    Where neither is, as for probabilities of three classes most of which are close to one corner,
    the landmarks are rows drawn at random. Their products are another kernel, close to this one
    where rows are many; `residual` says that it is another.
    """
    sparse, points = has_grid(kernel, u), landmark_candidates(u)
    dense = FeatureMap(kernel, points, max_rank=_FEW if sparse else MOST_FEATURES)
    if dense.residual <= POOR:
        return dense
    return GridFeatures(kernel, u) if sparse else drawn_features(kernel, u)


def drawn_features(
    kernel: Kernel, u: Array, *, tolerance: float = POOR, max_rank: int = MOST_FEATURES
) -> FeatureMap:
    """Features from rows drawn at random (Nyström)."""
    rows = np.random.default_rng(0).choice(len(u), min(len(u), max_rank), replace=False)
    features = FeatureMap(kernel, u[rows], tolerance=tolerance, max_rank=max_rank)
    features.residual = 1.0  # nothing is known of the other rows
    return features


def landmark_candidates(u: Array, most: int = 4096) -> Array:
    """A few thousand points that cover the rows of `u`."""
    if u.shape[1] == 1:
        ordered = np.sort(u[:, 0])
        ranks = np.linspace(0, len(ordered) - 1, most // 2).astype(np.intp)
        grid = np.linspace(ordered[0], ordered[-1], most // 2)
        return np.unique(np.concatenate([ordered[ranks], grid]))[:, None]
    distinct = np.unique(u, axis=0) if len(u) <= 20 * most else u
    if len(distinct) <= most:
        return distinct
    return distinct[np.random.default_rng(0).choice(len(distinct), most, replace=False)]
