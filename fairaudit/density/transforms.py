"""Monotone transforms of the outcome under which a regression with normal errors fits better."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from fairaudit._types import Array
from fairaudit.density.conditional_density import Transform
from fairaudit.errors import InputError

__all__ = ["fit_transform"]

_LEVELS = np.array([0.02, 0.07, 0.16, 0.3, 0.5, 0.7, 0.84, 0.93, 0.98])


class _Log:
    """log y; below half of the smallest outcome it goes on as a straight line."""

    def __init__(self, y: Array) -> None:
        if not y.min() > 0:
            raise ValueError("the logarithm needs positive outcomes")
        self.least = float(y.min()) / 2

    def __call__(self, y: Array) -> Array:
        inside = np.maximum(y, self.least)
        return np.log(inside) + (y - inside) / self.least

    def log_slope(self, y: Array) -> Array:
        return -np.log(np.maximum(y, self.least))


class _Scores:
    """A monotone spline from quantiles of the outcome to those of the normal law."""

    def __init__(self, y: Array) -> None:
        from scipy.interpolate import PchipInterpolator

        n = len(y)
        levels = np.concatenate([[0.5 / n], _LEVELS, [1 - 0.5 / n]])
        values, places = np.unique(np.quantile(y, levels), return_index=True)
        if len(values) < 4:
            raise ValueError("too few different outcomes for a spline")
        self.first, self.last = float(values[0]), float(values[-1])
        self.spline = PchipInterpolator(values, ndtri(levels[places]))
        self.slope = self.spline.derivative()
        even = np.diff(ndtri(levels[places])) / np.diff(values)
        self.ends = float(even[0]), float(even[-1])

    def __call__(self, y: Array) -> Array:
        inside = np.clip(y, self.first, self.last)
        outside = np.where(y < self.first, self.ends[0], self.ends[1]) * (y - inside)
        return np.asarray(self.spline(inside) + outside)

    def log_slope(self, y: Array) -> Array:
        inside = np.clip(y, self.first, self.last)
        slope = np.maximum(self.slope(inside), 0.1 * min(self.ends))
        slope = np.where(y < self.first, self.ends[0], np.where(y > self.last, self.ends[1], slope))
        return np.log(slope)


def fit_transform(name: str, y: Array) -> Transform | None:
    """The transform of this name, fitted to outcomes; None for ``"none"``."""
    if name == "none":
        return None
    if name == "log":
        return _Log(y)
    if name == "scores":
        return _Scores(y)
    raise InputError(
        f"The 'transform' parameter must be 'none', 'log' or 'scores'. Got {name!r} instead."
    )
