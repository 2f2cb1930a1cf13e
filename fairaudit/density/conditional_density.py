"""What a conditional density of Y given A must offer to be permuted with.

A density is fitted once (`Density.fit`), then bound to the rows that are permuted
(`Fitted.pairs`): the bound form answers log q(y_j | a_i) for arbitrary pairs of rows in O(1),
because it holds a few parameters per row i and never an n × n matrix.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fairaudit._types import Array, Index

__all__ = [
    "ClassTable",
    "Density",
    "Fitted",
    "LocationScale",
    "Normal",
    "PairDensity",
    "Shape",
    "ShapeOfRows",
    "Transform",
    "fit_quietly",
]

_LOG_FLOOR = -700.0  # a density of zero must not make a swap's odds undefined
_SHARPEST_IN_SINGLE = 1e4  # ratio of variances, overall to given the attributes


class PairDensity(ABC):
    """log q(y_j | a_i) for any rows i (of the attributes) and j (of the outcomes)."""

    @abstractmethod
    def log_density(self, i: Index, j: Index) -> Array:
        """Broadcasts over `i` and `j`."""

    def swap_log_odds(self, i: Index, j: Index, at_i: Index, at_j: Index) -> Array:
        """Log odds of giving outcome `at_j` to row i and `at_i` to row j, against as it is."""
        exchanged = self.log_density(i, at_j) + self.log_density(j, at_i)
        return exchanged - self.log_density(i, at_i) - self.log_density(j, at_j)

    def pit(self) -> Array | None:
        """F(y_i | a_i), uniform under a true density; None where it is not defined."""
        return None

    def cdf(self, y: Array) -> Array | None:
        """F(y_i | a_i) for other outcomes, one per row; None where it is not defined."""
        return None


class Fitted(Protocol):
    """A fitted density."""

    def pairs(self, y: Array, a: Array) -> PairDensity:
        """Bind to rows with outcomes `y` (numbers, or class codes) and attributes `a` (n × d)."""
        ...


class Density(Protocol):
    """A family of conditional densities."""

    @property
    def name(self) -> str: ...

    def fit(self, y: Array, a: Array, seed: int) -> Fitted:
        """Fit to outcomes `y` and encoded attributes `a`."""
        ...


class Shape(Protocol):
    """Density of standardized residuals."""

    def log_density(self, z: Array) -> Array: ...

    def cdf(self, z: Array) -> Array: ...


class ShapeOfRows(ABC):
    """Densities of standardized residuals that differ between the rows of the attributes."""

    @abstractmethod
    def log_density(self, z: Array, i: Index) -> Array:
        """Broadcasts over `z` and the rows `i`."""

    @abstractmethod
    def cdf(self, z: Array) -> Array:
        """For one residual per row."""


class Transform(Protocol):
    """An increasing function of the outcome, defined on the whole line."""

    def __call__(self, y: Array) -> Array: ...

    def log_slope(self, y: Array) -> Array:
        """log of the derivative: what a density of the transformed outcome is raised by."""
        ...


class Normal:
    """The standard normal shape."""

    def log_density(self, z: Array) -> Array:
        return -0.5 * z * z - 0.5 * float(np.log(2 * np.pi))

    def cdf(self, z: Array) -> Array:
        return np.asarray(ndtr(z))


class LocationScale(PairDensity):
    """y = μ(a) + σ(a)·z with z of a fixed shape: two numbers per row.

    With a `transform` they describe T(y); the density is that of y.
    """

    def __init__(
        self,
        y: Array,
        location: Array,
        scale: Array,
        shape: Shape | ShapeOfRows | None = None,
        *,
        transform: Transform | None = None,
    ) -> None:
        self.transform = transform
        self.log_unit = None if transform is None else transform.log_slope(y)
        y = y if transform is None else transform(y)
        self.y = y
        self.location = location
        self.scale = scale
        self.log_scale = np.log(scale)
        self.shape: Shape | ShapeOfRows = shape or Normal()
        normal = isinstance(self.shape, Normal)
        self.quadratic = _Quadratic(y, location, scale) if normal else None

    def log_density(self, i: Index, j: Index) -> Array:
        inner = self._log_density(self.y[j], i)
        return inner if self.log_unit is None else inner + self.log_unit[j]

    def _log_density(self, y: Array, i: Index) -> Array:
        z = (y - self.location[i]) / self.scale[i]
        shape = self.shape
        inner = shape.log_density(z, i) if isinstance(shape, ShapeOfRows) else shape.log_density(z)
        return np.maximum(inner - self.log_scale[i], _LOG_FLOOR)

    def swap_log_odds(self, i: Index, j: Index, at_i: Index, at_j: Index) -> Array:
        if self.quadratic is not None:
            return self.quadratic.swap_log_odds(i, j, at_i, at_j)
        first, second = self.y[at_i], self.y[at_j]  # the derivatives of a transform cancel
        exchanged = self._log_density(second, i) + self._log_density(first, j)
        return exchanged - self._log_density(first, i) - self._log_density(second, j)

    def pit(self) -> Array:
        return self.shape.cdf((self.y - self.location) / self.scale)

    def cdf(self, y: Array) -> Array:
        y = y if self.transform is None else self.transform(y)
        return self.shape.cdf((y - self.location) / self.scale)


class _Quadratic:
    """Odds under normal densities: log q(y|a_i) = slope_i · y − bend_i · y² / 2 + constant_i.

    In units in which outcomes are standardized, so that single precision is enough unless they
    nearly follow from the attributes.
    """

    def __init__(self, y: Array, location: Array, scale: Array) -> None:
        center, spread = float(y.mean()), float(y.std()) or 1.0
        bend = (spread / scale) ** 2
        precision: Any = np.float32 if bend.max() <= _SHARPEST_IN_SINGLE else np.float64
        self.y: Array = ((y - center) / spread).astype(precision)
        self.slope: Array = ((location - center) / spread * bend).astype(precision)
        self.bend = None if (scale == scale[0]).all() else bend.astype(precision) / 2

    def swap_log_odds(self, i: Index, j: Index, at_i: Index, at_j: Index) -> Array:
        first, second = self.y.take(at_i), self.y.take(at_j)
        gap = self.slope[j] - self.slope[i]
        if self.bend is None:  # the squares cancel
            first -= second
            first *= gap
            return first
        factor = first + second
        factor *= self.bend[i] - self.bend[j]
        factor += gap
        first -= second
        first *= factor
        return first


class ClassTable(PairDensity):
    """Class probabilities per row; `codes` are the classes of the outcomes."""

    def __init__(self, codes: NDArray[np.intp], probabilities: Array) -> None:
        self.codes = codes
        self.table = np.log(np.maximum(probabilities, np.exp(_LOG_FLOOR)))

    def log_density(self, i: Index, j: Index) -> Array:
        return self.table[i, self.codes[j]]


def fit_quietly(model: Any, x: Array, y: Array) -> Any:
    """Fit without convergence warnings: the held-out likelihood and the diagnostics judge."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(x, y)
