"""Kernels on predictions: values on pairs of rows, median bandwidth, low-rank features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.errors import InputError

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
    "median_distance",
]

#: Paired rows (m × d), (m × d) → m values; broadcasts over leading axes.
Kernel = Callable[[Array, Array], Array]

_EXACT_PAIRS = 2_000  # up to this many rows all pairwise distances are formed at once
_SAMPLED_PAIRS = 1 << 22
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

        values = np.stack([self.kernel(u, one) for one in self.landmarks])
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
        line = _on_a_line(u)
        assert isinstance(kernel, Gaussian) and line is not None  # noqa: S101  `has_grid`
        self.scale = 1.0 if u.shape[1] == 1 else float(np.sqrt(2.0))  # as in `_on_a_line`
        self.step = self._STEP * kernel.width
        ordered = np.unique(line)
        gaps = np.flatnonzero(np.diff(ordered) > self._FAR * kernel.width)
        self.starts = ordered[np.concatenate([[0], gaps + 1])]
        lengths = ordered[np.concatenate([gaps, [len(ordered) - 1]])] - self.starts
        taken = np.floor(lengths / self.step).astype(np.int64) + self.ENTRIES
        self.first = np.cumsum(taken) - taken
        self.cells = np.unique(self._cell(line)[0])
        around = self.cells[:, None] + self._AROUND
        columns = np.unique(around)
        self.rank = len(columns)
        self.place = np.searchsorted(columns, around)

    def _cell(self, line: Array) -> tuple[Index, Array]:
        """The grid point below, and how far the rows are above it, in steps."""
        stretch = np.searchsorted(self.starts, line, side="right") - 1
        position = (line - self.starts[stretch]) / self.step
        below = np.floor(position)
        return self.first[stretch] + below.astype(np.int64), position - below

    def __call__(self, u: Array) -> Any:
        from scipy.sparse import csr_array

        cell, above = self._cell(self.scale * u[:, 0])
        gap = (self._AROUND - above[:, None]) * self._STEP
        values = np.exp(-gap * gap) * np.sqrt(self._STEP * np.sqrt(2 / np.pi))
        small = np.int32 if max(self.rank, values.size) < _INT32 else np.int64
        index = self.place[np.searchsorted(self.cells, cell)].astype(small)
        pointer = np.arange(0, values.size + 1, values.shape[1], dtype=small)
        return csr_array((values.ravel(), index.ravel(), pointer), shape=(len(u), self.rank))


def has_grid(kernel: Kernel, u: Array) -> bool:
    """Whether `GridFeatures` can be had."""
    return isinstance(kernel, Gaussian) and _on_a_line(u) is not None


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
    drawn = FeatureMap(kernel, u[rows], tolerance=tolerance, max_rank=max_rank)
    drawn.residual = 1.0  # nothing is known of the other rows
    return drawn


def _on_a_line(u: Array) -> Array | None:
    """Coordinates with the same distances, if rows are one number or (p, 1 − p)."""
    if u.shape[1] == 1:
        return u[:, 0]
    if u.shape[1] == 2:
        total = u.sum(axis=1)
        if np.ptp(total) <= min(1e-12 * float(np.abs(total).max()), 1e-9 * np.ptp(u[:, 0])):
            return np.sqrt(2.0) * u[:, 0]
    return None


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


def median_distance(u: Array) -> float:
    """Median Euclidean distance between rows, as R's ``median(dist(u))``.

    Exact in one dimension for any n, in O(n log n) time and O(n) memory, and for up to 2,000 rows
    otherwise; beyond that the median over 4 million random pairs (fixed seed; relative error
    about 0.1 %). Where more than half of the distances are zero, the median of the others.
    """
    line = _on_a_line(u)
    if line is not None:
        return _median_gap(np.sort(line))
    if len(u) <= _EXACT_PAIRS:
        from scipy.spatial.distance import pdist

        distances = pdist(u)
    else:
        rng = np.random.default_rng(0)
        i, j = rng.integers(0, len(u), (2, _SAMPLED_PAIRS))
        distances = np.sqrt(((u[i] - u[j]) ** 2).sum(axis=1))[i != j]
    median = float(np.median(distances))
    return median if median > 0 else float(np.median(distances[distances > 0]))


def _median_gap(x: Array) -> float:
    """Median of x_j − x_i over i < j for sorted x, by randomized selection."""
    n = len(x)
    pairs = n * (n - 1) // 2
    low_rank = (pairs + 1) // 2
    lower, upper = _gap_at(x, low_rank, low_rank + (pairs + 1) % 2)
    if upper == 0.0:  # more than half of the pairs are ties: look at the others
        ties = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(x) > 0, [True]])))
        zeros = int((ties * (ties - 1) // 2).sum())
        apart = pairs - zeros
        low_rank = zeros + (apart + 1) // 2
        lower, upper = _gap_at(x, low_rank, low_rank + (apart + 1) % 2)
    return 0.5 * (lower + upper)


def _gap_at(x: Array, first: int, second: int) -> tuple[float, float]:
    """The gaps of rank `first` ≤ `second` (from 1), neighbours in rank."""
    n = len(x)
    rows = np.arange(n)
    rng = np.random.default_rng(0)
    low, high = -1.0, float(x[-1] - x[0])  # rank(low) < first and second <= rank(high)
    left, right = rows + 1, np.full(n, n)  # x[left[i]:right[i]] - x[i] lie in (low, high]
    while (right - left).sum() > max(1 << 16, 2 * n):
        below, width = int((left - rows - 1).sum()), right - left
        ends = np.cumsum(width)
        pick = rng.integers(0, ends[-1], min(max(20_000, n // 32), n))
        i = np.searchsorted(ends, pick, side="right")
        gaps = np.sort(x[left[i] + pick - (ends[i] - width[i])] - x[i])
        at, margin = (first - below) / ends[-1] * len(gaps), 3.0 * np.sqrt(len(gaps))
        near = float(gaps[int(max(at - margin, 0))])
        far = float(gaps[int(min(at + margin, len(gaps) - 1))])
        before = (low, high)
        for gap in (near, near * (1 - 1e-12), far):  # the second closes in on a tied value
            if low < gap < high:
                reach = np.maximum(np.searchsorted(x, x + gap, side="right"), rows + 1)
                rank = int((reach - rows - 1).sum())
                if rank < first:
                    low, left = gap, reach
                elif rank >= second:
                    high, right = gap, reach
        if (low, high) == before or high - low <= 1e-11 * high:
            return high, high  # all that is left is one tied value
    width = right - left
    below = int((left - rows - 1).sum())
    i = np.repeat(rows, width)
    j = np.arange(len(i)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(left, width)
    gaps = np.partition(x[j] - x[i], [first - below - 1, second - below - 1])
    return float(gaps[first - below - 1]), float(gaps[second - below - 1])
