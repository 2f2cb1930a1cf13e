"""A density that the caller knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairaudit._types import Array, Index
from fairaudit.density.conditional_density import PairDensity
from fairaudit.errors import InputError

__all__ = ["Oracle"]


@dataclass(frozen=True, slots=True)
class Oracle:
    """q(y|a) as a function: `log_density(y, a)` with y of shape (m,), a of shape (m, d).

    The attributes arrive as they were passed to the test, one column per attribute (levels of
    text attributes as their codes), not encoded.
    """

    log_density: Callable[[Array, Array], Array]

    name = "oracle"

    def fit(self, y: Array, a: Array, seed: int) -> Oracle:
        return self

    def pairs(self, y: Array, a: Array) -> _OraclePairs:
        return _OraclePairs(self.log_density, y, a)


class _OraclePairs(PairDensity):
    def __init__(self, log_density: Callable[[Array, Array], Array], y: Array, a: Array) -> None:
        self.function, self.y, self.a = log_density, y, a

    def log_density(self, i: Index, j: Index) -> Array:
        i, j = np.broadcast_arrays(i, j)
        values = np.asarray(self.function(self.y[j.ravel()], self.a[i.ravel()]), dtype=float)
        if values.shape != (i.size,):
            raise InputError(
                f"The oracle density must return one value per pair. Got shape {values.shape} "
                f"for {i.size} pairs."
            )
        if np.isnan(values).any() or (values == np.inf).any():
            raise InputError(
                "The oracle density returned NaN or infinity. Return log-densities (−inf is fine)."
            )
        return np.maximum(values, -700.0).reshape(i.shape)
