"""Intervals of a rate and of the difference of two."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairaudit._types import Array

__all__ = ["newcombe", "wilson"]


def wilson(rate: Array, size: Array, critical: float) -> tuple[Array, Array]:
    """Wilson's limits; `size` need not be whole."""
    shift = critical**2 / size
    middle = (rate + shift / 2) / (1 + shift)
    half = critical / (1 + shift) * np.sqrt(rate * (1 - rate) / size + shift / (4 * size))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def newcombe(
    one: tuple[Array, Array], other: tuple[Array, Array], critical: float
) -> tuple[Array, Array]:
    """Newcombe's interval (his method 10) for the difference of two (rate, size).

    References
    ----------
    Newcombe (1998). Interval estimation for the difference between independent proportions:
    comparison of eleven methods. Statistics in Medicine 17.

    Examples
    --------
    >>> a, b = (np.array(56 / 70), np.array(70)), (np.array(48 / 80), np.array(80))
    >>> low, high = newcombe(a, b, 1.959964)  # his example (a)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0524 0.3339
    """
    gap = one[0] - other[0]
    low, high = wilson(*one, critical)
    other_low, other_high = wilson(*other, critical)
    below: NDArray[np.float64] = np.hypot(one[0] - low, other_high - other[0])
    above: NDArray[np.float64] = np.hypot(high - one[0], other[0] - other_low)
    return gap - below, gap + above
