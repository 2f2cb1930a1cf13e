"""A shape for standardized residuals, estimated from the residuals themselves."""

from __future__ import annotations

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.density.bases import Basis
from fairaudit.density.conditional_density import ShapeOfRows
from fairaudit.density.least_squares import fit_ridge

__all__ = ["GroupedShapes", "KernelShape"]

_GRID = 2048
_TAIL_SHARE = 0.05
_GROUPS = 3
_FARTHEST = 3.0


def _log_student(z: Array) -> Array:
    """Log-density of the t distribution with 3 degrees of freedom."""
    constant = float(np.log(2 / (np.pi * np.sqrt(3))))
    return constant - 2 * np.log1p(z**2 / 3)


class KernelShape:
    """Gaussian kernel estimate on a grid, mixed with a little heavy tail, read by interpolation.

    The tail (5 % of a t distribution with 3 degrees of freedom) keeps log-densities finite and
    honest where there are no residuals.
    """

    def __init__(self, residuals: Array) -> None:
        n = len(residuals)
        spread = min(
            float(residuals.std()), float(np.subtract(*np.percentile(residuals, [75, 25]))) / 1.349
        )
        width = 0.9 * (spread or 1.0) * n**-0.2
        reach = float(np.abs(residuals).max()) + 10.0
        self.grid = np.linspace(-reach, reach, _GRID)
        step = self.step = float(self.grid[1] - self.grid[0])
        counts = np.histogram(residuals, bins=_GRID, range=(-reach - step / 2, reach + step / 2))[0]
        width = max(width, 2 * step)
        offsets = np.arange(-int(5 * width / step) - 1, int(5 * width / step) + 2) * step
        kernel = np.exp(-0.5 * (offsets / width) ** 2)
        smooth = np.convolve(counts, kernel / kernel.sum(), mode="same") / (n * step)
        density = (1 - _TAIL_SHARE) * smooth + _TAIL_SHARE * np.exp(_log_student(self.grid))
        self.log = np.log(density)
        total = np.cumsum(density) * step
        self.cumulative = total / total[-1]

    def log_density(self, z: Array) -> Array:
        inside = self._read(self.log, z)
        far = np.abs(z) > self.grid[-1]
        if far.any():
            inside[far] = np.log(_TAIL_SHARE) + _log_student(z[far])
        return inside

    def cdf(self, z: Array) -> Array:
        return self._read(self.cumulative, z)

    def _read(self, values: Array, z: Array) -> Array:
        """Linear interpolation on the even grid."""
        place = np.clip((z - self.grid[0]) / self.step, 0.0, _GRID - 1.000001)
        left = place.astype(np.intp)
        part = place - left
        return values[left] * (1.0 - part) + values[left + 1] * part


class GroupedShapes:
    """A shape for each third of the rows, by the skewness that their attributes predict."""

    def __init__(self, residuals: Array, a: Array, basis: Basis) -> None:
        self.basis = basis
        self.model = fit_ridge(basis(a), np.clip(residuals, -_FARTHEST, _FARTHEST) ** 3)
        self.cuts = np.quantile(self.model.fitted, np.arange(1, _GROUPS) / _GROUPS)
        group = np.searchsorted(self.cuts, self.model.fitted)
        sizes = np.bincount(group, minlength=_GROUPS)
        if sizes.min() == 0:
            raise ValueError("the attributes predict one skewness for all rows")
        self.shapes = [KernelShape(residuals[group == k]) for k in range(_GROUPS)]

    def at(self, a: Array) -> ShapeOfRows:
        """For these rows."""
        group = np.searchsorted(self.cuts, self.model.predict(self.basis(a)))
        return _GroupedShape(self.shapes, group)


class _GroupedShape(ShapeOfRows):
    def __init__(self, shapes: list[KernelShape], group: Index) -> None:
        self.shapes, self.group = shapes, group

    def log_density(self, z: Array, i: Index) -> Array:
        group, result = np.broadcast_to(self.group[i], z.shape), np.empty_like(z)
        for k, shape in enumerate(self.shapes):
            result[group == k] = shape.log_density(z[group == k])
        return result

    def cdf(self, z: Array) -> Array:
        result = np.empty_like(z)
        for k, shape in enumerate(self.shapes):
            result[self.group == k] = shape.cdf(z[self.group == k])
        return result
