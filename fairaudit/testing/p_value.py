"""From the statistics of the data and of its copies to a p-value; the only place for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairaudit._types import Array, Index

__all__ = ["Boundary", "Combination", "Null", "PValue", "combined_p_values", "p_values", "reaches"]

_ROUNDING = 1e-12
_LARGEST = 1e100
_SHARPNESS = 2.2  # of a combination: 0 is the mean of statistics, infinity the largest


def _find_bound(observed: Any) -> Any:
    """Where copies begin to be as large as the data, up to rounding."""
    with np.errstate(invalid="ignore"):  # nothing reaches what is infinite
        return observed - _ROUNDING * np.maximum(1.0, np.abs(observed))


def reaches(values: Any, observed: float) -> Any:
    """Copies at least as large as the data, up to rounding."""
    return values >= _find_bound(observed)


class Boundary(Protocol):
    """When drawing stops, laid down before the first copy; see `fairaudit.testing.stopping`."""

    def find_stop(self, reached: Index, drawn: int) -> int | None:
        """The first of the next copies to stop at; `reached` counts on from `drawn` copies."""
        ...

    def p_value(self, reached: int, drawn: int) -> float: ...

    def interval(self, reached: int, drawn: int) -> tuple[float, float]: ...


@dataclass(frozen=True, slots=True)
class PValue:
    """Copies that reach the data, among those drawn: all, or up to a boundary.

    Examples
    --------
    >>> PValue(reached=4, drawn=99).value
    0.05
    """

    reached: int
    drawn: int
    boundary: Boundary | None = None

    @classmethod
    def of(cls, observed: float, copies: Array, *, boundary: Boundary | None = None) -> PValue:
        return cls(int(reaches(copies, observed).sum()), len(copies), boundary)

    @property
    def value(self) -> float:
        if self.boundary is not None:
            return self.boundary.p_value(self.reached, self.drawn)
        return (1 + self.reached) / (self.drawn + 1)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Monte-Carlo interval (Clopper–Pearson; over the stopping points of a boundary)."""
        if self.boundary is not None:
            return self.boundary.interval(self.reached, self.drawn)
        from scipy.special import betaincinv

        reached, missed = self.reached, self.drawn - self.reached
        low = 0.0 if reached == 0 else float(betaincinv(reached, missed + 1, 0.025))
        high = 1.0 if missed == 0 else float(betaincinv(reached + 1, missed, 0.975))
        return low, high


def p_values(observed: Array, copies: Array) -> Array:
    """p-values of many observed values by the same copies, which are sorted."""
    reached = len(copies) - np.searchsorted(copies, _find_bound(observed))
    return np.asarray((1 + reached) / (len(copies) + 1))


def combined_p_values(
    observed: Array, copies: Array, weights: Sequence[float] | None = None
) -> Array:
    """p-values of many tables (rows of `observed`) by the same copies, in several statistics.

    Each is what `Null.p_value` gives for that table: it stands among the copies by which the
    statistics are standardized. Standardized over the copies alone, the copies would lie closer to
    their own mean than a further one does, and a table that differs would not widen the spread.
    """
    pools = np.concatenate(
        [observed[:, None], np.broadcast_to(copies, (len(observed), *copies.shape))], axis=1
    )
    values = Combination(pools, weights)(pools)
    reached = (values[:, 1:] >= _find_bound(values[:, :1])).sum(axis=1)
    return np.asarray((1 + reached) / (len(copies) + 1))


class Combination:
    """Several statistics in one number.

    The statistics are standardized over a pool of copies, with the data among them or not: as they
    are where the pool has negative values, otherwise their cube roots (of sums of squares these are
    nearly normal). The number is the logarithm of the weighted mean of exp(2.2 z), which lies
    between the mean and the largest of the z.

    Parameters
    ----------
    pool : array
        One row per copy, one column per statistic; or several such pools, each for itself.
    weights : sequence of float, optional
        Equal unless given.
    """

    def __init__(self, pool: Array, weights: Sequence[float] | None = None) -> None:
        self.rooted = (pool >= 0).all(axis=-2, keepdims=True)
        nearly_normal = self._straighten(pool)
        self.mean = nearly_normal.mean(axis=-2, keepdims=True)
        spread = nearly_normal.std(axis=-2, keepdims=True)
        varies = spread > _ROUNDING * np.maximum(1.0, np.abs(self.mean))
        self.spread = np.where(varies, spread, np.inf)
        shares = np.ones(pool.shape[-1]) if weights is None else np.asarray(weights)
        self.shares = shares / shares.sum()

    def __call__(self, values: Array) -> Array:
        """One number per row."""
        from scipy.special import logsumexp

        z = (self._straighten(values) - self.mean) / self.spread
        return np.asarray(logsumexp(_SHARPNESS * z, axis=-1, b=self.shares))

    def _straighten(self, values: Array) -> Array:
        """Cube roots, or not; what is infinite stays beyond everything and spoils no mean."""
        finite = np.clip(values, -_LARGEST, _LARGEST)
        return np.where(self.rooted, np.cbrt(finite), finite)


@dataclass(frozen=True, slots=True, eq=False)
class Null:
    """The statistics of the data and of its copies.

    Attributes
    ----------
    observed : array
        One value per statistic.
    copies : array
        One row per copy, one column per statistic.
    weights : sequence of float, optional
        Of the statistics in their combination; equal unless given.
    """

    observed: Array
    copies: Array
    weights: Sequence[float] | None = None

    @classmethod
    def mean(cls, shards: Sequence[Null], rows: Sequence[int]) -> Null:
        """Copies of all shards, taken together by their numbers; means weighted by rows."""
        total = sum(rows)
        observed = np.zeros_like(shards[0].observed)
        copies = np.zeros_like(shards[0].copies)
        for null, count in zip(shards, rows, strict=True):
            observed += null.observed * (count / total)
            copies += null.copies * (count / total)
        return cls(observed, copies, shards[0].weights)

    @property
    def drawn(self) -> int:
        return len(self.copies)

    def of_each(self, names: Sequence[str]) -> dict[str, float]:
        """The p-value of every statistic by itself."""
        return {
            name: PValue.of(self.observed[k], self.copies[:, k]).value
            for k, name in enumerate(names)
        }

    def combined(self, calibration: Array | None = None) -> tuple[float, Array]:
        """The statistic, or several in one number, of the data and of every copy alike.

        Several are standardized over data and copies; with a `calibration`, values of further
        copies, over these alone.
        """
        if len(self.observed) == 1:
            return float(self.observed[0]), self.copies[:, 0]
        together = np.vstack([self.observed, self.copies])
        pool = together if calibration is None else calibration
        values = Combination(pool, self.weights)(together)
        return float(values[0]), values[1:]

    def p_value(self) -> float:
        """Of the statistic, or of several together."""
        value, copies = self.combined()
        return PValue.of(value, copies).value
