"""A shape for standardized residuals, estimated from the residuals themselves."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from fairaudit._types import Array

__all__ = ["KernelShape"]

_GRID = 2048
_TAIL_SHARE = 0.05


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
        density = (1 - _TAIL_SHARE) * smooth + _TAIL_SHARE * student.pdf(self.grid, 3)
        self.log = np.log(density)
        total = np.cumsum(density) * step
        self.cumulative = total / total[-1]

    def log_density(self, z: Array) -> Array:
        inside = self._read(self.log, z)
        far = np.abs(z) > self.grid[-1]
        if far.any():
            inside[far] = np.log(_TAIL_SHARE) + student.logpdf(z[far], 3)
        return inside

    def cdf(self, z: Array) -> Array:
        return self._read(self.cumulative, z)

    def _read(self, values: Array, z: Array) -> Array:
        """Linear interpolation on the even grid."""
        place = np.clip((z - self.grid[0]) / self.step, 0.0, _GRID - 1.000001)
        left = place.astype(np.intp)
        part = place - left
        return values[left] * (1.0 - part) + values[left + 1] * part
