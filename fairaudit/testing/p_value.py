"""From the statistics of the data and of its copies to a p-value; the only place for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairaudit._types import Array

__all__ = ["Combination", "Null", "PValue", "p_values", "reaches"]

_ROUNDING = 1e-12
_SHARPNESS = 2.5  # of a combination: 0 is the mean of statistics, infinity the largest


def _find_bound(observed: Any) -> Any:
    """Where copies begin to be as large as the data, up to rounding."""
    with np.errstate(invalid="ignore"):  # nothing reaches what is infinite
        return observed - _ROUNDING * np.maximum(1.0, np.abs(observed))


def reaches(values: Any, observed: float) -> Any:
    """Copies at least as large as the data, up to rounding."""
    return values >= _find_bound(observed)


@dataclass(frozen=True, slots=True)
class PValue:
    """Copies that reach the data, among those drawn.

    Drawing that was `stopped` after a number of them (Besag and Clifford 1991) has the share
    itself as p-value.

    Examples
    --------
    >>> PValue(reached=4, drawn=99).value
    0.05
    >>> PValue(reached=20, drawn=50, stopped=True).value
    0.4
    """

    reached: int
    drawn: int
    stopped: bool = False

    @classmethod
    def of(cls, observed: float, copies: Array, *, stopped: bool = False) -> PValue:
        return cls(int(reaches(copies, observed).sum()), len(copies), stopped)

    @property
    def value(self) -> float:
        if self.stopped:
            return self.reached / self.drawn
        return (1 + self.reached) / (self.drawn + 1)

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Monte-Carlo interval (Clopper–Pearson)."""
        from scipy.stats import beta

        reached, missed = self.reached, self.drawn - self.reached
        low = 0.0 if reached == 0 else float(beta.ppf(0.025, reached, missed + 1))
        high = 1.0 if missed == 0 else float(beta.ppf(0.975, reached + 1, missed))
        return low, high


def p_values(observed: Array, copies: Array) -> Array:
    """p-values of many observed values by the same copies, which are sorted."""
    reached = len(copies) - np.searchsorted(copies, _find_bound(observed))
    return np.asarray((1 + reached) / (len(copies) + 1))


class Combination:
    """Several statistics in one number.

    Cube roots of the statistics (of sums of squares they are nearly normal) are standardized over
    a pool of copies, with the data among them or not; the number is the logarithm of the weighted
    mean of exp(2.5 z), which lies between the mean and the largest of the z.

    Parameters
    ----------
    pool : array
        One row per copy, one column per statistic.
    weights : sequence of float, optional
        Equal unless given.
    """

    def __init__(self, pool: Array, weights: Sequence[float] | None = None) -> None:
        roots = np.cbrt(pool)
        self.mean, spread = roots.mean(axis=0), roots.std(axis=0)
        self.spread = np.where(spread > _ROUNDING, spread, np.inf)
        shares = np.ones(pool.shape[1]) if weights is None else np.asarray(weights)
        self.shares = shares / shares.sum()

    def __call__(self, values: Array) -> Array:
        """One number per row."""
        from scipy.special import logsumexp

        z = (np.cbrt(values) - self.mean) / self.spread
        return np.asarray(logsumexp(_SHARPNESS * z, axis=1, b=self.shares))


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

    def combined(self) -> tuple[float, Array]:
        """The statistic, or several in one number, of the data and of every copy alike."""
        if len(self.observed) == 1:
            return float(self.observed[0]), self.copies[:, 0]
        pool = np.vstack([self.observed, self.copies])
        together = Combination(pool, self.weights)(pool)
        return float(together[0]), together[1:]

    def p_value(self) -> float:
        """Of the statistic, or of several together."""
        value, copies = self.combined()
        return PValue.of(value, copies).value
